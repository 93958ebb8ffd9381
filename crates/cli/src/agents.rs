//! `duly agents …`, `duly pool …`, `duly join-token`, `duly limit …`

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use wire::Length;
use wire::api::{
    AgentKindWord, AgentPolicy, AgentStateWord, AgentView, JoinTokenBody, LimitBody, PoolBody, SharingBody,
};

use crate::Session;
use crate::failure::{Done, Failure, NOT_FOUND};
use crate::out::{Out, Tone};
use crate::table::{Rows, facts, plain, toned};

#[derive(Subcommand)]
pub enum AgentsCommand {
    /// List agents with their load.
    List,
    /// Show one agent at length.
    Show {
        /// Its name or number.
        agent: String,
    },
    /// Give an agent no new work; what runs there goes on.
    Drain { agent: String },
    /// Give a drained agent work again.
    Undrain { agent: String },
    /// Say which tenants use an agent besides its own; with neither option, nobody else.
    Share {
        agent: String,
        /// Every tenant.
        #[arg(long, conflicts_with = "tenants")]
        everyone: bool,
        /// These, separated by commas.
        #[arg(long, value_delimiter = ',')]
        tenants: Vec<String>,
    },
    /// Cut an agent off at once, whatever it runs: its identity is worth nothing any more.
    Revoke {
        agent: String,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
    },
    /// Forget an agent; it must join anew to come back.
    Remove {
        agent: String,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Subcommand)]
pub enum PoolCommand {
    /// List pools.
    List,
    /// Bound how many instances run in a pool at once, and list its executors.
    Set {
        name: String,
        /// A number, or `none` for no bound.
        #[arg(long, value_parser = bound)]
        limit: Option<Bound>,
        /// An executor of the pool, instead of those that register by themselves; may be given again, in their order.
        #[arg(long = "address")]
        addresses: Vec<String>,
        /// Forget the list: executors register by themselves again.
        #[arg(long, conflicts_with = "addresses")]
        automatic: bool,
    },
    /// Delete a pool's bounds.
    Delete {
        name: String,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Subcommand)]
pub enum LimitCommand {
    Show,
    Set {
        /// A number, or `none` for no bound.
        #[arg(value_parser = bound)]
        limit: Bound,
    },
}

/// A number that may be none; clap would take an `Option` for an absent argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound(pub(crate) Option<u32>);

pub(crate) fn bound(text: &str) -> Result<Bound, String> {
    match text {
        "none" => Ok(Bound(None)),
        _ => text.parse().map(|n| Bound(Some(n))).map_err(|_| "write a number, or none".into()),
    }
}

#[derive(Args)]
pub struct JoinTokenArgs {
    /// A pool the agent may be in; may be given again.
    #[arg(long = "pool")]
    pools: Vec<String>,
    /// A label the agent gets, as key=value; may be given again.
    #[arg(long = "label", value_parser = label)]
    labels: Vec<(String, String)>,
    /// How long the token works.
    #[arg(long)]
    expires_in: Option<Length>,
    /// The agent takes runs of every tenant.
    #[arg(long, conflicts_with = "tenants")]
    shared: bool,
    /// The agent takes runs of these tenants too; separated by commas.
    #[arg(long, value_delimiter = ',')]
    tenants: Vec<String>,
}

fn label(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    pair.map(|(key, value)| (key.into(), value.into())).ok_or_else(|| "write it as key=value".into())
}

