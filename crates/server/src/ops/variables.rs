//! Variables: set, listed and taken away at their levels, and what they come to in one job.

use std::collections::{BTreeMap, BTreeSet};

use model::{Actor, TenantId};
use store::values::{PLATFORM, Variable};
use wire::api::{EffectiveView, LevelWord, Page, VariableBody, VariableView};
use wire::fill::{Uses, VALUE_MAX, name_fault};
use wire::job::check::folder_fault;
use wire::{Code, Fault, JobBody, Problem};

use super::{Desk, Done, Refused, Sight, jobs};
use crate::audit::{self, Facts};
use crate::levels::{lies_in, nearest};

/// Of one tenant.
const VARIABLES_MAX: usize = 2_000;

/// Where a variable is set.
pub(crate) struct Spot {
    tenant: TenantId,
    folder: String,
}

impl Spot {
    /// Only whoever may change the whole installation reaches `platform`.
    pub(crate) fn of(sight: &Sight, everywhere: bool, folder: Option<String>, platform: bool) -> Done<Spot> {
        let folder = folder.unwrap_or_default();
        if platform && !folder.is_empty() {
            let told = "a folder belongs to a tenant, not to the whole installation";
            return Err(Fault::new(Code::BadName, "folder", told).alone().into());
        }
        if platform {
            let lacks = || Problem::new(Code::NotPermitted, "variables of the whole installation need system.edit");
            return if everywhere { Ok(Spot { tenant: PLATFORM, folder }) } else { Err(lacks().into()) };
        }
        may_reach(sight, &folder)?;
        Ok(Spot { tenant: sight.tenant, folder })
    }
}

/// A right that is for some folders is not for the tenant around them.
pub(super) fn may_reach(sight: &Sight, folder: &str) -> Done<()> {
    if let Some(wrong) = folder_fault(folder) {
        return Err(Fault::new(Code::BadName, "folder", format!("the folder {wrong}")).alone().into());
    }
    if folder.is_empty() {
        return sight.whole().map(|_| ());
    }
    match sight.covers(folder, &BTreeMap::new()) {
        true => Ok(()),
        false => Err(Problem::new(Code::NotPermitted, format!("your rights do not reach the folder {folder}")).into()),
    }
}

impl Desk {
    pub(crate) async fn list_variables(&self, sight: &Sight) -> Done<Page<VariableView>> {
        let tenant = sight.tenant;
        let all = self.read(move |reads, by| reads.variables(tenant, None, by)).await?;
        let seen = all.into_iter().filter(|variable| sight.covers(&variable.folder, &BTreeMap::new()));
        Ok(Page::whole(seen.map(view).collect()))
    }

    pub(crate) async fn put_variable(
        &self,
        spot: Spot,
        name: String,
        value: VariableBody,
        by: Actor,
    ) -> Done<VariableView> {
        if let Some(wrong) = name_fault(&name) {
            return Err(Fault::new(Code::BadName, "name", format!("the name {wrong}")).alone().into());
        }
        if value.value.len() > VALUE_MAX {
            let told = format!("{} bytes are more than the {VALUE_MAX} allowed", value.value.len());
            return Err(Fault::new(Code::OverSize, "value", told).alone().into());
        }
        if value.value.contains('\0') {
            return Err(Fault::new(Code::WrongBody, "value", "a NUL cannot be in a variable").alone().into());
        }
        let tenant = spot.tenant;
        let there = self.read(move |reads, by| reads.variables(tenant, None, by)).await?;
        let before = there.iter().find(|v| (v.tenant, &v.folder, &v.name) == (tenant, &spot.folder, &name));
        before.into_iter().for_each(|before| audit::before(facts(before)));
        if before.is_none() && there.len() >= VARIABLES_MAX {
            let told = format!("there are {VARIABLES_MAX} variables already");
            return Err(Fault::new(Code::OverSize, "name", told).alone().into());
        }
        let Spot { tenant, folder } = spot;
        let changed_at = self.clock.now();
        let variable = Variable { tenant, folder, name, value: value.value, changed_at, changed_by: by.0 };
        let kept = variable.clone();
        self.access.run(move |access| access.put_variable(&kept)).await?;
        audit::after(facts(&variable));
        Ok(view(variable))
    }

