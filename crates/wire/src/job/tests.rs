//! Job files as people write them, there and back, and what is said about wrong ones.

use expect_test::{Expect, expect};
use model::{Overlap, PoolRef, Retry, Span, TaskSort, When};

use super::*;
use crate::rule;
use crate::task::TaskKind;

/// The two jobs of the manual, as people write them.
const MANUAL: &str = r#"job: tick                 # name, unique in the tenant
cron: "* * * * * ?"
sh: echo hello
---
job: nightly_export
cron: { expr: "0 30 2 ? * MON-FRI", zone: Asia/Shanghai, misfire: { rule: once, grace: 1h } }
python: |
  import os; print("exporting", os.environ["DULY_PLANNED_AT"])
pool: { name: etl, labels: { disk: ssd }, route: least_loaded }
overlap: skip
timeout: 20m
retry: { times: 3, delay: 30s, backoff: 2, max: 10m }
params: { region: east }
"#;

/// Every key and nearly every form there is.
const EVERYTHING: &str = r#"
job: 夜间-清理.v2
folder: billing/nightly
description: |
  Two lines
  of words.
owner: 李雷
labels: { team: data, tier: 1 }
mode: paused
cron:
  expr: "*/5 2 * * 1-5"
  dialect: unix
  zone: Europe/Berlin
  dst: { gap: skip, overlap: both }
  start: 2026-01-01T00:00:00+08:00
  end: 2027-01-01T00:00:00Z
  max_count: 10
  jitter: 90s
  misfire: { rule: all, grace: 2h }
sh: { source: "echo $1\n", args: ["${region}", --fast] }
params: { region: east, deep: { list: [1, 2.5, true, null, "x"] } }
env: { LANG: C.UTF-8 }
env_pass: [HTTP_PROXY]
cwd: /srv/app
log: { max_bytes: 1000, max_lines: 10 }
exit: { success: [3], warning: [4, 5], final: [64] }
pool: { name: etl, labels: { disk: ssd }, route: { fixed: agent-1 } }
overlap: { queue: 7 }
exclusive: { takeover: 45s }
retry: { delays: [10s, 1m, 1h30m] }
timeout: 20m
stop_grace: 30s
priority: -5
limits: { job: 3, per_agent: 1 }
mutex: [books, ledger]
resources: { licence: 2, tape: 1 }
not_started_by: 5m
not_finished_by: 1h
lost_after: 10m
dead_letter: true
---
job: b
every: { every: 30s, start: 2026-01-01T00:00:00Z, misfire: skip }
command: [/bin/echo, "a b"]
overlap: { allow: 4 }
retry: 5
pool: { route: broadcast }
---
job: c
delay: 5m
http:
  url: https://example.com/hook
  method: POST
  headers: { X-Key: abc }
  body: "{}"
  expect_status: [200-204]
  expect_body: ok
  redirects: 3
exclusive: wait
---
job: d
once: 2026-11-15T10:20:30Z
http: https://example.com/
overlap: allow
retry: { times: 2, delay: 1s, backoff: 1.5, jitter: 20 }
---
job: e
after: { job: d, on: end, jitter: 5s }
noop: true
pool: etl
---
job: f
after: d
powershell: Get-Date
cron: null
---
job: g
cron: { expr: "0 0 2 * * ?", dst: quartz }
node: console.log(1)
---
job: h
php: <?php echo 1;
manual: true
overlap: replace
exclusive: takeover
"#;

fn read(yaml: &str) -> Vec<JobBody> {
    parse_yaml(yaml).unwrap_or_else(|faults| panic!("{}", faults.iter().map(show).collect::<String>()))
}

fn faults(yaml: &str, expected: Expect) {
    let text = match parse_yaml(yaml) {
        Ok(jobs) => format!("{} jobs are good", jobs.len()),
        Err(faults) => faults.iter().map(show).collect(),
    };
    expected.assert_eq(&text);
}

