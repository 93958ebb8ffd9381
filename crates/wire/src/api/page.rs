//! Long lists come in pages. The cursor names the last row seen, so that paging neither skips nor repeats while rows
//! are added in front.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::{InstanceId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::errors::Code;
use crate::problem::{Fault, Problem};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Pass it as `cursor` for the following page; null at the end.
    #[schema(required = true)]
    pub next: Option<String>,
}

impl<T> Page<T> {
    pub const LIMIT: u32 = 50;
    pub const LIMIT_MAX: u32 = 500;

    /// A list that is always short.
    pub fn whole(items: Vec<T>) -> Page<T> {
        Page { items, next: None }
    }

    /// Reads were made for one row more than `limit`: if it came, there is a following page.
    pub fn cut(mut items: Vec<T>, limit: usize, cursor: impl FnOnce(&T) -> Cursor) -> Page<T> {
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| cursor(last).to_string());
        Page { items, next }
    }

    pub fn limit(asked: Option<u32>) -> Result<usize, Box<Problem>> {
        match asked.unwrap_or(Self::LIMIT) {
            limit @ 1..=500 => Ok(limit as usize),
            other => {
                Err(Fault::new(Code::BadQuery, "limit", format!("{other} is outside 1 to {}", Self::LIMIT_MAX)).alone())
            }
        }
    }
}

/// The row after which a page begins. Opaque outside: its text may change from version to version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// Jobs are listed by name.
    Job(String),
    /// Instances are listed by planned time, newest first.
    Instance(Timestamp, InstanceId),
    /// The audit is listed by number, newest first.
    Audit(i64),
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plain = match self {
            Cursor::Job(name) => format!("j:{name}"),
            Cursor::Instance(planned, id) => format!("i:{}:{id}", planned.0),
            Cursor::Audit(seq) => format!("a:{seq}"),
        };
        f.write_str(&URL_SAFE_NO_PAD.encode(plain))
    }
}

impl Cursor {
    pub fn job(text: &str) -> Result<String, Box<Problem>> {
        match Cursor::read(text) {
            Some(Cursor::Job(name)) => Ok(name),
            Some(_) | None => Err(not_ours()),
        }
    }

    pub fn instance(text: &str) -> Result<(Timestamp, InstanceId), Box<Problem>> {
        match Cursor::read(text) {
            Some(Cursor::Instance(planned, id)) => Ok((planned, id)),
            Some(_) | None => Err(not_ours()),
        }
    }

    pub fn audit(text: &str) -> Result<i64, Box<Problem>> {
        match Cursor::read(text) {
            Some(Cursor::Audit(seq)) => Ok(seq),
            Some(_) | None => Err(not_ours()),
        }
    }

    fn read(text: &str) -> Option<Cursor> {
        let plain = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        match plain.split_once(':')? {
            ("j", name) => Some(Cursor::Job(name.into())),
            ("a", seq) => Some(Cursor::Audit(seq.parse().ok()?)),
            ("i", rest) => {
                let (planned, id) = rest.split_once(':')?;
                Some(Cursor::Instance(Timestamp(planned.parse().ok()?), id.parse().ok()?))
            }
            _ => None,
        }
    }
}

fn not_ours() -> Box<Problem> {
    Fault::new(Code::BadCursor, "cursor", "this cursor does not belong to this list").alone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_and_strangers_are_refused() {
        let at = Cursor::Instance(Timestamp(-5), InstanceId(7));
        assert_eq!(Cursor::instance(&at.to_string()), Ok((Timestamp(-5), InstanceId(7))));
        let job = Cursor::Job("夜:间".into());
        assert_eq!(Cursor::job(&job.to_string()).as_deref(), Ok("夜:间"));
        assert_eq!(Cursor::audit(&Cursor::Audit(7).to_string()), Ok(7));
        assert!(Cursor::audit(&job.to_string()).is_err());
        for text in ["", "x", "aTo", "aTp4Onk", &at.to_string()] {
            assert_eq!(Cursor::job(text).unwrap_err().code, "E0108", "{text}");
        }
    }

    #[test]
    fn a_page_is_followed_only_if_there_was_more() {
        let cursor = |n: &i64| Cursor::Instance(Timestamp(0), InstanceId(*n));
        assert_eq!(Page::cut(vec![1, 2], 2, cursor).next, None);
        let page = Page::cut(vec![1, 2, 3], 2, cursor);
        assert_eq!(page.items, [1, 2]);
        assert_eq!(Cursor::instance(&page.next.unwrap()).unwrap().1, InstanceId(2));
        assert!(Page::<i64>::limit(Some(0)).is_err() && Page::<i64>::limit(Some(501)).is_err());
    }
}
