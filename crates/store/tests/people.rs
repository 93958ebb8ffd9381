//! Who there is, who holds what, and what opens a door: the same on every store that keeps people.

use std::collections::BTreeMap;

use duly_store::access::Access;
use duly_store::people::*;
use duly_store::postgres::PgStore;
use duly_store::sqlite::{Options, SqliteStore};
use model::rights::{Held, Permissions, Place, Role};
use model::{Span, TenantId, Timestamp};

#[path = "support/cluster.rs"]
mod cluster;

fn on_each(test: impl Fn(&mut dyn Access)) {
    let dir = tempfile::tempdir().unwrap();
    test(&mut SqliteStore::open(dir.path(), &Options::default()).unwrap().access().unwrap());
    let database = cluster::Database::fresh();
    test(&mut PgStore::open(&database.address, &Default::default()).unwrap().access().unwrap());
}

fn at(secs: i64) -> Timestamp {
    Timestamp::from_secs(secs)
}

fn account(name: &str) -> Account {
    Account {
        name: name.into(),
        kind: AccountKind::Person,
        password: Some("$argon2…".into()),
        must_change: false,
        subject: None,
        disabled_at: None,
        created_at: at(1),
        created_by: "ann".into(),
    }
}

fn grant(holder: Holder, role: &str, tenant: Option<i64>) -> Grant {
    Grant {
        id: 0,
        holder,
        role: role.into(),
        tenant: tenant.map(TenantId),
        folder: None,
        labels: BTreeMap::new(),
        origin: Origin::Given,
        created_at: at(2),
        created_by: "ann".into(),
    }
}

fn person(name: &str) -> Holder {
    Holder::Person(name.into())
}

fn done(access: &mut dyn Access, change: PeopleChange) -> i64 {
    match access.change(&change).unwrap() {
        Changed::Done(id) => id,
        other => panic!("{change:?} was answered with {other:?}"),
    }
}

#[test]
fn accounts_are_made_once_and_changed_by_name() {
    on_each(|access| {
        let bob = Account { kind: AccountKind::Service, password: None, ..account("bob") };
        done(access, PeopleChange::Made(account("ann")));
        done(access, PeopleChange::Made(bob.clone()));
        assert_eq!(access.change(&PeopleChange::Made(account("ann"))).unwrap(), Changed::Taken);
        assert_eq!(access.accounts().unwrap(), [account("ann"), bob]);
        let set = |name: &str| PeopleChange::PasswordSet {
            name: name.into(),
            password: "another".into(),
            must_change: true,
            keep: None,
            tokens_until: None,
        };
        done(access, set("ann"));
        assert_eq!(access.change(&set("bob")).unwrap(), Changed::NoSuch, "a program has no password");
        let known = Some(Subject::Known("https://idp ann-1".into()));
        done(access, PeopleChange::SubjectSet { name: "ann".into(), subject: known.clone() });
        let changed = Account { password: Some("another".into()), must_change: true, subject: known, ..account("ann") };
        assert_eq!(access.account("ann").unwrap(), Some(changed));
        assert_eq!(access.account("cleo").unwrap(), None);
    });
}

#[test]
fn rights_come_from_grants_to_a_person_and_to_their_groups() {
    on_each(|access| {
        done(access, PeopleChange::Made(account("bob")));
        assert_eq!(access.rights_of("bob").unwrap(), Some(vec![]));
        assert_eq!(access.rights_of("cleo").unwrap(), None);
        done(access, PeopleChange::GroupMade { name: "night".into(), at: at(1), by: "ann".into() });
        done(access, PeopleChange::Joined { group: "night".into(), person: "bob".into() });
        let starts = Permissions::parse("job.run").unwrap();
        let role =
            NamedRole { name: "starter".into(), permissions: starts, created_at: at(1), created_by: "ann".into() };
        done(access, PeopleChange::RolePut(role));
        let labels = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
        let narrow = Grant {
            folder: Some("etl".into()),
            labels: labels.clone(),
            ..grant(Holder::Group("night".into()), "starter", Some(7))
        };
        let first = done(access, PeopleChange::Granted(grant(person("bob"), "viewer", Some(1))));
        let second = done(access, PeopleChange::Granted(narrow.clone()));
        assert_eq!(done(access, PeopleChange::Granted(narrow.clone())), second, "the same again is the same");
        let viewer =
            Held { permissions: Role::Viewer.permissions(), tenant: Some(TenantId(1)), place: Place::default() };
        let starter = Held {
            permissions: starts,
            tenant: Some(TenantId(7)),
            place: Place { folder: Some("etl".into()), labels },
        };
        assert_eq!(access.rights_of("bob").unwrap(), Some(vec![viewer.clone(), starter]));
        assert_eq!(access.grants().unwrap()[1], Grant { id: second, ..narrow });
        let all = done(access, PeopleChange::Granted(grant(person("bob"), "operator", None)));
        let mut listed = |tenant: i64, everywhere: bool| -> Vec<i64> {
            access.grants_in(TenantId(tenant), everywhere).unwrap().iter().map(|grant| grant.id).collect()
        };
        assert_eq!([listed(7, false), listed(1, true), listed(9, false)], [vec![second], vec![first, all], vec![]]);
        done(access, PeopleChange::GrantRemoved { id: all });

        done(access, PeopleChange::Left { group: "night".into(), person: "bob".into() });
        assert_eq!(access.rights_of("bob").unwrap(), Some(vec![viewer]));
        done(access, PeopleChange::GrantRemoved { id: first });
        assert_eq!(access.change(&PeopleChange::GrantRemoved { id: first }).unwrap(), Changed::NoSuch);
        done(access, PeopleChange::Disabled { name: "bob".into(), at: Some(at(9)) });
        assert_eq!(access.rights_of("bob").unwrap(), None);
    });
}

