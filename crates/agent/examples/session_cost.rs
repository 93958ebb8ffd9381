//! What a no-op run costs the agent: CPU time of session and journal, without the network.
//! `cargo run --release -p duly-agent --example session_cost`

use duly_agent::session::{Act, Now, Profile, Record, Recovered, Server, Session};
use duly_agent::spool::{Spool, SpoolLimits};
use model::Timestamp;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use prost::Message;
use wire::link::{Ack, Acks, Down, Order, Orders, Task, Up, Welcome, down, up};

const BATCHES: i64 = 2_000;
const ORDERS: i64 = 200;

fn main() {
    let dir = tempfile::tempdir().expect("a place for the journal");
    let (mut spool, _) = Spool::open(dir.path(), SpoolLimits::default(), Timestamp(0)).expect("a journal");
    let mut session = Session::new(Profile::default(), Recovered::default());
    let now = Now::both(Timestamp(0));
    let mut acts = Vec::new();
    let server = Server(0);
    session.on_connected(server, now, &mut acts);
    let welcome = Welcome { protocol: 1, now: 0, beat_every_ms: 1_000, ..Welcome::default() };
    session.on_down(server, now, Down { body: Some(down::Body::Welcome(welcome)) }, &mut acts);
    let body = br#"{"kind":"noop"}"#.to_vec().into();
    let task = Task { version: 1, job: 1, job_name: "job".into(), body, ..Task::default() };
    session.on_down(server, now, Down { body: Some(down::Body::Task(task)) }, &mut acts);
    acts.clear();

    let batches: Vec<Vec<u8>> = (0..BATCHES).map(orders).collect();
    let before = cpu_us();
    let mut sent = 0;
    for batch in &batches {
        let down = Down::decode(&batch[..]).expect("just encoded");
        session.on_down(server, now, down, &mut acts);
        session.flush(now, &mut acts);
        let reports = perform(&mut acts, &mut spool);
        sent += reports.len();
        let acks = reports.iter().map(|attempt| Ack { attempt: *attempt, seq: 2 }).collect();
        session.on_down(server, now, Down { body: Some(down::Body::Acks(Acks { items: acks })) }, &mut acts);
        perform(&mut acts, &mut spool);
    }
    let us = (cpu_us() - before) as f64;
    println!("{sent} no-op runs: {:.2} µs of CPU each, decoding, journal and encoding included", us / sent as f64);
}

fn orders(batch: i64) -> Vec<u8> {
    let order = |n| Order {
        shard: 1,
        term: 1,
        attempt: batch * ORDERS + n,
        attempt_no: 1,
        instance: batch * ORDERS + n,
        version: 1,
        start_by: 30_000_000,
        ..Order::default()
    };
    Down { body: Some(down::Body::Orders(Orders { items: (0..ORDERS).map(order).collect() })) }.encode_to_vec()
}

/// Does what a runtime does with them, but for the network; answers which attempts were reported.
fn perform(acts: &mut Vec<Act>, spool: &mut Spool) -> Vec<i64> {
    let mut reported = Vec::new();
    for act in acts.drain(..) {
        match act {
            Act::Persist(records) => {
                assert!(records.iter().all(|record| !matches!(record, Record::Term { .. }) || reported.is_empty()));
                spool.append(&records).expect("the journal takes it");
            }
            Act::Send { up, .. } => {
                std::hint::black_box(up.encode_to_vec());
                if let Up { body: Some(up::Body::Reports(reports)) } = up {
                    reported.extend(reports.items.iter().map(|report| report.attempt));
                }
            }
            _ => {}
        }
    }
    reported
}

fn cpu_us() -> i64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("the system counts");
    usage.user_time().num_microseconds() + usage.system_time().num_microseconds()
}
