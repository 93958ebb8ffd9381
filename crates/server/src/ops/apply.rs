//! Makes jobs as they are sent: a plan first, then all of it, leaders before those who follow them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::input::JobDraft;
use engine::{Command, Compiled, Reply};
use futures::{StreamExt, stream};
use model::{Actor, JobId, JobMode, TenantId, VersionId};
use wire::api::{Action, ApplyBody, PlanItem, PlanView};
use wire::{Code, Fault, JobBody, Problem};

use super::plan::{self, Plan, Wish};
use super::{Desk, Done, Hand, Refused, Sight, chain, jobs};
use crate::audit::{self, Facts};

/// So many jobs are asked for at once: they share commits.
const AT_ONCE: usize = 500;
/// Jobs one call may carry.
const JOBS_MAX: usize = 20_000;

impl Desk {
    pub(crate) async fn apply(&self, hand: Hand, body: ApplyBody, by: Actor) -> Done<PlanView> {
        if body.dry_run {
            audit::nothing_changed();
        }
        let (bodies, faults) = body.read(plan::trigger_fault_of);
        if bodies.len() > JOBS_MAX {
            let detail = format!("{} jobs in one call; at most {JOBS_MAX} are taken", bodies.len());
            return Err(Problem::new(Code::TooLarge, detail).into());
        }
        let prune = body.prune.then_some(body.prune_folder);
        let (now, by_whom) = (self.clock.now(), hand.clone());
        let made = self.read(move |reads, by| plan::make(reads, &by_whom, bodies, faults, prune, now, by)).await?;
        let plan = made.map_err(|faults| Problem::of_faults(Code::BadJobs, faults))?;
        let forbidden = hand.faults(&plan);
        if !forbidden.is_empty() {
            return Err(Problem::of_faults(Code::NotPermitted, forbidden).into());
        }
        let more = plan.wishes.iter().filter(|wish| wish.now.is_none()).count();
        self.within_jobs_quota(hand.edits.tenant, more, plan.deletions.len()).await?;
        let items = self.items(&hand.edits, &plan).await?;
        if !body.dry_run {
            self.carry_out(hand.edits.tenant, plan, by).await?;
        }
        Ok(PlanView { applied: !body.dry_run, items })
    }

    async fn items(&self, edits: &Sight, plan: &Plan) -> Done<Vec<PlanItem>> {
        let mut items: Vec<PlanItem> = plan.wishes.iter().map(|wish| wish.item.clone()).collect();
        // What goes too, or follows another from now on, does not miss it.
        let gone: BTreeSet<&str> = plan.deletions.iter().map(|record| record.name.as_str()).collect();
        let wished: BTreeMap<&str, Vec<&str>> =
            plan.wishes.iter().map(|wish| (wish.body.job.as_str(), wish.body.follows())).collect();
        for record in &plan.deletions {
            let mut followers = self.followers(record.id).await?;
            followers.retain(|job| {
                let name = job.name.as_str();
                let still = wished.get(name).is_none_or(|follows| follows.contains(&record.name.as_str()));
                !gone.contains(name) && still
            });
            items.push(PlanItem::delete(&record.name, jobs::names_in(edits, followers)));
        }
        Ok(items)
    }

    async fn carry_out(&self, tenant: TenantId, plan: Plan, by: Actor) -> Done<()> {
        let bodies: Vec<JobBody> = plan.wishes.iter().map(|wish| wish.body.clone()).collect();
        let mut told: BTreeMap<String, Facts> =
            plan.wishes.iter().map(|wish| (wish.body.job.clone(), facts(wish))).collect();
        let mut wishes: BTreeMap<usize, Wish> = plan.wishes.into_iter().enumerate().collect();
        let mut made: BTreeMap<String, JobId> = BTreeMap::new();
        let mut report = Report::default();
        for round in chain::rounds(&bodies) {
            let round: Vec<Wish> = round.iter().filter_map(|n| wishes.remove(n)).collect();
            made.extend(round.iter().filter_map(|wish| Some((wish.body.job.clone(), wish.now.as_ref()?.id))));
            let round = round.into_iter().filter(|wish| wish.item.action != Action::Same).collect();
            for (name, done) in self.make_round(tenant, round, &made, &by).await {
                match done {
                    Ok((id, version)) => {
                        report.done += 1;
                        let facts = told.remove(&name).unwrap_or_default();
                        audit::item(&name, facts.put("job", id.0).put("version", version.0));
                        made.insert(name, id);
                    }
                    Err(refused) => report.failed.push((name, refused)),
                }
            }
        }
        for gone in plan.deletions {
            match self.shards.ask(by.clone(), Command::DeleteJob { job: gone.id }).await {
                Ok(_) => {
                    report.done += 1;
                    let facts = Facts::new().put("name", &gone.name).put("action", "delete");
                    audit::item(&gone.name, facts.put("job", gone.id.0).put("version_before", gone.version.0));
                }
                Err(error) => report.failed.push((gone.name, error.into())),
            }
        }
        report.result()
    }

    async fn make_round(
        &self,
        tenant: TenantId,
        wishes: Vec<Wish>,
        made: &BTreeMap<String, JobId>,
        by: &Actor,
    ) -> Vec<(String, Done<(JobId, VersionId)>)> {
        let mut results = Vec::with_capacity(wishes.len());
        let mut wishes = wishes.into_iter().peekable();
        while wishes.peek().is_some() {
            let some: Vec<Wish> = wishes.by_ref().take(AT_ONCE).collect();
            let names: Vec<String> = some.iter().map(|wish| wish.body.job.clone()).collect();
            match self.drafts(tenant, some, made).await {
                Err(refused) => results.extend(names.into_iter().map(|name| (name, Err(refused.clone())))),
                Ok(drafts) => {
                    let asks = drafts.into_iter().map(|(name, draft)| async move {
                        let done = match draft {
                            Ok(draft) => self.make_job(draft, by.clone()).await,
                            Err(refused) => Err(refused),
                        };
                        (name, done)
                    });
                    results.extend(stream::iter(asks).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await);
                }
            }
        }
        results
    }