#[test]
fn a_role_that_is_granted_stays_and_a_group_takes_its_grants_along() {
    on_each(|access| {
        let role = NamedRole {
            name: "starter".into(),
            permissions: Permissions::parse("job.*").unwrap(),
            created_at: at(1),
            created_by: "ann".into(),
        };
        let group = Holder::Group("night".into());
        assert_eq!(
            access.change(&PeopleChange::Granted(grant(group.clone(), "viewer", None))).unwrap(),
            Changed::NoSuch
        );
        done(access, PeopleChange::GroupMade { name: "night".into(), at: at(1), by: "ann".into() });
        assert_eq!(
            access.change(&PeopleChange::Granted(grant(group.clone(), "starter", None))).unwrap(),
            Changed::NoSuch
        );
        done(access, PeopleChange::RolePut(role.clone()));
        assert_eq!(access.roles().unwrap(), [role]);
        done(access, PeopleChange::Granted(grant(group, "starter", None)));
        let remove = PeopleChange::RoleRemoved { name: "starter".into() };
        assert_eq!(access.change(&remove).unwrap(), Changed::InUse);
        assert_eq!(
            access.change(&PeopleChange::Joined { group: "night".into(), person: "nobody".into() }).unwrap(),
            Changed::NoSuch
        );
        done(access, PeopleChange::GroupRemoved { name: "night".into() });
        assert!(access.grants().unwrap().is_empty() && access.groups().unwrap().is_empty());
        done(access, remove);
        assert!(access.roles().unwrap().is_empty());
    });
}

#[test]
fn somebody_is_left_who_can_administrate() {
    on_each(|access| {
        done(access, PeopleChange::Administrator(account("ann")));
        let own = access.grants().unwrap()[0].id;
        let gone = PeopleChange::Removed { name: "ann".into(), at: at(5) };
        let off = PeopleChange::Disabled { name: "ann".into(), at: Some(at(5)) };
        for last in [&gone, &off, &PeopleChange::GrantRemoved { id: own }] {
            assert_eq!(access.change(last).unwrap(), Changed::LastAdministrator, "{last:?}");
        }
        assert_eq!(access.rights_of("ann").unwrap(), Some(vec![Held::everywhere(Role::PlatformAdmin)]), "undone");
        // In one tenant only, or as a program, is not enough; through a group it is.
        done(access, PeopleChange::Made(Account { kind: AccountKind::Service, ..account("ci") }));
        done(access, PeopleChange::Granted(grant(person("ci"), "platform_admin", None)));
        done(access, PeopleChange::Made(account("bob")));
        done(access, PeopleChange::Granted(grant(person("bob"), "platform_admin", Some(1))));
        assert_eq!(access.change(&gone).unwrap(), Changed::LastAdministrator);
        done(access, PeopleChange::GroupMade { name: "root".into(), at: at(1), by: "ann".into() });
        done(access, PeopleChange::Granted(grant(Holder::Group("root".into()), "platform_admin", None)));
        done(access, PeopleChange::Joined { group: "root".into(), person: "bob".into() });
        done(access, gone);
        let last = PeopleChange::Left { group: "root".into(), person: "bob".into() };
        assert_eq!(access.change(&last).unwrap(), Changed::LastAdministrator);
        assert_eq!(
            access.change(&PeopleChange::GroupRemoved { name: "root".into() }).unwrap(),
            Changed::LastAdministrator
        );
    });
}

