//! Accounts: who there is, and whether they may come in. Nobody acts upon somebody who may do more than they may.

use std::net::IpAddr;

use model::Timestamp;
use model::rights::Held;
use store::access::{Access, SecretHash};
use store::people::{Account, AccountKind, Changed, PeopleChange, Subject};
use wire::api::{OwnPasswordBody, Page, PasswordBody, PersonBody, PersonKind, PersonView, RightView, WhoamiView};
use wire::{Code, Fault, Problem};

use super::{Desk, Done, Refused};
use crate::audit::{self, Facts};
use crate::doorman::{Credential, Principal};
use crate::{password, setup, sign_in};

impl Desk {
    pub(crate) fn whoami(&self, who: &Principal) -> WhoamiView {
        let (token, session) = match &who.by {
            Credential::Token { name, .. } => (Some(name.clone()), None),
            Credential::Session { id } => (None, Some(id.clone())),
        };
        let right = |held: &Held| RightView {
            tenant: held.tenant.map(|tenant| self.tenant_name(tenant)),
            folder: held.place.folder.clone(),
            labels: held.place.labels.clone(),
            permissions: store::people::words(held.permissions),
        };
        WhoamiView {
            name: who.name.clone(),
            token,
            session,
            expires_at: who.expires_at.map(Into::into),
            must_change_password: who.must_change,
            tenant: self.tenant_name(who.rights.home()),
            rights: who.rights.iter().map(right).collect(),
        }
    }

    pub(crate) async fn list_people(&self) -> Done<Page<PersonView>> {
        let now = self.clock.now();
        Ok(Page::whole(self.access.run(move |access| views(access, now)).await?))
    }

    pub(crate) async fn show_person(&self, name: &str) -> Done<PersonView> {
        let all = self.list_people().await?.items;
        all.into_iter().find(|person| person.name == name).ok_or_else(|| no_such(name))
    }

    pub(crate) async fn create_person(&self, body: PersonBody, by: &Principal) -> Done<PersonView> {
        named(&body.name)?;
        let kind = match body.kind {
            PersonKind::Person => AccountKind::Person,
            PersonKind::Service if body.password.is_some() || body.provider => {
                let told = "a service account has no password and does not sign in: make a token for it";
                return Err(Problem::new(Code::WrongAccountKind, told).into());
            }
            PersonKind::Service => AccountKind::Service,
        };
        if let Some(password) = &body.password {
            strong(password, &body.name)?;
        }
        let password = match body.password {
            Some(password) => Some(password::hash(password).await),
            None => None,
        };
        let account = Account {
            name: body.name.clone(),
            kind,
            must_change: password.is_some(),
            password,
            subject: body.provider.then_some(Subject::Awaited),
            disabled_at: None,
            created_at: self.clock.now(),
            created_by: by.name.clone(),
        };
        audit::named("name", &body.name);
        self.change_people(PeopleChange::Made(account), || no_such(&body.name)).await?;
        let made = self.show_person(&body.name).await?;
        audit::after(facts(&made));
        Ok(made)
    }

    pub(crate) async fn set_disabled(&self, name: &str, disabled: bool, by: &Principal) -> Done<PersonView> {
        self.not_above(by, name).await?;
        audit::before(facts(&self.show_person(name).await?));
        let at = disabled.then(|| self.clock.now());
        self.change_people(PeopleChange::Disabled { name: name.into(), at }, || no_such(name)).await?;
        let now = self.show_person(name).await?;
        audit::after(facts(&now));
        Ok(now)
    }

    pub(crate) async fn delete_person(&self, name: &str, by: &Principal) -> Done<()> {
        self.not_above(by, name).await?;
        audit::before(facts(&self.show_person(name).await?));
        let change = PeopleChange::Removed { name: name.into(), at: self.clock.now() };
        self.change_people(change, || no_such(name)).await.map(drop)
    }

    /// Lets them try again from anywhere.
    pub(crate) async fn unlock_person(&self, name: &str, by: &Principal) -> Done<PersonView> {
        self.not_above(by, name).await?;
        let view = self.show_person(name).await?;
        audit::before(Facts::new().put("locked_until", view.locked_until.map(|at| at.to_string())));
        let name = view.name.clone();
        self.access.run(move |access| access.forget_tries(&name)).await?;
        Ok(PersonView { locked_until: None, ..view })
    }

    /// They must set another one before they do anything else: two know this one.
    pub(crate) async fn set_password(&self, name: &str, body: PasswordBody, by: &Principal) -> Done<()> {
        self.not_above(by, name).await?;
        if by.name == name {
            let detail = "one's own password is changed by whoever knows the old one";
            return Err(Problem::new(Code::OwnPassword, detail).into());
        }
        strong(&body.password, name)?;
        if self.show_person(name).await?.kind == PersonKind::Service {
            return Err(Problem::new(Code::WrongAccountKind, format!("{name} is a service account")).into());
        }
        let password = password::hash(body.password).await;
        let tokens_until = body.revoke_tokens.then(|| self.clock.now());
        let change =
            PeopleChange::PasswordSet { name: name.into(), password, must_change: true, keep: None, tokens_until };
        self.change_people(change, || no_such(name)).await?;
        audit::after(Facts::new().put("tokens_revoked", body.revoke_tokens));
        let name = name.to_owned();
        Ok(self.access.run(move |access| access.forget_tries(&name)).await.map(drop)?)
    }