impl Session<'_> {
    pub(crate) async fn agents(&self, command: AgentsCommand) -> Done {
        match command {
            AgentsCommand::List => {
                let page = self.client.agents().await?;
                self.out.answer(&page.raw, || listed(&page.items, self.out));
                Ok(())
            }
            AgentsCommand::Show { agent } => {
                let agent = self.client.agent(self.find(&agent).await?).await?;
                self.out.answer(&agent.raw, || shown(&agent, self.out));
                Ok(())
            }
            AgentsCommand::Drain { agent } => {
                let agent = self.client.drain(self.find(&agent).await?).await?;
                self.out.answer(&agent.raw, || format!("{} gets no new work.\n", agent.name));
                Ok(())
            }
            AgentsCommand::Undrain { agent } => {
                let agent = self.client.undrain(self.find(&agent).await?).await?;
                self.out.answer(&agent.raw, || format!("{} gets work again.\n", agent.name));
                Ok(())
            }
            AgentsCommand::Share { agent, everyone, tenants } => {
                let body = SharingBody { everyone, tenants };
                let view = self.client.share_agent(self.find(&agent).await?, &body).await?;
                self.out.answer(&view.raw, || match (body.everyone, body.tenants.is_empty()) {
                    (true, _) => format!("{} takes runs of every tenant.\n", view.name),
                    (false, true) => format!("{} takes runs of its own tenant only.\n", view.name),
                    (false, false) => format!("{} takes runs of {} too.\n", view.name, body.tenants.join(", ")),
                });
                Ok(())
            }
            AgentsCommand::Revoke { agent, yes } => {
                let id = self.find(&agent).await?;
                let asked = format!("Cut agent {agent} off? What it runs now will count as lost.");
                if self.out.consent(&asked, yes)? {
                    self.client.revoke_agent(id).await?;
                    self.out.done(&format!("Revoked {agent}."));
                    self.out.note("What it ran is held as uncertain, and counts as lost in its time: `duly why ID`.");
                }
                Ok(())
            }
            AgentsCommand::Remove { agent, yes } => {
                let id = self.find(&agent).await?;
                if self.out.consent(&format!("Forget agent {agent}?"), yes)? {
                    self.client.remove_agent(id).await?;
                    self.out.done(&format!("Forgot {agent}."));
                }
                Ok(())
            }
        }
    }

    /// An agent by number, or by name if exactly one has it.
    async fn find(&self, agent: &str) -> Result<i64, Failure> {
        if let Ok(id) = agent.parse() {
            return Ok(id);
        }
        let agents = self.client.agents().await?;
        let named: Vec<i64> = agents.items.iter().filter(|known| known.name == agent).map(|known| known.id).collect();
        match named.as_slice() {
            [id] => Ok(*id),
            [] => Err(Failure::new(wire::Code::NoSuchAgent, format!("no agent is named {agent}"), NOT_FOUND)),
            many => {
                let what = format!("{} agents are named {agent}; use the number: {many:?}", many.len());
                Err(Failure::usage(wire::Code::BadArgument, what))
            }
        }
    }

    pub(crate) async fn pool(&self, command: PoolCommand) -> Done {
        match command {
            PoolCommand::List => {
                let page = self.client.pools().await?;
                self.out.answer(&page.raw, || {
                    let mut rows = Rows::new(self.out, &["NAME", "LIMIT", "AGENTS", "ONLINE", "SLOTS", "LISTED"]);
                    for pool in &page.items {
                        rows.add(vec![
                            plain(&pool.name),
                            plain(told(pool.limit)),
                            plain(pool.agents),
                            plain(pool.online),
                            plain(pool.slots),
                            plain(pool.addresses.join(" ")),
                        ]);
                    }
                    rows.show("no pools")
                });
                Ok(())
            }
            PoolCommand::Set { name, limit, addresses, automatic } => {
                // What is not said stays as it is.
                let now = self.client.pools().await?.items.iter().find(|pool| pool.name == name).cloned();
                let limit = limit.map_or_else(|| now.as_ref().and_then(|pool| pool.limit), |limit| limit.0);
                let kept = now.filter(|_| addresses.is_empty() && !automatic).map(|pool| pool.addresses);
                let addresses = kept.unwrap_or(addresses);
                let pool = self.client.put_pool(&name, &PoolBody { limit, addresses }).await?;
                self.out.answer(&pool.raw, || {
                    let listed = match pool.addresses.len() {
                        0 => String::new(),
                        count => format!(" Its executors are the {count} listed ones."),
                    };
                    format!("Pool {} runs {} at once.{listed}\n", pool.name, told(pool.limit))
                });
                Ok(())
            }
            PoolCommand::Delete { name, yes } => {
                if self.out.consent(&format!("Delete pool {name}?"), yes)? {
                    self.client.delete_pool(&name).await?;
                    self.out.done(&format!("Deleted pool {name}."));
                }
                Ok(())
            }
        }
    }

    pub(crate) async fn limit(&self, command: LimitCommand) -> Done {
        let limit = match command {
            LimitCommand::Show => self.client.limit().await?,
            LimitCommand::Set { limit } => self.client.put_limit(&LimitBody { limit: limit.0 }).await?,
        };
        self.out.answer(&limit.raw, || format!("This installation runs {} at once.\n", told(limit.limit)));
        Ok(())
    }

    pub(crate) async fn join_token(&self, args: JoinTokenArgs) -> Done {
        let body = JoinTokenBody {
            pools: args.pools,
            labels: args.labels.into_iter().collect(),
            expires_in: args.expires_in,
            sharing: SharingBody { everyone: args.shared, tenants: args.tenants },
        };
        let token = self.client.join_token(&body).await?;
        self.out.answer(&token.raw, || format!("{}\n", token.token));
        self.out.note(&format!("It works once, until {}.", self.out.time(Some(token.expires_at))));
        Ok(())
    }
}

