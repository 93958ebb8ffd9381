//! How a record lies in a segment: a sync word, a checksum, and some frames of one attempt. Never trusts a byte the
//! checksum does not cover.
//!
//! ```text
//! sync word 8 | crc32 of the rest 4 | length of the body 4
//! body: attempt 8 | first 8 | upto 8 | flags 1 | frames, each: stream 1 | at 8 | length 4 | bytes
//! ```
//! The sync word is drawn for each segment and never shown, so that a task cannot print bytes that pass for a record
//! when we look for the next sound one after damage.

use model::{AttemptId, Timestamp};

use super::frame::{Frame, Stream};

pub(super) type SyncWord = [u8; 8];

const HEAD: usize = 16;
const FIXED: usize = 25;
/// What a frame takes besides its bytes.
pub(super) const FRAME_HEAD: usize = 13;
const LAST: u8 = 1;
const GAP: u8 = 2;
/// A greater length in a file is damage and not a reason to allocate.
const BODY_MAX: usize = 16 << 20;
/// No frame may be longer; one always fits a record, also beside shorter ones.
pub(super) const FRAME_MAX: usize = BODY_MAX / 2;

/// What a record says about itself; its frames are numbered `first..upto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) attempt: AttemptId,
    pub(super) first: u64,
    pub(super) upto: u64,
    /// No frame will follow.
    pub(super) last: bool,
    /// The numbers never came: there is one marker in place of them all.
    pub(super) gap: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    pub(super) label: Label,
    frames: &'a [u8],
}

pub(super) fn encode(out: &mut Vec<u8>, sync: &SyncWord, label: Label, frames: &[Frame]) {
    let begin = out.len();
    out.extend_from_slice(sync);
    out.extend_from_slice(&[0; HEAD - 8]);
    out.extend_from_slice(&label.attempt.0.to_le_bytes());
    out.extend_from_slice(&label.first.to_le_bytes());
    out.extend_from_slice(&label.upto.to_le_bytes());
    out.push((u8::from(label.last) * LAST) | (u8::from(label.gap) * GAP));
    for frame in frames {
        out.push(match frame.stream {
            Stream::Stdout => 0,
            Stream::Stderr => 1,
            Stream::Marker => 2,
        });
        out.extend_from_slice(&frame.at.0.to_le_bytes());
        out.extend_from_slice(&(frame.bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(&frame.bytes);
    }
    let length = out.len() - begin - HEAD;
    assert!(length <= BODY_MAX, "frames are cut into records that fit");
    out[begin + 12..begin + HEAD].copy_from_slice(&(length as u32).to_le_bytes());
    let crc = crc32fast::hash(&out[begin + 12..]);
    out[begin + 8..begin + 12].copy_from_slice(&crc.to_le_bytes());
}

pub(super) enum Parsed<'a> {
    /// A sound record and how many bytes it takes.
    Record(Record<'a>, usize),
    /// So many bytes are needed before more can be said.
    Short(usize),
    Damaged,
}

pub(super) fn parse<'a>(bytes: &'a [u8], sync: &SyncWord) -> Parsed<'a> {
    if bytes.len() < HEAD {
        return Parsed::Short(HEAD);
    }
    let length = u32_at(bytes, 12) as usize;
    if &bytes[..8] != sync || !(FIXED..=BODY_MAX).contains(&length) {
        return Parsed::Damaged;
    }
    let Some(covered) = bytes.get(12..HEAD + length) else { return Parsed::Short(HEAD + length) };
    if crc32fast::hash(covered) != u32_at(bytes, 8) {
        return Parsed::Damaged;
    }
    let body = &bytes[HEAD..HEAD + length];
    let label = Label {
        attempt: AttemptId(u64_at(body, 0) as i64),
        first: u64_at(body, 8),
        upto: u64_at(body, 16),
        last: body[24] & LAST != 0,
        gap: body[24] & GAP != 0,
    };
    Parsed::Record(Record { label, frames: &body[FIXED..] }, HEAD + length)
}

impl Record<'_> {
    pub(super) fn frames(&self) -> impl Iterator<Item = Frame> {
        let mut rest = self.frames;
        std::iter::from_fn(move || {
            let (head, after) = rest.split_at_checked(FRAME_HEAD)?;
            let (bytes, after) = after.split_at_checked(u32_at(head, 9) as usize)?;
            rest = after;
            let stream = match head[0] {
                0 => Stream::Stdout,
                1 => Stream::Stderr,
                _ => Stream::Marker,
            };
            Some(Frame { stream, at: Timestamp(u64_at(head, 1) as i64), bytes: bytes.to_vec() })
        })
    }
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
