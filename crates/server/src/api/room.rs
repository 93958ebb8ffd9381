//! How many connections there may be: at all, and from one address, so that nobody takes every place. This machine and
//! proxies we trust speak for many.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::visitor::Network;

#[derive(Clone)]
pub(super) struct Room {
    places: Arc<Semaphore>,
    of: Arc<Mutex<HashMap<IpAddr, usize>>>,
    of_one_max: usize,
    /// Who may have as many as there are.
    proxies: Arc<[Network]>,
}

/// Given back when it is dropped.
pub(super) struct Place {
    room: Room,
    counted: Option<IpAddr>,
    _place: OwnedSemaphorePermit,
}

impl Room {
    pub(super) fn new(all: usize, of_one_max: usize, proxies: &[Network]) -> Room {
        Room { places: Arc::new(Semaphore::new(all)), of: Arc::default(), of_one_max, proxies: proxies.into() }
    }

    /// Waits until there is one at all.
    pub(super) async fn place(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.places).acquire_owned().await.expect("it is never closed")
    }

    /// None if this address has enough of them.
    pub(super) fn enter(&self, from: IpAddr, place: OwnedSemaphorePermit) -> Option<Place> {
        let from = from.to_canonical();
        let many = from.is_loopback() || self.proxies.iter().any(|network| network.contains(from));
        let counted = (!many).then_some(from);
        if let Some(from) = counted {
            let mut of = self.of.lock();
            let open = of.entry(from).or_default();
            if *open >= self.of_one_max {
                return None;
            }
            *open += 1;
        }
        Some(Place { room: self.clone(), counted, _place: place })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(from) = self.counted else { return };
        let mut of = self.room.of.lock();
        if let Some(open) = of.get_mut(&from) {
            *open -= 1;
            if *open == 0 {
                of.remove(&from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_address_has_so_many_and_gets_them_back_while_proxies_speak_for_all() {
        let room = Room::new(100, 2, &["10.0.0.0/8".parse().unwrap()]);
        let enter = async |from: &str| room.enter(from.parse().unwrap(), room.place().await);
        let (first, _second) = (enter("192.0.2.1").await.unwrap(), enter("::ffff:192.0.2.1").await.unwrap());
        assert!(enter("192.0.2.1").await.is_none());
        assert!(enter("192.0.2.2").await.is_some(), "others have their own");
        drop(first);
        let _third = enter("192.0.2.1").await.unwrap();
        let mut many = Vec::new();
        for from in ["10.1.2.3", "127.0.0.1", "::1"] {
            for _ in 0..5 {
                many.push(enter(from).await.unwrap());
            }
        }
        assert_eq!((room.of.lock().len(), room.places.available_permits()), (1, 100 - 2 - many.len()));
    }
}
