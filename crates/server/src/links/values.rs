//! What an order is told beyond its task: the values of its variables and secrets, as they are when it is sent. Looked up
//! only for tasks that name some, and always in the store, so that a change counts from the next order on, whichever
//! server it was made at.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::TenantId;
use store::{Reads, StoreError};
use wire::fill::Uses;
use wire::link::SecretValue;

use crate::levels::{nearest, usable};
use crate::vault::Vault;

const READ_WITHIN: Duration = Duration::from_secs(5);

/// What a task names, and where its job is.
pub struct Needs {
    pub uses: Uses,
    /// The job's own variables.
    pub own: HashMap<String, String>,
    pub folder: String,
}

#[derive(Clone)]
pub struct Values {
    pub(crate) reads: Arc<dyn Reads>,
    pub(crate) vault: Vault,
}

#[derive(Clone, Default)]
pub(super) struct Told {
    pub(super) variables: HashMap<String, String>,
    pub(super) secrets: HashMap<String, SecretValue>,
}

impl Values {
    /// All of it, or why not, in words that tell no value. Blocks on the store.
    pub(super) fn look_up(&self, tenant: TenantId, needs: &Needs) -> Result<Told, String> {
        let by = Instant::now() + READ_WITHIN;
        Ok(Told { variables: self.variables(tenant, needs, by)?, secrets: self.secrets(tenant, needs, by)? })
    }

    fn variables(&self, tenant: TenantId, needs: &Needs, by: Instant) -> Result<HashMap<String, String>, String> {
        let names: Vec<String> = needs.uses.variables.union(&needs.uses.maybe).cloned().collect();
        let asked: Vec<String> = names.iter().filter(|name| !needs.own.contains_key(*name)).cloned().collect();
        let kept = match asked.is_empty() {
            true => Vec::new(),
            false => self.reads.variables(tenant, Some(&asked), by).map_err(unread)?,
        };
        let mut values = HashMap::with_capacity(names.len());
        for name in names {
            let own = needs.own.get(&name).map(String::as_str);
            let value = own.or_else(|| nearest(&kept, &needs.folder, &name).map(|variable| variable.value.as_str()));
            match value {
                Some(value) => drop(values.insert(name, value.to_owned())),
                None if needs.uses.variables.contains(&name) => {
                    return Err(format!(
                        "the variable {name} is not set; set it with `duly variable set {name} VALUE`"
                    ));
                }
                None => {}
            }
        }
        Ok(values)
    }

    fn secrets(&self, tenant: TenantId, needs: &Needs, by: Instant) -> Result<HashMap<String, SecretValue>, String> {
        if needs.uses.secrets.is_empty() {
            return Ok(HashMap::new());
        }
        let names: Vec<String> = needs.uses.secrets.iter().cloned().collect();
        let kept = self.reads.secrets(tenant, Some(&names), by).map_err(unread)?;
        let value = |name: String| -> Result<(String, SecretValue), String> {
            let none = || format!("the job may use no secret {name}; set it with `duly secret set {name}`");
            let secret = usable(&kept, &needs.folder, &name).ok_or_else(none)?;
            let text = self.vault.value(secret).map_err(|error| error.to_string())?;
            Ok((name, SecretValue { text: text.to_string() }))
        };
        names.into_iter().map(value).collect()
    }
}

fn unread(error: StoreError) -> String {
    format!("its variables and secrets cannot be read: {error}")
}
