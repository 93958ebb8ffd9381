//! Rights as data: who holds what, and what that lets them do.

use std::collections::BTreeMap;

use duly_model::TenantId;
use duly_model::rights::{Action, Held, Kind, Permissions, Place, Reach, Rights, Role};

const A: TenantId = TenantId::DEFAULT;
const B: TenantId = TenantId(2);

fn held(role: Role, tenant: Option<TenantId>, folder: Option<&str>) -> Held {
    let place = Place { folder: folder.map(Into::into), labels: BTreeMap::new() };
    Held { permissions: role.permissions(), tenant, place }
}

fn only(held: Held) -> Rights {
    Rights::new(vec![held])
}

fn every() -> impl Iterator<Item = (Kind, Action)> {
    Kind::ALL.into_iter().flat_map(|kind| Action::ALL.into_iter().map(move |action| (kind, action)))
}

#[test]
fn who_holds_nothing_may_nothing() {
    assert!(every().all(|(kind, action)| Rights::default().reach(kind, action, A).is_none()));
}

#[test]
fn each_role_has_what_the_one_before_it_has_and_more() {
    for pair in Role::ALL.windows(2) {
        let (less, more) = (pair[0].permissions(), pair[1].permissions());
        assert!(more.contains(less) && more != less, "{pair:?}");
    }
    assert_eq!(Role::PlatformAdmin.permissions(), Permissions::all());
}

#[test]
fn running_editing_bringing_code_and_knowing_secrets_are_different_things() {
    let has = |role: Role, kind, action| role.permissions().has(kind, action);
    let table =
        [(Kind::Job, Action::Run), (Kind::Job, Action::Edit), (Kind::Job, Action::Code), (Kind::Secret, Action::See)];
    assert_eq!(table.map(|(kind, action)| has(Role::Viewer, kind, action)), [false; 4]);
    assert_eq!(table.map(|(kind, action)| has(Role::Operator, kind, action)), [true, false, false, false]);
    assert_eq!(table.map(|(kind, action)| has(Role::Developer, kind, action)), [true; 4]);
    assert!(!has(Role::Developer, Kind::Secret, Action::Edit));
}

#[test]
fn a_role_in_one_tenant_says_nothing_about_another_or_about_the_installation() {
    let admin_of_b = only(held(Role::TenantAdmin, Some(B), None));
    assert!(every().all(|(kind, action)| admin_of_b.reach(kind, action, A).is_none()));
    assert_eq!(admin_of_b.reach(Kind::Job, Action::Edit, B), Some(Reach::All));
    // Even the set of everything, held in one tenant only, does not reach the installation.
    let everything_in_b = only(held(Role::PlatformAdmin, Some(B), None));
    let of_installation = every().filter(|(kind, _)| kind.is_of_installation());
    assert!(of_installation.into_iter().all(|(kind, action)| everything_in_b.reach(kind, action, B).is_none()));
}

#[test]
fn a_folder_bounds_what_lies_in_folders_and_gives_nothing_else() {
    let rights = only(held(Role::TenantAdmin, Some(A), Some("billing")));
    let reach = rights.reach(Kind::Job, Action::Edit, A).unwrap();
    let covers = |folder: &str| reach.covers(folder, &BTreeMap::new());
    assert_eq!(
        ["billing", "billing/nightly", "billings", "", "ops/billing"].map(covers),
        [true, true, false, false, false]
    );
    assert_eq!(rights.reach(Kind::Pool, Action::See, A), None);
}

#[test]
fn labels_must_all_be_there() {
    let label = |key: &str, value: &str| (key.to_string(), value.to_string());
    let place = Place { folder: None, labels: BTreeMap::from([label("team", "data"), label("env", "test")]) };
    let rights = only(Held { permissions: Role::Operator.permissions(), tenant: Some(A), place });
    let reach = rights.reach(Kind::Instance, Action::Run, A).unwrap();
    assert!(reach.covers("any", &BTreeMap::from([label("team", "data"), label("env", "test"), label("x", "y")])));
    assert!(!reach.covers("any", &BTreeMap::from([label("team", "data")])));
    assert!(!reach.covers("any", &BTreeMap::from([label("team", "data"), label("env", "prod")])));
}

#[test]
fn the_widest_of_several_grants_counts() {
    let rights = Rights::new(vec![held(Role::Viewer, Some(A), None), held(Role::Developer, Some(A), Some("x"))]);
    assert_eq!(rights.reach(Kind::Job, Action::See, A), Some(Reach::All));
    let edits = rights.reach(Kind::Job, Action::Edit, A).unwrap();
    assert!(edits.covers("x/y", &BTreeMap::new()) && !edits.covers("y", &BTreeMap::new()));
}

#[test]
fn nobody_gives_away_more_than_they_have() {
    let admin = only(held(Role::TenantAdmin, Some(B), None));
    assert!(admin.include(&held(Role::Developer, Some(B), None)));
    assert!(admin.include(&held(Role::TenantAdmin, Some(B), Some("x"))));
    assert!(!admin.include(&held(Role::Viewer, Some(A), None)));
    assert!(!admin.include(&held(Role::Viewer, None, None)));
    assert!(!admin.include(&held(Role::PlatformAdmin, Some(B), None)));
    let of_folder = only(held(Role::TenantAdmin, Some(B), Some("x")));
    assert!(of_folder.include(&held(Role::Viewer, Some(B), Some("x/y"))));
    assert!(!of_folder.include(&held(Role::Viewer, Some(B), None)));
}

#[test]
fn a_token_has_no_more_than_its_owner_and_no_more_than_its_scope() {
    let operator = only(held(Role::Operator, Some(A), None));
    let scope = Permissions::parse("job.*");
    let narrowed = operator.narrowed(scope, None);
    assert_eq!(narrowed.reach(Kind::Job, Action::Run, A), Some(Reach::All));
    assert_eq!(narrowed.reach(Kind::Job, Action::Edit, A), None);
    assert_eq!(narrowed.reach(Kind::Instance, Action::See, A), None);
    let platform = only(Held::everywhere(Role::PlatformAdmin)).narrowed(None, Some(B));
    assert_eq!(platform.reach(Kind::Job, Action::Edit, B), Some(Reach::All));
    assert_eq!((platform.reach(Kind::Job, Action::See, A), platform.reach(Kind::Server, Action::See, B)), (None, None));
    assert_eq!(operator.narrowed(None, Some(B)), Rights::default());
}

#[test]
fn whoever_says_nothing_acts_in_their_own_tenant() {
    assert_eq!(only(Held::everywhere(Role::Viewer)).home(), A);
    assert_eq!(only(held(Role::Viewer, Some(B), None)).home(), B);
    let both = Rights::new(vec![held(Role::Viewer, Some(B), None), held(Role::Viewer, Some(A), None)]);
    assert_eq!(both.home(), A);
}

#[test]
fn permissions_have_names() {
    assert_eq!(Permissions::parse("job.run"), Some(Permissions::NONE.with(Kind::Job, Action::Run)));
    assert_eq!(Permissions::parse("log.*"), Some(Permissions::NONE.with(Kind::Log, Action::See)));
    assert_eq!(["job", "job.fly", "log.edit", "x.see", ".", ""].map(Permissions::parse), [None; 6]);
    for (kind, action) in Permissions::all().iter() {
        let name = format!("{}.{}", kind.name(), action.name());
        assert_eq!(Permissions::parse(&name), Some(Permissions::NONE.with(kind, action)));
    }
}
