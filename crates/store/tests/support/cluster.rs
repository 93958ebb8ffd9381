//! A PostgreSQL of our own for the tests: made once for a test program in a directory of its own, on a socket, with
//! every sync it would do for real; gone with the program, however that ends. Each test gets a fresh database.

#![allow(dead_code)] // Each program uses what it needs of it.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::unistd::{Gid, Uid, User};

/// Waits for our end of its pipe to close, then takes everything away.
const KEEPER: &str = r#"
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c max_connections=100 -c shared_buffers=64MB \
    >>"$2/log" 2>&1 </dev/null & echo $! > "$2/pid"
while read -r _; do :; done
kill -QUIT "$(cat "$2/pid")"; wait; rm -rf "$2"
"#;

pub(crate) struct Cluster {
    pub(crate) dir: PathBuf,
    /// Ends with us, and the cluster with it.
    _keeper: Child,
}

pub(crate) struct Database {
    pub(crate) address: String,
}

impl Cluster {
    /// A cluster of a test's own, if it is to be ill-treated.
    pub(crate) fn start() -> Cluster {
        let programs = programs();
        let dir = tempfile::Builder::new().prefix("duly-pg-").tempdir().unwrap().keep();
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();
        let who = not_root();
        if let Some((uid, gid)) = who {
            nix::unistd::chown(&dir, Some(uid), Some(gid)).unwrap();
        }
        let as_owner = |mut command: Command| {
            if let Some((uid, gid)) = who {
                command.uid(uid.as_raw()).gid(gid.as_raw());
            }
            command.current_dir(&dir);
            command
        };
        let mut initdb = as_owner(Command::new(programs.join("initdb")));
        let made = initdb
            .args(["--auth=trust", "--username=duly", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "-D"])
            .arg(dir.join("data"))
            .output()
            .expect("initdb runs; scripts/need installs it");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut sh = as_owner(Command::new("sh"));
        let keeper = sh.args(["-c", KEEPER, "keeper"]).arg(&programs).arg(&dir).stdin(Stdio::piped()).spawn().unwrap();
        let cluster = Cluster { dir, _keeper: keeper };
        let end = Instant::now() + Duration::from_secs(60);
        while let Err(error) = cluster.try_run("postgres", "select 1") {
            let log = || std::fs::read_to_string(cluster.dir.join("log")).unwrap_or_default();
            assert!(Instant::now() < end, "PostgreSQL does not answer: {error}\n{}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
        cluster
    }

    fn shared() -> &'static Cluster {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(Cluster::start)
    }

    pub(crate) fn address(&self, database: &str) -> String {
        let socket = self.dir.to_str().unwrap().replace('/', "%2F");
        format!("postgres://duly@{socket}/{database}")
    }

    pub(crate) fn database(&self) -> Database {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.try_run("postgres", &format!("create database {name}")).unwrap();
        Database { address: self.address(&name) }
    }

    fn try_run(&self, database: &str, text: &str) -> Result<u64, tokio_postgres::Error> {
        run(&self.address(database), text)
    }
}

impl Database {
    pub(crate) fn fresh() -> Database {
        Cluster::shared().database()
    }

    /// How many rows the statement touched.
    pub(crate) fn run(&self, text: &str) -> u64 {
        run(&self.address, text).unwrap()
    }

    /// Several statements, one after the other.
    pub(crate) fn script(&self, text: &str) {
        connected(&self.address, async |client| client.batch_execute(text).await).unwrap();
    }

    /// The first column of what the query finds.
    pub(crate) fn texts(&self, query: &str) -> Vec<String> {
        let rows = connected(&self.address, async |client| client.query(query, &[]).await).unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }
}

fn run(address: &str, text: &str) -> Result<u64, tokio_postgres::Error> {
    connected(address, async |client| client.execute(text, &[]).await)
}

pub(crate) fn connected<T>(
    address: &str,
    ask: impl AsyncFnOnce(&tokio_postgres::Client) -> Result<T, tokio_postgres::Error>,
) -> Result<T, tokio_postgres::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(address, tokio_postgres::NoTls).await?;
        let connection = tokio::spawn(connection);
        let done = ask(&client).await;
        drop(client);
        let _ = connection.await;
        done
    })
}

/// The newest that is installed.
fn programs() -> PathBuf {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = installed
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, bin)| bin.join("initdb").exists())
        .collect();
    found.sort();
    let in_path = || std::env::split_paths(&std::env::var_os("PATH")?).find(|dir| dir.join("initdb").exists());
    found.pop().map(|(_, bin)| bin).or_else(in_path).expect("PostgreSQL is installed; scripts/need does that")
}

/// PostgreSQL refuses to run as root.
fn not_root() -> Option<(Uid, Gid)> {
    if !Uid::effective().is_root() {
        return None;
    }
    let found = ["postgres", "nobody"].iter().find_map(|name| User::from_name(name).ok().flatten());
    found.map(|user| (user.uid, user.gid))
}

impl Cluster {
    /// CPU time of all its processes, those that have ended included.
    pub(crate) fn cpu(&self) -> Duration {
        let first = self.first();
        let children = std::fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap_or_default();
        let ticks = |pid: &str| -> u64 {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let after_name = stat.rsplit(')').next().unwrap_or_default().to_string();
            after_name.split_whitespace().skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum()
        };
        let all = children.split_whitespace().map(ticks).sum::<u64>() + ticks(&first.to_string());
        Duration::from_millis(all * 10)
    }

    fn first(&self) -> i32 {
        std::fs::read_to_string(self.dir.join("pid")).unwrap().trim().parse().unwrap()
    }

    /// As when a process of the database crashes: all others are ended at once, and the log is replayed.
    pub(crate) fn kill_a_backend(&self) {
        let first = self.first();
        let children = std::fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap_or_default();
        for pid in children.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()) {
            let title = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if title.contains("duly") {
                let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
            }
        }
    }
}