fn show(fault: &Fault) -> String {
    let mut text = format!("{} {}: {}\n", fault.code, fault.path, fault.message);
    if let Some(snippet) = &fault.snippet {
        text += &format!("{snippet}\n");
    }
    if let Some(hint) = &fault.hint {
        text += &format!("hint: {hint}\n");
    }
    text
}

#[test]
fn the_manual_means_what_it_says() {
    let jobs = read(MANUAL);
    let tick = jobs[0].to_parts(|_| None).unwrap();
    let pool = PoolRef { runs: Some(TaskSort::Shell), ..PoolRef::default() };
    assert_eq!(tick.rule, Rule { trigger: tick.rule.trigger.clone(), pool, ..Rule::default() });
    assert!(matches!(&tick.rule.trigger.when, When::Cron { expr, zone, .. } if expr == "* * * * * ?" && zone == "UTC"));
    assert!(matches!(&tick.task.kind, TaskKind::Script { source, .. } if source == "echo hello"));

    let export = jobs[1].to_parts(|_| None).unwrap();
    assert_eq!(export.rule.trigger.misfire.grace, Span::HOUR);
    assert_eq!(export.rule.overlap, Overlap::Skip);
    assert_eq!(export.rule.timeout, Some(Span::MINUTE.saturating_mul(20)));
    let retry = Retry::Exponential {
        times: 3,
        delay: Span::secs(30),
        factor_percent: 200,
        max: Span::MINUTE.saturating_mul(10),
        jitter_percent: 0,
    };
    assert_eq!(export.rule.retry, retry);
    assert_eq!(export.task.params["region"], "east");
}

#[test]
fn a_body_survives_the_way_through_its_parts() {
    for body in read(MANUAL).into_iter().chain(read(EVERYTHING)) {
        let parts = body.to_parts(|name| (name == "d").then_some(JobId(4))).unwrap();
        let rule = rule::decode(&rule::encode(&parts.rule)).unwrap();
        let task = serde_json::from_slice(&serde_json::to_vec(&parts.task).unwrap()).unwrap();
        let kept = Parts { rule, task };
        assert_eq!(kept, parts, "{}", body.job);

        let again = JobBody::from_parts(body.head(), &kept, |_| "d".into());
        assert_eq!(again.to_parts(|_| Some(JobId(4))).unwrap(), parts, "{}", body.job);
        assert_eq!(again, body.normal().unwrap(), "{}", body.job);
        assert_eq!(JobBody::decode(&again.encode()).unwrap(), again);

        let exported = export([&body]);
        assert_eq!(read(&exported), [again], "{exported}");
    }
}

