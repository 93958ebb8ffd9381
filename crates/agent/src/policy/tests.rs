//! Policies as people write them, and what they say yes and no to.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn policy(text: &str) -> Policy {
    file::parse(text).unwrap()
}

fn check(policy: &Policy, task: serde_json::Value) -> String {
    let body: TaskBody = serde_json::from_value(task).unwrap();
    match policy.judge(&body) {
        Ok(()) => "yes".into(),
        Err(Refusal { code, rule, what }) => format!("{code} {rule}: {what}"),
    }
}

fn script(more: serde_json::Value) -> serde_json::Value {
    let mut task = json!({"kind": "script", "lang": "shell", "source": "true"});
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    task
}

#[test]
fn without_a_file_everything_runs_but_nothing_is_smuggled_in() {
    let none = Policy::default();
    assert_eq!(check(&none, script(json!({"env": {"LANG": "C", "PATH": "/opt/bin"}, "env_pass": ["HOME"]}))), "yes");
    for name in ["LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV", "ENV", "PYTHONSTARTUP", "NODE_OPTIONS", "BASH_FUNC_ls%%"]
    {
        let told = check(&none, script(json!({"env": {name: "x"}})));
        assert_eq!(told, format!("E0975 env.set: a job may not set {name}"));
        let told = check(&none, script(json!({"env_pass": [name]})));
        assert_eq!(told, format!("E0975 env.pass: {name} is not passed on"));
    }
    assert!(check(&none, script(json!({"env_pass": ["DULY_TOKEN"]}))).starts_with("E0975"));
    assert_eq!(none.user(None, "default", "default"), Ok(None));
    assert_eq!(none.user(Some("root"), "default", "default").unwrap_err().code, Code::UserForbidden);
}

#[test]
fn kinds_of_task_that_are_not_listed_are_not_run() {
    let policy = policy("[allow]\ntasks = [\"command\", \"http\"]");
    assert_eq!(check(&policy, script(json!({}))), "E0971 allow.tasks: tasks of kind sh are not run");
    assert_eq!(check(&policy, json!({"kind": "command", "argv": ["true"]})), "yes");
    assert_eq!(check(&policy, json!({"kind": "http", "url": "http://x/"})), "yes");
    assert_eq!(check(&policy, json!({"kind": "noop"})), "yes");
    assert_eq!(policy.view(false).tasks, ["command", "http"]);
    let scripts = file::parse("[allow]\ntasks = [\"scripts\"]").unwrap();
    assert_eq!(scripts.view(false).tasks, ["sh", "python", "node", "php", "powershell"]);
}

#[test]
fn listed_variables_may_be_set_and_those_that_load_code_only_by_their_full_name() {
    let policy = policy("[env]\nset = [\"ORA_*\", \"LD_LIBRARY_PATH\", \"*\"]\npass = [\"TZ\", \"LD_*\"]");
    for (name, set, passed) in [
        ("ORA_HOME", true, false),
        ("LD_LIBRARY_PATH", true, false),
        ("LD_PRELOAD", false, false),
        ("ANYTHING", true, false),
        ("TZ", true, true),
    ] {
        assert_eq!((policy.may_set(name), policy.may_pass(name)), (set, passed), "{name}");
    }
}

#[test]
fn a_task_runs_as_whom_the_file_says_or_as_one_it_allows() {
    let policy = policy(
        "run_as = \"batch\"\n[allow]\nusers = [\"report\"]\n[pools.etl]\nrun_as = \"etl\"\n[tenants.acme]\nrun_as = \"acme\"",
    );
    let user =
        |asked, tenant, pool| policy.user(asked, tenant, pool).map(|user| user.unwrap_or("-")).map_err(|no| no.code);
    assert_eq!(user(None, "default", "default"), Ok("batch"));
    assert_eq!(user(None, "default", "etl"), Ok("etl"));
    assert_eq!(user(None, "acme", "etl"), Ok("acme"));
    assert_eq!(user(Some("report"), "default", "default"), Ok("report"));
    assert_eq!(user(Some("batch"), "default", "default"), Ok("batch"));
    assert_eq!(user(Some("batch"), "default", "etl"), Err(Code::UserForbidden), "of another pool");
    assert_eq!(user(Some("root"), "default", "default"), Err(Code::UserForbidden));
    assert_eq!(policy.all_users().count(), 4);
}

#[test]
fn places_are_the_named_ones_and_below() {
    let policy = policy("[allow]\ndirectories = [\"/srv/jobs\"]\nprograms = [\"/usr/bin\"]");
    let place = |path: &str| policy.judge_place(Path::new(path)).map_err(|no| no.code);
    assert_eq!(place("/srv/jobs"), Ok(()));
    assert_eq!(place("/srv/jobs/a"), Ok(()));
    assert_eq!(place("/srv/jobs2"), Err(Code::PlaceForbidden));
    assert_eq!(place("/srv"), Err(Code::PlaceForbidden));
    assert_eq!(policy.judge_program(Path::new("/usr/bin/find")), Ok(()));
    assert_eq!(policy.judge_program(Path::new("/tmp/x")).unwrap_err().what, "/tmp/x is not run");
    assert_eq!(Policy::default().judge_place(Path::new("/anywhere")), Ok(()));
}

#[test]
fn faults_are_shown_where_they_are() {
    let fault = |text: &str, expected: Expect| expected.assert_eq(&file::parse(text).unwrap_err());
    fault(
        "run_as = \"x\"\nrun_ass = \"y\"",
        expect![[r#"
        TOML parse error at line 2, column 1
          |
        2 | run_ass = "y"
          | ^^^^^^^
        unknown field `run_ass`, expected one of `run_as`, `work`, `allow`, `env`, `http`, `pools`, `tenants`"#]],
    );
    fault(
        "[allow]\ntasks = [\"shell\"]",
        expect![[
            r#"allow.tasks: "shell" is no kind of task; write scripts, sh, python, node, php, powershell, command, http"#
        ]],
    );
    fault("[allow]\ndirectories = [\"srv\"]", expect!["allow.directories: srv must begin with a slash"]);
    fault(
        "[http]\nallow = [\"example.com\"]",
        expect![[
            r#"http.allow: "example.com" is no address and no network; write 10.1.2.3, 10.0.0.0/8 or 10.1.2.3:8080"#
        ]],
    );
    fault(
        "[env]\nset = \"A\"",
        expect![[r#"
        TOML parse error at line 2, column 7
          |
        2 | set = "A"
          |       ^^^
        invalid type: string "A", expected a sequence"#]],
    );
}
