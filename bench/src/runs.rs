//! Reads what became of runs, from the rows the product or the floor wrote. Both name the columns alike, so one query
//! judges both; asked once the writer is gone or idle, so that reading disturbs nothing.

use std::path::Path;

use rusqlite::Connection;

/// A stretch of time, from and until, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) from: i64,
    pub(crate) until: i64,
}

impl Window {
    pub(crate) fn seconds(self) -> f64 {
        (self.until - self.from) as f64 / 1e6
    }
}

pub(crate) struct Runs {
    conn: Connection,
    tables: Vec<String>,
}

impl Runs {
    pub(crate) fn open(database: &Path) -> anyhow::Result<Runs> {
        let conn = Connection::open(database)?;
        conn.busy_timeout(std::time::Duration::from_secs(10))?;
        let tables = {
            let named =
                "select name from sqlite_master where type = 'table' and (name = 'run' or name glob 'instance_d*')";
            let mut select = conn.prepare(named)?;
            select.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?
        };
        Ok(Runs { conn, tables })
    }

    /// Runs whose ending was written in the window.
    pub(crate) fn ended(&self, window: Window) -> anyhow::Result<f64> {
        let counted = "select count(*) from {} where ended_at >= ?1 and ended_at < ?2";
        Ok(self.sum(counted, [window.from, window.until])? as f64)
    }

    /// Runs planned in the window, and how many of them have started.
    pub(crate) fn planned(&self, window: Window) -> anyhow::Result<(i64, i64)> {
        let all = "select count(*) from {} where planned >= ?1 and planned < ?2";
        let started = "select count(started_at) from {} where planned >= ?1 and planned < ?2";
        let bounds = [window.from, window.until];
        Ok((self.sum(all, bounds)?, self.sum(started, bounds)?))
    }

    /// From due to started, in microseconds, of all runs planned in the window, ascending.
    pub(crate) fn lateness(&self, window: Window) -> anyhow::Result<Vec<f64>> {
        let mut late = Vec::new();
        for table in &self.tables {
            let sql = "select started_at - planned from {} where planned >= ?1 and planned < ?2 and started_at > 0";
            let mut select = self.conn.prepare(&sql.replace("{}", table))?;
            let rows = select.query_map([window.from, window.until], |row| row.get::<_, i64>(0))?;
            for row in rows {
                late.push(row? as f64);
            }
        }
        late.sort_by(f64::total_cmp);
        Ok(late)
    }

    /// The same of one tenant's runs only.
    pub(crate) fn lateness_of(&self, tenant: i64, window: Window) -> anyhow::Result<Vec<f64>> {
        let mut late = Vec::new();
        for table in &self.tables {
            let sql = "select started_at - planned from {} where tenant = ?1 and planned >= ?2 and planned < ?3
                and started_at > 0";
            let mut select = self.conn.prepare(&sql.replace("{}", table))?;
            let rows = select.query_map([tenant, window.from, window.until], |row| row.get::<_, i64>(0))?;
            for row in rows {
                late.push(row? as f64);
            }
        }
        late.sort_by(f64::total_cmp);
        Ok(late)
    }

    /// How many of a tenant's runs have ended, and when the last of them did.
    pub(crate) fn ended_of(&self, tenant: i64) -> anyhow::Result<(i64, i64)> {
        let counted = self.sum("select count(ended_at) from {} where tenant = ?1 and ?2 = 0", [tenant, 0])?;
        let last = self.sum("select coalesce(max(ended_at), 0) from {} where tenant = ?1 and ?2 = 0", [tenant, 0])?;
        Ok((counted, last))
    }

    /// Bytes of table and index for each row.
    pub(crate) fn bytes_per_row(&self) -> anyhow::Result<f64> {
        let pages = "select sum(pgsize) from dbstat where aggregate = true and name in
            (select name from sqlite_master where tbl_name = '{}') and ?1 = ?2";
        let rows = self.sum("select count(*) from {} where ?1 = ?2", [0, 0])?;
        Ok(self.sum(pages, [0, 0])? as f64 / rows.max(1) as f64)
    }

    fn sum(&self, sql: &str, bounds: [i64; 2]) -> anyhow::Result<i64> {
        let count = |table: &String| self.conn.query_row(&sql.replace("{}", table), bounds, |row| row.get::<_, i64>(0));
        self.tables.iter().map(|table| Ok(count(table)?)).sum()
    }
}

/// The value below which this share of an ascending list lies.
pub(crate) fn quantile(ascending: &[f64], share: f64) -> f64 {
    let last = ascending.len().saturating_sub(1) as f64;
    ascending.get((last * share).round() as usize).copied().unwrap_or(f64::NAN)
}
