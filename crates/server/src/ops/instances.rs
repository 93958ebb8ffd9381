//! Instances: listing, showing, stopping, and a person's word on the uncertain.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Instant;

use engine::Command;
use engine::input::Resolution;
use model::{Actor, AgentId, Ending, Failure, Instance, InstanceId, JobId, Route, SkipReason, State, VersionId};
use serde_json::Value;
use serde_json::value::RawValue;
use store::read::InstanceFilter;
use store::{Reads, StoreError};
use wire::api::{
    AttemptView, Cursor, InstanceQuery, InstanceView, Page, PlacingView, ResolveBody, ResolveWord, StateWord,
    VerdictWord,
};
use wire::task::{TaskBody, TaskKind};
use wire::{Code, Problem};

use super::sight::asked_place;
use super::{Desk, Done, Refused, Sight, jobs};
use crate::audit::{self, Facts};

impl Desk {
    pub(crate) async fn list_instances(&self, sight: &Sight, query: InstanceQuery) -> Done<Page<InstanceView>> {
        let limit = Page::<InstanceView>::limit(query.limit)?;
        let job = match &query.job {
            Some(name) => Some(self.job_past_or_present(sight, name).await?),
            None => None,
        };
        let filter = InstanceFilter {
            tenant: Some(sight.tenant),
            within: sight.within_also(&asked_place(query.folder.clone(), query.label.as_deref())?),
            job,
            states: query.states()?,
            from: query.from.map(Into::into),
            to: query.to.map(Into::into),
            parent: query.parent.map(InstanceId),
            agent: query.agent.map(AgentId),
            cause: query.cause.map(Into::into),
            after: query.cursor.as_deref().map(Cursor::instance).transpose()?,
            limit: limit + 1,
        };
        if let Some(parent) = filter.parent
            && self.instance(sight, parent).await.is_err()
        {
            return Ok(Page::whole(Vec::new()));
        }
        let agents = self.agent_names();
        let views = self.read(move |reads, by| {
            let found = reads.instances(&filter, by)?;
            let names = job_names(reads, &found, by)?;
            found.iter().map(|instance| view(reads, instance, &names, &agents, by)).collect()
        });
        let views: Vec<InstanceView> = views.await?;
        Ok(Page::cut(views, limit, |last| Cursor::Instance(last.planned_at.into(), InstanceId(last.id))))
    }

    pub(crate) async fn instance(&self, sight: &Sight, id: InstanceId) -> Done<Instance> {
        let sight = sight.clone();
        let found = self.read(move |reads, by| match reads.instance(id, by)? {
            Some(instance) if sight.shows_instance(reads, &instance, by)? => Ok(Some(instance)),
            _ => Ok(None),
        });
        found.await?.ok_or_else(|| no_instance(id))
    }

    pub(crate) async fn show_instance(&self, sight: &Sight, id: InstanceId) -> Done<InstanceView> {
        let mut shown = self.show_row(sight, id).await?;
        if shown.state.is_open() {
            self.add_what_is_known_now(&mut shown).await;
        }
        Ok(shown)
    }

    /// As its row says, which is all there is to know of one that was made a moment ago.
    pub(crate) async fn show_row(&self, sight: &Sight, id: InstanceId) -> Done<InstanceView> {
        let agents = self.agent_names();
        let instance = self.instance(sight, id).await?;
        let shown = self.read(move |reads, by| {
            let names = job_names(reads, std::slice::from_ref(&instance), by)?;
            let shown = view(reads, &instance, &names, &agents, by)?;
            let params = params(reads, &instance, by)?;
            Ok(InstanceView { params, placing: placing(reads, &shown, by)?, ..shown })
        });
        Ok(shown.await?)
    }

