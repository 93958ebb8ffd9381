//! The program as it ships: given a directory with an order, it leaves a result there. What it does in between is
//! tested with the agent's side, in `crates/agent/tests/shim`.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};

use duly_shim::{Exit, LOG, ORDER, RESULT, Reason, SHIM, ShimOrder, ShimResult};

fn shim(dir: Option<&Path>) -> ExitStatus {
    Command::new(env!("CARGO_BIN_EXE_duly-shim")).args(dir).env_clear().status().unwrap()
}

#[test]
fn an_order_becomes_a_result() {
    let dir = tempfile::tempdir().unwrap();
    let mut order = ShimOrder::new(7, ["/bin/sh", "-c", "echo hello; exit 3"]);
    order.env = (0..9).map(|n| (format!("SECRET_{n}").into(), "a secret of some length".into())).collect();
    fs::write(dir.path().join(ORDER), order.encode("this boot")).unwrap();
    assert!(shim(Some(dir.path())).success());
    let result = ShimResult::decode(&fs::read(dir.path().join(RESULT)).unwrap()).unwrap();
    assert_eq!((result.attempt, result.reason, result.exit), (7, Reason::Exited, Some(Exit::Code(3))));
    assert!(fs::read(dir.path().join(LOG)).unwrap().ends_with(b"hello\n"));
    let signature = fs::read_to_string(dir.path().join(SHIM)).unwrap();
    assert!(!dir.path().join(ORDER).exists() && !signature.contains("secret"), "the order is gone to its last byte");
}

#[test]
fn without_a_directory_or_an_order_nothing_starts() {
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(shim(None).code(), Some(2));
    assert_eq!(shim(Some(empty.path())).code(), Some(1));
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0);
}
