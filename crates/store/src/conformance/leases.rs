//! Who has which shard until when: what every store must do that several servers can share.

use std::time::{Duration, Instant};

use engine::change::Change;
use model::{Batch, ServerId, ShardId, Span, TenantId, TenantRecord, Term, Timestamp};

use super::Bed;
use super::world::{T0, World, at, soon};
use crate::leases::{Leases, Life, Picture, Reserved, ServerRow, Wakes};

/// A store of two shards that servers can share.
pub trait SharedBed: Bed {
    fn leases(&self) -> Box<dyn Leases>;
    fn wakes(&self, me: ServerId) -> Box<dyn Wakes>;
    /// A little of the store's time passes.
    fn pass(&self);
}

const A: ServerId = ServerId(71);
const B: ServerId = ServerId(72);
const BOTH: [ShardId; 2] = [ShardId(0), ShardId(1)];
const LONG: Span = Span::secs(600);
const SHORT: Span = Span::millis(50);
const NONE: Span = Span(0);

fn server(id: ServerId) -> ServerRow {
    ServerRow {
        id,
        name: format!("server {id}"),
        api: "http://a.example:7070".into(),
        agents: "https://a.example:7071".into(),
        peer: "a.example:7072".into(),
        version: "1.2.3".into(),
        weight: 100,
        draining: false,
        started_at: at(3),
        until: Timestamp(0),
    }
}

fn life(id: ServerId) -> Life {
    server(id).life()
}

fn holders(picture: &Picture) -> Vec<Option<ServerId>> {
    picture.leases.iter().map(|lease| lease.server).collect()
}

/// Asks until the answer is there, a little of the store's time between the tries.
fn until<T>(bed: &impl SharedBed, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "{what}");
        bed.pass();
    }
}

pub fn servers_see_each_other(bed: &impl SharedBed) {
    let (mut a, mut b) = (bed.leases(), bed.leases());
    let first = a.renew(&server(A), LONG).unwrap();
    assert_eq!(first.servers, [ServerRow { until: first.servers[0].until, ..server(A) }]);
    assert!(first.servers[0].until > first.now && first.servers[0].until <= first.now + LONG);
    assert_eq!((first.shards, holders(&first)), (2, vec![None, None]));
    let mut world = World::of(bed, ShardId(1));
    world.horizon = at(44);
    world.commit([]);
    bed.pass();
    let both = b.renew(&server(B), LONG).unwrap();
    assert!(both.now > first.now, "the store's clock goes on");
    assert_eq!(both.servers.iter().map(|row| row.id).collect::<Vec<_>>(), [A, B]);
    assert_eq!((both.leases[0].term, both.leases[0].batch), (Term(0), Batch(0)), "nobody ever owned it");
    assert_eq!(both.leases[1].shard, ShardId(1));
    assert_eq!((both.leases[1].term, both.leases[1].batch, both.leases[1].horizon), (world.term, Batch(1), at(44)));
}

pub fn a_lease_has_one_holder(bed: &impl SharedBed) {
    let (mut a, mut b) = (bed.leases(), bed.leases());
    a.renew(&server(A), LONG).unwrap();
    b.renew(&server(B), LONG).unwrap();
    assert_eq!(a.take(A, &[ShardId(0)], LONG, NONE).unwrap(), [ShardId(0)]);
    assert_eq!(b.take(B, &[ShardId(1), ShardId(0)], LONG, NONE).unwrap(), [ShardId(1)], "the other is taken");
    assert_eq!(a.take(A, &[ShardId(0)], LONG, NONE).unwrap(), [ShardId(0)], "ours already");
    assert!(a.take(A, &[ShardId(9), ShardId(-1)], LONG, NONE).unwrap().is_empty(), "there is no such shard");
    assert!(a.take(A, &[], LONG, NONE).unwrap().is_empty());
    let picture = b.renew(&server(B), LONG).unwrap();
    assert_eq!(holders(&picture), [Some(A), Some(B)]);
    assert!(picture.leases.iter().all(|lease| lease.until > picture.now));
}

