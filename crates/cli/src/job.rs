//! `duly job …`

use clap::{Args, Subcommand, ValueEnum};
use wire::api::{ApplyBody, DeleteQuery, InstanceQuery, JobQuery, JobView, TriggerBody};
use wire::job::ModeWord;
use wire::{Code, Time};

use crate::Session;
use crate::apply::{ApplyArgs, Consent};
use crate::failure::{Done, Failure, NOT_FOUND};
use crate::files::Loaded;
use crate::moment::Moment;
use crate::out::{Out, Tone, emit};
use crate::table::{Rows, facts, plain, state_tone, toned};

#[derive(Subcommand)]
pub enum JobCommand {
    /// List jobs by name.
    List(ListArgs),
    /// List the folders jobs lie in.
    Folders,
    /// Show one job at length.
    Show { name: String },
    /// Create and change jobs as files say; shows a plan first.
    Apply(ApplyArgs),
    /// Print jobs as YAML, ready to be applied again; all of them if none is named.
    Export { names: Vec<String> },
    /// Start an instance now.
    Trigger(TriggerArgs),
    /// Fire nothing planned from now on; triggering by hand still works.
    Pause { name: String },
    /// Fire again after a pause.
    Resume { name: String },
    /// Let a disabled job fire again.
    Enable { name: String },
    /// Fire nothing at all.
    Disable { name: String },
    /// Let a job go on that was held in quarantine.
    Release { name: String },
    /// Delete a job; its history stays.
    Delete {
        name: String,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
        /// Even if other jobs follow it: nothing starts them any more.
        #[arg(long)]
        force: bool,
    },
    /// Instances of a job, newest first; a deleted one's too.
    History {
        name: String,
        #[command(flatten)]
        filter: crate::instance::FilterArgs,
    },
    /// What the job was and is, newest first.
    Versions { name: String },
    /// Make a job again what it was; its history goes on.
    Rollback {
        name: String,
        /// One of `duly job versions NAME`.
        #[arg(id = "to_version", value_name = "VERSION")]
        version: i64,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
        /// Only show what would change.
        #[arg(long, conflicts_with = "yes")]
        dry_run: bool,
    },
}

#[derive(Args)]
pub struct ListArgs {
    /// This folder and those below it.
    #[arg(long)]
    folder: Option<String>,
    /// Part of the name.
    #[arg(long)]
    name: Option<String>,
    /// With this label: key=value.
    #[arg(long)]
    label: Option<String>,
    #[arg(long)]
    mode: Option<ModeArg>,
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: Option<u32>,
    /// Where to go on, from the page before.
    #[arg(long)]
    cursor: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ModeArg {
    Enabled,
    Paused,
    Disabled,
}

#[derive(Args)]
pub struct TriggerArgs {
    name: String,
    /// A parameter for this instance only, as name=value; JSON values are taken as such.
    #[arg(short, long = "param", value_parser = param, value_name = "NAME=VALUE")]
    params: Vec<(String, serde_json::Value)>,
    /// What an executor's handler is given for this instance only; may be empty.
    #[arg(long, conflicts_with = "params")]
    text: Option<String>,
    /// Only on the agent of this name, or the executor of this address.
    #[arg(long, value_name = "NAME_OR_ADDRESS")]
    on: Option<String>,
    /// Told to the task as its planned time.
    #[arg(long)]
    planned_at: Option<Moment>,
    /// The same key gives the same instance, however often the command is run.
    #[arg(long)]
    key: Option<String>,
    /// Wait for its end; exit 7 if it does not end well.
    #[arg(short, long)]
    wait: bool,
    /// Print its output meanwhile.
    #[arg(short, long)]
    follow: bool,
}

impl Session<'_> {
    pub(crate) async fn job(&self, command: JobCommand) -> Done {
        match command {
            JobCommand::List(args) => self.job_list(args).await,
            JobCommand::Folders => self.job_folders().await,
            JobCommand::Show { name } => {
                let job = self.client.job(&name).await?;
                self.out.answer(&job.raw, || shown(&job, self.out));
                Ok(())
            }
            JobCommand::Apply(args) => self.apply(args).await,
            JobCommand::Export { names } => self.export(names).await,
            JobCommand::Trigger(args) => self.trigger(args).await,
            JobCommand::Pause { name } => self.moded(self.client.pause(&name).await, "paused"),
            JobCommand::Resume { name } => self.moded(self.client.resume(&name).await, "resumed"),
            JobCommand::Enable { name } => self.moded(self.client.enable(&name).await, "enabled"),
            JobCommand::Disable { name } => self.moded(self.client.disable(&name).await, "disabled"),
            JobCommand::Release { name } => self.moded(self.client.release(&name).await, "released"),
            JobCommand::Delete { name, yes, force } => {
                if self.out.consent(&format!("Delete job {name}?"), yes)? {
                    self.client.delete_job(&name, &DeleteQuery { force: force.then_some(true) }).await?;
                    self.out.done(&format!("Deleted {name}."));
                }
                Ok(())
            }
            JobCommand::History { name, filter } => {
                let query = InstanceQuery { job: Some(name), ..filter.query(self.out.now) };
                self.list_instances(&query).await
            }
            JobCommand::Versions { name } => self.job_versions(&name).await,
            JobCommand::Rollback { name, version, yes, dry_run } => {
                let consent = match (yes, dry_run) {
                    (true, _) => Consent::Given,
                    (false, true) => Consent::OnlyShow,
                    (false, false) => Consent::Ask,
                };
                self.job_rollback(&name, version, consent).await
            }
        }
    }