#[test]
fn set_up_can_be_done_again_under_the_same_name() {
    on_each(|access| {
        done(access, PeopleChange::Administrator(account("ann")));
        done(access, PeopleChange::Administrator(Account { password: Some("new".into()), ..account("ann") }));
        assert_eq!(access.account("ann").unwrap().unwrap().password.as_deref(), Some("new"));
        assert_eq!(access.grants().unwrap().len(), 1);
    });
}

#[test]
fn what_a_provider_says_replaces_what_it_said_before_and_nothing_else() {
    on_each(|access| {
        done(access, PeopleChange::Made(account("bob")));
        done(access, PeopleChange::Granted(grant(person("bob"), "viewer", Some(1))));
        let mapped = |role: &str| Grant { origin: Origin::Mapped, ..grant(person("bob"), role, Some(1)) };
        for said in [vec![mapped("operator"), mapped("viewer")], vec![mapped("developer")]] {
            done(access, PeopleChange::Mapped { person: "bob".into(), grants: said });
        }
        let roles: Vec<String> = access.grants().unwrap().into_iter().map(|grant| grant.role).collect();
        assert_eq!(roles, ["viewer", "developer"]);
        done(access, PeopleChange::TenantLeft { tenant: TenantId(1) });
        assert!(access.grants().unwrap().is_empty());
    });
}

fn session(n: u8, user: &str, expires: i64) -> Session {
    Session {
        hash: [n; 32],
        user: user.into(),
        way: Way::Provider,
        address: "10.0.0.1".into(),
        program: "a browser".into(),
        created_at: at(1),
        used_at: at(1),
        expires_at: at(expires),
    }
}

#[test]
fn sessions_end_by_themselves_and_with_what_they_rest_on() {
    on_each(|access| {
        for (n, user, expires) in [(1, "ann", 10), (2, "ann", 20), (3, "ann", 30), (4, "bob", 30)] {
            access.put_session(&session(n, user, expires)).unwrap();
        }
        access.touch_session(&[2; 32], at(8)).unwrap();
        assert_eq!(access.session(&[2; 32]).unwrap(), Some(Session { used_at: at(8), ..session(2, "ann", 20) }));
        let left = |access: &mut dyn Access| -> Vec<u8> {
            access.sessions().unwrap().iter().map(|session| session.hash[0]).collect()
        };
        access.forget_expired(at(10), at(0)).unwrap();
        assert_eq!(left(access), [2, 3, 4]);
        assert!(access.remove_session(&[3; 32]).unwrap() && !access.remove_session(&[3; 32]).unwrap());
        access.put_session(&session(5, "ann", 30)).unwrap();
        assert_eq!(access.remove_sessions("ann", Some(&[5; 32])).unwrap(), 1);
        assert_eq!(left(access), [5, 4]);
        assert_eq!(access.sessions_of("bob").unwrap(), [session(4, "bob", 30)]);
        done(access, PeopleChange::Made(account("ann")));
        done(access, PeopleChange::Made(account("bob")));
        done(
            access,
            PeopleChange::PasswordSet {
                name: "ann".into(),
                password: "x".into(),
                must_change: false,
                keep: Some([5; 32]),
                tokens_until: None,
            },
        );
        done(access, PeopleChange::Disabled { name: "bob".into(), at: Some(at(2)) });
        assert_eq!(left(access), [5]);
    });
}

#[test]
fn a_token_carries_its_scope_and_is_found_until_and_after_it_is_revoked() {
    on_each(|access| {
        let mut token = Token {
            id: 0,
            name: "ci".into(),
            hash: [5; 32],
            user: "ann".into(),
            scope: Some(Permissions::parse("job.see").unwrap()),
            tenant: Some(TenantId(3)),
            created_at: at(1),
            expires_at: Some(at(99)),
            revoked_at: None,
        };
        token.id = access.put_token(&token).unwrap();
        assert!(access.put_token(&token).is_err(), "a hash belongs to one token");
        assert_eq!(access.token(&[5; 32]).unwrap(), Some(token.clone()));
        assert!(access.revoke_token(token.id, at(7)).unwrap());
        assert!(access.revoke_token(token.id, at(8)).unwrap());
        assert!(!access.revoke_token(token.id + 1, at(8)).unwrap());
        assert_eq!(access.tokens().unwrap(), [Token { revoked_at: Some(at(7)), ..token.clone() }]);
        assert_eq!(access.token(&[6; 32]).unwrap(), None);

        let other = Token { id: 0, hash: [6; 32], user: "bob".into(), scope: None, tenant: None, ..token };
        let id = access.put_token(&other).unwrap();
        assert_eq!(access.tokens_of("bob").unwrap(), [Token { id, ..other.clone() }]);
        done(access, PeopleChange::Made(account("bob")));
        done(access, PeopleChange::Removed { name: "bob".into(), at: at(20) });
        assert_eq!(access.token(&[6; 32]).unwrap(), Some(Token { id, revoked_at: Some(at(20)), ..other }));
    });
}

