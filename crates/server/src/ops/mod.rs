//! What people and programs can ask for: one operation each, from nouns to views. Every door (API, later XXL-JOB and
//! the console) ends here; nothing here knows of HTTP.

pub(crate) mod access;
pub(crate) mod agents;
pub(crate) mod apply;
mod audit;
mod chain;
pub(crate) mod cluster;
pub(crate) mod event;
mod grants;
mod hand;
mod harden;
pub(crate) mod instances;
pub(crate) mod jobs;
pub(crate) mod log;
mod overview;
mod people;
mod plan;
pub(crate) mod preview;
pub(crate) mod provider;
mod refused;
pub(crate) mod rerun;
mod resources;
mod secrets;
pub(crate) mod sessions;
mod sight;
pub(crate) mod system;
mod tenant_delete;
mod tenant_export;
mod tenants;
mod tokens;
pub(crate) mod trigger;
pub(crate) mod variables;
pub(crate) mod why;

use std::ops::Deref;
use std::sync::Arc;

use crate::api::Repeats;
use crate::app::App;

pub(crate) use hand::Hand;
pub(crate) use refused::Refused;
pub(crate) use sight::Sight;
pub(crate) use tenant_delete::closing_key;

pub(crate) type Done<T> = Result<T, Refused>;

/// The app, and what the doors remember beside it.
#[derive(Clone)]
pub(crate) struct Desk(Arc<Inner>);

pub(crate) struct Inner {
    app: Arc<App>,
    pub(crate) repeats: Repeats,
    pub(crate) used: tokens::LastUsed,
    /// Held from looking at an ended instance or a past planned time to the commit that relies on it.
    pub(crate) past: tokio::sync::Mutex<()>,
}

impl Desk {
    pub(crate) fn new(app: Arc<App>) -> Desk {
        Desk(Arc::new(Inner {
            app,
            repeats: Repeats::new(),
            used: tokens::LastUsed::default(),
            past: tokio::sync::Mutex::default(),
        }))
    }
}

impl Deref for Desk {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Deref for Inner {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}
