//! Mutexes and counted resources: who holds, who waits, and who is next.

use engine::TicketId;
use engine::change::{Change, Draw, Grant, Message};
use model::{InstanceId, JobId, Need, ResourceKind, ResourceName, ShardId, TenantId};

use super::Bed;
use super::world::{T0, World, soon};

const TENANT: TenantId = TenantId(1);

fn mutex(name: &str) -> Need {
    Need { kind: ResourceKind::Mutex, name: name.into(), units: 1 }
}

fn some(name: &str, units: u32) -> Need {
    Need { kind: ResourceKind::Counted, name: name.into(), units }
}

/// An instance's ticket has its number.
fn draw(instance: i64, needs: &[Need]) -> Box<Draw> {
    let (ticket, instance, job) = (TicketId(instance), InstanceId(instance), JobId(1));
    Box::new(Draw { ticket, tenant: TENANT, job, instance, needs: needs.to_vec(), at: T0 })
}

fn drawn(instance: i64, needs: &[Need]) -> Change {
    Change::Drawn(draw(instance, needs))
}

fn returned(instance: i64, needs: &[Need]) -> Change {
    Change::Returned(draw(instance, needs))
}

fn resource(name: &str, units: u32) -> Change {
    let name = ResourceName { tenant: TENANT, kind: ResourceKind::Counted, name: name.into() };
    Change::ResourcePut { name, units }
}

fn who(grants: &[Grant]) -> Vec<i64> {
    grants.iter().map(|grant| grant.instance.0).collect()
}

/// Who holds and who waits.
fn line(w: &World, need: &Need) -> (Vec<i64>, Vec<i64>) {
    let tickets = w.reads.line(&need.of(TENANT), 100, soon()).unwrap();
    let (held, waiting): (Vec<_>, Vec<_>) = tickets.into_iter().partition(|ticket| ticket.held);
    let instances = |tickets: Vec<crate::read::TicketRecord>| tickets.iter().map(|t| t.instance.0).collect();
    (instances(held), instances(waiting))
}

fn heard(w: &World) -> Vec<Message> {
    w.reads.outbox(&[w.shard], 100, soon()).unwrap().into_iter().map(|letter| letter.message).collect()
}

pub fn a_mutex_has_one_holder_and_a_line(bed: &impl Bed) {
    let (mut zero, mut one) = (World::of(bed, ShardId(0)), World::of(bed, ShardId(1)));
    let m = &[mutex("m")];
    assert_eq!(who(&zero.grants([drawn(1, m), drawn(2, m)])), [1]);
    assert_eq!(who(&one.grants([drawn(3, m)])), [0; 0]);
    assert_eq!(line(&zero, &m[0]), (vec![1], vec![2, 3]));
    // One that waited may leave; another name, kind or tenant is another line.
    assert_eq!(who(&zero.grants([returned(2, m)])), [0; 0]);
    assert_eq!(who(&zero.grants([drawn(4, &[mutex("n")]), resource("m", 1), drawn(5, &[some("m", 1)])])), [4, 5]);

    let granted = zero.grants([returned(1, m)]);
    assert_eq!((who(&granted), granted[0].shard), (vec![3], ShardId(1)));
    let (instance, ticket, kind, name) = (InstanceId(3), TicketId(3), ResourceKind::Mutex, "m".to_string());
    assert_eq!(heard(&one), [Message::Granted { instance, ticket, kind, name }], "the other shard hears of it");
    assert_eq!(heard(&zero), []);
    let loaded = one.store.load(ShardId(1)).unwrap().tickets;
    assert_eq!(loaded.iter().map(|t| (t.instance.0, t.ticket.0, t.held)).collect::<Vec<_>>(), [(3, 3, true)]);
    let mine = one.reads.tickets_of(InstanceId(3), soon()).unwrap();
    assert_eq!(
        mine.iter().map(|t| (t.of.name.as_str(), t.shard, t.held)).collect::<Vec<_>>(),
        [("m", ShardId(1), true)]
    );
    assert_eq!(who(&one.grants([returned(3, m)])), [0; 0]);
}

pub fn a_line_lets_through_as_many_as_fit_and_none_past_another(bed: &impl Bed) {
    let mut w = World::new(bed);
    let s = |units| [some("s", units)];
    assert_eq!(who(&w.grants([drawn(1, &s(1))])), [0; 0], "nobody gave it any units");
    assert_eq!(who(&w.grants([resource("s", 5)])), [1]);
    assert_eq!(who(&w.grants([drawn(2, &s(2)), drawn(3, &s(3)), drawn(4, &s(1)), drawn(5, &s(1))])), [2]);
    assert_eq!(line(&w, &s(1)[0]), (vec![1, 2], vec![3, 4, 5]), "the small ones do not pass the large one");
    assert_eq!(who(&w.grants([returned(1, &s(1))])), [3]);
    assert_eq!(who(&w.grants([returned(2, &s(2))])), [4, 5]);
    // What wants more than there is is not overtaken either, and gets it once there is so much.
    assert_eq!(who(&w.grants([drawn(6, &s(9)), returned(4, &s(1)), drawn(7, &s(1))])), [0; 0]);
    let all = w.reads.resources(soon()).unwrap();
    let seen: Vec<_> = all.iter().map(|r| (r.name.name.as_str(), r.units, r.held, r.waiting)).collect();
    assert_eq!(seen, [("s", 5, 4, 2)]);
    assert_eq!(who(&w.grants([returned(3, &s(3)), returned(5, &s(1)), resource("s", 9)])), [6]);
    assert_eq!(who(&w.grants([returned(6, &s(9))])), [7]);
}

