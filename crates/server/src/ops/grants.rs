//! Groups, roles and grants: who may do what where. Nobody gives more than they have, nor takes what they could not give.

use model::TenantId;
use model::rights::{Action, Held, Kind, Permissions, Place, Role};
use store::people::{Grant, Group, Holder, NamedRole, Origin, PeopleChange};
use wire::api::{GrantBody, GrantView, GroupBody, GroupView, Page, RoleBody, RoleView};
use wire::{Code, Fault, Problem};

use super::people::{known_name, named, no_such};
use super::{Desk, Done, Refused};
use crate::audit::{self, Facts};
use crate::doorman::Principal;
use crate::setup;

/// Of a folder, of a label's key and value.
const WORD_MAX: usize = 512;
const WORDS_MAX: usize = 64;

impl Desk {
    pub(crate) async fn list_groups(&self) -> Done<Page<GroupView>> {
        let groups = self.access.run(|access| access.groups()).await?;
        Ok(Page::whole(groups.into_iter().map(group_view).collect()))
    }

    pub(crate) async fn create_group(&self, body: GroupBody, by: &Principal) -> Done<GroupView> {
        named(&body.name)?;
        audit::named("name", &body.name);
        let (name, at) = (body.name.clone(), self.clock.now());
        let change = PeopleChange::GroupMade { name, at, by: by.name.clone() };
        self.change_people(change, || no_such_group(&body.name)).await?;
        let group = Group { name: body.name, members: Vec::new(), created_at: at, created_by: by.name.clone() };
        Ok(group_view(group))
    }

    pub(crate) async fn delete_group(&self, name: &str, by: &Principal) -> Done<()> {
        self.could_give(by, name).await?;
        let groups = self.access.run(|access| access.groups()).await?;
        let group = groups.iter().find(|group| group.name == name);
        group.into_iter().for_each(|group| audit::before(Facts::new().put("members", &group.members)));
        let change = PeopleChange::GroupRemoved { name: name.into() };
        self.change_people(change, || no_such_group(name)).await.map(drop)
    }

    pub(crate) async fn join_group(&self, group: &str, person: &str, by: &Principal) -> Done<()> {
        known_name(person)?;
        self.could_give(by, group).await?;
        let change = PeopleChange::Joined { group: group.into(), person: person.into() };
        self.change_people(change, || no_such(person)).await.map(drop)
    }

    pub(crate) async fn leave_group(&self, group: &str, person: &str, by: &Principal) -> Done<()> {
        known_name(person)?;
        self.could_give(by, group).await?;
        let change = PeopleChange::Left { group: group.into(), person: person.into() };
        let absent = || Problem::new(Code::NoSuchPerson, format!("{person} is not in {group}")).into();
        self.change_people(change, absent).await.map(drop)
    }

    /// What a group holds its members hold.
    async fn could_give(&self, by: &Principal, group: &str) -> Done<()> {
        let named = group.to_owned();
        let (there, grants, roles) = self
            .access
            .run(move |access| {
                let there = access.groups()?.iter().any(|known| known.name == named);
                Ok((there, access.grants()?, access.roles()?))
            })
            .await?;
        if !there {
            return Err(no_such_group(group));
        }
        let of = grants.iter().filter(|grant| grant.holder == Holder::Group(group.to_owned()));
        within(by, of.filter_map(|grant| grant.held(&roles)))
    }

    pub(crate) async fn list_roles(&self) -> Done<Page<RoleView>> {
        let built_in = Role::ALL.into_iter().map(|role| role_view(role.name(), true, role.permissions()));
        let named = self.access.run(|access| access.roles()).await?;
        let named = named.into_iter().map(|role| role_view(&role.name, false, role.permissions));
        Ok(Page::whole(built_in.chain(named).collect()))
    }