fn told(limit: Option<u32>) -> String {
    limit.map_or("any number".into(), |limit| limit.to_string())
}

fn state(agent: &AgentView) -> (Tone, &'static str) {
    match (agent.state, agent.drained) {
        (AgentStateWord::Online, false) => (Tone::Good, "online"),
        (AgentStateWord::Online, true) => (Tone::Warn, "drained"),
        (AgentStateWord::Silent, false) => (Tone::Bad, "silent"),
        (AgentStateWord::Silent, true) => (Tone::Faint, "silent, drained"),
    }
}

/// An executor has no slots to tell of.
fn running(agent: &AgentView) -> String {
    match (agent.kind, agent.load) {
        (AgentKindWord::Executor, _) => "-".into(),
        (AgentKindWord::Agent, None) => format!("-/{}", agent.slots),
        (AgentKindWord::Agent, Some(load)) => format!("{}/{}", load.running, agent.slots),
    }
}

fn listed(agents: &[AgentView], out: &Out) -> String {
    let mut rows =
        Rows::new(out, &["ID", "NAME", "STATE", "POOLS", "RUNNING", "CPU", "MEM", "DISK", "SEEN", "VERSION"]);
    for agent in agents {
        let (tone, word) = state(agent);
        let percent = |value: Option<f32>| value.map_or("-".into(), |value| format!("{value:.0}%"));
        let load = agent.load;
        rows.add(vec![
            plain(agent.id),
            plain(&agent.name),
            toned(tone, word),
            plain(agent.pools.join(",")),
            plain(running(agent)),
            plain(percent(load.map(|load| load.cpu_percent))),
            plain(percent(load.map(|load| load.memory_percent))),
            plain(percent(load.map(|load| load.disk_percent))),
            plain(out.time(agent.seen_at)),
            plain(&agent.version),
        ]);
    }
    rows.show("no agents; `duly join-token` makes a token with which one joins")
}

fn shown(agent: &AgentView, out: &Out) -> String {
    let labels: Vec<String> = agent.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    facts(&[
        ("id", agent.id.to_string()),
        ("name", agent.name.clone()),
        ("state", state(agent).1.into()),
        ("pools", agent.pools.join(", ")),
        ("labels", labels.join(", ")),
        ("slots", if agent.kind == AgentKindWord::Executor { String::new() } else { agent.slots.to_string() }),
        ("running", agent.load.map(|load| load.running.to_string()).unwrap_or_default()),
        ("version", agent.version.clone()),
        ("joined", out.time(Some(agent.joined_at))),
        ("seen", out.time(agent.seen_at)),
        ("shared with", agent.sharing.as_ref().map(sharing).unwrap_or_default()),
    ]) + &agent.policy.as_ref().map(policy).unwrap_or_default()
}

