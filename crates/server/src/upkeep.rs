//! What keeps an installation small and fast: history and logs beyond their time go, the store is tidied between
//! commits, expired secrets are forgotten. Each round is small; what is left waits for the next.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::{Batch, ShardId, Span, TenantId};
use store::{Reached, Retention, StoreError, TenantRetention};

use crate::app::App;
use crate::audit::ABANDONED_AFTER;
use crate::shard::FIRST;

const ROUND: Duration = Duration::from_secs(2);
/// Whole days go, so looking once in a while is enough.
const RETENTION_EVERY: u32 = 300;
/// What is open for long is found by looking again after a while.
const ROUNDS_BETWEEN: i64 = 30;
/// An idempotency key is good for this long.
const KEYS_FOR: Span = Span::DAY;
/// From where somebody has signed in is known for this long.
const TRIES_FOR: Span = Span::DAY.saturating_mul(30);
/// Rows forgotten between two commits.
const ROWS_MAX: u32 = 2_000;
/// Rows looked at between two commits for those of one tenant.
const ROWS_LOOKED_AT: u32 = 5_000;

pub(crate) async fn run(app: Arc<App>) {
    let mut rounds: u32 = 0;
    // Where nothing was written since, there is nothing to tidy.
    let mut tidied = BTreeMap::new();
    // Of which tenants the days before which one are gone.
    let mut swept = BTreeMap::new();
    loop {
        tokio::select! {
            () = tokio::time::sleep(ROUND) => {}
            () = app.stop.cancelled() => return,
        }
        let result = async {
            sweep(&app, &mut swept).await?;
            round(&app, rounds, &mut tidied).await
        };
        if let Err(error) = result.await {
            tracing::warn!(%error, "upkeep could not be done; trying again later");
        }
        rounds = rounds.wrapping_add(1);
    }
}

/// Tenants that keep less than the installation does: once a day, and when that was changed.
async fn sweep(app: &App, swept: &mut BTreeMap<TenantId, i64>) -> Result<(), StoreError> {
    if app.shards.handle(FIRST).is_none() {
        swept.clear();
        return Ok(());
    }
    let now = app.clock.now();
    for tenant in app.tenants.all() {
        let Some(kept_from) = tenant.kept_from(now) else { continue };
        let before_day = kept_from.day();
        if swept.get(&tenant.id) == Some(&before_day) {
            continue;
        }
        let keep = TenantRetention { tenant: tenant.id, before_day, rows_max: ROWS_LOOKED_AT };
        let mut reached = Some(Reached::NOTHING);
        while let Some(from) = reached
            && !app.stop.is_cancelled()
        {
            reached = app.writer.run(move |store| store.retain_of(&keep, from)).await?;
            tokio::task::yield_now().await;
        }
        swept.insert(tenant.id, before_day);
    }
    Ok(())
}

async fn round(app: &Arc<App>, rounds: u32, tidied: &mut BTreeMap<ShardId, Option<Batch>>) -> Result<(), StoreError> {
    let now = app.clock.now();
    for (shard, handle) in app.shards.running() {
        let latest = handle.progress.latest.lock().map(|(batch, _)| batch);
        let due = (i64::from(rounds) + shard.0) % ROUNDS_BETWEEN == 0;
        if tidied.insert(shard, latest) == Some(latest) && !due {
            continue;
        }
        let lane = app.shards.lane(shard);
        while lane.run(move |store| store.tidy(shard, now)).await? && !app.stop.is_cancelled() {
            tokio::task::yield_now().await;
        }
    }
    if rounds.is_multiple_of(RETENTION_EVERY) {
        let (logs, keep) = (Arc::clone(&app.logs), app.config.keep_logs);
        let _ = tokio::task::spawn_blocking(move || logs.tidy(keep, SystemTime::now())).await;
    }
    app.audit.tell_counted(now);
    // What is forgotten is forgotten for all: one server does it.
    if app.shards.handle(FIRST).is_some() && rounds.is_multiple_of(RETENTION_EVERY) {
        let keep = Retention {
            before_day: (now - Span::from(app.config.keep_history)).day(),
            keys_before: now - KEYS_FOR,
            rows_max: ROWS_MAX,
        };
        while app.writer.run(move |store| store.retain(&keep)).await? && !app.stop.is_cancelled() {
            tokio::task::yield_now().await;
        }
        app.access.run(move |access| access.forget_expired(now, now - TRIES_FOR)).await?;
        // A server that is alone begins with its own: whatever is left is of one that died.
        let abandoned = if rounds == 0 && app.cluster.is_none() { app.started_at } else { now - ABANDONED_AFTER };
        app.audit.settle_abandoned(abandoned).await?;
        if let Some(keep) = app.config.keep_audit {
            app.audit.drop_older_than(now - Span::from(keep)).await?;
        }
        app.executors.forget_old(now - Span::from(app.config.keep_history)).await;
    }
    Ok(())
}
