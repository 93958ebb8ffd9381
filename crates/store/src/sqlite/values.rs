//! Variables and secrets: written through the connection of access, read beside the writer.

use model::{TenantId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::access::SqliteAccess;
use crate::values::{PLATFORM, SealedSecret, UsingJob, Values, Variable};
use crate::{StoreError, json};

const SECRET: &str =
    "select tenant, name, folder, version, key_id, wrapped, sealed, changed_at, changed_by from secret";

impl Values for SqliteAccess {
    fn put_variable(&mut self, variable: &Variable) -> Result<(), StoreError> {
        let Variable { tenant, folder, name, value, changed_at, changed_by } = variable;
        self.write(
            "insert or replace into variable (tenant, folder, name, value, changed_at, changed_by)
             values (?1, ?2, ?3, ?4, ?5, ?6)",
            params![tenant.0, folder, name, value, changed_at.0, changed_by],
        )?;
        Ok(())
    }

    fn remove_variable(&mut self, tenant: TenantId, folder: &str, name: &str) -> Result<bool, StoreError> {
        let text = "delete from variable where tenant = ?1 and folder = ?2 and name = ?3";
        Ok(self.write(text, params![tenant.0, folder, name])? == 1)
    }

    fn put_secret(&mut self, secret: &SealedSecret) -> Result<bool, StoreError> {
        let text = match secret.version {
            1 => {
                "insert into secret (tenant, name, folder, version, key_id, wrapped, sealed, changed_at, changed_by)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) on conflict do nothing"
            }
            _ => {
                "update secret set folder = ?3, version = ?4, key_id = ?5, wrapped = ?6, sealed = ?7, changed_at = ?8,
                 changed_by = ?9 where tenant = ?1 and name = ?2 and version = ?4 - 1"
            }
        };
        let SealedSecret { tenant, name, folder, version, key_id, wrapped, sealed, changed_at, changed_by } = secret;
        let values = params![tenant.0, name, folder, version, key_id, wrapped, sealed, changed_at.0, changed_by];
        Ok(self.write(text, values)? == 1)
    }

    fn secret(&mut self, tenant: TenantId, name: &str) -> Result<Option<SealedSecret>, StoreError> {
        let text = format!("{SECRET} where tenant = ?1 and name = ?2");
        Ok(self.conn.prepare_cached(&text)?.query_row(params![tenant.0, name], secret).optional()?)
    }

    fn remove_secret(&mut self, tenant: TenantId, name: &str) -> Result<bool, StoreError> {
        Ok(self.write("delete from secret where tenant = ?1 and name = ?2", params![tenant.0, name])? == 1)
    }

    fn not_under(&mut self, key_id: &str, limit: usize) -> Result<Vec<SealedSecret>, StoreError> {
        let text = format!("{SECRET} where key_id <> ?1 order by tenant, name limit ?2");
        let mut select = self.conn.prepare_cached(&text)?;
        let rows = select.query_map(params![key_id, limit as i64], secret)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn rewrap(&mut self, secret: &SealedSecret, before: &str) -> Result<bool, StoreError> {
        let text = "update secret set key_id = ?4, wrapped = ?5
                    where tenant = ?1 and name = ?2 and version = ?3 and key_id = ?6";
        let SealedSecret { tenant, name, version, key_id, wrapped, .. } = secret;
        Ok(self.write(text, params![tenant.0, name, version, key_id, wrapped, before])? == 1)
    }
}

pub(super) fn variables(
    conn: &Connection,
    tenant: TenantId,
    names: Option<&[String]>,
) -> Result<Vec<Variable>, StoreError> {
    let text = "select tenant, folder, name, value, changed_at, changed_by from variable
                where tenant in (?1, ?2) and (?3 is null or name in (select value from json_each(?3)))
                order by name, tenant, folder";
    let mut select = conn.prepare_cached(text)?;
    let rows = select.query_map(params![PLATFORM.0, tenant.0, names.map(json::list)], |row| {
        Ok(Variable {
            tenant: TenantId(row.get(0)?),
            folder: row.get(1)?,
            name: row.get(2)?,
            value: row.get(3)?,
            changed_at: Timestamp(row.get(4)?),
            changed_by: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn secrets(
    conn: &Connection,
    tenant: TenantId,
    names: Option<&[String]>,
) -> Result<Vec<SealedSecret>, StoreError> {
    let text = format!(
        "{SECRET} where tenant = ?1 and (?2 is null or name in (select value from json_each(?2))) order by name"
    );
    let mut select = conn.prepare_cached(&text)?;
    let rows = select.query_map(params![tenant.0, names.map(json::list)], secret)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn using_jobs(conn: &Connection, tenant: TenantId) -> Result<Vec<UsingJob>, StoreError> {
    // Quotes inside of texts are escaped in a task: only one that has the key itself has these bytes.
    let text = "select job.name, job.folder, content.body from job join content on content.id = job.task
                where job.tenant = ?1 and job.removed_at is null and instr(content.body, ?2) > 0 order by job.name";
    let mut select = conn.prepare_cached(text)?;
    let rows = select.query_map(params![tenant.0, &b"\"uses\":"[..]], |row| {
        Ok(UsingJob { name: row.get(0)?, folder: row.get(1)?, task: row.get(2)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn secret(row: &Row) -> rusqlite::Result<SealedSecret> {
    Ok(SealedSecret {
        tenant: TenantId(row.get(0)?),
        name: row.get(1)?,
        folder: row.get(2)?,
        version: row.get(3)?,
        key_id: row.get(4)?,
        wrapped: row.get(5)?,
        sealed: row.get(6)?,
        changed_at: Timestamp(row.get(7)?),
        changed_by: row.get(8)?,
    })
}
