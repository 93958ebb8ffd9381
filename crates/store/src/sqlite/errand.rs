//! Small work on plain tables, on the connection for access.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, TransactionBehavior};

use super::access::SqliteAccess;
use super::copy::cell;
use crate::StoreError;
use crate::cell::Cell;
use crate::errand::{Errand, Manner, Statements, Tables};

struct Turn<'c>(&'c Connection);

impl Tables for SqliteAccess {
    fn errand(&mut self, manner: Manner, errand: Errand) -> Result<(), StoreError> {
        if manner == Manner::Look {
            return errand(&mut Turn(&self.conn)).map(drop);
        }
        let _turn = self.gate.lock();
        let work = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if errand(&mut Turn(&work))? {
            work.commit()?;
        }
        Ok(())
    }
}

impl Statements for Turn<'_> {
    fn run(&mut self, text: &str, values: &[Cell]) -> Result<u64, StoreError> {
        let mut statement = self.0.prepare_cached(&numbered(text))?;
        Ok(statement.execute(rusqlite::params_from_iter(values))? as u64)
    }

    fn rows(&mut self, text: &str, values: &[Cell]) -> Result<Vec<Vec<Cell>>, StoreError> {
        let mut statement = self.0.prepare_cached(&numbered(text))?;
        let columns = statement.column_count();
        let mut rows = statement.query(rusqlite::params_from_iter(values))?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push((0..columns).map(|at| cell(row.get_ref(at)?)).collect::<Result<_, StoreError>>()?);
        }
        Ok(all)
    }
}

/// `$1` would be a name here.
fn numbered(text: &str) -> String {
    text.replace('$', "?")
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Cell::Null => ValueRef::Null,
            Cell::Int(number) => ValueRef::Integer(*number),
            Cell::Text(text) => ValueRef::Text(text.as_bytes()),
            Cell::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
