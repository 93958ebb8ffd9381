//! The servers and what each owns; draining, weighing and forgetting them.

use cluster::{Served, served};
use model::{ServerId, Timestamp};
use store::leases::{Picture, Reserved, ServerRow};
use wire::api::{ClusterView, OwnedView, ReservedStateWord, ReservedView, ServerStateWord, ServerView};
use wire::{Code, Length, Problem};

use super::{Desk, Done, Refused};
use crate::audit::{self, Facts};
use crate::membership::Membership;

/// More than any cluster needs to tell its machines apart.
const WEIGHT_MAX: u32 = 1_000;

impl Desk {
    pub(crate) async fn cluster(&self) -> Done<ClusterView> {
        let Some(cluster) = &self.app.cluster else { return Ok(self.alone()) };
        let picture = cluster.picture().ok_or_else(|| Problem::new(Code::NotReady, "nobody has looked yet"))?;
        let servers = picture.servers.iter().map(|row| server_view(row, &picture, cluster)).collect();
        let shards = picture.leases.iter().map(|row| OwnedView {
            id: row.shard.0,
            server: row.server.map(|id| id.0),
            term: row.term.0,
            batch: row.batch.0,
            horizon: row.horizon.into(),
        });
        Ok(ClusterView {
            answered_by: Some(cluster.me.0),
            now: picture.now.into(),
            lease: Some(Length(cluster.lease())),
            servers,
            shards: shards.collect(),
            reserved: picture.reserved.iter().map(|reserved| reserved_view(reserved, &picture, cluster)).collect(),
        })
    }

    /// One server with a store of its own.
    fn alone(&self) -> ClusterView {
        let shards = self.shards.running().into_iter().map(|(shard, handle)| {
            let latest = *handle.progress.latest.lock();
            OwnedView {
                id: shard.0,
                server: None,
                term: handle.progress.term.load(std::sync::atomic::Ordering::Relaxed),
                batch: latest.map_or(0, |(batch, _)| batch.0),
                horizon: latest.map_or(self.started_at, |(_, horizon)| horizon).into(),
            }
        });
        let (now, shards) = (self.clock.now().into(), shards.collect());
        ClusterView { answered_by: None, now, lease: None, servers: Vec::new(), shards, reserved: Vec::new() }
    }

    pub(crate) async fn drain_server(&self, id: ServerId, draining: bool) -> Done<ClusterView> {
        self.note_server(id);
        let known = self.membership()?.change(move |leases| leases.set_draining(id, draining)).await?;
        audit::after(Facts::new().put("draining", draining));
        self.changed_server(id, known).await
    }

    pub(crate) async fn weigh_server(&self, id: ServerId, weight: u32) -> Done<ClusterView> {
        if weight > WEIGHT_MAX {
            let told = format!("{weight} is above {WEIGHT_MAX}; weights only say how servers compare");
            return Err(wire::Fault::new(Code::WrongBody, "weight", told).alone().into());
        }
        self.note_server(id);
        let known = self.membership()?.change(move |leases| leases.set_weight(id, weight)).await?;
        audit::after(Facts::new().put("weight", weight));
        self.changed_server(id, known).await
    }

    /// One that is dead and holds nothing.
    pub(crate) async fn forget_server(&self, id: ServerId) -> Done<()> {
        let cluster = self.membership()?;
        self.note_server(id);
        let picture = cluster.picture();
        let Some(row) = picture.as_ref().and_then(|picture| picture.servers.iter().find(|row| row.id == id)) else {
            return Err(no_server(id));
        };
        if cluster.living().iter().any(|living| living.id == id) {
            let detail = format!("server {} is alive; stop it first", row.name);
            return Err(Problem::new(Code::ServerAlive, detail).into());
        }
        match cluster.change(move |leases| leases.forget(id)).await? {
            true => Ok(()),
            false => {
                let detail = format!("server {} still holds shards; others take them within its lease", row.name);
                Err(Problem::new(Code::ServerAlive, detail).into())
            }
        }
    }

    /// What the audit is told of a server before it is changed.
    fn note_server(&self, id: ServerId) {
        let picture = self.app.cluster.as_ref().and_then(Membership::picture);
        if let Some(row) = picture.as_ref().and_then(|picture| picture.servers.iter().find(|row| row.id == id)) {
            audit::before(Facts::new().put("name", &row.name).put("weight", row.weight).put("draining", row.draining));
        }
    }

    async fn changed_server(&self, id: ServerId, known: bool) -> Done<ClusterView> {
        if !known {
            return Err(no_server(id));
        }
        // So that what follows from it begins now.
        self.membership()?.change(|leases| leases.wake(None)).await?;
        self.cluster_after_change().await
    }

    /// As the next look shows it.
    async fn cluster_after_change(&self) -> Done<ClusterView> {
        let mut pictures = self.membership()?.pictures.clone();
        pictures.borrow_and_update();
        let _ = tokio::time::timeout(std::time::Duration::from_secs(2), pictures.changed()).await;
        self.cluster().await
    }

    pub(super) fn membership(&self) -> Done<&Membership> {
        let alone = || {
            let detail = "this server is alone: its store is a file of its own, which no other server can share";
            Refused::from(Problem::new(Code::NotClustered, detail))
        };
        self.app.cluster.as_ref().ok_or_else(alone)
    }
}

fn server_view(row: &ServerRow, picture: &Picture, cluster: &Membership) -> ServerView {
    let owned = picture.leases.iter().filter(|lease| lease.server == Some(row.id)).count();
    let alive = cluster.living().iter().any(|living| living.id == row.id);
    ServerView {
        id: row.id.0,
        name: row.name.clone(),
        state: match (alive, row.draining) {
            (true, false) => ServerStateWord::Alive,
            (true, true) => ServerStateWord::Draining,
            (false, _) => ServerStateWord::Dead,
        },
        weight: row.weight,
        shards: owned as u32,
        api: row.api.clone(),
        agents: row.agents.clone(),
        version: row.version.clone(),
        started_at: row.started_at.into(),
        until: Timestamp::into(row.until),
    }
}

fn reserved_view(reserved: &Reserved, picture: &Picture, cluster: &Membership) -> ReservedView {
    ReservedView {
        tenant: reserved.tenant.clone(),
        servers: reserved.servers.clone(),
        shards: reserved.shards.len() as u32,
        state: match served(picture, reserved, &cluster.terms) {
            Served::Yes => ReservedStateWord::Served,
            Served::Kept => ReservedStateWord::Kept,
            Served::No => ReservedStateWord::Waiting,
        },
    }
}

fn no_server(id: ServerId) -> Refused {
    Problem::new(Code::NoSuchServer, format!("there is no server {id}")).into()
}
