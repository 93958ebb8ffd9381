//! What somebody sees of an installation: one tenant, and of it all or some folders and labels. Jobs and instances are
//! looked up through a sight and in no other way, so what is out of sight is not there.

use std::collections::BTreeMap;

use model::rights::{Permission, Place, Reach, Rights};
use model::{AgentRecord, Instance, JobRecord, TenantId};
use store::{Reads, StoreError};
use wire::{Code, Fault, Problem};

use super::Done;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) tenant: TenantId,
    reach: Reach,
}

/// A folder and a label that a list is asked for.
pub(crate) fn asked_place(folder: Option<String>, label: Option<&str>) -> Done<Place> {
    let mut labels = BTreeMap::new();
    if let Some(label) = label {
        let Some((key, value)) = label.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            let fault = Fault::new(Code::BadQuery, "label", format!("{label:?} is not a label"));
            return Err(fault.hint("write key=value, as in team=billing").alone().into());
        };
        labels.insert(key.to_owned(), value.to_owned());
    }
    Ok(Place { folder, labels })
}

impl Sight {
    /// What a permission reaches for whoever holds these rights; none: they may not. Every door asks here: that of
    /// the API, that of executors.
    pub(crate) fn granted(rights: &Rights, permission: Permission, tenant: TenantId) -> Option<Sight> {
        let reach = match permission {
            Permission::Public | Permission::SignedIn => Reach::Within(Vec::new()),
            Permission::May(kind, action) => rights.reach(kind, action, tenant)?,
        };
        Some(Sight { tenant, reach })
    }

    pub(crate) fn new(tenant: TenantId, reach: Reach) -> Sight {
        Sight { tenant, reach }
    }

    /// All of it, for what is looked up on our own account.
    pub(crate) fn of_tenant(tenant: TenantId) -> Sight {
        Sight { tenant, reach: Reach::All }
    }

    /// Places that bound it; none for the whole tenant.
    pub(crate) fn within(&self) -> Option<Vec<Place>> {
        match &self.reach {
            Reach::All => None,
            Reach::Within(places) => Some(places.clone()),
        }
    }

    /// The same for a list that asks only about a part of it: what lies in both.
    pub(crate) fn within_also(&self, asked: &Place) -> Option<Vec<Place>> {
        match self.within() {
            None if asked.is_everywhere() => None,
            None => Some(vec![asked.clone()]),
            Some(places) => Some(places.iter().filter_map(|place| place.and(asked)).collect()),
        }
    }

    /// For what cannot be said of a part of a tenant.
    pub(crate) fn whole(&self) -> Done<TenantId> {
        match &self.reach {
            Reach::All => Ok(self.tenant),
            Reach::Within(_) => {
                let detail = "this is about a whole tenant, and your rights are about some of its folders or labels";
                Err(Problem::new(Code::NotPermitted, detail).into())
            }
        }
    }

    pub(crate) fn covers(&self, folder: &str, labels: &BTreeMap<String, String>) -> bool {
        self.reach.covers(folder, labels)
    }

    pub(crate) fn shows_job(&self, job: &JobRecord) -> bool {
        job.tenant == self.tenant && self.covers(&job.folder, &job.labels)
    }

    pub(crate) fn shows_agent(&self, agent: &AgentRecord) -> bool {
        agent.tenant == self.tenant
    }

    /// An instance is where its job is, or was when it was deleted.
    pub(crate) fn shows_instance(
        &self,
        reads: &dyn Reads,
        instance: &Instance,
        by: std::time::Instant,
    ) -> Result<bool, StoreError> {
        if instance.tenant != self.tenant {
            return Ok(false);
        }
        match self.reach {
            Reach::All => Ok(true),
            Reach::Within(_) => {
                let job = reads.job_past_or_present(instance.job, by)?;
                Ok(job.is_some_and(|job| self.shows_job(&job)))
            }
        }
    }
}