    async fn job_list(&self, args: ListArgs) -> Done {
        let mode = args.mode.map(|mode| match mode {
            ModeArg::Enabled => ModeWord::Enabled,
            ModeArg::Paused => ModeWord::Paused,
            ModeArg::Disabled => ModeWord::Disabled,
        });
        let ListArgs { folder, name, label, limit, cursor, .. } = args;
        let query = JobQuery { folder, name, label, mode, limit, cursor };
        let page = self.client.jobs(&query).await?;
        self.out.answer(&page.raw, || listed(&page.items, self.out));
        self.more(page.next.as_deref());
        Ok(())
    }

    /// Says how to see the following page, if there is one.
    pub(crate) fn more(&self, next: Option<&str>) {
        if let Some(cursor) = next {
            self.out.note(&format!("There are more: repeat with --cursor {cursor}"));
        }
    }

    fn moded(&self, answer: Result<client::Answer<JobView>, client::Error>, word: &str) -> Done {
        let job = answer?;
        self.out.answer(&job.raw, || {
            let next = job.next_fire.map(|at| format!(" Next planned time: {}.", self.out.time(Some(at))));
            format!("{} is {word}.{}\n", job.name, next.unwrap_or_default())
        });
        Ok(())
    }

    async fn export(&self, names: Vec<String>) -> Done {
        let names = if names.is_empty() { self.all_names().await? } else { names };
        for (n, name) in names.iter().enumerate() {
            let text = self.client.export(name).await?;
            emit(if n == 0 { b"" } else { b"---\n" });
            emit(text.as_bytes());
        }
        Ok(())
    }

    async fn all_names(&self) -> Result<Vec<String>, Failure> {
        let mut names = Vec::new();
        let mut query = JobQuery { limit: Some(500), ..JobQuery::default() };
        loop {
            let page = self.client.jobs(&query).await?.view;
            names.extend(page.items.into_iter().map(|job| job.name));
            match page.next {
                Some(next) => query.cursor = Some(next),
                None => return Ok(names),
            }
        }
    }

    async fn trigger(&self, args: TriggerArgs) -> Done {
        let body = TriggerBody {
            params: args.params.into_iter().collect(),
            text: args.text,
            on: args.on,
            planned_at: args.planned_at.map(|moment| moment.resolve(self.out.now)),
        };
        let instance = self.client.trigger(&args.name, &body, args.key).await?;
        if !args.wait && !args.follow {
            self.out.answer(&instance.raw, || {
                format!("Instance {} of {} is {}.\n", instance.id, instance.job, instance.state)
            });
            return Ok(());
        }
        self.out.note(&format!("Instance {} of {}", instance.id, instance.job));
        if args.follow {
            self.tail(instance.id, None).await?;
        }
        let ended = self.wait_for_end(instance.id).await?;
        self.out.answer(&ended.raw, || crate::instance::shown(&ended, self.out));
        match ended.state.is_bad() {
            true => Err(Failure::quiet(Code::EndedBadly, crate::failure::ENDED_BADLY)),
            false => Ok(()),
        }
    }

    /// What it was is applied like any file: after a look at the plan, as a new version.
    async fn job_rollback(&self, name: &str, version: i64, consent: Consent) -> Done {
        let page = self.client.versions(name).await?;
        let Some(found) = page.items.iter().find(|one| one.version == version) else {
            let what = format!("job {name} has no version {version}");
            return Err(Failure::new(Code::NoSuchVersion, what, NOT_FOUND));
        };
        let mut loaded = Loaded::default();
        let text = wire::job::export([&found.body]);
        let faults = loaded.add(format!("version {version}"), text, std::path::Path::new(""));
        if let Some(fault) = faults.into_iter().next() {
            return Err(Failure::usage(Code::BadJobs, fault.message));
        }
        let body = ApplyBody { jobs: loaded.jobs.clone(), ..ApplyBody::default() };
        self.apply_loaded(&loaded, body, consent).await
    }

    async fn job_folders(&self) -> Done {
        let page = self.client.folders().await?;
        self.out.answer(&page.raw, || {
            let mut rows = Rows::new(self.out, &["FOLDER", "JOBS"]);
            for one in &page.items {
                rows.add(vec![plain(&one.folder), plain(one.jobs)]);
            }
            rows.show("no folders: a job lies in one when its file says `folder: NAME`")
        });
        Ok(())
    }

