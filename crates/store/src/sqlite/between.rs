//! What shards tell one another, and who follows whose jobs.

use engine::change::{Ends, Message, MessageId};
use model::{JobId, ShardId};
use rusqlite::{Connection, params};

use super::apply::{Applying, expect};
use super::error::Fault;
use crate::message;
use crate::read::Letter;

impl Applying<'_> {
    pub(super) fn told(&self, to: ShardId, message: &Message) -> Result<(), Fault> {
        self.conn
            .prepare_cached("insert into outbox (to_shard, from_shard, body) values (?1, ?2, ?3)")?
            .execute(params![to.0, self.commit.shard.0, message::encode(message)])?;
        Ok(())
    }

    pub(super) fn took(&self, id: MessageId) -> Result<(), Fault> {
        let rows = self
            .conn
            .prepare_cached("delete from outbox where id = ?1 and to_shard = ?2")?
            .execute([id.0, self.commit.shard.0])?;
        expect(rows, || "nobody told us, or it was taken already".into())
    }

    pub(super) fn follower(&self, job: JobId, follower: JobId, ends: Option<Ends>) -> Result<(), Fault> {
        match ends {
            Some(ends) => self
                .conn
                .prepare_cached("insert or replace into follower (job, follower, shard, ends) values (?1, ?2, ?3, ?4)")?
                .execute(params![job.0, follower.0, self.commit.shard.0, ends.0])?,
            None => self
                .conn
                .prepare_cached("delete from follower where job = ?1 and follower = ?2")?
                .execute([job.0, follower.0])?,
        };
        Ok(())
    }
}

pub(super) fn followers(conn: &Connection, shard: ShardId) -> rusqlite::Result<Vec<(JobId, JobId, Ends)>> {
    let mut select = conn.prepare_cached("select job, follower, ends from follower where shard = ?1")?;
    let read = |row: &rusqlite::Row<'_>| Ok((JobId(row.get(0)?), JobId(row.get(1)?), Ends(row.get(2)?)));
    select.query_map([shard.0], read)?.collect()
}

pub(super) fn outbox(conn: &Connection, shards: &[ShardId], limit: usize) -> rusqlite::Result<Vec<Letter>> {
    let mut select = conn.prepare_cached(
        "select id, to_shard, from_shard, body from outbox
         where to_shard in (select value from json_each(?1)) order by id limit ?2",
    )?;
    let shards = serde_json::Value::from(shards.iter().map(|shard| shard.0).collect::<Vec<_>>()).to_string();
    let mut rows = select.query(params![shards, limit as i64])?;
    let mut letters = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, to, from) = (MessageId(row.get(0)?), ShardId(row.get(1)?), ShardId(row.get(2)?));
        let body: String = row.get(3)?;
        letters.extend(message::decode(&body).map(|message| Letter { id, to, from, message }));
    }
    Ok(letters)
}
