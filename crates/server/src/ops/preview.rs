//! Which times a trigger names, exactly as they will happen.

use engine::Compiled;
use model::{JobMode, Span, Timestamp, When};
use wire::api::{FireView, NextQuery, PreviewBody, PreviewView};
use wire::{Code, Fault, Problem, Time};

use super::refused::trigger_fault;
use super::{Desk, Done, Sight, jobs};

const FIRES: u32 = 5;
const FIRES_MAX: u32 = 1_000;

impl Desk {
    pub(crate) async fn next_fires(&self, sight: &Sight, name: &str, query: NextQuery) -> Done<PreviewView> {
        let job = self.job(sight, name).await?;
        let count = count(query.n, "n", Code::BadQuery)?;
        let from = query.from.map_or_else(|| self.clock.now(), Timestamp::from);
        let record = job.clone();
        let looked = self.read(move |reads, by| {
            let compiled = jobs::compiled(reads, record.rule, by)?;
            let mut leaders = Vec::new();
            for follow in &compiled.rule.trigger.follows {
                let leader = reads.job(follow.job, by)?.map(|leader| leader.name);
                leaders.push(leader.unwrap_or_else(|| "a job that is gone".into()));
            }
            let next = jobs::next_fire(reads, &record, from, by)?;
            Ok((compiled, leaders, next))
        });
        let (compiled, leaders, next) = looked.await?;
        let left = compiled.rule.trigger.count_max.map(|max| max.saturating_sub(job.fired));
        let mut view = fires(&compiled, from.max(job.since), job.since, count, left);
        let mut notes = Vec::new();
        match (job.mode, &compiled.rule.trigger.when) {
            (JobMode::Enabled, _) => {}
            (JobMode::Paused, _) => notes.push("the job is paused: none of these happens until it is resumed".into()),
            (JobMode::Disabled, _) => {
                notes.push("the job is disabled: none of these happens until it is enabled".into())
            }
        }
        match &compiled.rule.trigger.when {
            When::Delay { delay } => {
                view.fires.extend(next.and_then(|at| FireView::new(at.into(), &view.zone)));
                notes.push(format!("each instance is planned {delay} after the end of the one before"));
            }
            When::Manual if leaders.is_empty() => notes.push("it runs only when it is triggered".into()),
            When::Manual | When::Cron { .. } | When::Rate { .. } | When::Once { .. } => {}
        }
        if !leaders.is_empty() {
            let alone = matches!(compiled.rule.trigger.when, When::Manual);
            let what = if alone { "its times are when instances of that end" } else { "it also starts when that ends" };
            notes.push(format!("it follows {}: {what}", leaders.join(" and ")));
        }
        notes.extend(jitter_note(compiled.rule.trigger.jitter));
        view.note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(view)
    }

    pub(crate) fn preview(&self, body: &PreviewBody) -> Done<PreviewView> {
        if [body.cron.is_some(), body.every.is_some(), body.once.is_some()].iter().filter(|one| **one).count() != 1 {
            return Err(Problem::new(Code::BadTrigger, "give exactly one of cron, every and once").into());
        }
        let count = count(body.n, "n", Code::WrongBody)?;
        let parts = body.as_job().to_parts(|_| None);
        let parts = parts.map_err(|faults| Problem::of_faults(Code::BadTrigger, faults))?;
        let compiled = Compiled::new(parts.rule).map_err(|error| trigger_fault(&error).alone())?;
        let from = body.from.map_or_else(|| self.clock.now(), Timestamp::from);
        let mut view = fires(&compiled, from, from, count, compiled.rule.trigger.count_max);
        view.note = jitter_note(compiled.rule.trigger.jitter);
        Ok(view)
    }
}

fn count(asked: Option<u32>, path: &str, code: Code) -> Done<usize> {
    match asked.unwrap_or(FIRES) {
        count @ 1..=FIRES_MAX => Ok(count as usize),
        other => Err(Fault::new(code, path, format!("{other} is outside 1 to {FIRES_MAX}")).alone().into()),
    }
}

fn fires(compiled: &Compiled, after: Timestamp, since: Timestamp, count: usize, left: Option<u64>) -> PreviewView {
    let zone = match &compiled.rule.trigger.when {
        When::Cron { zone, .. } => zone.clone(),
        When::Manual | When::Rate { .. } | When::Delay { .. } | When::Once { .. } => "UTC".into(),
    };
    let count = left.map_or(count, |left| count.min(usize::try_from(left).unwrap_or(usize::MAX)));
    let first = compiled.next_after(after, since);
    let times = std::iter::successors(first, |at| compiled.next_after(*at, since)).take(count);
    let fires = times.filter_map(|at| FireView::new(Time::from(at), &zone)).collect();
    PreviewView { zone, fires, note: None }
}

fn jitter_note(jitter: Span) -> Option<String> {
    (jitter > Span::ZERO).then(|| format!("each start is up to {jitter} later than planned, as the job's jitter says"))
}