pub fn a_silent_holder_loses_its_leases_after_the_grace(bed: &impl SharedBed) {
    let (mut a, mut b) = (bed.leases(), bed.leases());
    a.renew(&server(A), SHORT).unwrap();
    assert_eq!(a.take(A, &BOTH, SHORT, NONE).unwrap(), BOTH);
    let over = |picture: Picture| (picture.leases[0].until < picture.now).then_some(());
    until(bed, "it runs out", || over(b.renew(&server(B), LONG).unwrap()));
    assert!(b.take(B, &BOTH, LONG, LONG).unwrap().is_empty(), "the grace is not over");
    until(bed, "the grace ends", || (b.take(B, &BOTH, LONG, SHORT).unwrap() == BOTH).then_some(()));
    // Who comes back late finds that it lost them, and does not get them by renewing.
    let late = a.renew(&server(A), LONG).unwrap();
    assert_eq!(holders(&late), [Some(B), Some(B)]);
    assert!(a.take(A, &BOTH, LONG, SHORT).unwrap().is_empty());
}

pub fn renewing_keeps_every_lease(bed: &impl SharedBed) {
    let (mut a, mut b) = (bed.leases(), bed.leases());
    a.take(A, &BOTH, SHORT, NONE).unwrap();
    let renewed = a.renew(&server(A), LONG).unwrap();
    assert!(renewed.leases.iter().all(|lease| lease.until > renewed.now + SHORT), "{renewed:?}");
    let begun = renewed.now;
    until(bed, "the first lease would be over", || (bed_now(&mut *a) > begun + SHORT).then_some(()));
    assert!(b.take(B, &BOTH, LONG, NONE).unwrap().is_empty());
}

pub fn a_shard_is_handed_over(bed: &impl SharedBed) {
    let (mut a, mut b) = (bed.leases(), bed.leases());
    let mut wakes = bed.wakes(B);
    a.renew(&server(A), LONG).unwrap();
    b.renew(&server(B), LONG).unwrap();
    a.take(A, &BOTH, LONG, NONE).unwrap();
    let renewed = a.renew(&server(A), LONG).unwrap();
    let by = renewed.now + LONG;
    a.hand_over(life(A), Some(B), &[ShardId(1)], LONG, renewed.now - Span(1)).unwrap();
    assert_eq!(b.take(B, &BOTH, LONG, NONE).unwrap(), [], "it came too late");
    a.hand_over(life(A), Some(B), &[ShardId(1)], LONG, by).unwrap();
    assert!(wakes.wait(Duration::from_secs(30)).unwrap(), "the next is woken");
    assert_eq!(b.take(B, &BOTH, LONG, NONE).unwrap(), [ShardId(1)]);
    // Only what is ours can be given, and to nobody means to whoever comes first.
    b.hand_over(life(B), Some(B), &BOTH, LONG, by).unwrap();
    assert_eq!(holders(&a.renew(&server(A), LONG).unwrap()), [Some(A), Some(B)]);
    a.hand_over(life(A), None, &BOTH, LONG, by).unwrap();
    assert_eq!(holders(&a.renew(&server(A), LONG).unwrap()), [None, Some(B)]);
    assert_eq!(b.take(B, &BOTH, LONG, LONG).unwrap(), BOTH);
}

pub fn a_server_that_leaves_frees_what_it_held(bed: &impl SharedBed) {
    let (mut a, mut b) = (bed.leases(), bed.leases());
    let (mut wakes, mut own) = (bed.wakes(B), bed.wakes(A));
    a.renew(&server(A), LONG).unwrap();
    b.renew(&server(B), LONG).unwrap();
    a.take(A, &BOTH, LONG, NONE).unwrap();
    assert!(!b.forget(A).unwrap(), "it lives");
    a.leave(life(A)).unwrap();
    assert!(wakes.wait(Duration::from_secs(30)).unwrap(), "the others are woken");
    assert!(!own.wait(Duration::ZERO).unwrap());
    bed.pass();
    let after = b.renew(&server(B), LONG).unwrap();
    assert!(after.servers[0].id == A && after.servers[0].until < after.now, "known, and not alive: {after:?}");
    assert_eq!(holders(&after), [None, None]);
    assert_eq!(b.take(B, &BOTH, LONG, LONG).unwrap(), BOTH, "free at once");
    assert!(b.forget(A).unwrap());
    assert!(!b.forget(A).unwrap(), "nobody knows it any more");
    assert_eq!(b.renew(&server(B), LONG).unwrap().servers.len(), 1);
}

