//! The agent around its session: the stream, the disk, the processes and the clocks.

mod agent;
mod backoff;
mod cgroup;
mod chain;
mod clock;
mod config;
mod dial;
mod hands;
mod http;
mod load;
mod logs;
mod own_places;
mod recover;
mod servers;
mod stream;
mod trust;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use agent::Agent;
pub use cgroup::Cgroups;
pub use config::{AgentConfig, AgentError, JoinToken, ServerAddress};
use dial::Dialer;
use hands::{Event, Hands, Tools};
use own_places::OwnPlaces;
use servers::Servers;

use crate::data::{DataDir, forget_older_than};
use crate::process::{self, Scripts, Watcher};
use crate::runners::{Runners, Shared, prepare_policy};

const SCRIPTS_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// Runs until `stop`. Tasks run on then, and the next agent on the same directory takes them up again.
pub async fn run(config: AgentConfig, stop: CancellationToken) -> Result<(), AgentError> {
    let data = Arc::new(DataDir::open(&config.data)?);
    let mut recovery = recover::recover(&data, config.spool)?;
    let config = Arc::new(config);
    let (events_sender, events) = unbounded_channel();
    let watcher = {
        let events = events_sender.clone();
        let tell = move |attempt, ending| drop(events.send(Event::Process { attempt, ending }));
        Watcher::new(tell).map_err(AgentError::io("watch processes"))?
    };
    for owned in std::mem::take(&mut recovery.watch) {
        watcher.watch(owned).map_err(AgentError::io("watch a running task"))?;
    }
    let leave = stop.child_token();
    let own = OwnPlaces::default();
    let cgroup = config.cgroups.find(data.root());
    let tools = Tools {
        starter: config.shim.clone(),
        runners: runners(&config, &data, cgroup.clone())?,
        watcher,
        http: http::Caller::new(config.policy.http.0.clone(), own.clone()),
        run_dir: data.run(),
        taken_dir: data.taken(),
        events: events_sender,
        runtime: tokio::runtime::Handle::current(),
        leave: leave.clone(),
    };
    let hands = Hands::new(tools).map_err(AgentError::io("start threads"))?;
    let address = config.seeds.first().cloned().ok_or(AgentError::NoServer)?;
    let dialer =
        Dialer { config: config.clone(), data: data.clone(), address, joining: Arc::default(), may_join: true };
    let servers = Servers::new(dialer.clone(), data.servers()?);
    let (logs, shipping) = logs::spawn(&dialer, leave.clone()).map_err(AgentError::io("watch the output of tasks"))?;
    let agent = Agent::new(&config, data, recovery, hands, events, logs, own);
    let result = agent.run(servers, stop).await;
    leave.cancel();
    // The directory is free for the next agent only when nobody of ours is in it.
    let _ = shipping.await;
    cgroup::leave(cgroup);
    result
}

fn runners(config: &AgentConfig, data: &DataDir, cgroup: Option<PathBuf>) -> Result<Runners, AgentError> {
    let work_dir = data.root().join("work");
    std::fs::create_dir_all(&work_dir).map_err(AgentError::io("make the directory tasks start in"))?;
    if let Err(error) = data.forget_scripts_older_than(SCRIPTS_KEPT) {
        tracing::warn!(%error, "cannot tidy up old scripts");
    }
    let open_files = process::raise_open_files();
    if let Err(error) = &open_files {
        tracing::warn!(%error, "cannot raise the limit of open files; that many tasks cannot be watched");
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let (policy, agent) = (config.policy.clone(), config.profile.name.clone());
    let shared = prepare_policy(&policy)?.map(|dir| {
        let scripts = dir.join("scripts");
        // It is made with the first script.
        let _ = forget_older_than(&scripts, SCRIPTS_KEPT);
        Shared { scripts: Scripts::new(scripts, path.clone()).for_others(), dir }
    });
    let scripts = Scripts::new(data.scripts(), path);
    Ok(Runners { scripts, work_dir, open_files: open_files.ok(), cgroup, policy, agent, shared })
}