    pub(crate) async fn put_role(&self, name: String, body: RoleBody, by: &Principal) -> Done<RoleView> {
        named(&name)?;
        if Role::ALL.iter().any(|role| role.name() == name) {
            return Err(Problem::new(Code::NameInUse, format!("{name} is there from the beginning")).into());
        }
        let permissions = permissions(&body.permissions)?;
        self.could_change(by, &name, permissions).await?;
        let (created_at, created_by) = (self.clock.now(), by.name.clone());
        let role = NamedRole { name: name.clone(), permissions, created_at, created_by };
        self.change_people(PeopleChange::RolePut(role), || no_such_role(&name)).await?;
        audit::after(role_facts(permissions));
        Ok(role_view(&name, false, permissions))
    }

    pub(crate) async fn delete_role(&self, name: &str, by: &Principal) -> Done<()> {
        if !setup::is_name(name) {
            return Err(no_such_role(name));
        }
        self.could_change(by, name, Permissions::NONE).await?;
        let change = PeopleChange::RoleRemoved { name: name.into() };
        self.change_people(change, || no_such_role(name)).await.map(drop)
    }

    /// What a role has is given and taken by those who have it everywhere, for it may be granted everywhere already. The
    /// audit keeps what it was.
    async fn could_change(&self, by: &Principal, name: &str, wanted: Permissions) -> Done<()> {
        let roles = self.access.run(|access| access.roles()).await?;
        let before = roles.iter().find(|role| role.name == name).map(|role| role.permissions);
        let permissions = before.unwrap_or(Permissions::NONE).either(wanted);
        within(by, [Held { permissions, tenant: None, place: Place::default() }].into_iter())?;
        before.into_iter().for_each(|before| audit::before(role_facts(before)));
        Ok(())
    }

    /// What holds in the tenant; what holds everywhere, too, for those who may see that.
    pub(crate) async fn list_grants(&self, tenant: TenantId, by: &Principal) -> Done<Page<GrantView>> {
        let everywhere = everywhere(by, Action::See);
        let grants = self.access.run(move |access| access.grants_in(tenant, everywhere)).await?;
        Ok(Page::whole(grants.into_iter().map(|grant| self.grant_view(grant)).collect()))
    }

    pub(crate) async fn create_grant(&self, tenant: TenantId, body: GrantBody, by: &Principal) -> Done<GrantView> {
        let holder = match (body.person, body.group) {
            (Some(person), None) => Holder::Person(person),
            (None, Some(group)) => Holder::Group(group),
            (Some(_), Some(_)) | (None, None) => {
                let told = "a grant is to one person or to one group";
                return Err(Fault::new(Code::WrongBody, "person", told).alone().into());
            }
        };
        match &holder {
            Holder::Person(name) => known_name(name)?,
            Holder::Group(name) if !setup::is_name(name) => return Err(no_such_group(name)),
            Holder::Group(_) => {}
        }
        plain("folder", body.folder.iter().map(String::as_str))?;
        plain("labels", body.labels.iter().flat_map(|(key, value)| [key.as_str(), value.as_str()]))?;
        if body.everywhere && !everywhere(by, Action::Edit) {
            let detail = format!("{} may not say who may do what everywhere", by.name);
            return Err(Problem::new(Code::MoreThanOwn, detail).into());
        }
        let mut grant = Grant {
            id: 0,
            holder,
            role: body.role,
            tenant: (!body.everywhere).then_some(tenant),
            folder: body.folder.map(|folder| folder.trim_matches('/').to_owned()).filter(|folder| !folder.is_empty()),
            labels: body.labels,
            origin: Origin::Given,
            created_at: self.clock.now(),
            created_by: by.name.clone(),
        };
        let roles = self.access.run(|access| access.roles()).await?;
        let held = grant.held(&roles).ok_or_else(|| no_such_role(&grant.role))?;
        within(by, [held].into_iter())?;
        let missing = || match &grant.holder {
            Holder::Person(name) => no_such(name),
            Holder::Group(name) => no_such_group(name),
        };
        grant.id = self.change_people(PeopleChange::Granted(grant.clone()), missing).await?;
        audit::after(self.grant_facts(&grant).put("id", grant.id));
        Ok(self.grant_view(grant))
    }

