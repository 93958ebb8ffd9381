//! A value as it stands in a row, in either database.

use crate::StoreError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<i64> for Cell {
    fn from(number: i64) -> Cell {
        Cell::Int(number)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Cell {
        Cell::Text(text.clone())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<&[u8; 32]> for Cell {
    fn from(bytes: &[u8; 32]) -> Cell {
        Cell::Bytes(bytes.to_vec())
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::Null, Into::into)
    }
}

/// The values of one row, taken in the order of its columns.
pub(crate) struct Cells(std::vec::IntoIter<Cell>);

impl Cells {
    pub(crate) fn of(row: Vec<Cell>) -> Cells {
        Cells(row.into_iter())
    }

    pub(crate) fn int(&mut self) -> Result<i64, StoreError> {
        self.maybe_int()?.ok_or_else(|| damaged("a number is missing"))
    }

    pub(crate) fn maybe_int(&mut self) -> Result<Option<i64>, StoreError> {
        match self.0.next() {
            Some(Cell::Int(number)) => Ok(Some(number)),
            Some(Cell::Null) => Ok(None),
            Some(Cell::Text(_) | Cell::Bytes(_)) | None => Err(damaged("a number is none")),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        self.maybe_text()?.ok_or_else(|| damaged("a text is missing"))
    }

    pub(crate) fn maybe_text(&mut self) -> Result<Option<String>, StoreError> {
        match self.0.next() {
            Some(Cell::Text(text)) => Ok(Some(text)),
            Some(Cell::Null) => Ok(None),
            Some(Cell::Int(_) | Cell::Bytes(_)) | None => Err(damaged("a text is none")),
        }
    }

    pub(crate) fn hash(&mut self) -> Result<[u8; 32], StoreError> {
        match self.0.next() {
            Some(Cell::Bytes(bytes)) => bytes.try_into().map_err(|_| damaged("a kept hash has the wrong length")),
            Some(Cell::Null | Cell::Int(_) | Cell::Text(_)) | None => Err(damaged("a hash is none")),
        }
    }
}

fn damaged(what: &str) -> StoreError {
    StoreError::Corrupt(format!("in a row of the accounts {what}"))
}
