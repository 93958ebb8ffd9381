//! Columns of a batch as arrays, ready for `unnest`, which fills shorter ones up with nulls: a column that is all null is
//! sent as nothing, and costs nothing.

use std::borrow::Cow;

use super::conn::Value;

pub(super) fn ints<'v, T>(items: &[T], of: impl Fn(&T) -> i64) -> Value<'v> {
    Box::new(items.iter().map(of).collect::<Vec<i64>>())
}

pub(super) fn maybe_ints<'v, T>(items: &[T], of: impl Fn(&T) -> Option<i64>) -> Value<'v> {
    Box::new(unless_all_null(items.iter().map(of).collect::<Vec<Option<i64>>>()))
}

pub(super) fn texts<'v, T>(items: &[T], of: impl Fn(&T) -> &'v str) -> Value<'v> {
    Box::new(items.iter().map(|item| text(of(item))).collect::<Vec<Cow<'v, str>>>())
}

pub(super) fn owned_texts<'v, T>(items: &[T], of: impl Fn(&T) -> String) -> Value<'v> {
    Box::new(items.iter().map(of).collect::<Vec<String>>())
}

pub(super) fn maybe_texts<'v, T>(items: &[T], of: impl Fn(&T) -> Option<&'v str>) -> Value<'v> {
    Box::new(unless_all_null(items.iter().map(|item| of(item).map(text)).collect::<Vec<Option<Cow<'v, str>>>>()))
}

fn unless_all_null<T>(column: Vec<Option<T>>) -> Vec<Option<T>> {
    if column.iter().all(Option::is_none) { Vec::new() } else { column }
}

/// PostgreSQL keeps no NUL in a text, and a task's last words may hold one.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

pub(super) fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
