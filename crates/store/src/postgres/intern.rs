//! Bytes kept once and named. Found again by their hash; never changed.

use std::time::{SystemTime, UNIX_EPOCH};

use model::ContentId;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use tokio_postgres::Row;

use super::conn::Conn;
use super::error::Fault;
use super::sql;
use crate::StoreError;

/// Bytes asked for again are marked as young, so that they are not swept away before a job names them; not each time,
/// since that is a write.
const YOUNG_SECS: i64 = 3600;

pub(super) async fn keep(conn: &Conn, bodies: &[Vec<u8>]) -> Result<Vec<ContentId>, Fault> {
    if bodies.is_empty() {
        return Ok(Vec::new());
    }
    let now = unix_secs();
    let hashes: Vec<Vec<u8>> = bodies.iter().map(|body| Sha256::digest(body).to_vec()).collect();
    // In the order of hashes, so that two who keep the same bytes never wait for each other.
    let mut wanted: Vec<usize> = (0..bodies.len()).collect();
    wanted.sort_unstable_by(|a, b| hashes[*a].cmp(&hashes[*b]));
    wanted.dedup_by(|a, b| hashes[*a] == hashes[*b]);
    let asked: Vec<&[u8]> = wanted.iter().map(|at| hashes[*at].as_slice()).collect();
    let text = "select id, hash from content where hash = any($1::bytea[]) and touched_at > $2";
    let known = conn.query(text, &[&asked, &(now - YOUNG_SECS)]).await?;
    let mut ids: FxHashMap<Vec<u8>, ContentId> = known.iter().map(named).collect();
    wanted.retain(|at| !ids.contains_key(&hashes[*at]));
    if !wanted.is_empty() {
        let fresh: Vec<&[u8]> = wanted.iter().map(|at| hashes[*at].as_slice()).collect();
        let kept: Vec<&[u8]> = wanted.iter().map(|at| bodies[*at].as_slice()).collect();
        ids.extend(conn.query(sql::PUT_CONTENTS, &[&fresh, &kept, &now]).await?.iter().map(named));
    }
    let lost = || StoreError::Failed("bytes that were just kept are not there".into());
    hashes.iter().map(|hash| ids.get(hash).copied().ok_or_else(|| lost().into())).collect()
}

fn named(row: &Row) -> (Vec<u8>, ContentId) {
    (row.get(1), ContentId(row.get(0)))
}

pub(super) fn unix_secs() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}
