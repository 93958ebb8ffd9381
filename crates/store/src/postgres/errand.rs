//! Small work on plain tables, on the connection for access. Several statements are on one connection or fail together.

use std::error::Error;

use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::PATIENCE;
use super::access::PgAccess;
use super::error::Fault;
use super::lane::Held;
use crate::StoreError;
use crate::cell::Cell;
use crate::errand::{Errand, Manner, Statements, Tables};

/// Whoever changes what all servers remember waits here for whoever does so already.
const RAISE: &str = "update meta set value = (value::int8 + 1)::text where key = 'revision'";
const TELL: &str = "select pg_notify('duly_' || id, '') from server";

struct Turn<'c>(Held<'c>);

impl Tables for PgAccess {
    fn errand(&mut self, manner: Manner, errand: Errand) -> Result<(), StoreError> {
        let done = self.try_errand(manner, errand);
        // Whatever was begun there ends with the connection.
        if done.is_err() {
            self.lane.hang_up();
        }
        done
    }
}

impl PgAccess {
    fn try_errand(&mut self, manner: Manner, errand: Errand) -> Result<(), StoreError> {
        let begin = match manner {
            Manner::Look => "select 1",
            Manner::Quiet | Manner::Told => "begin",
        };
        // A connection that died while nobody used it is found out by using it.
        if let Err(Fault::Lost(_)) = self.lane.held(PATIENCE).and_then(|held| held.batch(begin)) {
            self.lane.hang_up();
            self.lane.held(PATIENCE)?.batch(begin)?;
        }
        let mut turn = Turn(self.lane.held(PATIENCE)?);
        if manner == Manner::Told {
            turn.run(RAISE, &[])?;
        }
        let keep = errand(&mut turn)?;
        match (manner, keep) {
            (Manner::Look, _) => return Ok(()),
            (Manner::Quiet | Manner::Told, false) => return Ok(turn.0.batch("rollback")?),
            (Manner::Quiet, true) => {}
            (Manner::Told, true) => {
                turn.rows(TELL, &[])?;
            }
        }
        Ok(turn.0.batch("commit")?)
    }
}

impl Statements for Turn<'_> {
    fn run(&mut self, text: &str, values: &[Cell]) -> Result<u64, StoreError> {
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        Ok(self.0.call(async |conn| conn.execute(text, &values).await)?)
    }

    fn rows(&mut self, text: &str, values: &[Cell]) -> Result<Vec<Vec<Cell>>, StoreError> {
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        let rows = self.0.call(async |conn| conn.query(text, &values).await)?;
        rows.iter().map(cells).collect()
    }
}

fn cells(row: &Row) -> Result<Vec<Cell>, StoreError> {
    let read = |(at, column): (usize, &tokio_postgres::Column)| {
        Ok(match *column.type_() {
            Type::INT8 => row.get::<_, Option<i64>>(at).into(),
            Type::TEXT => row.get::<_, Option<String>>(at).into(),
            Type::BYTEA => row.get::<_, Option<Vec<u8>>>(at).map_or(Cell::Null, Cell::Bytes),
            // What is only called, not read.
            Type::VOID => Cell::Null,
            ref other => return Err(StoreError::Failed(format!("a column of the kind {other} is not read here"))),
        })
    };
    row.columns().iter().enumerate().map(read).collect()
}

impl ToSql for Cell {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Cell::Null => Ok(IsNull::Yes),
            Cell::Int(number) => number.to_sql(kind, out),
            Cell::Text(text) => text.to_sql(kind, out),
            Cell::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::TEXT | Type::BYTEA)
    }

    to_sql_checked!();
}
