//! As much HTTP as both ends need: heads with a length, kept connections, one call at a time.

use std::io::{Read, Write};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request as it came.
pub(super) struct Call {
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

/// One kept connection, either end.
pub(super) struct Line {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Line {
    pub(super) fn new(stream: TcpStream) -> Line {
        let _ = stream.set_nodelay(true);
        Line { stream, bytes: Vec::with_capacity(16 << 10) }
    }

    pub(super) async fn dial(address: &str) -> std::io::Result<Line> {
        Ok(Line::new(TcpStream::connect(address).await?))
    }

    /// The next request; none when the other end has hung up.
    pub(super) async fn next(&mut self) -> std::io::Result<Option<Call>> {
        let Some((head, body)) = self.message().await? else { return Ok(None) };
        let path = head.split(' ').nth(1).unwrap_or_default().to_string();
        Ok(Some(Call { path, body }))
    }

    pub(super) async fn answer(&mut self, body: &str) -> std::io::Result<()> {
        let text = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(text.as_bytes()).await
    }

    /// Sends a call and waits for its answer.
    pub(super) async fn post(&mut self, path: &str, body: &str) -> std::io::Result<Vec<u8>> {
        let text = format!(
            "POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             XXL-JOB-ACCESS-TOKEN: {}\r\n\r\n{body}",
            body.len(),
            super::TOKEN,
        );
        self.stream.write_all(text.as_bytes()).await?;
        match self.message().await? {
            Some((_, body)) => Ok(body),
            None => Err(std::io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// A call of the product's own API.
    pub(super) async fn trigger(&mut self, path: &str, token: &str) -> anyhow::Result<()> {
        let text = format!(
            "POST {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\nContent-Length: 0\r\n\r\n"
        );
        self.stream.write_all(text.as_bytes()).await?;
        let answered = self.message().await?;
        let (head, body) = answered.ok_or_else(|| anyhow::anyhow!("the server hung up"))?;
        anyhow::ensure!(head.contains(" 201 "), "not triggered: {}", String::from_utf8_lossy(&body));
        Ok(())
    }

    async fn message(&mut self) -> std::io::Result<Option<(String, Vec<u8>)>> {
        loop {
            if let Some(at) = find(&self.bytes, b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.bytes[..at]).into_owned();
                let end = at + 4 + length(&head);
                if self.bytes.len() >= end {
                    let body = self.bytes[at + 4..end].to_vec();
                    self.bytes.drain(..end);
                    return Ok(Some((head, body)));
                }
            }
            let mut piece = [0; 16 << 10];
            match self.stream.read(&mut piece).await? {
                0 => return Ok(None),
                count => self.bytes.extend_from_slice(&piece[..count]),
            }
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn length(head: &str) -> usize {
    let value = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    value.unwrap_or(0)
}

/// One call from a thread that may wait.
pub(super) fn get(address: &str, path: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = std::net::TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: bench\r\nContent-Length: 0\r\n\r\n")?;
    let mut bytes = Vec::new();
    let mut piece = [0; 16 << 10];
    loop {
        if let Some(at) = find(&bytes, b"\r\n\r\n") {
            let end = at + 4 + length(&String::from_utf8_lossy(&bytes[..at]));
            if bytes.len() >= end {
                return Ok(bytes[at + 4..end].to_vec());
            }
        }
        match stream.read(&mut piece)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

/// A number in a body, by its key: the bodies of both ends are written by programs.
pub(super) fn number(body: &[u8], key: &str) -> Option<i64> {
    let at = find(body, format!("\"{key}\":").as_bytes())? + key.len() + 3;
    let digits = body[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&body[at..at + digits]).ok()?.parse().ok()
}