    async fn job_versions(&self, name: &str) -> Done {
        let page = self.client.versions(name).await?;
        self.out.answer(&page.raw, || {
            let mut rows = Rows::new(self.out, &["VERSION", "SINCE", "BY", "TRIGGER", ""]);
            for version in &page.items {
                rows.add(vec![
                    plain(version.version),
                    plain(self.out.time(Some(version.created_at))),
                    plain(&version.created_by),
                    plain(version.body.trigger_summary()),
                    toned(Tone::Good, if version.current { "current" } else { "" }),
                ]);
            }
            rows.show("no versions")
        });
        Ok(())
    }
}

pub(crate) fn listed(jobs: &[JobView], out: &Out) -> String {
    let mut rows = Rows::new(out, &["NAME", "MODE", "TRIGGER", "NEXT", "LAST", "FOLDER"]);
    for job in jobs {
        let last = job.last.as_ref();
        let last_words = last.map_or("-".into(), |last| format!("{} {}", last.state, out.relative(last.planned_at)));
        rows.add(vec![
            plain(&job.name),
            mode_cell(job),
            plain(&job.trigger),
            plain(job.next_fire.map_or("-".into(), |at: Time| out.time(Some(at)))),
            toned(last.map_or(Tone::Plain, |last| state_tone(last.state)), last_words),
            plain(&job.folder),
        ]);
    }
    rows.show("no jobs; `duly examples` adds three to try")
}

fn mode_cell(job: &JobView) -> comfy_table::Cell {
    match (&job.held, job.mode) {
        (Some(_), _) => toned(Tone::Bad, "held"),
        (None, ModeWord::Enabled) => toned(Tone::Good, "enabled"),
        (None, ModeWord::Paused) => toned(Tone::Warn, "paused"),
        (None, ModeWord::Disabled) => toned(Tone::Faint, "disabled"),
    }
}

fn shown(job: &JobView, out: &Out) -> String {
    let labels: Vec<String> = job.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let last = job
        .last
        .as_ref()
        .map(|last| format!("{} {}, instance {}", last.state, out.time(Some(last.planned_at)), last.instance));
    facts(&[
        ("name", job.name.clone()),
        ("id", job.id.to_string()),
        ("xxl job id", job.xxl_job_id.map(|id| id.to_string()).unwrap_or_default()),
        ("folder", job.folder.clone()),
        ("description", job.description.clone().unwrap_or_default()),
        ("owner", job.owner.clone().unwrap_or_default()),
        ("labels", labels.join(", ")),
        ("mode", serde_json::to_value(job.mode).ok().and_then(|v| v.as_str().map(String::from)).unwrap_or_default()),
        ("held", job.held.clone().unwrap_or_default()),
        ("trigger", job.trigger.clone()),
        ("next", out.time(job.next_fire)),
        ("last", last.unwrap_or_else(|| "-".into())),
        ("version", format!("{} since {} by {}", job.version, out.time(Some(job.since)), job.changed_by)),
        ("body", job.body.as_ref().map(|body| wire::job::export([body])).unwrap_or_default()),
    ])
}

fn param(text: &str) -> Result<(String, serde_json::Value), String> {
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("write it as name=value")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((name.into(), value))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn jobs_are_listed_with_what_comes_and_what_was() {
        let jobs: Vec<JobView> = serde_json::from_str(
            r#"[{"id":1,"name":"tick","folder":"","version":3,"mode":"enabled","trigger":"cron * * * * * ?",
                 "next_fire":"2026-11-15T10:00:01Z","last":{"instance":9,"planned_at":"2026-11-15T09:59:00Z","state":"failed","ended_at":null},
                 "labels":{"team":"a"},"owner":null,"description":null,"since":"2026-11-14T10:00:00Z","changed_by":"li"},
                {"id":2,"name":"夜间清理","folder":"billing/nightly","version":4,"mode":"paused","trigger":"manual",
                 "next_fire":null,"last":null,"labels":{},"owner":"li","description":"x","since":"2026-11-14T10:00:00Z","changed_by":"li",
                 "body":{"job":"夜间清理","sh":"date"}}]"#,
        )
        .unwrap();
        let out = Out::plain("2026-11-15T10:00:00Z");
        expect![[r#"
            NAME      MODE     TRIGGER           NEXT                          LAST              FOLDER
            tick      enabled  cron * * * * * ?  in 1s (2026-11-15 10:00:01Z)  failed 1m00s ago
            夜间清理  paused   manual            -                             -                 billing/nightly
        "#]]
        .assert_eq(&listed(&jobs, &out));
        expect![[r#"
            name         夜间清理
            id           2
            folder       billing/nightly
            description  x
            owner        li
            mode         paused
            trigger      manual
            next         -
            last         -
            version      4 since 1d00h ago (2026-11-14 10:00:00Z) by li
            body         job: 夜间清理
                         sh: date
        "#]]
        .assert_eq(&shown(&jobs[1], &out));
    }

    #[test]
    fn parameters_may_be_json() {
        assert_eq!(param("n=5"), Ok(("n".into(), 5.into())));
        assert_eq!(param("region=east=1"), Ok(("region".into(), "east=1".into())));
        assert!(param("=x").is_err() && param("x").is_err());
    }
}
