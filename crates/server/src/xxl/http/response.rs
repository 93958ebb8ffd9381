//! An executor's answer from whatever bytes have come so far: with a length, in chunks, or until it hangs up; with line
//! ends of either kind.

/// More than this is no answer of an executor; a page of log is the largest there is.
const BODY_MAX: usize = 64 << 20;
const HEAD_MAX: usize = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
    /// Whether the connection may carry another call.
    pub keep: bool,
    /// What it says its body is, in lower case.
    pub kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadResponse {
    #[error("the executor does not speak HTTP: {0}")]
    NotHttp(String),
    #[error("the executor's answer is longer than we read")]
    TooLong,
    #[error("the executor hung up in the middle of its answer")]
    Cut,
}

/// Gathers the bytes of one answer.
#[derive(Debug, Default)]
pub struct Reader {
    bytes: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Length {
    Known(usize),
    Chunked,
    UntilEnd,
}

struct Head {
    status: u16,
    kind: String,
    length: Length,
    keep: bool,
    at: usize,
}

impl Reader {
    /// More bytes have come; the answer, once it is whole. What follows it is nobody's: calls are made one at a time.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<Response>, BadResponse> {
        self.bytes.extend_from_slice(bytes);
        self.take(false)
    }

    /// The executor has hung up.
    pub fn end(&mut self) -> Result<Response, BadResponse> {
        self.take(true)?.ok_or(BadResponse::Cut)
    }

    /// Nothing of an answer has come.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn take(&mut self, ended: bool) -> Result<Option<Response>, BadResponse> {
        let Some(head) = head(&self.bytes)? else { return Ok(None) };
        // An interim answer says nothing yet.
        if (100..200).contains(&head.status) {
            self.bytes.drain(..head.at);
            return self.take(ended);
        }
        let rest = &self.bytes[head.at..];
        if rest.len() > BODY_MAX {
            return Err(BadResponse::TooLong);
        }
        let body = match head.length {
            Length::Known(length) if length > BODY_MAX => return Err(BadResponse::TooLong),
            Length::Known(length) => rest.get(..length).map(<[u8]>::to_vec),
            Length::Chunked => chunks(rest)?,
            Length::UntilEnd => ended.then(|| rest.to_vec()),
        };
        Ok(body.map(|body| Response { status: head.status, body, keep: head.keep && !ended, kind: head.kind }))
    }
}

fn head(bytes: &[u8]) -> Result<Option<Head>, BadResponse> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Response::new(&mut headers);
    // One executor puts a blank before its first header.
    let mut lenient = httparse::ParserConfig::default();
    lenient.allow_space_before_first_header_name(true);
    let at =
        match lenient.parse_response(&mut parsed, bytes).map_err(|error| BadResponse::NotHttp(error.to_string()))? {
            httparse::Status::Complete(at) => at,
            httparse::Status::Partial if bytes.len() > HEAD_MAX => return Err(BadResponse::TooLong),
            httparse::Status::Partial => return Ok(None),
        };
    let status = parsed.code.unwrap_or(0);
    let value = |name: &str| {
        let found = parsed.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| String::from_utf8_lossy(header.value).trim().to_ascii_lowercase())
    };
    let chunked = value("transfer-encoding").is_some_and(|coding| coding.ends_with("chunked"));
    let length = match value("content-length").map(|length| length.parse()) {
        _ if chunked => Length::Chunked,
        _ if status == 204 || status == 304 => Length::Known(0),
        Some(Ok(length)) => Length::Known(length),
        Some(Err(_)) => return Err(BadResponse::NotHttp("a length that is no number".into())),
        None => Length::UntilEnd,
    };
    let kind = value("content-type").unwrap_or_default();
    let old = parsed.version == Some(0);
    let keep = match value("connection").as_deref() {
        Some("close") => false,
        Some("keep-alive") => true,
        Some(_) | None => !old,
    };
    Ok(Some(Head { status, kind, length, keep, at }))
}

/// The body out of its chunks; none while the last has not come.
fn chunks(mut rest: &[u8]) -> Result<Option<Vec<u8>>, BadResponse> {
    let mut body = Vec::new();
    loop {
        let (at, size) = match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete((at, size))) => (at, size),
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(BadResponse::NotHttp("a chunk without a size".into())),
        };
        if size == 0 {
            return Ok(Some(body));
        }
        let size =
            usize::try_from(size).ok().filter(|size| body.len() + size <= BODY_MAX).ok_or(BadResponse::TooLong)?;
        let Some(chunk) = rest.get(at..at + size) else { return Ok(None) };
        body.extend_from_slice(chunk);
        let Some(after) = rest.get(at + size..) else { return Ok(None) };
        rest = after.strip_prefix(b"\r\n").or_else(|| after.strip_prefix(b"\n")).unwrap_or(after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole, and byte by byte, it must come to the same.
    fn read(text: &str) -> Result<Option<Response>, BadResponse> {
        let whole = Reader::default().push(text.as_bytes());
        let mut reader = Reader::default();
        let mut last = Ok(None);
        for byte in text.as_bytes() {
            last = reader.push(&[*byte]);
            if !matches!(last, Ok(None)) {
                break;
            }
        }
        assert_eq!(whole, last, "{text}");
        whole
    }

    fn body(text: &str) -> Option<(u16, String, bool)> {
        let found = read(text).unwrap();
        found.map(|found| (found.status, String::from_utf8(found.body).unwrap(), found.keep))
    }

    #[test]
    fn answers_come_with_a_length_or_in_chunks_and_with_any_line_end() {
        let expected = Some((200, r#"{"code":200}"#.to_string(), true));
        assert_eq!(body("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"code\":200}"), expected);
        assert_eq!(body("HTTP/1.1 200 OK\nContent-Type: text/plain\ncontent-length: 12\n\n{\"code\":200}"), expected);
        assert_eq!(body("HTTP/1.1 200 OK\n content-length: 12\n\n{\"code\":200}"), expected);
        assert_eq!(
            body("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"cod\r\n7\r\ne\":200}\r\n0\r\n\r\n"),
            expected
        );
        assert_eq!(
            body("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"code\":200}"),
            expected
        );
    }

    #[test]
    fn a_connection_is_kept_only_if_the_executor_keeps_it() {
        let keep = |head: &str| body(&format!("{head}\r\nContent-Length: 0\r\n\r\n")).unwrap().2;
        assert!(keep("HTTP/1.1 200 OK"));
        assert!(!keep("HTTP/1.1 200 OK\r\nConnection: Close"));
        assert!(!keep("HTTP/1.0 200 OK"));
        assert!(keep("HTTP/1.0 200 OK\r\nConnection: keep-alive"));
    }

    #[test]
    fn an_answer_without_a_length_ends_with_the_connection() {
        let mut reader = Reader::default();
        assert_eq!(reader.push(b"HTTP/1.1 200 OK\r\n\r\nall"), Ok(None));
        assert_eq!(reader.end(), Ok(Response { status: 200, body: b"all".to_vec(), keep: false, kind: String::new() }));
        let mut cut = Reader::default();
        assert_eq!(cut.push(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"), Ok(None));
        assert_eq!(cut.end(), Err(BadResponse::Cut));
        assert!(!cut.is_empty());
        assert_eq!(Reader::default().end(), Err(BadResponse::Cut));
    }

    #[test]
    fn what_is_no_http_or_has_no_end_is_refused() {
        assert!(matches!(read("hello there, this is no http\r\n\r\n"), Err(BadResponse::NotHttp(_))));
        assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), Err(BadResponse::TooLong));
        assert!(matches!(read("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), Err(BadResponse::NotHttp(_))));
    }
}
