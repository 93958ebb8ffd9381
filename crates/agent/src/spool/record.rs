//! One record of the journal: length, checksum, kind, body. What fails its checksum is no record.

use model::Timestamp;
use prost::Message;
use wire::link;

use crate::session::Ending;

/// No record is longer: a greater length is damage and not a reason to allocate.
const BYTES_MAX: usize = 16 << 20;
const HEADER: usize = 8;

const ENDED: u8 = 1;
const ACKED: u8 = 2;
const GRAVE: u8 = 3;

#[derive(Debug)]
pub(super) enum Kept {
    Ended(Ending),
    Acked(Vec<i64>),
    Grave(i64, Timestamp),
}

pub(super) fn ended(ending: &Ending, out: &mut Vec<u8>) {
    framed(ENDED, out, |out| {
        out.extend_from_slice(&ending.until.0.to_le_bytes());
        ending.report.encode_raw(out);
    });
}

pub(super) fn acked(attempts: &[i64], out: &mut Vec<u8>) {
    framed(ACKED, out, |out| attempts.iter().for_each(|attempt| out.extend_from_slice(&attempt.to_le_bytes())));
}

pub(super) fn grave(attempt: i64, until: Timestamp, out: &mut Vec<u8>) {
    framed(GRAVE, out, |out| {
        out.extend_from_slice(&until.0.to_le_bytes());
        out.extend_from_slice(&attempt.to_le_bytes());
    });
}

/// The first record and what follows it. A whole record of an unknown kind is passed over: a later version wrote it.
pub(super) fn split(bytes: &[u8]) -> Option<(Option<Kept>, &[u8])> {
    let (header, rest) = bytes.split_first_chunk::<HEADER>()?;
    let length = u32::from_le_bytes(header[..4].try_into().expect("four bytes")) as usize;
    let checksum = u32::from_le_bytes(header[4..].try_into().expect("four bytes"));
    let payload = rest.get(..length).filter(|_| (1..=BYTES_MAX).contains(&length))?;
    (crc32fast::hash(payload) == checksum).then(|| (decode(payload), &rest[length..]))
}

fn framed(kind: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    out.push(kind);
    body(out);
    let payload = &out[start + HEADER..];
    let (length, checksum) = (payload.len() as u32, crc32fast::hash(payload));
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    out[start + 4..start + HEADER].copy_from_slice(&checksum.to_le_bytes());
}

fn decode(payload: &[u8]) -> Option<Kept> {
    let (kind, body) = payload.split_first()?;
    match *kind {
        ENDED => {
            let (until, report) = number(body)?;
            Some(Kept::Ended(Ending { report: link::Report::decode(report).ok()?, until: Timestamp(until) }))
        }
        ACKED => Some(Kept::Acked(body.chunks_exact(8).filter_map(|chunk| Some(number(chunk)?.0)).collect())),
        GRAVE => {
            let (until, rest) = number(body)?;
            Some(Kept::Grave(number(rest)?.0, Timestamp(until)))
        }
        _ => None,
    }
}

fn number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<8>()?;
    Some((i64::from_le_bytes(*number), rest))
}