/// What its machine lets tasks do.
fn sharing(sharing: &SharingBody) -> String {
    match (sharing.everyone, sharing.tenants.as_slice()) {
        (true, _) => "every tenant".into(),
        (false, []) => "nobody".into(),
        (false, tenants) => tenants.join(", "),
    }
}

fn policy(policy: &AgentPolicy) -> String {
    let list = |list: &Option<Vec<String>>, any: &str| list.as_ref().map_or(any.to_string(), |list| list.join(", "));
    let of = |map: &BTreeMap<String, String>, what: &str| {
        map.iter().map(|(name, user)| format!("{user} {what} {name}")).collect::<Vec<_>>()
    };
    let mut run_as = vec![match (&policy.run_as, policy.as_root) {
        (Some(user), _) => user.clone(),
        (None, true) => "root, as the agent does".into(),
        (None, false) => "the agent's own user".into(),
    }];
    run_as.extend(of(&policy.run_as_in_pools, "in pool"));
    run_as.extend(of(&policy.run_as_of_tenants, "for tenant"));
    run_as.extend(policy.users.iter().map(|user| format!("{user} where a job says so")));
    facts(&[
        ("policy", policy.file.clone().unwrap_or("none".into())),
        ("runs", policy.tasks.join(", ")),
        ("run as", run_as.join(", ")),
        ("starts in", list(&policy.directories, "any directory")),
        ("programs", list(&policy.programs, "any")),
        ("env set", list(&policy.env_set, "any that loads no code")),
        ("env passed", list(&policy.env_pass, "any that loads no code")),
        ("private nets", if policy.private_networks { "called, if the tenant may" } else { "not called" }.into()),
    ])
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn agents_are_listed_with_their_load() {
        let agents: Vec<AgentView> = serde_json::from_str(
            r#"[{"id":1,"name":"box-1","state":"online","drained":false,"pools":["default","etl"],"labels":{},"slots":64,"version":"0.1.0",
                 "joined_at":"2026-11-14T10:00:00Z","seen_at":"2026-11-15T09:59:58Z","load":{"cpu_percent":12.4,"memory_percent":50.0,"disk_percent":7.0,"running":3}},
                {"id":2,"name":"box-2","state":"silent","drained":true,"pools":["default"],"labels":{},"slots":8,"version":"0.1.0",
                 "joined_at":"2026-11-14T10:00:00Z","seen_at":null,"load":null}]"#,
        )
        .unwrap();
        expect![[r#"
            ID  NAME   STATE            POOLS        RUNNING  CPU  MEM  DISK  SEEN                           VERSION
            1   box-1  online           default,etl  3/64     12%  50%  7%    2s ago (2026-11-15 09:59:58Z)  0.1.0
            2   box-2  silent, drained  default      -/8      -    -    -     -                              0.1.0
        "#]]
        .assert_eq(&listed(&agents, &Out::plain("2026-11-15T10:00:00Z")));
    }

    #[test]
    fn a_policy_says_as_whom_tasks_run() {
        let said = |told: &str| {
            let said = policy(&serde_json::from_str(told).unwrap());
            said.lines().find_map(|line| line.strip_prefix("run as")).unwrap().trim().to_string()
        };
        assert_eq!(said("{}"), "the agent's own user");
        assert_eq!(said(r#"{"as_root":true}"#), "root, as the agent does");
        let some = r#"{"as_root":true,"run_as":"batch","run_as_in_pools":{"etl":"etl"},"users":["report"]}"#;
        assert_eq!(said(some), "batch, etl in pool etl, report where a job says so");
    }

    #[test]
    fn no_bound_is_said_aloud() {
        assert_eq!(bound("none"), Ok(Bound(None)));
        assert_eq!(bound("5"), Ok(Bound(Some(5))));
        assert!(bound("-1").is_err() && bound("").is_err());
    }
}
