//! An ended instance once more: one, or all dead letters that fit.

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method};
use engine::Command;
use model::{Actor, Instance, InstanceId, JobMode, State};
use store::read::InstanceFilter;
use wire::api::{InstanceView, RefusedView, ReplayBody, ReplayView};
use wire::peer::RECORDED;
use wire::{Code, Fault, Problem};

use super::{Desk, Done, Sight, jobs};
use crate::audit::{self, Facts};

const REPLAY: u32 = 100;
const REPLAY_MAX: u32 = 500;

impl Desk {
    pub(crate) async fn rerun(&self, sight: &Sight, id: InstanceId, by: Actor) -> Done<InstanceView> {
        self.run_again(sight, id, None, by).await?;
        let shown = self.show_instance(sight, id).await?;
        audit::after(Facts::new().put("job", &shown.job).put("attempt_no", shown.attempt_no));
        Ok(shown)
    }

    pub(crate) async fn replay(
        &self,
        sight: &Sight,
        body: ReplayBody,
        by: Actor,
        headers: &HeaderMap,
    ) -> Done<ReplayView> {
        let limit = match body.limit.unwrap_or(REPLAY) {
            limit @ 1..=REPLAY_MAX => limit as usize,
            other => {
                let told = format!("{other} is outside 1 to {REPLAY_MAX}");
                return Err(Fault::new(Code::WrongBody, "limit", told).alone().into());
            }
        };
        let job = match &body.job {
            Some(name) => Some(self.job(sight, name).await?.id),
            None => None,
        };
        let ids: Vec<InstanceId> = if body.ids.is_empty() {
            let filter = InstanceFilter {
                tenant: Some(sight.tenant),
                within: sight.within(),
                job,
                states: vec![State::Dead],
                from: body.from.map(Into::into),
                to: body.to.map(Into::into),
                limit,
                ..InstanceFilter::default()
            };
            let found = self.read(move |reads, by| reads.instances(&filter, by)).await?;
            // Oldest first, as they would have run.
            found.iter().rev().map(|instance| instance.id).collect()
        } else {
            body.ids.iter().take(limit).map(|id| InstanceId(*id)).collect()
        };
        let mut view = ReplayView::default();
        for id in ids {
            match self.replay_one(sight, id, &Fits { job, body: &body }, by.clone(), headers).await {
                Ok(()) => {
                    audit::item(&id.to_string(), Facts::new().put("replayed", id.0));
                    view.replayed.push(id.0);
                }
                Err(refused) => view.refused.push(RefusedView { id: id.0, why: refused.0.detail.clone() }),
            }
        }
        if view.replayed.is_empty() {
            audit::after(Facts::new().put("refused", view.refused.len() as u64));
        }
        Ok(view)
    }

    /// At its owner, which must see that the row is still what it was.
    async fn replay_one(
        &self,
        sight: &Sight,
        id: InstanceId,
        fits: &Fits<'_>,
        by: Actor,
        headers: &HeaderMap,
    ) -> Done<()> {
        let shard = self.shards.of_instance(id).await?;
        if let Some(why) = self.shards.unserved(shard) {
            return Err(Problem::new(Code::Unserved, why).into());
        }
        let owner = self.peers.as_ref().filter(|_| self.shards.handle(shard).is_none());
        let Some((peers, owner)) = owner.and_then(|peers| Some((peers, peers.owner(shard)?))) else {
            return self.run_again(sight, id, Some(fits), by).await;
        };
        fits.check(&self.instance(sight, id).await?)?;
        let path = wire::routes::INSTANCE_RERUN.at(&[&id.to_string()]);
        let mut headers = headers.clone();
        headers.remove("idempotency-key");
        headers.insert(RECORDED, HeaderValue::from_static("yes"));
        let sent = peers.pass_on(&owner, Method::POST, &path, headers, Bytes::new()).await;
        let answer = sent.map_err(|error| Problem::new(Code::StoreBusy, error.to_string()))?;
        if answer.status().is_success() {
            return Ok(());
        }
        let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap_or_default();
        let told = serde_json::from_slice::<Problem>(&body);
        Err(told.unwrap_or_else(|_| Problem::new(Code::NotOwner, "its owner is changing; try again")).into())
    }

    async fn run_again(&self, sight: &Sight, id: InstanceId, fits: Option<&Fits<'_>>, by: Actor) -> Done<()> {
        // The row as it was read must be the row that is opened again.
        let _past = self.past.lock().await;
        let instance = self.instance(sight, id).await?;
        if let Some(fits) = fits {
            fits.check(&instance)?;
        }
        if instance.state.is_open() {
            return Err(Problem::new(Code::StillOpen, format!("instance {id} has not ended")).into());
        }
        let (job, version) = (instance.job, instance.version);
        let (job, rule) = self
            .read(move |reads, by| {
                let version = reads.version(version, by)?;
                let rule = version.map(|version| jobs::compiled(reads, version.rule, by)).transpose()?;
                Ok((reads.job(job, by)?, rule))
            })
            .await?;
        let job = job.ok_or_else(|| Problem::new(Code::NoSuchJob, format!("the job of instance {id} was deleted")))?;
        let gone = || Problem::new(Code::NoSuchVersion, format!("the version of {} it ran with is gone", job.name));
        let rule = rule.ok_or_else(gone)?;
        if job.mode == JobMode::Disabled {
            return Err(Problem::new(Code::JobDisabled, format!("job {} is disabled", job.name)).into());
        }
        self.shards.ask(by, Command::Rerun { instance: Box::new(instance), rule }).await?;
        Ok(())
    }
}

/// What a dead letter must be to be replayed.
struct Fits<'a> {
    job: Option<model::JobId>,
    body: &'a ReplayBody,
}

impl Fits<'_> {
    fn check(&self, instance: &Instance) -> Done<()> {
        let planned = instance.planned;
        let inside = self.body.from.is_none_or(|from| planned >= from.into())
            && self.body.to.is_none_or(|to| planned < to.into())
            && self.job.is_none_or(|job| job == instance.job);
        if !inside {
            return Err(Problem::new(Code::WrongBody, "it does not fit the filters").into());
        }
        if instance.state != State::Dead {
            let detail = format!("it is no dead letter, but {}", instance.state);
            return Err(Problem::new(Code::StillOpen, detail).into());
        }
        Ok(())
    }
}