    pub(crate) async fn delete_variable(&self, spot: Spot, name: String) -> Done<()> {
        let told = format!("there is no variable {name:?} at that level");
        // What no variable can be called is not looked for.
        if name_fault(&name).is_some() {
            return Err(Problem::new(Code::NoSuchVariable, told).into());
        }
        let (tenant, wanted) = (spot.tenant, name.clone());
        let there = self.read(move |reads, by| reads.variables(tenant, Some(&[wanted]), by)).await?;
        let before = there.iter().find(|v| (v.tenant, &v.folder) == (tenant, &spot.folder));
        before.into_iter().for_each(|before| audit::before(facts(before)));
        let gone = self.access.run(move |access| access.remove_variable(spot.tenant, &spot.folder, &name)).await?;
        if gone { Ok(()) } else { Err(Problem::new(Code::NoSuchVariable, told).into()) }
    }

    /// Everything `${…}` could name in a job, as it stands now.
    pub(crate) async fn effective_variables(&self, sight: &Sight, name: &str) -> Done<Page<EffectiveView>> {
        let record = self.job(sight, name).await?;
        let tenant = sight.tenant;
        let (all, body) = self
            .read(move |reads, by| Ok((reads.variables(tenant, None, by)?, jobs::body(reads, &record, by)?)))
            .await?;
        Ok(Page::whole(effective(&all, &body)))
    }
}

fn effective(all: &[Variable], body: &JobBody) -> Vec<EffectiveView> {
    let folder = body.folder.as_deref().unwrap_or_default();
    let here: Vec<&Variable> = all.iter().filter(|variable| lies_in(folder, &variable.folder)).collect();
    let uses = uses(body).unwrap_or_default();
    let names: BTreeSet<&str> =
        here.iter().map(|variable| variable.name.as_str()).chain(body.variables.keys().map(String::as_str)).collect();
    let effective = names.into_iter().map(|name| {
        let levels = here.iter().filter(|variable| variable.name == name).count() as u32;
        let used = uses.variables.contains(name) || uses.maybe.contains(name);
        match (body.variables.get(name), nearest(all, folder, name)) {
            (Some(own), _) => {
                let (name, value) = (name.to_owned(), own.clone());
                EffectiveView { name, value, level: LevelWord::Job, folder: None, used, hides: levels }
            }
            (None, found) => {
                let VariableView { name, value, level, folder, .. } =
                    view(found.expect("named by one of them").clone());
                EffectiveView { name, value, level, folder, used, hides: levels - 1 }
            }
        }
    });
    effective.collect()
}

pub(super) fn uses(body: &JobBody) -> Option<Uses> {
    body.to_parts(|_| Some(model::JobId(0))).ok()?.task.uses
}

/// A variable is no secret: what it was and is may be told.
fn facts(variable: &Variable) -> Facts {
    let level = match (variable.tenant, variable.folder.as_str()) {
        (PLATFORM, _) => "platform",
        (_, "") => "tenant",
        (_, folder) => folder,
    };
    Facts::new().put("level", level).put("value", &variable.value)
}

fn view(variable: Variable) -> VariableView {
    let level = match (variable.tenant, variable.folder.as_str()) {
        (PLATFORM, _) => LevelWord::Platform,
        (_, "") => LevelWord::Tenant,
        _ => LevelWord::Folder,
    };
    VariableView {
        name: variable.name,
        value: variable.value,
        level,
        folder: (level == LevelWord::Folder).then_some(variable.folder),
        changed_at: variable.changed_at.into(),
        changed_by: variable.changed_by,
    }
}

impl From<crate::vault::VaultError> for Refused {
    fn from(error: crate::vault::VaultError) -> Refused {
        use crate::vault::VaultError as E;
        let code = match &error {
            E::NoKey => Code::NoSecretKey,
            E::OtherKey(_) => Code::OtherSecretKey,
            E::NothingNew => Code::NothingToRotate,
            E::Damaged(_) => Code::StoreDamaged,
            E::Contended | E::File(_) => Code::Internal,
            E::Store(_) => {
                let E::Store(error) = error else { unreachable!("just seen") };
                return error.into();
            }
        };
        Problem::new(code, error.to_string()).into()
    }
}
