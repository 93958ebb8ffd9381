//! Secrets: set, listed without their values, taken away, moved to another key. Also what a job may name when it is
//! applied. No answer of anything here holds a value.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use model::Actor;
use store::values::{SealedSecret, UsingJob};
use store::{Reads, StoreError};
use wire::api::{Page, RotatedView, SecretBody, SecretView};
use wire::fill::{VALUE_MAX, name_fault};
use wire::task::TaskBody;
use wire::{Code, Fault, JobBody, Problem};
use zeroize::Zeroizing;

use super::variables::{may_reach, uses};
use super::{Desk, Done, Hand, Sight};
use crate::audit::{self, Facts};
use crate::levels::{nearest, usable};
use crate::vault::Wish;

/// Shorter ones would make a mess of every log they are hidden in.
const LENGTH_MIN: usize = 4;
const SECRETS_MAX: usize = 2_000;

impl Desk {
    pub(crate) async fn list_secrets(&self, sight: &Sight, seen_jobs: Option<Sight>) -> Done<Page<SecretView>> {
        let tenant = sight.tenant;
        let (all, jobs) =
            self.read(move |reads, by| Ok((reads.secrets(tenant, None, by)?, reads.using_jobs(tenant, by)?))).await?;
        let seen = all.into_iter().filter(|secret| sight.covers(&secret.folder, &BTreeMap::new()));
        let used = used_by(&jobs, seen_jobs.as_ref());
        Ok(Page::whole(seen.map(|secret| view(secret, &used)).collect()))
    }

    pub(crate) async fn put_secret(
        &self,
        sight: &Sight,
        seen_jobs: Option<Sight>,
        name: String,
        body: SecretBody,
        by: Actor,
    ) -> Done<SecretView> {
        let (value, folder) = (Zeroizing::new(body.value), body.folder.unwrap_or_default());
        check(&name, &value)?;
        may_reach(sight, &folder)?;
        let (tenant, wanted) = (sight.tenant, name.clone());
        let (there, jobs) =
            self.read(move |reads, by| Ok((reads.secrets(tenant, None, by)?, reads.using_jobs(tenant, by)?))).await?;
        match there.iter().find(|secret| secret.name == wanted) {
            // Whoever may change secrets of one folder must not take another's place.
            Some(before) if may_reach(sight, &before.folder).is_err() => {
                let told = format!("there is a secret {wanted} outside of what you may change");
                return Err(Problem::new(Code::NotPermitted, told).into());
            }
            Some(before) => audit::before(facts(before)),
            None if there.len() >= SECRETS_MAX => {
                let told = format!("there are {SECRETS_MAX} secrets already");
                return Err(Fault::new(Code::OverSize, "name", told).alone().into());
            }
            None => {}
        }
        let wish = Wish { tenant, name, folder, value, by, at: self.clock.now() };
        let kept = self.vault.keep(&self.access, wish).await?;
        audit::after(facts(&kept));
        Ok(view(kept, &used_by(&jobs, seen_jobs.as_ref())))
    }

    pub(crate) async fn delete_secret(&self, sight: &Sight, name: String) -> Done<()> {
        let none = || Problem::new(Code::NoSuchSecret, format!("there is no secret {name:?}"));
        // What no secret can be called is not looked for.
        if name_fault(&name).is_some() {
            return Err(none().into());
        }
        let (tenant, wanted) = (sight.tenant, name.clone());
        let there = self.read(move |reads, by| reads.secrets(tenant, Some(&[wanted]), by)).await?;
        let within_reach = |secret: &&SealedSecret| may_reach(sight, &secret.folder).is_ok();
        let secret = there.first().filter(within_reach).ok_or_else(none)?;
        audit::before(facts(secret));
        let wanted = name.clone();
        let gone = self.access.run(move |access| access.remove_secret(tenant, &wanted)).await?;
        if gone { Ok(()) } else { Err(none().into()) }
    }

    pub(crate) async fn rotate_secret_key(&self) -> Done<RotatedView> {
        let rotated = self.vault.rotate(&self.access).await?;
        audit::after(Facts::new().put("key", &rotated.key_id).put("moved", rotated.moved));
        Ok(RotatedView { key: rotated.key_id, moved: rotated.moved })
    }
}

