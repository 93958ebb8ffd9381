//! `duly instance …`

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use wire::api::{CauseView, CauseWord, InstanceQuery, InstanceView, PlacingView, ReplayBody, ResolveBody, ResolveWord};
use wire::job::{RouteForm, RouteMap};
use wire::{Code, Time};

use crate::Session;
use crate::failure::{Done, ENDED_BADLY, Failure};
use crate::moment::Moment;
use crate::out::{Out, length, spinner};
use crate::table::{Rows, facts, plain, state_cell};

#[derive(Subcommand)]
pub enum InstanceCommand {
    /// List instances, newest planned time first.
    List {
        /// Of this job only.
        #[arg(long)]
        job: Option<String>,
        /// Shares of this broadcast.
        #[arg(long)]
        parent: Option<i64>,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Show one instance at length.
    Show { id: i64 },
    /// List the attempts of an instance.
    Attempts { id: i64 },
    /// Stop an instance: nothing further starts, its whole process tree is ended.
    Stop {
        id: i64,
        /// Wait until it is gone.
        #[arg(short, long)]
        wait: bool,
    },
    /// Start an ended instance again, with the same planned time and parameters.
    Rerun {
        id: i64,
        /// Wait for its end; exit 7 if it does not end well.
        #[arg(short, long)]
        wait: bool,
    },
    /// Start dead letters again.
    Replay(ReplayArgs),
    /// Say what became of an attempt whose agent cannot be asked.
    Resolve { id: i64, verdict: VerdictArg },
}

#[derive(Args)]
pub struct FilterArgs {
    /// States with commas between; `open` and `ended` stand for all of their kind.
    #[arg(long)]
    state: Option<String>,
    /// With the agent of this number.
    #[arg(long)]
    agent: Option<i64>,
    /// What made them: planned, misfire, manual, after or shard.
    #[arg(long, value_parser = read_cause)]
    cause: Option<CauseWord>,
    /// Of jobs in this folder and those below it.
    #[arg(long)]
    folder: Option<String>,
    /// Of jobs with this label: key=value.
    #[arg(long)]
    label: Option<String>,
    /// Planned at or after: an instant, or how long ago (2h).
    #[arg(long)]
    from: Option<Moment>,
    /// Planned before.
    #[arg(long)]
    to: Option<Moment>,
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: Option<u32>,
    /// Where to go on, from the page before.
    #[arg(long)]
    cursor: Option<String>,
}

#[derive(Args)]
pub struct ReplayArgs {
    /// These instances only.
    ids: Vec<i64>,
    /// All dead letters of this job.
    #[arg(long)]
    job: Option<String>,
    /// All dead letters, whatever their job.
    #[arg(long, conflicts_with_all = ["ids", "job"])]
    all: bool,
    #[arg(long)]
    from: Option<Moment>,
    #[arg(long)]
    to: Option<Moment>,
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: Option<u32>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum VerdictArg {
    Succeeded,
    /// It counts as lost; retries follow the job's policy.
    Lost,
}

/// As the API has it.
fn read_cause(word: &str) -> Result<CauseWord, String> {
    serde_json::from_value(word.into()).map_err(|_| "not planned, misfire, manual, after or shard".into())
}

impl FilterArgs {
    pub(crate) fn query(self, now: Time) -> InstanceQuery {
        InstanceQuery {
            state: self.state,
            agent: self.agent,
            cause: self.cause,
            folder: self.folder,
            label: self.label,
            from: self.from.map(|moment| moment.resolve(now)),
            to: self.to.map(|moment| moment.resolve(now)),
            limit: self.limit,
            cursor: self.cursor,
            ..InstanceQuery::default()
        }
    }
}

impl Session<'_> {
    pub(crate) async fn instance(&self, command: InstanceCommand) -> Done {
        match command {
            InstanceCommand::List { job, parent, filter } => {
                self.list_instances(&InstanceQuery { job, parent, ..filter.query(self.out.now) }).await
            }
            InstanceCommand::Show { id } => {
                let instance = self.client.instance(id).await?;
                self.out.answer(&instance.raw, || shown(&instance, self.out));
                Ok(())
            }
            InstanceCommand::Attempts { id } => self.attempts(id).await,
            InstanceCommand::Stop { id, wait } => {
                let stopping = self.client.stop(id).await?;
                let instance = if wait { self.wait_for_end(id).await? } else { stopping };
                self.out.answer(&instance.raw, || match instance.state.is_open() {
                    true => format!("Instance {id} is being stopped; nothing further of it starts.\n"),
                    false => format!("Instance {id} is {}.\n", instance.state),
                });
                Ok(())
            }
            InstanceCommand::Rerun { id, wait } => self.rerun(id, wait).await,
            InstanceCommand::Replay(args) => self.replay(args).await,
            InstanceCommand::Resolve { id, verdict } => {
                let verdict = match verdict {
                    VerdictArg::Succeeded => ResolveWord::Succeeded,
                    VerdictArg::Lost => ResolveWord::Lost,
                };
                let instance = self.client.resolve(id, &ResolveBody { verdict }).await?;
                self.out.answer(&instance.raw, || format!("Instance {id} is {}.\n", instance.state));
                Ok(())
            }
        }
    }