#[test]
fn what_was_written_short_is_exported_short() {
    let long = r#"
job: tick
cron: { expr: "* * * * * ?", zone: UTC, dialect: quartz, misfire: { rule: once, grace: 60s } }
sh: { source: echo hello }
pool: { name: default, route: least_loaded }
overlap: queue
retry: 0
"#;
    let short = export(&read(long));
    expect![[r#"
        job: tick
        cron: "* * * * * ?"
        sh: echo hello
    "#]]
    .assert_eq(&short);
}

#[test]
fn many_jobs_are_exported_as_many_documents() {
    expect![[r#"
        job: tick
        cron: "* * * * * ?"
        sh: echo hello
        ---
        job: nightly_export
        cron:
          expr: 0 30 2 ? * MON-FRI
          zone: Asia/Shanghai
          misfire:
            rule: once
            grace: 1h
        python: |
          import os; print("exporting", os.environ["DULY_PLANNED_AT"])
        params:
          region: east
        pool:
          name: etl
          labels:
            disk: ssd
        overlap: skip
        retry:
          times: 3
          delay: 30s
          backoff: 2
          max: 10m
        timeout: 20m
    "#]]
    .assert_eq(&export(&read(MANUAL)));
}

#[test]
fn every_fault_is_told_at_once_with_its_place() {
    faults(
        r#"job: Tick Tock
cron: "* * * * *"
timeout: 5
retry: { times: 3, delay: 1x, max: 1h }
sh: echo hello
python: print(1)
---
job: two
cron: { expr: "0 0 * * * ?", zone: Asia/Peking, start: tomorrow }
limits: { job: 0 }
http: { url: ftp://x, method: get, expect_status: ["99"] }
"#,
        expect![[r#"
            E0204 jobs[0].job: the name "Tick Tock" does not begin with a lower-case letter or digit
            1 | job: Tick Tock
              |      ^
            hint: use lower-case letters, digits, '_', '.' and '-'
            E0206 jobs[0].cron: a Quartz expression has six or seven fields, the seconds first; this looks like a crontab line
            1 | job: Tick Tock
            2 | cron: "* * * * *"
              |       ^
            hint: write cron: { expr: "* * * * *", dialect: unix }
            E0208 jobs[0].retry.delay: "1x" is not a duration
            3 | timeout: 5
            4 | retry: { times: 3, delay: 1x, max: 1h }
              |                           ^
            hint: write a number with a unit: 250ms, 90s, 20m, 1h30m, 2d
            E0215 jobs[0].retry.max: max bounds a growing delay, and there is no backoff
            3 | timeout: 5
            4 | retry: { times: 3, delay: 1x, max: 1h }
              |                                    ^
            hint: add backoff, or leave max out
            E0208 jobs[0].timeout: "5" is not a duration
            2 | cron: "* * * * *"
            3 | timeout: 5
              |          ^
            hint: write a number with a unit: 250ms, 90s, 20m, 1h30m, 2d
            E0210 jobs[0].python: sh and python are given together
            5 | sh: echo hello
            6 | python: print(1)
              |         ^
            hint: keep one of them
            E0207 jobs[1].cron.zone: "Asia/Peking" is not a time zone
            8 | job: two
            9 | cron: { expr: "0 0 * * * ?", zone: Asia/Peking, start: tomorrow }
              |                                    ^
            hint: use an IANA name such as Asia/Shanghai
            E0209 jobs[1].cron.start: "tomorrow" is not an instant
            8 | job: two
            9 | cron: { expr: "0 0 * * * ?", zone: Asia/Peking, start: tomorrow }
              |                                                        ^
            hint: write it with an offset: 2026-11-15T10:20:30Z
            E0215 jobs[1].limits.job: 0 is outside 1 to 1000000
             9 | cron: { expr: "0 0 * * * ?", zone: Asia/Peking, start: tomorrow }
            10 | limits: { job: 0 }
               |                ^
            hint: choose something from 1 to 1000000
            E0216 jobs[1].http.url: "ftp://x" is not an absolute http or https URL
            10 | limits: { job: 0 }
            11 | http: { url: ftp://x, method: get, expect_status: ["99"] }
               |              ^
            hint: write it like https://example.com/hook
            E0216 jobs[1].http.method: "get" is not a method
            10 | limits: { job: 0 }
            11 | http: { url: ftp://x, method: get, expect_status: ["99"] }
               |                               ^
            hint: use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS
            E0216 jobs[1].http.expect_status[0]: "99" is neither a status nor a range of them
            10 | limits: { job: 0 }
            11 | http: { url: ftp://x, method: get, expect_status: ["99"] }
               |                                                    ^
            hint: write "204" or "200-299"
        "#]],
    );
}

#[test]
fn a_wrong_key_or_kind_is_named_with_what_would_be_right() {
    faults(
        r#"job: b
crn: x
---
job: c
overlap: maybe
sh: yes
---
job: d
pool: { labls: 3 }
sh: true
---
job: f
command: ls -l | wc
---
job: g
retry: soon
noop: true
---
job: h
colour_of_the_shed: green
---
- job: i
---
cron: "0 0 * * * ?"
noop: true
"#,
        expect![[r#"
            E0202 jobs[0]: there is no key `crn` here
            1 | job: b
            2 | crn: x
              | ^
            hint: did you mean `cron`?
            E0202 jobs[1]: the string "maybe" does not belong here
            4 | job: c
            5 | overlap: maybe
              | ^
            hint: write allow, queue, skip, replace, {allow: N} or {queue: N}
            E0202 jobs[2]: there is no key `labls` here
            8 | job: d
            9 | pool: { labls: 3 }
              |         ^
            hint: did you mean `labels`?
            E0202 jobs[3]: command takes a list, such as ["ls", "-l", "|", "wc"]; for a line with shell syntax use sh: "ls -l | wc"
            12 | job: f
            13 | command: ls -l | wc
               |          ^
            E0202 jobs[4]: the string "soon" does not belong here
            15 | job: g
            16 | retry: soon
               | ^
            hint: write a number or a map with times, delay, backoff, max, jitter, or delays
            E0202 jobs[5]: there is no key `colour_of_the_shed` here
            19 | job: h
            20 | colour_of_the_shed: green
               | ^
            hint: the keys are job, folder, description, owner, labels, mode, cron, every, delay, once, after, manual, noop, sh, python, node, php, powershell, command, http, executor, params, env, env_pass, cwd, run_as, variables, secrets, log, exit, pool, overlap, exclusive, retry, timeout, stop_grace, priority, limits, mutex, resources, not_started_by, not_finished_by, lost_after, dead_letter
            E0202 jobs[6]: keys and values are expected here
            21 | ---
            22 | - job: i
               | ^
            E0202 jobs[7]: the key `job` is missing
            24 | cron: "0 0 * * * ?"
            25 | noop: true
               | ^
        "#]],
    );
}

#[test]
fn broken_yaml_is_shown_where_it_breaks() {
    faults(
        "job: a\nsh: |\n  echo\n cron: x\n",
        expect![[r#"
        E0201 : while parsing a block mapping, did not find expected key
        3 |   echo
        4 |  cron: x
          |  ^
    "#]],
    );
    faults(
        "job: a\njob: b\nnoop: true\n",
        expect![[r#"
        E0201 : the key `job` is given twice
        1 | job: a
        2 | job: b
          | ^
        hint: keep one of them
    "#]],
    );
    faults(
        "job: a\nlabels: { a: &x [1], b: *y }\n",
        expect![[r#"
        E0201 : a text is expected here
        1 | job: a
        2 | labels: { a: &x [1], b: *y }
          |                 ^
    "#]],
    );
}

#[test]
fn json_is_read_too() {
    let jobs = parse_json(r#"[{"job": "a", "every": "30s", "noop": true}, {"job": "b", "sh": "true", "retry": 2}]"#);
    assert_eq!(jobs.unwrap().len(), 2);
    let faults = parse_json("{\"job\": \"a\",\n \"sh\": 5, \"nope\": 1}").unwrap_err();
    assert_eq!((faults[0].code.as_str(), faults[0].line), ("E0202", Some(2)));
    assert_eq!(parse_json("{").unwrap_err()[0].code, "E0201");
}

#[test]
fn plain_words_stay_words() {
    let jobs = read("job: on\nsh: yes\nenv: { A: no, B: 1.0, C: 007 }\n");
    assert_eq!(jobs[0].sh, Some(ScriptForm::Short("yes".into())));
    assert_eq!(jobs[0].env["A"], "no");
    assert_eq!(jobs[0].env["B"], "1.0");
    assert_eq!(jobs[0].env["C"], "007");
}

#[test]
fn a_follower_needs_the_job_it_follows() {
    let body = &read("job: a\nafter: gone\nnoop: true\n")[0];
    assert_eq!(body.follows(), ["gone"]);
    assert_eq!(body.to_parts(|_| None).unwrap_err()[0].code, "E0212");
}

#[test]
fn names_may_be_in_any_script_but_not_look_like_something_else() {
    for good in ["a", "0a", "nightly_export.v2-x", "夜间清理", "été"] {
        assert_eq!(check::name_fault(good), None, "{good}");
    }
    let long = "x".repeat(129);
    for bad in ["", "A", "a b", "-a", ".a", "a/b", "a%", "42", "apply", "a\u{0}", &long] {
        assert!(check::name_fault(bad).is_some(), "{bad:?}");
    }
}

#[test]
fn sizes_are_bounded() {
    let big = JobBody { job: "a".into(), sh: Some(ScriptForm::Short("x".repeat((1 << 20) + 1))), ..JobBody::default() };
    assert_eq!(big.check()[0].code, "E0211");
    let mut params = JobBody { job: "a".into(), noop: Some(true), ..JobBody::default() };
    params.params.insert("p".into(), "x".repeat(70_000).into());
    assert_eq!(params.check()[0].path, "params");
    // A bomb of aliases is stopped by the reader's budget, long before memory is.
    let bomb = (0..20).map(|i| format!("a{i}: &a{i} [{}]\n", format!("*a{},", i - 1).repeat(9))).collect::<String>();
    assert!(parse_yaml(&bomb).is_err());
}

#[test]
fn script_files_are_put_in_place_before_sending() {
    let mut body = JobBody {
        job: "a".into(),
        python: Some(ScriptForm::Long(ScriptMap { file: Some("x.py".into()), ..ScriptMap::default() })),
        ..JobBody::default()
    };
    assert_eq!(body.check()[0].path, "python.file");
    body.inline_files(|key, path| Ok::<_, ()>(format!("# {key} {path}"))).unwrap();
    assert_eq!(body.check(), []);
    assert_eq!(body.normal().unwrap().python, Some(ScriptForm::Short("# python.file x.py".into())));
}

#[test]
fn several_jobs_may_be_followed_beside_times_of_its_own() {
    let text = "job: c\ncron: 0 0 2 * * ?\nafter:\n- a\n- job: b\n  \"on\": failure\n  each: true\nnoop: true\n";
    let body = &read(text)[0];
    assert_eq!(
        (body.follows(), body.trigger_summary().as_str()),
        (vec!["a", "b"], "cron 0 0 2 * * ?, after a, after b fails")
    );
    let parts = body.to_parts(|name| Some(model::JobId(if name == "a" { 1 } else { 2 }))).unwrap();
    let follow = |job, on, each| model::Follow { job: model::JobId(job), on, each };
    assert_eq!(parts.rule.trigger.follows, [follow(1, model::On::Success, false), follow(2, model::On::Failure, true)]);
    assert_eq!(body.normal().unwrap(), *body);
    assert_eq!(export([body]), text);
}

#[test]
fn a_bound_of_one_of_several_triggers_is_refused() {
    faults(
        "job: c\nevery: 5s\nafter: { job: a, max_count: 3 }\nnoop: true\n",
        expect![[r#"
        E0205 jobs[0].after: start, end and the like are not of one of several triggers
        2 | every: 5s
        3 | after: { job: a, max_count: 3 }
          |        ^
        hint: give them with the cron, every, delay or once, or make a job of its own for it
    "#]],
    );
    faults(
        "job: c\nafter: [a, { job: b, max_count: 3 }]\nnoop: true\n",
        expect![[r#"
        E0205 jobs[0].after: start, end and the like are not of one of several triggers
        1 | job: c
        2 | after: [a, { job: b, max_count: 3 }]
          |        ^
        hint: give them with the cron, every, delay or once, or make a job of its own for it
    "#]],
    );
    faults(
        "job: c\nmanual: true\nafter: a\nnoop: true\n",
        expect![[r#"
        E0205 jobs[0].manual: after and manual are given together
        1 | job: c
        2 | manual: true
          |         ^
        hint: keep one of them
    "#]],
    );
    faults(
        "job: c\nafter: { jbo: a }\nnoop: true\n",
        expect![[r#"
        E0202 jobs[0]: there is no key `jbo` here
        1 | job: c
        2 | after: { jbo: a }
          |          ^
        hint: did you mean `job`?
    "#]],
    );
}