    /// Whoever knows the old one. All sessions but this one end.
    pub(crate) async fn set_own_password(
        &self,
        body: OwnPasswordBody,
        who: &Principal,
        key: Option<SecretHash>,
        from: IpAddr,
    ) -> Done<()> {
        who.whole()?;
        // A stolen session must not be a way to guess faster.
        self.prove(&who.name, body.old, from, "the old password is wrong").await?;
        strong(&body.new, &who.name)?;
        let password = password::hash(body.new).await;
        let name = who.name.clone();
        let change = PeopleChange::PasswordSet { name, password, must_change: false, keep: key, tokens_until: None };
        self.change_people(change, || no_such(&who.name)).await.map(drop)
    }

    /// Done, or why not. Everybody is looked up anew after it.
    pub(super) async fn change_people(&self, change: PeopleChange, missing: impl FnOnce() -> Refused) -> Done<i64> {
        let changed = self.access.run(move |access| access.change(&change)).await;
        self.doorman.forget_all();
        match changed? {
            Changed::Done(id) => Ok(id),
            Changed::NoSuch => Err(missing()),
            Changed::Taken => Err(Problem::new(Code::NameInUse, "the name is taken").into()),
            Changed::InUse => Err(Problem::new(Code::RoleInUse, "grants still name this role").into()),
            Changed::LastAdministrator => {
                let detail = "after this nobody could administrate the installation any more";
                Err(Problem::new(Code::LastAdministrator, detail).into())
            }
        }
    }

    /// Whoever may change accounts could otherwise become anybody, and a token with a scope its owner.
    pub(super) async fn not_above(&self, by: &Principal, name: &str) -> Done<()> {
        known_name(name)?;
        if by.name == name {
            return by.whole();
        }
        let wanted = name.to_owned();
        let held = self.access.run(move |access| access.held_by(&wanted)).await?;
        if held.iter().all(|held| by.rights.include(held)) {
            return Ok(());
        }
        Err(Problem::new(Code::MoreThanOwn, format!("{name} may do more than {}", by.name)).into())
    }
}

impl Principal {
    /// A token that carries only some of its owner's rights does not manage their account.
    pub(crate) fn whole(&self) -> Done<()> {
        match self.by {
            Credential::Token { narrowed: true, .. } => {
                let detail = "a token with a scope cannot manage its owner's account, tokens and sessions";
                Err(Problem::new(Code::ScopedToken, detail).into())
            }
            Credential::Token { .. } | Credential::Session { .. } => Ok(()),
        }
    }
}

fn facts(person: &PersonView) -> Facts {
    let kind = match person.kind {
        PersonKind::Person => "person",
        PersonKind::Service => "service",
    };
    let facts =
        Facts::new().put("kind", kind).put("disabled", person.disabled_at.is_some()).put("provider", person.provider);
    facts.put("groups", &person.groups)
}

fn views(access: &mut dyn Access, now: Timestamp) -> Result<Vec<PersonView>, store::StoreError> {
    let groups = access.groups()?;
    let mut views = Vec::new();
    for account in access.accounts()? {
        let tries = access.tries(&account.name, "")?.everywhere;
        let of = groups.iter().filter(|group| group.members.contains(&account.name));
        views.push(PersonView {
            groups: of.map(|group| group.name.clone()).collect(),
            kind: match account.kind {
                AccountKind::Person => PersonKind::Person,
                AccountKind::Service => PersonKind::Service,
            },
            has_password: account.password.is_some(),
            must_change_password: account.must_change,
            provider: account.subject.is_some(),
            disabled_at: account.disabled_at.map(Into::into),
            locked_until: sign_in::closed_until(&tries, now).map(Into::into),
            created_at: account.created_at.into(),
            created_by: account.created_by,
            name: account.name,
        });
    }
    Ok(views)
}

pub(super) fn no_such(name: &str) -> Refused {
    Problem::new(Code::NoSuchPerson, format!("there is no account {name}")).into()
}

/// What cannot be a name is nobody's; not every store could even look for it.
pub(super) fn known_name(name: &str) -> Done<()> {
    if setup::is_name(name) { Ok(()) } else { Err(no_such(name)) }
}

/// Accounts, groups and roles are called alike.
pub(super) fn named(name: &str) -> Done<()> {
    if setup::is_name(name) {
        return Ok(());
    }
    Err(Fault::new(Code::BadName, "name", setup::SetupError::BadName.to_string()).alone().into())
}

fn strong(password: &str, name: &str) -> Done<()> {
    match password::fault(password, name) {
        None => Ok(()),
        Some(fault) => Err(Fault::new(Code::WeakPassword, "password", fault).alone().into()),
    }
}