pub fn lines_of_several_names_agree_on_who_came_first(bed: &impl Bed) {
    let (mut zero, mut one) = (World::of(bed, ShardId(0)), World::of(bed, ShardId(1)));
    let (ab, bc, ca) = ([mutex("a"), mutex("b")], [mutex("b"), mutex("c")], [mutex("a"), mutex("c")]);
    assert_eq!(who(&zero.grants([drawn(1, &ab)])), [1, 1]);
    assert_eq!(who(&one.grants([drawn(2, &bc)])), [2], "c is free, b is not");
    assert_eq!(who(&zero.grants([drawn(3, &ca)])), [0; 0]);
    let granted = zero.grants([returned(1, &ab)]);
    let names: Vec<_> = granted.iter().map(|grant| (grant.name.as_str(), grant.instance.0)).collect();
    assert_eq!(names, [("a", 3), ("b", 2)]);
    assert_eq!(heard(&one).len(), 1);
    let granted = one.grants([returned(2, &bc)]);
    assert_eq!((who(&granted), granted[0].shard), (vec![3], ShardId(0)));
    assert_eq!(heard(&zero).len(), 1);
    assert!(zero.store.load(ShardId(0)).unwrap().tickets.iter().all(|ticket| ticket.held));
}

pub fn a_resource_may_get_more_and_less(bed: &impl Bed) {
    let mut w = World::new(bed);
    let one = &[some("s", 1)];
    w.commit([resource("s", 3)]);
    assert_eq!(who(&w.grants((1..=4).map(|n| drawn(n, one)).collect::<Vec<_>>())), [1, 2, 3]);
    assert_eq!(who(&w.grants([resource("s", 1)])), [0; 0]);
    let record = |w: &World| {
        let all = w.reads.resources(soon()).unwrap();
        (all[0].units, all[0].allowed, all[0].held, all[0].waiting)
    };
    assert_eq!(record(&w), (1, 3, 3, 1), "nobody is thrown out");
    assert_eq!(who(&w.grants([returned(1, one), returned(2, one)])), [0; 0]);
    assert_eq!(who(&w.grants([returned(3, one)])), [4]);
    assert_eq!(who(&w.grants([resource("s", 2), drawn(5, one), drawn(6, one)])), [5]);
    assert_eq!(record(&w), (2, 2, 2, 1));
}

pub fn tickets_that_cannot_be_are_refused(bed: &impl Bed) {
    let (mut zero, mut one) = (World::of(bed, ShardId(0)), World::of(bed, ShardId(1)));
    let m = &[mutex("m"), some("s", 2)];
    zero.commit([drawn(1, m)]);
    zero.refuse([drawn(1, &[mutex("m")])], 0);
    zero.refuse([returned(2, m)], 0);
    zero.refuse([returned(1, m), returned(1, m)], 1);
    zero.refuse([drawn(3, &[some("s", 0)])], 0);
    one.refuse([returned(1, m)], 0);
    zero.commit([returned(1, m), drawn(1, m)]);
}

/// Whoever is let through hears of it once: by the answer of its own batch, or by a message.
pub fn lines_are_shared_by_batches_written_at_once(bed: &impl Bed) {
    let mut worlds = [0, 1].map(|shard| World::of(bed, ShardId(shard)));
    let m = &[mutex("m")];
    worlds[0].commit([drawn(1, m)]);
    worlds[1].commit([drawn(2, m)]);
    let batches = [
        worlds[0].batch(vec![returned(1, m), drawn(3, m)], vec![]),
        worlds[1].batch(vec![drawn(4, m), drawn(5, &[mutex("n")])], vec![]),
    ];
    let answers = worlds[0].store.commit_all(&batches.map(std::sync::Arc::new));
    let own = |at: usize| {
        let own = answers[at].as_ref().unwrap().iter().filter_map(|answer| match answer {
            engine::change::Answer::Granted(grant) if grant.shard.0 == at as i64 => Some(grant.instance.0),
            _ => None,
        });
        own.collect::<Vec<_>>()
    };
    let told = |world: &World| {
        let granted = heard(world).into_iter().filter_map(|message| match message {
            Message::Granted { instance, .. } => Some(instance.0),
            _ => None,
        });
        granted.collect::<Vec<_>>()
    };
    let (mut heard_of, by_answer) = (told(&worlds[1]), own(1));
    heard_of.extend(&by_answer);
    heard_of.sort_unstable();
    assert_eq!(heard_of, [2, 5], "{answers:?}");
    assert_eq!((own(0), told(&worlds[0])), (vec![], vec![]));
    // Of two who came at once either may be the first.
    let (held, mut waiting) = line(&worlds[0], &m[0]);
    waiting.sort_unstable();
    assert_eq!((held, waiting), (vec![2], vec![3, 4]));
}
