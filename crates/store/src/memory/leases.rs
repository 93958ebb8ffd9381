//! Leases by a clock that is set by hand. Nothing of them is taken back when batches are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{ServerId, ShardId, Span, Timestamp};
use parking_lot::{Condvar, Mutex};

use super::{Inner, MemoryStore};
use crate::StoreError;
use crate::leases::{LeaseRow, Leases, Life, Picture, Reserved, ServerRow, Wakes};

#[derive(Default)]
pub(super) struct Books {
    pub now: Timestamp,
    servers: BTreeMap<ServerId, ServerRow>,
    held: BTreeMap<ShardId, (Option<ServerId>, Timestamp)>,
}

impl Books {
    fn is_latest(&self, life: Life) -> bool {
        self.servers.get(&life.server).is_some_and(|row| row.life() == life)
    }
}

/// Who was woken and has not looked yet.
#[derive(Default)]
pub(super) struct Bell {
    rung: Mutex<BTreeSet<ServerId>>,
    rings: Condvar,
}

impl MemoryStore {
    /// What the store's clock says from now on; it knows no other.
    pub fn set_now(&self, now: Timestamp) {
        self.inner.lock().books.now = now;
    }

    pub fn now(&self) -> Timestamp {
        self.inner.lock().books.now
    }

    pub fn leases(&self) -> MemoryLeases {
        MemoryLeases { store: self.clone() }
    }

    pub fn wakes(&self, me: ServerId) -> MemoryWakes {
        MemoryWakes { me, bell: Arc::clone(&self.bell) }
    }
}

pub struct MemoryLeases {
    store: MemoryStore,
}

pub struct MemoryWakes {
    me: ServerId,
    bell: Arc<Bell>,
}

impl MemoryLeases {
    fn with<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> Result<T, StoreError> {
        let mut inner = self.store.inner.lock();
        inner.ready()?;
        Ok(work(&mut inner))
    }

    fn ring(&self, whom: impl IntoIterator<Item = ServerId>) {
        self.store.bell.rung.lock().extend(whom);
        self.store.bell.rings.notify_all();
    }

    fn all(&self) -> Vec<ServerId> {
        self.store.inner.lock().books.servers.keys().copied().collect()
    }

    fn set(&self, server: ServerId, edit: impl FnOnce(&mut ServerRow)) -> Result<bool, StoreError> {
        let found = self.with(|inner| inner.books.servers.get_mut(&server).map(edit).is_some())?;
        self.ring(self.all().into_iter().filter(|_| found));
        Ok(found)
    }
}

impl Inner {
    /// Also tenants' own, and those that a tenant once had.
    fn every_shard(&self) -> BTreeSet<ShardId> {
        let own = self.state.tenants().into_iter().flat_map(|tenant| tenant.own);
        let held = self.books.held.keys().copied();
        (0..self.state.shards_max.max(1)).map(ShardId).chain(own).chain(held).collect()
    }

    fn picture(&self) -> Picture {
        let shards = self.state.shards_max.max(1);
        let lease = |shard| {
            let (server, until) = self.books.held.get(&shard).copied().unwrap_or_default();
            let standing = self.state.shards.get(&shard).copied().unwrap_or_default();
            LeaseRow { shard, server, until, term: standing.term, batch: standing.batch, horizon: standing.horizon }
        };
        Picture {
            now: self.books.now,
            shards,
            servers: self.books.servers.values().cloned().collect(),
            leases: self.every_shard().into_iter().map(lease).collect(),
            revision: self.state.revision(),
            reserved: self.state.tenants().iter().filter_map(Reserved::of).collect(),
        }
    }
}