    pub(crate) async fn list_instances(&self, query: &InstanceQuery) -> Done {
        let page = self.client.instances(query).await?;
        self.out.answer(&page.raw, || listed(&page.items, self.out));
        self.more(page.next.as_deref());
        Ok(())
    }

    async fn attempts(&self, id: i64) -> Done {
        let page = self.client.attempts(id).await?;
        self.out.answer(&page.raw, || {
            let mut rows =
                Rows::new(self.out, &["NO", "ATTEMPT", "VERDICT", "EXIT", "AGENT", "STARTED", "TOOK", "MESSAGE"]);
            for attempt in &page.items {
                let verdict = attempt.verdict.and_then(|v| serde_json::to_value(v).ok());
                rows.add(vec![
                    plain(attempt.number),
                    plain(attempt.id),
                    plain(verdict.as_ref().and_then(|v| v.as_str()).unwrap_or("open")),
                    plain(attempt.exit_code.map_or("-".into(), |code| code.to_string())),
                    plain(attempt.agent.as_deref().unwrap_or("-")),
                    plain(self.out.time(attempt.started_at)),
                    plain(took(attempt.started_at, attempt.ended_at)),
                    plain(attempt.message.as_deref().unwrap_or("")),
                ]);
            }
            rows.show("no attempts")
        });
        Ok(())
    }

    async fn rerun(&self, id: i64, wait: bool) -> Done {
        let instance = self.client.rerun(id).await?;
        if !wait {
            self.out.answer(&instance.raw, || format!("Instance {id} is {} again.\n", instance.state));
            return Ok(());
        }
        let ended = self.wait_for_end(id).await?;
        self.out.answer(&ended.raw, || shown(&ended, self.out));
        if ended.state.is_bad() { Err(Failure::quiet(Code::EndedBadly, ENDED_BADLY)) } else { Ok(()) }
    }

    async fn replay(&self, args: ReplayArgs) -> Done {
        if args.ids.is_empty() && args.job.is_none() && !args.all {
            return Err(Failure::usage(Code::BadArgument, "name instances, or --job NAME, or --all"));
        }
        let body = ReplayBody {
            ids: args.ids,
            job: args.job,
            from: args.from.map(|moment| moment.resolve(self.out.now)),
            to: args.to.map(|moment| moment.resolve(self.out.now)),
            limit: args.limit,
        };
        let answer = self.client.replay(&body).await?;
        self.out.answer(&answer.raw, || {
            let refused = answer.refused.iter().map(|no| format!("instance {} was not: {}\n", no.id, no.why));
            format!("{} started again.\n{}", answer.replayed.len(), refused.collect::<String>())
        });
        let none = answer.replayed.is_empty() && !answer.refused.is_empty();
        if none { Err(Failure::quiet(Code::StillOpen, crate::failure::FAILED)) } else { Ok(()) }
    }