#[test]
fn wrong_passwords_are_counted_for_a_name_here_and_everywhere() {
    on_each(|access| {
        let since = |secs| Counting { since: at(secs), one_runs_off: Span::MINUTE };
        access.note_failed("ann", "10.0.0.1", at(1), since(1)).unwrap();
        access.note_failed("ann", "10.0.0.1", at(2), since(1)).unwrap();
        access.note_failed("ann", "10.0.0.2", at(3), since(1)).unwrap();
        access.note_failed("eve", "10.0.0.2", at(3), since(1)).unwrap();
        access.note_failed("eve", "10.0.0.2", at(9), since(4)).unwrap();
        assert_eq!(access.tries("eve", "10.0.0.2").unwrap().here.failed, 1, "what is long ago does not add");
        let tries = |failed, secs| TriesOf { failed, failed_at: at(secs), succeeded_at: None };
        let of_ann = Tries { here: tries(2, 2), everywhere: tries(3, 3), anybody: tries(2, 2) };
        assert_eq!(access.tries("ann", "10.0.0.1").unwrap(), of_ann);
        assert_eq!(access.tries("bob", "10.0.0.3").unwrap(), Tries::default());
        access.note_succeeded("ann", "10.0.0.2", at(4)).unwrap();
        let found = access.tries("ann", "10.0.0.2").unwrap();
        assert_eq!((found.here.failed, found.here.succeeded_at, found.everywhere.failed), (0, Some(at(4)), 0));
        assert!(access.forget_tries("ann").unwrap() && !access.forget_tries("ann").unwrap());
        assert_eq!(access.tries("ann", "10.0.0.1").unwrap().here.failed, 0);
        access.forget_expired(at(0), at(4)).unwrap();
        assert_eq!(access.tries("ann", "10.0.0.1").unwrap().here, TriesOf::default());
        assert_eq!(access.tries("ann", "10.0.0.2").unwrap().here.succeeded_at, Some(at(4)));
    });
}

#[test]
fn wrong_passwords_from_an_address_run_off_one_by_one() {
    on_each(|access| {
        let counting = Counting { since: at(0), one_runs_off: Span::SECOND.saturating_mul(10) };
        let from_there = |access: &mut dyn Access| access.tries("nobody", "10.0.0.1").unwrap().anybody.failed;
        for (n, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
            access.note_failed(name, "10.0.0.1", at(100 + n as i64), counting).unwrap();
        }
        assert_eq!(from_there(access), 4, "whatever the names");
        access.note_succeeded("d", "10.0.0.1", at(104)).unwrap();
        assert_eq!(from_there(access), 3, "that one was right, the others were not");
        access.note_failed("e", "10.0.0.1", at(124), counting).unwrap();
        assert_eq!(from_there(access), 2, "two have run off, one came");
        access.note_failed("e", "10.0.0.1", at(900), counting).unwrap();
        assert_eq!(from_there(access), 1);
        assert_eq!(access.tries("a", "10.0.0.2").unwrap().anybody, TriesOf::default());
    });
}

#[test]
fn whoever_went_to_the_provider_comes_back_once_and_in_time() {
    on_each(|access| {
        let login = |n: u8| OidcLogin {
            state: [n; 32],
            browser: [9; 32],
            nonce: "n".into(),
            verifier: "v".into(),
            back: "/ui".into(),
            expires_at: at(10),
        };
        assert!(access.put_oidc_login(&login(1), 2).unwrap() && access.put_oidc_login(&login(2), 2).unwrap());
        assert!(!access.put_oidc_login(&login(3), 2).unwrap(), "a flood of them is bounded");
        assert_eq!(access.use_oidc_login(&[2; 32], at(10)).unwrap(), None);
        assert_eq!(access.use_oidc_login(&[1; 32], at(9)).unwrap(), Some(login(1)));
        assert_eq!(access.use_oidc_login(&[1; 32], at(9)).unwrap(), None);
    });
}
