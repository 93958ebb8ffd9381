//! The product as a stranger would run it: `duly setup`, `duly up`, jobs through the API. Gone when this is dropped,
//! with its agent and every task.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use client::{Client, Settings};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use tokio::runtime::Runtime;
use wire::api::{AgentStateWord, ApplyBody};
use wire::job::JobBody;

use crate::measure;

/// Jobs of one call.
const APPLY_MAX: usize = 5_000;

pub(crate) struct Product {
    server: Child,
    agent: Option<i32>,
    data: PathBuf,
    token: String,
    pub(crate) client: Client,
    runtime: Runtime,
}

/// Floors speak no TLS, and what is measured is beside them.
const LIKE_FLOORS: &str = "--agent-plain";

impl Product {
    /// A fresh installation with its local agent online.
    pub(crate) fn up(duly: &Path, dir: &Path, slots: u32) -> anyhow::Result<Product> {
        let token = set_up(duly, dir, &dir.join("data"))?;
        Product::up_again(duly, dir, token, slots)
    }

    /// The same on a data directory that is there.
    pub(crate) fn up_again(duly: &Path, dir: &Path, token: String, slots: u32) -> anyhow::Result<Product> {
        let server = spawn(duly, dir, &["up", "--slots", &slots.to_string(), LIKE_FLOORS])?;
        let mut product = Product::meet(server, dir.join("data"), token)?;
        measure::wait_for("the local agent", Duration::from_secs(30), || {
            let agents = product.call(|client| async move { client.agents().await })?;
            Ok(agents.items.iter().any(|agent| agent.state == AgentStateWord::Online))
        })?;
        let is_agent = |pid: &i32| measure::command_line(*pid).contains(" agent --data");
        product.agent = measure::children(product.server_pid()).into_iter().find(is_agent);
        anyhow::ensure!(product.agent.is_some(), "the local agent's process is not to be found");
        Ok(product)
    }

    /// A server alone on a data directory that is there.
    pub(crate) fn server(duly: &Path, dir: &Path, token: String) -> anyhow::Result<Product> {
        let server = spawn(duly, dir, &["server", LIKE_FLOORS])?;
        Product::meet(server, dir.join("data"), token)
    }

    /// The same at a given address, told more.
    pub(crate) fn server_at(
        duly: &Path,
        dir: &Path,
        token: String,
        url: &str,
        told: &[&str],
    ) -> anyhow::Result<Product> {
        let listen = url.trim_start_matches("http://");
        let server = spawn(duly, dir, &[&["server", "--listen", listen, LIKE_FLOORS], told].concat())?;
        Product::meet(server, dir.join("data"), token)
    }

    pub(crate) fn url(&self) -> String {
        std::fs::read_to_string(self.data.join("server-url")).unwrap_or_default()
    }

    fn meet(mut server: Child, data: PathBuf, token: String) -> anyhow::Result<Product> {
        let written = data.join("server-url");
        measure::wait_for("the server", Duration::from_secs(120), || {
            anyhow::ensure!(server.try_wait()?.is_none(), "the server ended; see {}", log_of(&data).display());
            Ok(written.exists())
        })?;
        let url = std::fs::read_to_string(&written)?;
        let client = Client::new(Settings::new(url, Some(token.clone())))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let product = Product { server, agent: None, data, token, client, runtime };
        measure::wait_for("readiness", Duration::from_secs(30), || {
            Ok(product.call(|client| async move { client.ready().await }).is_ok_and(|answer| answer.ready))
        })?;
        Ok(product)
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    pub(crate) fn server_pid(&self) -> i32 {
        self.server.id() as i32
    }

    pub(crate) fn agent_pid(&self) -> anyhow::Result<i32> {
        self.agent.context("this product runs without an agent")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.data.join(store::sqlite::FILE)
    }

    pub(crate) fn apply(&self, jobs: &[JobBody]) -> anyhow::Result<()> {
        for some in jobs.chunks(APPLY_MAX) {
            let body = ApplyBody { jobs: some.to_vec(), ..ApplyBody::default() };
            self.call(|client| async move { client.apply(&body).await })?;
        }
        Ok(())
    }

    /// One call of the API, waited for.
    pub(crate) fn call<T, E, F>(&self, ask: impl FnOnce(Client) -> F) -> anyhow::Result<T>
    where
        F: Future<Output = Result<T, E>>,
        E: Into<anyhow::Error>,
    {
        self.runtime.block_on(ask(self.client.clone())).map_err(Into::into)
    }
}

impl Drop for Product {
    fn drop(&mut self) {
        // Found while their parents live: tasks outlive an agent, and an agent its server.
        let below = measure::descendants(self.server_pid());
        let _ = self.server.kill();
        let _ = self.server.wait();
        let below: Vec<Pid> = below.into_iter().map(Pid::from_raw).collect();
        for pid in &below {
            let _ = kill(*pid, Signal::SIGKILL);
        }
        // Orphans come to us (see `adopt_orphans`); the next measurement begins when they are gone.
        let _ = measure::wait_for("the end of its processes", Duration::from_secs(10), || {
            for pid in &below {
                let _ = waitpid(*pid, Some(WaitPidFlag::WNOHANG));
            }
            Ok(below.iter().all(|pid| kill(*pid, None).is_err()))
        });
    }
}

/// Agents outlive their server and tasks their agent: whoever is left behind is ours to wait for.
pub(crate) fn adopt_orphans() {
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Gives back an API token.
pub(crate) fn set_up(duly: &Path, dir: &Path, data: &Path) -> anyhow::Result<String> {
    set_up_in(duly, dir, data, &[])
}

/// The same, told more.
pub(crate) fn set_up_in(duly: &Path, dir: &Path, data: &Path, told: &[&str]) -> anyhow::Result<String> {
    std::fs::create_dir_all(dir)?;
    let (password, token) = (dir.join("password"), dir.join("token"));
    std::fs::write(&password, "a bench is no secret")?;
    let setup = Command::new(duly)
        .args(["setup", "--admin", "ada", "--data"])
        .arg(data)
        .arg("--password-file")
        .arg(&password)
        .arg("--token-out")
        .arg(&token)
        .args(told)
        .output()
        .with_context(|| format!("cannot run {}", duly.display()))?;
    anyhow::ensure!(setup.status.success(), "setup failed: {}", String::from_utf8_lossy(&setup.stderr));
    Ok(std::fs::read_to_string(token)?.trim().to_string())
}

fn spawn(duly: &Path, dir: &Path, role: &[&str]) -> anyhow::Result<Child> {
    let data = dir.join("data");
    let _ = std::fs::remove_file(data.join("server-url"));
    let log = std::fs::OpenOptions::new().create(true).append(true).open(log_of(&data))?;
    let mut command = Command::new(duly);
    command.arg(role[0]).arg("--data").arg(&data).args(["--log", "warn"]);
    if !role.contains(&"--listen") {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    command.args(&role[1..]);
    Ok(command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?)
}

fn log_of(data: &Path) -> PathBuf {
    data.with_file_name("server.log")
}
