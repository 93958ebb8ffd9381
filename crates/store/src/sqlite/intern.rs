//! Bytes kept once and named. Found again by their hash; never changed.

use std::time::{SystemTime, UNIX_EPOCH};

use model::ContentId;
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::{SqliteStore, commit, sql};
use crate::StoreError;

/// Bytes asked for again are marked as young, so that they are not swept away before a job names them; not each time,
/// since that is a write.
const YOUNG_SECS: i64 = 3600;

impl SqliteStore {
    pub(super) fn keep(&mut self, bodies: &[Vec<u8>]) -> Result<Vec<ContentId>, StoreError> {
        let now = unix_secs();
        let hashes: Vec<[u8; 32]> = bodies.iter().map(|body| Sha256::digest(body).into()).collect();
        let known = hashes.iter().map(|hash| find(&self.conn, hash, now)).collect::<Result<Option<Vec<_>>, _>>();
        if let Some(all) = known? {
            return Ok(all);
        }
        let gate = self.gate.clone();
        let _turn = gate.lock();
        commit::begin(&self.conn)?;
        let written = put(&self.conn, bodies, &hashes, now).and_then(|ids| {
            self.conn.execute_batch("commit")?;
            Ok(ids)
        });
        if !self.conn.is_autocommit() {
            self.conn.execute_batch("rollback")?;
        }
        Ok(written?)
    }
}

fn find(conn: &Connection, hash: &[u8; 32], now: i64) -> rusqlite::Result<Option<ContentId>> {
    conn.prepare_cached("select id from content where hash = ?1 and touched_at > ?2")?
        .query_row(params![hash, now - YOUNG_SECS], |row| row.get(0).map(ContentId))
        .optional()
}

fn put(conn: &Connection, bodies: &[Vec<u8>], hashes: &[[u8; 32]], now: i64) -> rusqlite::Result<Vec<ContentId>> {
    let mut statement = conn.prepare_cached(sql::body(sql::PUT_CONTENT))?;
    let mut ids = Vec::with_capacity(bodies.len());
    for (body, hash) in bodies.iter().zip(hashes) {
        ids.push(statement.query_row(params![hash, body, now], |row| row.get(0).map(ContentId))?);
    }
    Ok(ids)
}

pub(super) fn unix_secs() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}