    pub(crate) async fn attempts(&self, sight: &Sight, id: InstanceId) -> Done<Page<AttemptView>> {
        let shown = self.show_instance(sight, id).await?;
        let agents = self.agent_names();
        let earlier = self.read(move |reads, by| reads.attempts(id, by)).await?;
        let mut views: Vec<AttemptView> = earlier
            .iter()
            .map(|one| {
                let agent = one.target.and_then(|agent| agents.get(&agent)).map(String::as_str);
                AttemptView::earlier(one.id, one.number, agent, one.ordered_at, &one.outcome)
            })
            .collect();
        views.push(current(&shown));
        Ok(Page::whole(views))
    }

    /// The intent is on disk when this returns.
    pub(crate) async fn stop(&self, sight: &Sight, id: InstanceId, by: Actor) -> Done<InstanceView> {
        let before = self.instance(sight, id).await?;
        audit::before(Facts::new().put("job", before.job.0).put("state", before.state.to_string()));
        self.shards.ask(by, Command::Stop { instance: id }).await?;
        self.show_instance(sight, id).await
    }

    pub(crate) async fn resolve(
        &self,
        sight: &Sight,
        id: InstanceId,
        body: ResolveBody,
        by: Actor,
    ) -> Done<InstanceView> {
        let before = self.instance(sight, id).await?;
        let (verdict, word) = match body.verdict {
            ResolveWord::Succeeded => (Resolution::Succeeded, "succeeded"),
            ResolveWord::Lost => (Resolution::Lost, "lost"),
        };
        audit::before(Facts::new().put("job", before.job.0).put("state", before.state.to_string()));
        audit::after(Facts::new().put("verdict", word));
        self.shards.ask(by, Command::Resolve { instance: id, verdict }).await?;
        self.show_instance(sight, id).await
    }

    pub(crate) fn agent_names(&self) -> BTreeMap<AgentId, String> {
        self.everybody().iter().map(|agent| (agent.id, agent.name.clone())).collect()
    }
}

/// The job's parameters with those of this instance laid over them, as its task is given them. Variables and secrets stay
/// the names they are.
fn params(reads: &dyn Reads, of: &Instance, by: Instant) -> Result<Option<Box<RawValue>>, StoreError> {
    let own = match of.params {
        Some(id) => reads.content(id, by)?.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()),
        None => None,
    };
    let task = match reads.version(of.version, by)? {
        Some(version) => reads.content(version.task, by)?,
        None => None,
    };
    let body: Option<TaskBody> = task.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let all = match (own, body) {
        (Some(Value::Object(own)), Some(mut body)) => {
            body.params.extend(own);
            Value::Object(body.params)
        }
        (Some(own), _) => own,
        (None, Some(body)) => match body.kind {
            TaskKind::Executor { executor } if body.params.is_empty() => executor.params.into(),
            _ => Value::Object(body.params),
        },
        (None, None) => return Ok(None),
    };
    let is_empty = matches!(&all, Value::Object(map) if map.is_empty()) || all == "";
    Ok((!is_empty).then(|| serde_json::value::to_raw_value(&all).expect("JSON is JSON")))
}

/// Where a route asks first, a row that is under way or ended well says in its reason what each answered.
fn placing(reads: &dyn Reads, of: &InstanceView, by: Instant) -> Result<Option<PlacingView>, StoreError> {
    let Some(version) = reads.version(VersionId(of.version), by)? else { return Ok(None) };
    let tells =
        matches!(of.state, StateWord::Dispatched | StateWord::Running | StateWord::Succeeded | StateWord::Warned);
    let pool = &jobs::compiled(reads, version.rule, by)?.rule.pool;
    let asks = matches!(pool.route, Route::Failover | Route::BusyOver);
    Ok(Some(PlacingView::new(pool, of.why.clone().filter(|_| tells && asks))))
}

pub(crate) fn no_instance(id: InstanceId) -> Refused {
    Problem::new(Code::NoSuchInstance, format!("there is no instance {id}")).into()
}