    pub(crate) async fn delete_grant(&self, tenant: TenantId, id: i64, by: &Principal) -> Done<()> {
        let (grants, roles) = self.access.run(|access| Ok((access.grants()?, access.roles()?))).await?;
        let all = everywhere(by, Action::Edit);
        let ours = |grant: &&Grant| grant.tenant == Some(tenant) || (grant.tenant.is_none() && all);
        let grant = grants.iter().find(|grant| grant.id == id).filter(ours).ok_or_else(|| no_such_grant(id))?;
        within(by, grant.held(&roles).into_iter())?;
        audit::before(self.grant_facts(grant));
        self.change_people(PeopleChange::GrantRemoved { id }, || no_such_grant(id)).await.map(drop)
    }

    fn grant_facts(&self, grant: &Grant) -> Facts {
        let facts = match &grant.holder {
            Holder::Person(name) => Facts::new().put("person", name),
            Holder::Group(name) => Facts::new().put("group", name),
        };
        let tenant = grant.tenant.map(|tenant| self.tenant_name(tenant));
        let labels = (!grant.labels.is_empty()).then_some(&grant.labels);
        facts.put("role", &grant.role).put("tenant", tenant).put("folder", grant.folder.as_ref()).put("labels", labels)
    }

    fn grant_view(&self, grant: Grant) -> GrantView {
        let (person, group) = match grant.holder {
            Holder::Person(name) => (Some(name), None),
            Holder::Group(name) => (None, Some(name)),
        };
        GrantView {
            id: grant.id,
            person,
            group,
            role: grant.role,
            tenant: grant.tenant.map(|tenant| self.tenant_name(tenant)),
            folder: grant.folder,
            labels: grant.labels,
            from_provider: grant.origin == Origin::Mapped,
            created_at: grant.created_at.into(),
            created_by: grant.created_by,
        }
    }
}

fn role_facts(permissions: Permissions) -> Facts {
    Facts::new().put("permissions", &store::people::words(permissions))
}

fn everywhere(by: &Principal, action: Action) -> bool {
    let permissions = Permissions::NONE.with(Kind::Member, action);
    by.rights.include(&Held { permissions, tenant: None, place: Place::default() })
}

fn within(by: &Principal, mut held: impl Iterator<Item = Held>) -> Done<()> {
    if held.all(|held| by.rights.include(&held)) {
        return Ok(());
    }
    Err(Problem::new(Code::MoreThanOwn, format!("{} does not have all of these rights there", by.name)).into())
}

/// Words that a place is described with.
fn plain<'w>(field: &str, words: impl Iterator<Item = &'w str>) -> Done<()> {
    let (mut count, mut fits) = (0, true);
    for word in words {
        count += 1;
        fits &= word.chars().count() <= WORD_MAX && !word.chars().any(char::is_control);
    }
    if fits && count <= WORDS_MAX {
        return Ok(());
    }
    let told = format!("at most {WORDS_MAX} words of at most {WORD_MAX} characters, none of them a control character");
    Err(Fault::new(Code::WrongBody, field, told).alone().into())
}

/// Words such as `job.run`.
pub(super) fn permissions(words: &[String]) -> Done<Permissions> {
    let mut all = Permissions::NONE;
    for (at, word) in words.iter().enumerate() {
        let Some(known) = Permissions::parse(word) else {
            let told = format!("there is no permission {word:?}");
            return Err(Fault::new(Code::BadPermission, format!("permissions[{at}]"), told).alone().into());
        };
        all = all.either(known);
    }
    Ok(all)
}

fn group_view(group: Group) -> GroupView {
    GroupView {
        name: group.name,
        members: group.members,
        created_at: group.created_at.into(),
        created_by: group.created_by,
    }
}

fn role_view(name: &str, built_in: bool, permissions: Permissions) -> RoleView {
    RoleView { name: name.into(), built_in, permissions: store::people::words(permissions) }
}

fn no_such_group(name: &str) -> Refused {
    Problem::new(Code::NoSuchGroup, format!("there is no group {name}")).into()
}

fn no_such_role(name: &str) -> Refused {
    Problem::new(Code::NoSuchRole, format!("there is no role {name}")).into()
}

fn no_such_grant(id: i64) -> Refused {
    Problem::new(Code::NoSuchGrant, format!("there is no grant {id} here")).into()
}
