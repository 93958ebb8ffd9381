//! Waits for wake-ups of one server, on a connection that does nothing else. Wakes that came while there was no
//! connection are not known, so a new one counts as a wake.

use std::time::{Duration, Instant};

use model::ServerId;

use super::PgStore;
use super::address::{Door, Ear};
use super::lane::{Engine, drive, runtime};
use crate::StoreError;

/// Making a connection may take so long.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Who cannot connect does not try again at once.
const PAUSE: Duration = Duration::from_millis(500);

pub struct PgWakes {
    runtime: Engine,
    door: Door,
    listen: String,
    ear: Option<Ear>,
}

impl PgStore {
    /// Listens for whoever wakes this server, from now on.
    pub fn wakes(&self, me: ServerId) -> Result<PgWakes, StoreError> {
        let mut wakes = PgWakes {
            runtime: runtime()?,
            door: self.lane.door().clone(),
            listen: format!("set idle_session_timeout = 0; listen duly_{me}"),
            ear: None,
        };
        wakes.connect(CONNECT_WITHIN)?;
        Ok(wakes)
    }
}

impl PgWakes {
    fn connect(&mut self, within: Duration) -> Result<(), StoreError> {
        let listening = async { tokio::time::timeout(within, self.door.listen(&self.listen)).await };
        let silent = || StoreError::Lost(format!("no answer from {}", self.door));
        let ear = drive(&self.runtime, listening).map_err(|_| silent())?;
        self.ear = Some(ear.map_err(|fault| StoreError::Lost(StoreError::from(fault).to_string()))?);
        Ok(())
    }
}

impl crate::Wakes for PgWakes {
    fn wait(&mut self, most: Duration) -> Result<bool, StoreError> {
        let end = Instant::now() + most;
        let Some(ear) = &mut self.ear else {
            if let Err(error) = self.connect(most.min(CONNECT_WITHIN)) {
                let left = end.saturating_duration_since(Instant::now());
                std::thread::sleep(left.min(PAUSE));
                return Err(error);
            }
            return Ok(true);
        };
        match drive(&self.runtime, async { tokio::time::timeout(most, ear.heard()).await }) {
            Ok(true) => Ok(true),
            Ok(false) => {
                self.ear = None;
                Err(StoreError::Lost("the connection that listens was lost".into()))
            }
            Err(_) => Ok(false),
        }
    }
}
