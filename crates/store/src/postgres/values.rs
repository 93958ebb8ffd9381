//! Variables and secrets: written through the connection of access, read beside the writers.

use model::{TenantId, Timestamp};
use tokio_postgres::Row;

use super::access::PgAccess;
use super::conn::Conn;
use super::error::Fault;
use crate::StoreError;
use crate::values::{PLATFORM, SealedSecret, UsingJob, Values, Variable};

const SECRET: &str =
    "select tenant, name, folder, version, key_id, wrapped, sealed, changed_at, changed_by from secret";

impl Values for PgAccess {
    fn put_variable(&mut self, variable: &Variable) -> Result<(), StoreError> {
        let Variable { tenant, folder, name, value, changed_at, changed_by } = variable;
        self.write(
            "insert into variable (tenant, folder, name, value, changed_at, changed_by) values ($1, $2, $3, $4, $5, $6)
             on conflict (tenant, name, folder) do update set
                value = excluded.value, changed_at = excluded.changed_at, changed_by = excluded.changed_by",
            &[&tenant.0, folder, name, value, &changed_at.0, changed_by],
        )?;
        Ok(())
    }

    fn remove_variable(&mut self, tenant: TenantId, folder: &str, name: &str) -> Result<bool, StoreError> {
        let text = "delete from variable where tenant = $1 and folder = $2 and name = $3 returning 1";
        Ok(self.write_once(text, &[&tenant.0, &folder, &name])?.is_some())
    }

    fn put_secret(&mut self, secret: &SealedSecret) -> Result<bool, StoreError> {
        let text = match secret.version {
            1 => {
                "insert into secret (tenant, name, folder, version, key_id, wrapped, sealed, changed_at, changed_by)
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing returning 1"
            }
            _ => {
                "update secret set folder = $3, version = $4, key_id = $5, wrapped = $6, sealed = $7, changed_at = $8,
                 changed_by = $9 where tenant = $1 and name = $2 and version = $4::int8 - 1 returning 1"
            }
        };
        let SealedSecret { tenant, name, folder, version, key_id, wrapped, sealed, changed_at, changed_by } = secret;
        let values: super::access::Values =
            &[&tenant.0, name, folder, version, key_id, wrapped, sealed, &changed_at.0, changed_by];
        Ok(self.write_once(text, values)?.is_some())
    }

    fn secret(&mut self, tenant: TenantId, name: &str) -> Result<Option<SealedSecret>, StoreError> {
        let text = format!("{SECRET} where tenant = $1 and name = $2");
        Ok(self.all(&text, &[&tenant.0, &name], secret)?.pop())
    }

    fn remove_secret(&mut self, tenant: TenantId, name: &str) -> Result<bool, StoreError> {
        let text = "delete from secret where tenant = $1 and name = $2 returning 1";
        Ok(self.write_once(text, &[&tenant.0, &name])?.is_some())
    }

    fn not_under(&mut self, key_id: &str, limit: usize) -> Result<Vec<SealedSecret>, StoreError> {
        let text = format!("{SECRET} where key_id <> $1 order by tenant, name limit $2");
        self.all(&text, &[&key_id, &(limit as i64)], secret)
    }

    fn rewrap(&mut self, secret: &SealedSecret, before: &str) -> Result<bool, StoreError> {
        let text = "update secret set key_id = $4, wrapped = $5
                    where tenant = $1 and name = $2 and version = $3 and key_id = $6 returning 1";
        let SealedSecret { tenant, name, version, key_id, wrapped, .. } = secret;
        Ok(self.write_once(text, &[&tenant.0, name, version, key_id, wrapped, &before])?.is_some())
    }
}

pub(super) async fn variables(conn: &Conn, tenant: TenantId, names: Option<&[String]>) -> Result<Vec<Variable>, Fault> {
    let text = "select tenant, folder, name, value, changed_at, changed_by from variable
                where tenant in ($1, $2) and ($3::text[] is null or name = any($3)) order by name, tenant, folder";
    let rows = conn.query(text, &[&PLATFORM.0, &tenant.0, &names]).await?;
    let variable = |row: &Row| Variable {
        tenant: TenantId(row.get(0)),
        folder: row.get(1),
        name: row.get(2),
        value: row.get(3),
        changed_at: Timestamp(row.get(4)),
        changed_by: row.get(5),
    };
    Ok(rows.iter().map(variable).collect())
}

pub(super) async fn secrets(
    conn: &Conn,
    tenant: TenantId,
    names: Option<&[String]>,
) -> Result<Vec<SealedSecret>, Fault> {
    let text = format!("{SECRET} where tenant = $1 and ($2::text[] is null or name = any($2)) order by name");
    Ok(conn.query(&text, &[&tenant.0, &names]).await?.iter().map(secret).collect())
}

pub(super) async fn using_jobs(conn: &Conn, tenant: TenantId) -> Result<Vec<UsingJob>, Fault> {
    // Quotes inside of texts are escaped in a task: only one that has the key itself has these bytes.
    let text = "select job.name, job.folder, content.body from job join content on content.id = job.task
                where job.tenant = $1 and job.removed_at is null and position($2::bytea in content.body) > 0
                order by job.name collate \"C\"";
    let rows = conn.query(text, &[&tenant.0, &&b"\"uses\":"[..]]).await?;
    Ok(rows.iter().map(|row| UsingJob { name: row.get(0), folder: row.get(1), task: row.get(2) }).collect())
}

fn secret(row: &Row) -> SealedSecret {
    SealedSecret {
        tenant: TenantId(row.get(0)),
        name: row.get(1),
        folder: row.get(2),
        version: row.get(3),
        key_id: row.get(4),
        wrapped: row.get(5),
        sealed: row.get(6),
        changed_at: Timestamp(row.get(7)),
        changed_by: row.get(8),
    }
}