    /// Looks again until the instance has ended: soon at first, then once a second.
    pub(crate) async fn wait_for_end(&self, id: i64) -> Result<client::Answer<InstanceView>, Failure> {
        let turning = spinner(format!("waiting for instance {id}"));
        let mut pause = Duration::from_millis(50);
        loop {
            let instance = self.client.instance(id).await?;
            if !instance.state.is_open() {
                turning.finish_and_clear();
                return Ok(instance);
            }
            turning.set_message(format!("instance {id} is {}", instance.state));
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }
}

pub(crate) fn listed(instances: &[InstanceView], out: &Out) -> String {
    let mut rows = Rows::new(out, &["ID", "JOB", "PLANNED", "STATE", "TRY", "AGENT", "TOOK", "EXIT", "WHY"]);
    for instance in instances {
        rows.add(vec![
            plain(instance.id),
            plain(&instance.job),
            plain(out.time(Some(instance.planned_at))),
            state_cell(instance.state),
            plain(instance.attempt_no),
            plain(instance.agent.as_deref().unwrap_or("-")),
            plain(took(instance.started_at, instance.ended_at.or(Some(out.now)))),
            plain(instance.exit_code.map_or("-".into(), |code| code.to_string())),
            plain(remark(instance)),
        ]);
    }
    rows.show("no instances")
}

/// The one thing most worth knowing beside the state.
fn remark(instance: &InstanceView) -> String {
    if let Some(stopping) = &instance.stopping
        && instance.state.is_open()
    {
        return format!("being stopped by {}", stopping.by);
    }
    if let Some(uncertain) = &instance.uncertain {
        return format!("uncertain: {}", uncertain.why);
    }
    instance.why.clone().or_else(|| instance.message.clone()).or_else(|| instance.reason.clone()).unwrap_or_default()
}

pub(crate) fn shown(instance: &InstanceView, out: &Out) -> String {
    let usage = instance.usage;
    let cost = [
        usage.cpu_us.map(|us| format!("{} cpu", length(us.unsigned_abs()))),
        usage.peak_kb.map(|kb| format!("{kb} KB peak")),
        usage.log_bytes.map(|bytes| format!("{bytes} bytes of log")),
    ];
    let optional = |at: Option<Time>| at.map(|at| out.time(Some(at))).unwrap_or_default();
    facts(&[
        ("id", instance.id.to_string()),
        ("job", instance.job.clone()),
        ("planned", out.time(Some(instance.planned_at))),
        ("state", instance.state.to_string()),
        ("reason", instance.reason.clone().unwrap_or_default()),
        ("cause", cause(&instance.cause)),
        ("share", instance.part.map(|part| format!("{} of {}", part.index, part.total)).unwrap_or_default()),
        ("parent", instance.parent.map(|id| id.to_string()).unwrap_or_default()),
        ("attempt", format!("{} (number {})", instance.attempt, instance.attempt_no)),
        ("agent", instance.agent.clone().unwrap_or_default()),
        ("placing", instance.placing.as_ref().map(placing).unwrap_or_default()),
        ("ordered", optional(instance.ordered_at)),
        ("started", optional(instance.started_at)),
        ("ended", optional(instance.ended_at)),
        ("took", instance.started_at.map(|at| took(Some(at), instance.ended_at)).unwrap_or_default()),
        ("retry", optional(instance.retry_at)),
        ("exit code", instance.exit_code.map(|code| code.to_string()).unwrap_or_default()),
        ("message", instance.message.clone().unwrap_or_default()),
        ("params", instance.params.as_ref().map(|json| json.get().to_owned()).unwrap_or_default()),
        ("outputs", instance.outputs.as_ref().map(|json| json.get().to_owned()).unwrap_or_default()),
        ("why", instance.why.clone().unwrap_or_default()),
        ("stopping", instance.stopping.as_ref().map(|stopping| format!("by {}", stopping.by)).unwrap_or_default()),
        (
            "uncertain",
            instance.uncertain.as_ref().map(|u| format!("{}, {}", u.why, out.time(Some(u.since)))).unwrap_or_default(),
        ),
        ("cost", cost.into_iter().flatten().collect::<Vec<_>>().join(", ")),
    ])
}

fn placing(placing: &PlacingView) -> String {
    let route = match &placing.route {
        RouteForm::Short(word) => serde_json::to_value(word).ok().and_then(|word| Some(word.as_str()?.to_owned())),
        RouteForm::Long(RouteMap::Fixed(agent)) => Some(format!("fixed on {agent}")),
    };
    let labels = placing.labels.iter().map(|(name, value)| format!("{name}={value}"));
    let said = [Some(format!("pool {}", placing.pool)), route].into_iter().flatten().chain(labels);
    said.chain(placing.asked.clone()).collect::<Vec<_>>().join("; ")
}

fn cause(cause: &CauseView) -> String {
    match cause {
        CauseView::Planned => "planned".into(),
        CauseView::Misfire { missed } => format!("makes up for {missed} missed times"),
        CauseView::Manual { by } => format!("triggered by {by}"),
        CauseView::After { instance } => format!("follows instance {instance}"),
        CauseView::Shard { instance } => format!("share of broadcast {instance}"),
    }
}

fn took(started: Option<Time>, ended: Option<Time>) -> String {
    match (started, ended) {
        (Some(started), Some(ended)) => length(ended.0.saturating_sub(started.0).max(0) as u64),
        _ => "-".into(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn instance(change: &str) -> InstanceView {
        let mut body: serde_json::Value = serde_json::from_str(
            r#"{"id":7,"job":"tick","job_id":1,"version":1,"planned_at":"2026-11-15T09:59:00Z","state":"succeeded",
                "cause":{"kind":"planned"},"attempt":9,"attempt_no":1,"agent":"box-1","agent_id":3,
                "created_at":"2026-11-15T09:58:58Z","ordered_at":"2026-11-15T09:59:00Z","started_at":"2026-11-15T09:59:00.1Z",
                "ended_at":"2026-11-15T09:59:01.35Z","exit_code":0,"usage":{"cpu_us":2500,"peak_kb":1400,"log_bytes":6}}"#,
        )
        .unwrap();
        let change: serde_json::Map<String, serde_json::Value> = serde_json::from_str(change).unwrap();
        body.as_object_mut().unwrap().extend(change);
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn a_list_says_of_each_what_matters_most() {
        let instances = [
            instance("{}"),
            instance(r#"{"id":6,"state":"running","ended_at":null,"exit_code":null,"stopping":{"by":"li"}}"#),
            instance(
                r#"{"id":5,"state":"skipped","started_at":null,"ended_at":null,"exit_code":null,"agent":null,"why":"skipped because instance 4 of the same job was still open"}"#,
            ),
        ];
        expect![[r#"
            ID  JOB   PLANNED                           STATE      TRY  AGENT  TOOK   EXIT  WHY
            7   tick  1m00s ago (2026-11-15 09:59:00Z)  succeeded  1    box-1  1.2s   0
            6   tick  1m00s ago (2026-11-15 09:59:00Z)  running    1    box-1  59.9s  -     being stopped by li
            5   tick  1m00s ago (2026-11-15 09:59:00Z)  skipped    1    -      -      -     skipped because instance 4 of the same job was still open
        "#]].assert_eq(&listed(&instances, &Out::plain("2026-11-15T10:00:00Z")));
    }

    #[test]
    fn one_instance_is_shown_with_everything_known() {
        let one = instance(
            r#"{"state":"failed","exit_code":3,"reason":"exit","message":"no space","attempt_no":2,"outputs":{"rows":5},"cause":{"kind":"manual","by":"li"}}"#,
        );
        expect![[r#"
            id         7
            job        tick
            planned    1m00s ago (2026-11-15 09:59:00Z)
            state      failed
            reason     exit
            cause      triggered by li
            attempt    9 (number 2)
            agent      box-1
            ordered    1m00s ago (2026-11-15 09:59:00Z)
            started    59s ago (2026-11-15 09:59:00.100000Z)
            ended      58s ago (2026-11-15 09:59:01.350000Z)
            took       1.2s
            exit code  3
            message    no space
            outputs    {"rows":5}
            cost       2.5ms cpu, 1400 KB peak, 6 bytes of log
        "#]]
        .assert_eq(&shown(&one, &Out::plain("2026-11-15T10:00:00Z")));
    }
}