    async fn make_job(&self, draft: JobDraft, by: Actor) -> Done<(JobId, VersionId)> {
        match self.shards.ask(by, Command::ApplyJob(Box::new(draft))).await? {
            Reply::Job { id, version, .. } => Ok((id, version)),
            other => Err(Problem::new(Code::Internal, format!("an unexpected reply: {other:?}")).into()),
        }
    }

    /// Keeps the contents, which are immutable, before the shard is told their names.
    async fn drafts(
        &self,
        tenant: TenantId,
        wishes: Vec<Wish>,
        made: &BTreeMap<String, JobId>,
    ) -> Done<Vec<(String, Done<JobDraft>)>> {
        let mut leaders = made.clone();
        for wish in &wishes {
            for leader in wish.body.follows() {
                // A leader of this call that could not be made is reported by itself.
                if !leaders.contains_key(leader)
                    && let Ok(record) = self.job(&Sight::of_tenant(tenant), leader).await
                {
                    leaders.insert(leader.to_owned(), record.id);
                }
            }
        }
        let mut bodies = Vec::with_capacity(wishes.len() * 3);
        let mut rules = Vec::with_capacity(wishes.len());
        for wish in &wishes {
            let rule = rule(&wish.body, &leaders);
            if let Ok((rule, task)) = &rule {
                // The mode is no part of what a job is: pausing makes no version.
                let source = JobBody { mode: None, ..wish.body.clone() };
                bodies.extend([wire::rule::encode(&rule.rule), task.clone(), source.encode()]);
            }
            rules.push(rule);
        }
        // A job that executors run is known to them by a small number, from its first version on.
        let wanting = wishes.iter().filter(|wish| wish.wants_alias()).count() as i32;
        let mut aliases = match wanting {
            0 => 0..0,
            count => self.writer.run(move |store| store.take_aliases(count)).await?,
        };
        let contents = self.writer.run(move |store| store.intern(&bodies)).await?;
        let mut contents = contents.chunks_exact(3);
        let drafts = wishes.into_iter().zip(rules).map(|(wish, rule)| {
            let draft = rule.map(|(rule, _)| {
                let [rule_content, task, source] = *contents.next().expect("three contents for each rule") else {
                    unreachable!("chunks of three")
                };
                JobDraft {
                    id: wish.now.as_ref().map(|record| record.id),
                    tenant,
                    name: wish.body.job.clone(),
                    folder: wish.body.folder.clone().unwrap_or_default(),
                    labels: wish.body.labels.clone(),
                    rule,
                    rule_content,
                    task,
                    source,
                    mode: mode(&wish),
                    alias: if wish.wants_alias() { aliases.next().unwrap_or_default() } else { 0 },
                }
            });
            (wish.body.job, draft)
        });
        Ok(drafts.collect())
    }
}

/// What the audit is told of a job that was made or changed.
fn facts(wish: &Wish) -> Facts {
    let action = match wish.item.action {
        Action::Create => "create",
        Action::Change => "change",
        Action::Delete => "delete",
        Action::Same => "same",
    };
    let facts = Facts::new().put("name", &wish.body.job).put("action", action);
    let facts = facts.put("version_before", wish.now.as_ref().map(|record| record.version.0));
    facts.put("fields", audit::changed_fields(&wish.item.fields))
}

/// Left out, a new job is enabled and an existing one stays as it is.
fn mode(wish: &Wish) -> JobMode {
    let kept = wish.now.as_ref().map_or(JobMode::Enabled, |record| record.mode);
    wish.body.mode.map_or(kept, JobMode::from)
}

fn rule(body: &JobBody, leaders: &BTreeMap<String, JobId>) -> Done<(Arc<Compiled>, Vec<u8>)> {
    let parts = body.to_parts(|name| leaders.get(name).copied());
    let parts = parts.map_err(|faults| Problem::of_faults(Code::BadJobs, faults))?;
    let task = serde_json::to_vec(&parts.task).expect("a task is plain data");
    let rule = Compiled::new(parts.rule).map_err(|error| super::refused::trigger_fault(&error).alone())?;
    Ok((rule, task))
}

/// What became of the single jobs.
#[derive(Default)]
struct Report {
    done: usize,
    failed: Vec<(String, Refused)>,
}

impl Report {
    fn result(self) -> Done<()> {
        let Some((_, first)) = self.failed.first() else { return Ok(()) };
        let mut problem = (*first.0).clone();
        let names: Vec<&str> = self.failed.iter().take(5).map(|(name, _)| name.as_str()).collect();
        let more = if self.failed.len() > names.len() { ", …" } else { "" };
        problem.detail = format!(
            "{} of {} changes were made; not: {}{more}. {}",
            self.done,
            self.done + self.failed.len(),
            names.join(", "),
            problem.detail
        );
        problem.errors = self
            .failed
            .iter()
            .map(|(name, refused)| Fault {
                hint: refused.0.help.clone(),
                code: refused.0.code.clone(),
                ..Fault::new(Code::BadJobs, name, refused.0.detail.clone())
            })
            .collect();
        Err(problem.into())
    }
}
