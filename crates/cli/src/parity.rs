//! The command line reaches what the API reaches: every operation has a verb, every verb an operation.

use std::collections::BTreeSet;

use clap::{Command, CommandFactory};
use wire::routes;

use crate::ClientLine;

/// Verbs that need no server.
const LOCAL: [&str; 1] = ["completion"];
/// Verbs of the binary itself, declared beside the server's roles.
const ELSEWHERE: [&str; 1] = ["setup"];

fn verbs(command: &Command, before: &str, out: &mut BTreeSet<String>) {
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let verb = format!("{before} {}", sub.get_name()).trim().to_owned();
        if sub.has_subcommands() {
            verbs(sub, &verb, out);
        } else {
            out.insert(verb);
        }
    }
}

#[test]
fn every_operation_has_its_verb_and_every_verb_its_operation() {
    let mut there = BTreeSet::new();
    verbs(&ClientLine::command(), "", &mut there);
    there.extend(ELSEWHERE.map(String::from));
    let wanted: BTreeSet<String> = routes::ALL
        .iter()
        .flat_map(|route| route.verbs)
        .map(|verb| verb.to_string())
        .chain(LOCAL.map(String::from))
        .collect();
    let missing: Vec<_> = wanted.difference(&there).collect();
    let alone: Vec<_> = there.difference(&wanted).collect();
    assert!(missing.is_empty() && alone.is_empty(), "no such verb: {missing:?}; no operation: {alone:?}");
}

#[test]
fn the_command_line_is_well_formed() {
    ClientLine::command().debug_assert();
}

#[test]
fn completion_knows_the_verbs() {
    let mut script = Vec::new();
    clap_complete::generate(clap_complete::Shell::Bash, &mut ClientLine::command(), "duly", &mut script);
    let script = String::from_utf8(script).unwrap();
    assert!(script.contains("trigger") && script.contains("quarantine"));
}