impl Leases for MemoryLeases {
    fn renew(&mut self, me: &ServerRow, lease: Span) -> Result<Picture, StoreError> {
        self.with(|inner| {
            if inner.books.servers.get(&me.id).is_some_and(|kept| kept.started_at > me.started_at) {
                return Err(StoreError::started_again());
            }
            let until = inner.books.now + lease;
            let kept = inner.books.servers.get(&me.id).map(|kept| (kept.weight, kept.draining));
            let (weight, draining) = kept.unwrap_or((me.weight, me.draining));
            inner.books.servers.insert(me.id, ServerRow { weight, draining, until, ..me.clone() });
            for held in inner.books.held.values_mut().filter(|(server, _)| *server == Some(me.id)) {
                held.1 = until;
            }
            Ok(inner.picture())
        })?
    }

    fn take(&mut self, me: ServerId, shards: &[ShardId], lease: Span, grace: Span) -> Result<Vec<ShardId>, StoreError> {
        self.with(|inner| {
            let (now, known) = (inner.books.now, inner.every_shard());
            let mut wanted: Vec<_> = shards.iter().copied().filter(|shard| known.contains(shard)).collect();
            wanted.sort_unstable();
            wanted.dedup();
            wanted.retain(|shard| {
                let held = inner.books.held.entry(*shard).or_default();
                let free = held.0.is_none_or(|server| server == me) || held.1 + grace < now;
                if free {
                    *held = (Some(me), now + lease);
                }
                free
            });
            wanted
        })
    }

    fn hand_over(
        &mut self,
        me: Life,
        to: Option<ServerId>,
        shards: &[ShardId],
        lease: Span,
        by: Timestamp,
    ) -> Result<(), StoreError> {
        self.with(|inner| {
            if inner.books.now > by || !inner.books.is_latest(me) {
                return;
            }
            let until = inner.books.now + if to.is_some() { lease } else { Span(0) };
            for shard in shards {
                if let Some(held) = inner.books.held.get_mut(shard).filter(|held| held.0 == Some(me.server)) {
                    *held = (to, until);
                }
            }
        })?;
        self.ring(to);
        Ok(())
    }

    fn leave(&mut self, me: Life) -> Result<(), StoreError> {
        self.with(|inner| {
            let now = inner.books.now;
            let Some(row) = inner.books.servers.get_mut(&me.server).filter(|row| row.life() == me) else { return };
            row.until = now;
            for held in inner.books.held.values_mut().filter(|held| held.0 == Some(me.server)) {
                *held = (None, now);
            }
        })?;
        self.ring(self.all().into_iter().filter(|server| *server != me.server));
        Ok(())
    }

    fn started_at(&mut self, server: ServerId) -> Result<Option<Timestamp>, StoreError> {
        self.with(|inner| inner.books.servers.get(&server).map(|row| row.started_at))
    }

    fn set_weight(&mut self, server: ServerId, weight: u32) -> Result<bool, StoreError> {
        self.set(server, |row| row.weight = weight)
    }

    fn set_draining(&mut self, server: ServerId, draining: bool) -> Result<bool, StoreError> {
        self.set(server, |row| row.draining = draining)
    }

    fn forget(&mut self, server: ServerId) -> Result<bool, StoreError> {
        self.with(|inner| {
            let books = &mut inner.books;
            let dead = books.servers.get(&server).is_some_and(|row| row.until <= books.now);
            let forgotten = dead && books.held.values().all(|held| held.0 != Some(server));
            if forgotten {
                books.servers.remove(&server);
            }
            forgotten
        })
    }

    fn wake(&mut self, server: Option<ServerId>) -> Result<(), StoreError> {
        self.with(|_| ())?;
        match server {
            Some(server) => self.ring([server]),
            None => self.ring(self.all()),
        }
        Ok(())
    }
}

impl Wakes for MemoryWakes {
    fn wait(&mut self, most: Duration) -> Result<bool, StoreError> {
        let end = Instant::now() + most;
        let mut rung = self.bell.rung.lock();
        loop {
            if rung.remove(&self.me) {
                return Ok(true);
            }
            if self.bell.rings.wait_until(&mut rung, end).timed_out() {
                return Ok(rung.remove(&self.me));
            }
        }
    }
}
