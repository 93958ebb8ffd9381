//! Small work on plain tables, said in words both databases understand: `$1` is a value, numbers are 64 bits wide, a
//! truth is 0 or 1. For what is seldom and needs no speed; what shards write has statements of its own.

use crate::StoreError;
use crate::cell::Cell;

/// What becomes of a piece of work when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Only looks.
    Look,
    /// Writes, and nobody else needs to know.
    Quiet,
    /// Writes what all servers remember: one after the other, and they are told.
    Told,
}

pub trait Statements {
    /// Answers how many rows it was about.
    fn run(&mut self, text: &str, values: &[Cell]) -> Result<u64, StoreError>;
    fn rows(&mut self, text: &str, values: &[Cell]) -> Result<Vec<Vec<Cell>>, StoreError>;
}

/// False: what was written is to be undone.
pub type Errand<'e> = &'e mut dyn FnMut(&mut dyn Statements) -> Result<bool, StoreError>;

pub trait Tables {
    /// All of it or nothing.
    fn errand(&mut self, manner: Manner, errand: Errand) -> Result<(), StoreError>;
}
