//! What a store in PostgreSQL looks like to the database: history is a table per planned day with two indexes, neither on
//! anything that changes, and forgetting a day takes its table away.

use duly_store::postgres::{Options, PgStore};
use duly_store::{Retention, Store};
use engine::change::{Change, Commit, Created, Row};
use model::*;

use self::cluster::Database;
use self::support::{Owner, created, ended, row};

#[path = "support/cluster.rs"]
mod cluster;
mod support;

const DAYS: &str = "select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'duly.instance'::regclass order by 1";

/// The columns of each index of a table, unique ones marked.
fn indexes(of: &Database, table: &str) -> Vec<String> {
    of.texts(&format!(
        "select (
            select string_agg(a.attname, ' ' order by k.place)
            from unnest(i.indkey::int2[]) with ordinality as k(attnum, place)
            join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
         ) || case when i.indisunique then ', unique' else '' end
         from pg_index i where i.indrelid = 'duly.{table}'::regclass order by 1"
    ))
}

/// Instances 1 and 2 have ended, one on each of two days; 3 is open on the second.
fn two_days(database: &Database) -> Owner<PgStore> {
    let mut owner = Owner::new(PgStore::open(&database.address, &Options::default()).unwrap());
    let tomorrow = |n: i64| Created { row: Row { planned: row(n).planned + Span::DAY, ..row(n) }, ..created(n) };
    let mut end = ended(2);
    if let Change::Ended(ended) = &mut end {
        ended.row = tomorrow(2).row;
    }
    for changes in [
        vec![Change::Created(created(1)), Change::Created(tomorrow(2)), Change::Created(tomorrow(3))],
        vec![ended(1), end],
    ] {
        let commit = Commit { next_id: 4, ..owner.commit_of(changes) };
        owner.store.commit(&commit).unwrap();
        owner.batch += 1;
    }
    owner
}

#[test]
fn each_planned_day_is_a_table_with_no_index_on_anything_that_changes() {
    let database = Database::fresh();
    two_days(&database);
    let split = "select pg_get_partkeydef('duly.instance'::regclass)";
    assert_eq!(database.texts(split), ["RANGE (planned)"]);
    assert_eq!(database.texts(DAYS), ["instance_d20000", "instance_d20001"]);
    let ranges = "select pg_get_expr(relpartbound, oid) from pg_class where oid = 'duly.instance_d20001'::regclass";
    let (from, to) = (20_001 * Span::DAY.0, 20_002 * Span::DAY.0);
    assert_eq!(database.texts(ranges), [format!("FOR VALUES FROM ('{from}') TO ('{to}')")]);
    for day in database.texts(DAYS) {
        assert_eq!(
            indexes(&database, &day),
            ["id, unique", "job planned part, unique"],
            "a third one would be paid for by every run"
        );
    }
    assert!(indexes(&database, "instance").is_empty(), "it would be made on every day");
    assert_eq!(indexes(&database, "shard"), ["id, unique"], "every commit writes it");
}

/// What the endings write fits beside what it replaces, so that no index is touched: that is what the layout is for.
#[test]
fn an_ending_touches_no_index() {
    let database = Database::fresh();
    two_days(&database);
    let updates = "select n_tup_upd || ' updated, ' || n_tup_hot_upd || ' in place' from pg_stat_user_tables
        where schemaname = 'duly' and relname = 'instance_d20000'";
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    // What a connection did is counted a while after.
    while database.texts(updates) != ["1 updated, 1 in place"] {
        assert!(std::time::Instant::now() < end, "{:?}", database.texts(updates));
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn a_day_that_is_forgotten_is_a_table_that_is_gone() {
    let database = Database::fresh();
    let mut owner = two_days(&database);
    let rows = "select count(*)::text from duly.instance";
    assert_eq!(database.texts(rows), ["3"]);
    let keep = |days: i64| Retention { before_day: 20_000 + days, keys_before: Timestamp::MIN, rows_max: 10 };
    while owner.store.retain(&keep(1)).unwrap() {}
    assert_eq!(database.texts(DAYS), ["instance_d20001"]);
    assert!(database.texts("select relname from pg_class where relname like 'instance_d20000%'").is_empty());
    assert_eq!(database.texts(rows), ["2"]);
    // Something planned on the other is open.
    while owner.store.retain(&keep(9)).unwrap() {}
    assert_eq!(database.texts(DAYS), ["instance_d20001"]);
}
