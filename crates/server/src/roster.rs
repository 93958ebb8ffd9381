//! What all servers share, as it changes: agents, executors, pools and limits, written by the owner of the first shard.
//! Every other shard is told, and so are the doors; agents are told which servers there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use engine::Input;
use engine::input::Roster;
use model::ShardId;
use store::StoreError;

use crate::app::App;
use crate::shard::FIRST;

const READ_WITHIN: Duration = Duration::from_secs(5);

/// Until the server stops.
pub(crate) async fn follow(app: Arc<App>) {
    let Some(cluster) = &app.cluster else { return };
    let mut pictures = cluster.pictures.clone();
    let (mut known, mut roster) = (None, None);
    // Which shards have been told, by their terms: one that was loaded meanwhile may have read what was before.
    let mut told = BTreeMap::new();
    let mut known_places = BTreeSet::new();
    loop {
        let revision = pictures.borrow_and_update().as_ref().map(|picture| picture.revision);
        if revision.is_some() && revision != known {
            // Also raised by whatever was granted or revoked elsewhere.
            app.doorman.forget_all();
            match refresh(&app).await {
                Ok(fresh) => {
                    let fresh = Arc::new(fresh);
                    // Shards first: what a door shows, they know.
                    told.clear();
                    tell(&app, &fresh, &mut told);
                    match take_in(&app, &fresh).await {
                        Ok(()) => known = revision,
                        Err(error) => tracing::warn!(%error, "what agents may do could not be read; trying again"),
                    }
                    roster = Some(fresh);
                }
                Err(error) => tracing::warn!(%error, "agents and pools could not be read; trying again"),
            }
        }
        if let Some(roster) = &roster {
            tell(&app, roster, &mut told);
        }
        let living = cluster.living();
        let places: BTreeSet<String> =
            living.iter().flat_map(|server| [&server.api, &server.agents, &server.peer]).cloned().collect();
        if places != known_places {
            app.calls.others_at(places.iter().cloned().collect()).await;
            known_places = places;
        }
        app.switchboard.name_servers(living.into_iter().map(|server| server.agents).collect());
        tokio::select! {
            () = app.stop.cancelled() => return,
            changed = pictures.changed() => if changed.is_err() { return },
        }
    }
}

async fn refresh(app: &Arc<App>) -> Result<Roster, StoreError> {
    let reads = Arc::clone(&app.reads);
    let read = tokio::task::spawn_blocking(move || {
        let by = Instant::now() + READ_WITHIN;
        Ok(Roster {
            agents: reads.agents(by)?,
            pools: reads.pools(by)?,
            tenants: reads.tenants(by)?,
            global_limit: reads.global_limit(by)?,
        })
    });
    read.await.unwrap_or_else(|panic| Err(StoreError::Failed(panic.to_string())))
}

async fn take_in(app: &Arc<App>, roster: &Roster) -> Result<(), StoreError> {
    let gone = app.doorman.refresh(&roster.agents).await?;
    app.tenants.replace(roster.tenants.clone());
    gone.into_iter().for_each(|agent| app.cut_off(agent));
    let tokens = app.access.run(|access| access.executor_tokens()).await?;
    app.executors.tokens().replace(tokens);
    app.executors.follow(&roster.agents);
    app.setup.refresh(&app.access).await
}

/// All but the first shard, which wrote it and may know of a change that is not on disk yet.
fn tell(app: &App, roster: &Arc<Roster>, told: &mut BTreeMap<ShardId, i64>) {
    for (shard, handle) in app.shards.running().into_iter().filter(|(shard, _)| *shard != FIRST) {
        let term = handle.progress.term.load(Ordering::Relaxed);
        if told.insert(shard, term) != Some(term) {
            handle.tell(Input::Roster(Arc::clone(roster)));
        }
    }
}