/// Whatever it said and comes when the next one has begun.
pub fn an_earlier_life_has_no_say(bed: &impl SharedBed) {
    let (mut a, mut b) = (bed.leases(), bed.leases());
    assert_eq!(a.started_at(A).unwrap(), None);
    a.renew(&server(A), LONG).unwrap();
    b.renew(&server(B), LONG).unwrap();
    a.take(A, &BOTH, SHORT, NONE).unwrap();
    let again = ServerRow { started_at: at(4), name: "again".into(), ..server(A) };
    let renewed = a.renew(&again, LONG).unwrap();
    assert_eq!(a.started_at(A).unwrap(), Some(at(4)));
    let by = renewed.now + LONG;
    bed.pass();
    assert!(a.renew(&server(A), LONG + LONG).is_err(), "it is gone");
    a.hand_over(life(A), Some(B), &[ShardId(0)], LONG, by).unwrap();
    a.leave(life(A)).unwrap();
    let after = b.renew(&server(B), LONG).unwrap();
    assert_eq!((&after.leases, &after.servers[0]), (&renewed.leases, &renewed.servers[0]), "nothing has changed");
    a.hand_over(again.life(), Some(B), &[ShardId(0)], LONG, by).unwrap();
    a.leave(again.life()).unwrap();
    assert_eq!(holders(&b.renew(&server(B), LONG).unwrap()), [Some(B), None]);
}

pub fn a_dead_server_that_holds_something_is_not_forgotten(bed: &impl SharedBed) {
    let (mut a, mut b) = (bed.leases(), bed.leases());
    a.renew(&server(A), SHORT).unwrap();
    a.take(A, &[ShardId(0)], SHORT, NONE).unwrap();
    let dead = |b: &mut Box<dyn Leases>| {
        let picture = b.renew(&server(B), LONG).unwrap();
        (picture.servers[0].until < picture.now).then_some(())
    };
    until(bed, "it dies", || dead(&mut b));
    assert!(!b.forget(A).unwrap(), "its lease is not taken yet");
    until(bed, "it is taken", || b.take(B, &BOTH, LONG, NONE).unwrap().contains(&ShardId(0)).then_some(()));
    assert!(b.forget(A).unwrap());
}

pub fn what_people_set_of_a_server_stays(bed: &impl SharedBed) {
    let (mut a, mut b) = (bed.leases(), bed.leases());
    let mut wakes = bed.wakes(A);
    assert!(!b.set_weight(A, 7).unwrap(), "nobody has heard of it");
    a.renew(&server(A), LONG).unwrap();
    assert!(b.set_weight(A, 7).unwrap() && b.set_draining(A, true).unwrap());
    assert!(wakes.wait(Duration::from_secs(30)).unwrap(), "it looks at once");
    let moved = ServerRow { name: "elsewhere".into(), started_at: at(9), ..server(A) };
    let row = a.renew(&moved, LONG).unwrap().servers.remove(0);
    assert_eq!(row, ServerRow { weight: 7, draining: true, until: row.until, ..moved.clone() });
    assert!(b.set_draining(A, false).unwrap());
    assert!(!a.renew(&moved, LONG).unwrap().servers[0].draining);
}

pub fn a_wake_reaches_whom_it_is_for(bed: &impl SharedBed) {
    let (mut a, mut b) = (bed.leases(), bed.leases());
    a.renew(&server(A), LONG).unwrap();
    b.renew(&server(B), LONG).unwrap();
    let (mut for_a, mut for_b) = (bed.wakes(A), bed.wakes(B));
    assert!(!for_a.wait(Duration::ZERO).unwrap(), "nobody called");
    b.wake(Some(A)).unwrap();
    b.wake(Some(A)).unwrap();
    assert!(for_a.wait(Duration::from_secs(30)).unwrap());
    b.wake(None).unwrap();
    assert!(for_a.wait(Duration::from_secs(30)).unwrap());
    assert!(for_b.wait(Duration::from_secs(30)).unwrap());
    // One that is waiting already.
    std::thread::scope(|scope| {
        let waits = scope.spawn(move || for_b.wait(Duration::from_secs(30)).unwrap());
        a.wake(Some(B)).unwrap();
        assert!(waits.join().unwrap());
    });
}

