//! `duly migrate-store`: moves the embedded store of a stopped server into PostgreSQL, and says what it moved.

use std::process::ExitCode;

use server::StorePlace;

use crate::options::MigrateStoreOptions;
use crate::server_role::report;

pub(crate) fn run(options: &MigrateStoreOptions) -> ExitCode {
    report(migrate(options))
}

fn migrate(options: &MigrateStoreOptions) -> Result<(), anyhow::Error> {
    let StorePlace::Postgres(address) = &options.to else {
        anyhow::bail!("say where to, with --to postgres://user:password@host/database");
    };
    if !options.from.is_dir() {
        anyhow::bail!("there is no data directory {}", options.from.display());
    }
    let _nobody_else = server::own_directory(&options.from)?;
    let moved = store::migrate_store(&options.from, address, &follows)?;
    server::setup::record_command(&options.from, &options.to, "store_migrate")?;
    for (table, rows) in moved.tables.iter().filter(|(_, rows)| *rows > 0) {
        println!("{rows:>12}  {table}");
    }
    match moved.tables.is_empty() {
        true => println!("everything was there already"),
        false => println!("moved into {} shards and compared, row by row; {} runs are open", moved.shards, moved.open),
    }
    println!("the embedded store is kept as {}; remove it when all is well", moved.aside);
    println!("start the server as before, with --store and the same data directory: task output stays in it");
    Ok(())
}

/// A rule that cannot be read is found by the server that loads it.
fn follows(rule: &[u8]) -> Vec<model::Follow> {
    wire::rule::decode(rule).map(|rule| rule.trigger.follows).unwrap_or_default()
}