/// Which value it is, never what it is.
fn facts(secret: &SealedSecret) -> Facts {
    let folder = Some(&secret.folder).filter(|folder| !folder.is_empty());
    Facts::new().put("version", secret.version).put("folder", folder).put("key", &secret.key_id)
}

fn check(name: &str, value: &str) -> Done<()> {
    if let Some(wrong) = name_fault(name) {
        return Err(Fault::new(Code::BadName, "name", format!("the name {wrong}")).alone().into());
    }
    let wrong = if value.chars().count() < LENGTH_MIN {
        format!("it has fewer than {LENGTH_MIN} characters, which could not be hidden in logs")
    } else if value.len() > VALUE_MAX {
        format!("it has {} bytes, more than the {VALUE_MAX} allowed", value.len())
    } else if value.contains('\0') {
        "it has a zero byte, which no environment takes".to_owned()
    } else {
        return Ok(());
    };
    Err(Fault::new(Code::BadSecret, "value", wrong).alone().into())
}

/// The jobs that name each secret, of those in sight. Which labels they carry is not looked at: whoever sees jobs by
/// labels alone sees no secrets either.
fn used_by(jobs: &[UsingJob], sight: Option<&Sight>) -> BTreeMap<String, Vec<String>> {
    let mut used: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let seen = |job: &&UsingJob| sight.is_some_and(|sight| sight.covers(&job.folder, &BTreeMap::new()));
    for job in jobs.iter().filter(seen) {
        let uses = serde_json::from_slice::<TaskBody>(&job.task).ok().and_then(|task| task.uses);
        for name in uses.into_iter().flat_map(|uses| uses.secrets) {
            used.entry(name).or_default().push(job.name.clone());
        }
    }
    used
}

fn view(secret: SealedSecret, used: &BTreeMap<String, Vec<String>>) -> SecretView {
    SecretView {
        used_by: used.get(&secret.name).cloned().unwrap_or_default(),
        name: secret.name,
        folder: Some(secret.folder).filter(|folder| !folder.is_empty()),
        version: secret.version,
        key: secret.key_id,
        changed_at: secret.changed_at.into(),
        changed_by: secret.changed_by,
    }
}

/// Names in jobs that stand for nothing, or for a secret the job may not use. Whoever may not know of secrets is not told
/// which there are.
pub(super) fn faults(
    reads: &dyn Reads,
    hand: &Hand,
    bodies: &[JobBody],
    by: Instant,
) -> Result<Vec<Fault>, StoreError> {
    let used: Vec<_> = bodies.iter().map(uses).collect();
    let all = |pick: fn(&wire::fill::Uses) -> &BTreeSet<String>| -> Vec<String> {
        let names: BTreeSet<&String> = used.iter().flatten().flat_map(pick).collect();
        names.into_iter().cloned().collect()
    };
    let tenant = hand.edits.tenant;
    let (variables, secrets) = (all(|uses| &uses.variables), all(|uses| &uses.secrets));
    let variables = if variables.is_empty() { Vec::new() } else { reads.variables(tenant, Some(&variables), by)? };
    let secrets = if secrets.is_empty() { Vec::new() } else { reads.secrets(tenant, Some(&secrets), by)? };
    let mut faults = Vec::new();
    for (n, (body, uses)) in bodies.iter().zip(&used).enumerate() {
        let (Some(uses), folder) = (uses, body.folder.as_deref().unwrap_or_default()) else { continue };
        let unset = |name: &&String| !body.variables.contains_key(*name) && nearest(&variables, folder, name).is_none();
        for name in uses.variables.iter().filter(unset) {
            let told = format!("{} names the variable {name}, which is not set for it", body.job);
            faults.push(Fault::new(Code::UnknownVariable, format!("jobs[{n}]"), told));
        }
        let known = hand.knows_secrets_of(folder);
        for name in uses.secrets.iter().filter(|name| known && usable(&secrets, folder, name).is_none()) {
            let told = format!("{} names the secret {name}, and may use none of that name", body.job);
            faults.push(Fault::new(Code::UnknownSecret, format!("jobs[{n}]"), told));
        }
    }
    Ok(faults)
}