pub fn the_picture_tells_that_the_roster_changed(bed: &impl SharedBed) {
    let (mut a, mut world) = (bed.leases(), World::new(bed));
    let mut revision = || a.renew(&server(A), LONG).unwrap().revision;
    let before = revision();
    world.job("a");
    assert_eq!(revision(), before, "jobs are each shard's own");
    world.commit([Change::GlobalLimit { limit: Some(3) }]);
    assert!(revision() > before);
    let before = revision();
    let pool = model::PoolRecord { tenant: TenantId(1), name: "p".into(), limit: None, addresses: vec![] };
    world.commit([Change::PoolPut(pool)]);
    assert!(revision() > before);
    let before = revision();
    let acme = model::TenantRecord::new(TenantId(77), "acme", T0, model::Actor("ann".into()));
    world.commit([Change::TenantPut(Box::new(acme))]);
    assert!(revision() > before);
    assert_eq!(bed.reads().revision(soon()).unwrap(), revision());
}

pub fn a_tenant_of_some_servers_has_shards_that_can_be_leased(bed: &impl SharedBed) {
    let (mut a, mut world) = (bed.leases(), World::new(bed));
    let (own, shared) = (ShardId(2), BOTH.to_vec());
    let every = |picture: &Picture| picture.leases.iter().map(|lease| lease.shard).collect::<Vec<_>>();
    let before = a.renew(&server(A), LONG).unwrap();
    assert_eq!((every(&before), before.reserved), (shared.clone(), vec![]));
    assert_eq!(a.take(A, &[own], LONG, NONE).unwrap(), [], "nobody can have what is not there");
    let mut acme = TenantRecord::new(TenantId(77), "acme", T0, model::Actor("ann".into()));
    (acme.servers, acme.own) = (vec!["a".into()], vec![own]);
    let put = |tenant: &TenantRecord| Change::TenantPut(Box::new(tenant.clone()));
    world.commit([put(&acme)]);
    let kept = Reserved { tenant: "acme".into(), servers: vec!["a".into()], shards: vec![own] };
    let picture = a.renew(&server(A), LONG).unwrap();
    assert_eq!((picture.shards, every(&picture)), (2, [shared, vec![own]].concat()));
    assert_eq!((picture.reserved(own), picture.reserved(BOTH[0])), (Some(&kept), None));
    assert_eq!(a.take(A, &[own], LONG, NONE).unwrap(), [own]);
    let job = model::job_of_own(own, 7).unwrap();
    let mut theirs = bed.store();
    assert_eq!(theirs.take_over(own).unwrap().term, Term(1));
    assert_eq!(model::shard_of(job, theirs.load(own).unwrap().shards), own);
    acme.servers.clear();
    world.commit([put(&acme)]);
    let picture = a.renew(&server(A), LONG).unwrap();
    assert_eq!((picture.reserved.as_slice(), picture.leases[2].server), (&[][..], Some(A)));
    world.commit([Change::TenantRemoved { tenant: acme.id }]);
    assert_eq!(every(&a.renew(&server(A), LONG).unwrap()).len(), 3, "what was written in it is still there");
}

fn bed_now(leases: &mut dyn Leases) -> Timestamp {
    leases.renew(&server(ServerId(99)), LONG).unwrap().now
}

/// Only for stores that servers can share.
#[macro_export]
macro_rules! lease_conformance {
    ($bed:path) => {
        $crate::conformance_tests! { $bed =>
            servers_see_each_other,
            a_lease_has_one_holder,
            a_silent_holder_loses_its_leases_after_the_grace,
            renewing_keeps_every_lease,
            a_shard_is_handed_over,
            a_server_that_leaves_frees_what_it_held,
            an_earlier_life_has_no_say,
            a_dead_server_that_holds_something_is_not_forgotten,
            what_people_set_of_a_server_stays,
            a_wake_reaches_whom_it_is_for,
            the_picture_tells_that_the_roster_changed,
            a_tenant_of_some_servers_has_shards_that_can_be_leased,
        }
    };
}