/// What was written down with an agent's number is read with its name, as long as it has one.
pub(super) fn name_agents(text: &str, agents: &BTreeMap<AgentId, String>) -> String {
    const WORD: &str = "agent ";
    let mut named = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(WORD) {
        let (before, after) = rest.split_at(at + WORD.len());
        named.push_str(before);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let name = after[..digits].parse().ok().and_then(|number| agents.get(&AgentId(number)));
        named.push_str(name.map_or(&after[..digits], String::as_str));
        rest = &after[digits..];
    }
    named + rest
}

/// The verdict of the newest attempt, where the reason tells more than the state.
fn current(shown: &InstanceView) -> AttemptView {
    let mut view = AttemptView::current(shown);
    view.verdict = match shown.reason.as_deref() {
        Some("timeout") => Some(VerdictWord::TimedOut),
        Some("lost") => Some(VerdictWord::Lost),
        Some("undelivered") => Some(VerdictWord::Undelivered),
        Some("refused") => Some(VerdictWord::Refused),
        _ => view.verdict,
    };
    view
}

pub(crate) fn job_names(
    reads: &dyn Reads,
    of: &[Instance],
    by: Instant,
) -> Result<BTreeMap<JobId, String>, StoreError> {
    let mut names = BTreeMap::new();
    for instance in of {
        if let Entry::Vacant(unnamed) = names.entry(instance.job) {
            unnamed.insert(job_name(reads, instance.job, by)?);
        }
    }
    Ok(names)
}

/// A deleted job is known by what it was called last.
pub(crate) fn job_name(reads: &dyn Reads, job: JobId, by: Instant) -> Result<String, StoreError> {
    if let Some(record) = reads.job(job, by)? {
        return Ok(record.name);
    }
    let intervals = reads.intervals(Some(job), model::Timestamp(0), model::Timestamp::MAX, by)?;
    Ok(intervals.last().map_or_else(|| format!("job {job}"), |interval| interval.name.clone()))
}

fn view(
    reads: &dyn Reads,
    instance: &Instance,
    jobs: &BTreeMap<JobId, String>,
    agents: &BTreeMap<AgentId, String>,
    by: Instant,
) -> Result<InstanceView, StoreError> {
    let agent = instance.target.and_then(|agent| agents.get(&agent)).map(String::as_str);
    let mut view = InstanceView::new(instance, jobs.get(&instance.job).map_or("", String::as_str), agent);
    view.why = view.why.map(|why| name_agents(&why, agents));
    if let Some(uncertain) = &mut view.uncertain {
        uncertain.why = name_agents(&uncertain.why, agents);
    }
    if matches!(instance.state, State::Failed | State::Dead | State::Skipped | State::Stopped | State::Forced) {
        view.reason = reads.ending(instance.id, by)?.and_then(|ending| reason(&ending));
    }
    Ok(view)
}

fn reason(ending: &Ending) -> Option<String> {
    let word = match ending {
        Ending::Succeeded | Ending::Warned => return None,
        Ending::Failed(failure) | Ending::Dead(failure) => match failure {
            Failure::Exit => "exit",
            Failure::Timeout => "timeout",
            Failure::Lost => "lost",
            Failure::Undelivered => "undelivered",
            Failure::Refused => "refused",
        },
        Ending::Skipped(reason) => match reason {
            SkipReason::Overlap => "overlap",
            SkipReason::Misfire => "misfire",
            SkipReason::Paused => "paused",
            SkipReason::Disabled => "disabled",
            SkipReason::Quarantined => "quarantined",
        },
        Ending::Stopped(by) => return Some(format!("stopped by {}", by.0)),
        Ending::Forced(by) => return Some(format!("forced by {}", by.0)),
    };
    Some(word.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_told_by_name() {
        let agents = BTreeMap::from([(AgentId(3), "box-1".to_owned())]);
        let told = |text: &str| name_agents(text, &agents);
        assert_eq!(told("agent 3 cannot be asked"), "agent box-1 cannot be asked");
        assert_eq!(told("runs on agent 3"), "runs on agent box-1");
        assert_eq!(told("agent 31, agent 3, no agent is named 3"), "agent 31, agent box-1, no agent is named 3");
    }
}
