//! A PostgreSQL of the bench's own: Debian's programs, a fresh directory, a port on loopback, every sync done for real.
//! Both sides use the same one in turn, each with a database of its own. Gone when this is dropped.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Gid, Pid, Uid, User};
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{NoTls, Row};

use crate::measure;
use crate::runs::Window;

/// Room enough that no checkpoint falls into one side's span and not into the other's; everything else is as installed.
const SETTINGS: [&str; 6] = [
    "shared_buffers=512MB",
    "max_wal_size=4GB",
    "checkpoint_timeout=30min",
    "max_connections=60",
    "unix_socket_directories=",
    "listen_addresses=127.0.0.1",
];

pub(crate) struct Postgres {
    process: Child,
    dir: PathBuf,
    port: u16,
    runtime: Runtime,
}

/// One database, with the table its runs are in.
#[derive(Clone)]
pub(crate) struct Database {
    pub(crate) address: String,
    name: String,
    runs: &'static str,
}

/// Both have the columns by which runs are judged.
pub(crate) const OURS: &str = "duly.instance";
pub(crate) const FLOOR: &str = "run";

impl Postgres {
    pub(crate) fn start(dir: &Path) -> anyhow::Result<Postgres> {
        let programs = programs()?;
        let who = not_root()?;
        if let Some((uid, gid)) = who {
            nix::unistd::chown(dir, Some(uid), Some(gid))?;
        }
        let owned = |program: &str| {
            let mut command = Command::new(programs.join(program));
            if let Some((uid, gid)) = who {
                command.uid(uid.as_raw()).gid(gid.as_raw());
            }
            command.current_dir(dir).stdin(Stdio::null());
            command
        };
        let data = dir.join("data");
        let mut initdb = owned("initdb");
        initdb.args(["--auth=trust", "--username=duly", "--encoding=UTF8", "--locale=C.UTF-8", "-D"]).arg(&data);
        let made = initdb.output().with_context(|| {
            format!("cannot make a database in {}: its user must be allowed to get there", dir.display())
        })?;
        anyhow::ensure!(made.status.success(), "initdb failed: {}", String::from_utf8_lossy(&made.stderr));
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let log = std::fs::File::create(dir.join("log"))?;
        let mut command = owned("postgres");
        command.arg("-D").arg(&data).args(["-p", &port.to_string()]);
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        let process = command.stdout(log.try_clone()?).stderr(log).spawn()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let postgres = Postgres { process, dir: dir.into(), port, runtime };
        measure::wait_for("PostgreSQL", Duration::from_secs(30), || {
            Ok(postgres.ask("postgres", "select 1", &[]).is_ok())
        })
        .with_context(|| format!("see {}", dir.join("log").display()))?;
        Ok(postgres)
    }

    /// Empty, and everything written before is on the disk.
    pub(crate) fn fresh(&self, name: &str, runs: &'static str) -> anyhow::Result<Database> {
        self.ask("postgres", &format!("drop database if exists {name} with (force)"), &[])?;
        self.ask("postgres", "checkpoint", &[])?;
        self.ask("postgres", &format!("create database {name}"), &[])?;
        Ok(Database { address: self.address(name), name: name.into(), runs })
    }

    /// Processor seconds of all its processes, those that have ended included.
    pub(crate) fn cpu(&self) -> anyhow::Result<f64> {
        let first = self.process.id() as i32;
        let all = measure::children(first).into_iter().filter_map(|pid| measure::cpu(pid).ok());
        let first = measure::cpu(first)?;
        Ok(first.own + first.reaped + all.map(|child| child.own).sum::<f64>())
    }

    fn address(&self, database: &str) -> String {
        format!("postgres://duly@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    pub(crate) fn ask(&self, database: &str, text: &str, values: &[&(dyn ToSql + Sync)]) -> anyhow::Result<Vec<Row>> {
        self.runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&self.address(database), NoTls).await?;
            let connection = tokio::spawn(connection);
            let rows = client.query(text, values).await;
            drop(client);
            let _ = connection.await;
            Ok(rows?)
        })
    }

    /// Runs whose ending was written in the window.
    pub(crate) fn ended(&self, of: &Database, window: Window) -> anyhow::Result<f64> {
        let text = format!("select count(*) from {} where ended_at >= $1 and ended_at < $2", of.runs);
        let rows = self.ask(&of.name, &text, &[&window.from, &window.until])?;
        Ok(rows[0].get::<_, i64>(0) as f64)
    }

    /// From due to started, in microseconds, of all runs planned in the window, ascending; and how many had not started.
    pub(crate) fn lateness(&self, of: &Database, window: Window) -> anyhow::Result<(Vec<f64>, usize)> {
        let text =
            format!("select started_at - planned from {} where planned >= $1 and planned < $2 order by 1", of.runs);
        let rows = self.ask(&of.name, &text, &[&window.from, &window.until])?;
        let late: Vec<f64> = rows.iter().filter_map(|row| row.get::<_, Option<i64>>(0)).map(|us| us as f64).collect();
        let missing = rows.len() - late.len();
        Ok((late, missing))
    }

    /// For each job of these shards, when it started for the first time after an instant.
    pub(crate) fn first_starts(&self, of: &Database, shards: &[i64], after: i64) -> anyhow::Result<Vec<Option<i64>>> {
        let text = format!(
            "select min(started_at) filter (where started_at > $2) from {} where shard::int8 = any($1) group by job",
            of.runs
        );
        let rows = self.ask(&of.name, &text, &[&shards, &after])?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.process.id() as i32), Signal::SIGQUIT);
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// The newest that is installed.
fn programs() -> anyhow::Result<PathBuf> {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let numbered = installed.filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((number, entry.path().join("bin")))
    });
    let newest = numbered.filter(|(_, bin)| bin.join("initdb").exists()).max();
    let in_path = || std::env::split_paths(&std::env::var_os("PATH")?).find(|dir| dir.join("initdb").exists());
    newest.map(|(_, bin)| bin).or_else(in_path).context("PostgreSQL is not installed; `scripts/need tests` does that")
}

/// PostgreSQL refuses to run as root.
fn not_root() -> anyhow::Result<Option<(Uid, Gid)>> {
    if !Uid::effective().is_root() {
        return Ok(None);
    }
    let found = ["postgres", "nobody"].iter().find_map(|name| User::from_name(name).ok().flatten());
    let user = found.context("PostgreSQL refuses to run as root, and there is no user postgres")?;
    Ok(Some((user.uid, user.gid)))
}
