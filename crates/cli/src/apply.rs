//! `job apply`: read, ask the server for the plan, show it, ask the person, do it.

use std::path::PathBuf;

use clap::Args;
use wire::api::{Action, ApplyBody, PlanView};
use wire::{Code, Fault};

use crate::failure::{Done, Failure, USAGE};
use crate::files::Loaded;
use crate::out::spinner;
use crate::{Session, plan};

#[derive(Args)]
pub struct ApplyArgs {
    /// A file, a folder of them, or - for standard input; may be given again.
    #[arg(short, long = "file", required = true, value_name = "FILE_OR_DIR")]
    file: Vec<PathBuf>,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
    /// Only show the plan.
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Delete jobs that are not among these.
    #[arg(long)]
    prune: bool,
    /// Delete only jobs of this folder, and those below it.
    #[arg(long, requires = "prune", value_name = "FOLDER")]
    prune_folder: Option<String>,
}

/// How much of the way to go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    Ask,
    Given,
    OnlyShow,
}

impl Session<'_> {
    pub(crate) async fn apply(&self, args: ApplyArgs) -> Done {
        let (loaded, faults) = Loaded::read(&args.file)?;
        if !faults.is_empty() {
            return Err(self.all_faults(&loaded, faults).await);
        }
        let consent = match (args.yes, args.dry_run) {
            (true, _) => Consent::Given,
            (false, true) => Consent::OnlyShow,
            (false, false) => Consent::Ask,
        };
        let body = ApplyBody {
            jobs: loaded.jobs.clone(),
            prune: args.prune,
            prune_folder: args.prune_folder,
            ..ApplyBody::default()
        };
        self.apply_loaded(&loaded, body, consent).await
    }

    pub(crate) async fn apply_loaded(&self, loaded: &Loaded, body: ApplyBody, consent: Consent) -> Done {
        let planned = self.send(loaded, &ApplyBody { dry_run: true, ..body.clone() }, "making the plan").await?;
        if consent == Consent::OnlyShow || planned.changes_nothing() {
            self.out.answer(&planned.raw, || told(&planned, self));
            return Ok(());
        }
        self.out.note(plan::render(&planned, self.out).trim_end());
        if !self.out.consent("Apply this plan?", consent == Consent::Given)? {
            return Ok(());
        }
        let words = format!("applying {} jobs", body.jobs.len());
        let done = self.send(loaded, &body, &words).await?;
        self.out.answer(&done.raw, || {
            let count = |action| done.count(action);
            format!(
                "Done: {} created, {} changed, {} deleted.\n",
                count(Action::Create),
                count(Action::Change),
                count(Action::Delete)
            )
        });
        Ok(())
    }

    /// What is wrong is told together: the server sees more than we do, in jobs that could be read.
    async fn all_faults(&self, loaded: &Loaded, mut faults: Vec<Fault>) -> Failure {
        let body = ApplyBody { jobs: loaded.jobs.clone(), dry_run: true, ..ApplyBody::default() };
        if let Err(failure) = self.send(loaded, &body, "looking for more").await {
            let is_known = |other: &Fault, faults: &[Fault]| {
                faults.iter().any(|fault| (&fault.path, &fault.code) == (&other.path, &other.code))
            };
            for fault in failure.problem.errors {
                // The job it follows may be the one that could not be read.
                if fault.code != Code::NoSuchReference.as_str() && !is_known(&fault, &faults) {
                    faults.push(fault);
                }
            }
        }
        faults.sort_by(|a, b| (file_of(a), a.line).cmp(&(file_of(b), b.line)));
        Failure::of_faults(Code::BadJobs, faults, USAGE)
    }

    async fn send(&self, loaded: &Loaded, body: &ApplyBody, words: &str) -> Result<client::Answer<PlanView>, Failure> {
        let turning = spinner(words);
        let answer = self.client.apply(body).await;
        turning.finish_and_clear();
        answer.map_err(|error| {
            let mut failure = Failure::from(error);
            let faults = std::mem::take(&mut failure.problem.errors);
            failure.problem.errors = faults.into_iter().map(|fault| loaded.trace(fault)).collect();
            failure
        })
    }
}

fn file_of(fault: &Fault) -> &str {
    fault.path.split(": ").next().unwrap_or_default()
}

fn told(planned: &PlanView, session: &Session<'_>) -> String {
    let text = plan::render(planned, session.out);
    if planned.changes_nothing() { format!("{text}Nothing to do.\n") } else { text }
}
