//! Some servers on one database, and one agent that dials all of them: each a process that can be measured, killed and
//! started again by itself.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use wire::api::{AgentStateWord, ClusterView, JoinTokenBody};

use crate::database::Database;
use crate::measure;
use crate::product::{self, Product};

const SETTLES_WITHIN: Duration = Duration::from_secs(60);

pub(crate) struct Cluster {
    duly: PathBuf,
    dir: PathBuf,
    store: String,
    token: String,
    /// None while it is dead.
    servers: Vec<Option<Product>>,
    /// Where agents find each of them, whenever it was started.
    agent_ports: Vec<String>,
    agent: Option<Child>,
}

impl Cluster {
    /// A fresh installation; everything is owned and the agent is online everywhere.
    pub(crate) fn up(
        duly: &Path,
        dir: &Path,
        database: &Database,
        servers: usize,
        slots: u32,
    ) -> anyhow::Result<Cluster> {
        let store = database.address.clone();
        let token = product::set_up_in(duly, dir, &dir.join("setup"), &["--store", &store])?;
        let mut cluster = Cluster {
            duly: duly.into(),
            dir: dir.into(),
            store,
            token,
            servers: vec![],
            agent_ports: vec![],
            agent: None,
        };
        for n in 0..servers {
            cluster.servers.push(None);
            cluster.agent_ports.push(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string());
            cluster.start(n)?;
        }
        cluster.settle()?;
        cluster.join(slots)?;
        Ok(cluster)
    }

    /// One server, again on its own directory if it was there before.
    pub(crate) fn start(&mut self, n: usize) -> anyhow::Result<()> {
        let told = ["--store", &self.store, "--name", &name(n), "--agent-listen", &self.agent_ports[n]];
        let home = self.dir.join(name(n));
        std::fs::create_dir_all(home.join("data"))?;
        self.servers[n] = Some(Product::server_at(&self.duly, &home, self.token.clone(), "http://127.0.0.1:0", &told)?);
        Ok(())
    }

    pub(crate) fn kill(&mut self, n: usize) {
        self.servers[n] = None;
    }

    pub(crate) fn stop_agent(&mut self) {
        if let Some(mut agent) = self.agent.take() {
            let _ = agent.kill();
            let _ = agent.wait();
        }
    }

    /// One that lives.
    pub(crate) fn any(&self) -> anyhow::Result<&Product> {
        self.servers.iter().flatten().next().context("no server lives")
    }

    pub(crate) fn servers(&self) -> impl Iterator<Item = &Product> {
        self.servers.iter().flatten()
    }

    pub(crate) fn agent_pid(&self) -> anyhow::Result<i32> {
        Ok(self.agent.as_ref().context("there is no agent")?.id() as i32)
    }

    pub(crate) fn view(&self) -> anyhow::Result<ClusterView> {
        Ok(self.any()?.call(|client| async move { client.cluster().await })?.view)
    }

    pub(crate) fn id_of(&self, n: usize) -> anyhow::Result<i64> {
        let view = self.view()?;
        let found = view.servers.iter().find(|server| server.name == name(n));
        Ok(found.with_context(|| format!("{} is not known", name(n)))?.id)
    }

    /// Until all shards are spread evenly over those who live.
    pub(crate) fn settle(&self) -> anyhow::Result<()> {
        let living = self.servers().count();
        measure::wait_for("an even spread", SETTLES_WITHIN, || {
            let Ok(view) = self.view() else { return Ok(false) };
            let mut shares: Vec<usize> = Vec::new();
            for server in &view.servers {
                let share = view.shards.iter().filter(|shard| shard.server == Some(server.id)).count();
                shares.extend((share > 0).then_some(share));
            }
            let even = view.shards.len() / living;
            let is_owned = shares.iter().sum::<usize>() == view.shards.len();
            Ok(is_owned && shares.len() == living && shares.iter().all(|share| share.abs_diff(even) <= 1))
        })
    }

    fn join(&mut self, slots: u32) -> anyhow::Result<()> {
        let home = self.dir.join("agent");
        std::fs::create_dir_all(&home)?;
        let body = JoinTokenBody::default();
        let granted = self.any()?.call(|client| async move { client.join_token(&body).await })?;
        let token = home.join("join-token");
        std::fs::write(&token, &granted.token)?;
        let view = self.view()?;
        let log = std::fs::File::create(self.dir.join("agent.log"))?;
        let mut command = Command::new(&self.duly);
        command.args(["agent", "--name", "bench", "--log", "warn", "--slots", &slots.to_string(), "--data"]);
        command.arg(&home).arg("--join-token-file").arg(&token);
        command.args(view.servers.iter().flat_map(|server| ["--server", &server.agents]));
        self.agent = Some(command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?);
        self.wait_for_agent()
    }

    /// Each server gives orders itself.
    pub(crate) fn wait_for_agent(&self) -> anyhow::Result<()> {
        measure::wait_for("the agent", SETTLES_WITHIN, || {
            for server in self.servers() {
                let agents = server.call(|client| async move { client.agents().await })?;
                if !agents.items.iter().any(|agent| agent.state == AgentStateWord::Online) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop_agent();
    }
}

fn name(n: usize) -> String {
    format!("s{}", n + 1)
}
