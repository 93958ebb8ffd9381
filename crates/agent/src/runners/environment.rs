//! The whole environment of a task. It starts empty: nothing of the agent's own is in it unless the task names it,
//! so no key of ours can leak into somebody's script.

use std::collections::BTreeMap;
use std::ffi::OsString;

use model::Timestamp;
use serde_json::{Map, Value};

use super::confine::Person;
use super::{NotRunnable, plain};
use crate::session::StartOrder;

/// For a task that sets or passes none. `HOME` and `LANG` have no default: a task that needs them names them.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The kernel takes no longer `NAME=value`.
const BYTES_MAX: usize = 128 * 1024;

/// Later ones win: default, passed on from the agent, set by the task, ours.
pub(super) fn environment(
    start: &StartOrder,
    given: &BTreeMap<String, String>,
    params: &Map<String, Value>,
    person: Option<&Person>,
    agent: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<(OsString, OsString)>, NotRunnable> {
    let body = &start.task.body;
    let mut env: BTreeMap<String, OsString> = BTreeMap::from([("PATH".into(), PATH.into())]);
    // A task that was made another user's knows whose it is.
    if let Some(person) = person {
        env.insert("HOME".into(), person.home.clone().into());
        env.extend(["USER", "LOGNAME"].map(|name| (name.to_string(), person.name.clone().into())));
    }
    // Ours may be keys and tokens of the installation: no job can ask for them.
    let passed = body.env_pass.iter().filter(|name| !name.starts_with("DULY_"));
    env.extend(passed.filter_map(|name| Some((name.clone(), agent(name)?))));
    env.extend(given.iter().map(|(name, value)| (name.clone(), value.into())));
    env.extend(params.iter().map(|(name, value)| (param_name(name), plain(value).into())));
    env.extend(ours(start, params).into_iter().map(|(name, value)| (name.to_owned(), value.into())));
    env.into_iter().map(|(name, value)| checked(name, value)).collect()
}

fn ours(start: &StartOrder, params: &Map<String, Value>) -> Vec<(&'static str, String)> {
    let (order, task) = (&start.order, &start.task);
    let fence = if order.fence == 0 { order.attempt } else { order.fence };
    let mut ours = vec![
        ("DULY_JOB", task.job_name.clone()),
        ("DULY_JOB_ID", task.job.to_string()),
        ("DULY_INSTANCE_ID", order.instance.to_string()),
        ("DULY_IDEMPOTENCY_KEY", order.instance.to_string()),
        ("DULY_ATTEMPT_ID", order.attempt.to_string()),
        ("DULY_FENCE", fence.to_string()),
        ("DULY_ATTEMPT_NO", order.attempt_no.to_string()),
        ("DULY_PLANNED_AT", rfc3339(Timestamp(order.planned))),
        ("DULY_PARAMS", Value::Object(params.clone()).to_string()),
    ];
    if order.total > 0 {
        ours.push(("DULY_SHARD_INDEX", order.index.to_string()));
        ours.push(("DULY_SHARD_TOTAL", order.total.to_string()));
    }
    ours
}

fn param_name(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("DULY_PARAM_{}", name.chars().map(letter).collect::<String>())
}

/// With microseconds always, so that it sorts and parses the same everywhere.
fn rfc3339(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_microsecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{at:.6}")
}

fn checked(name: String, value: OsString) -> Result<(OsString, OsString), NotRunnable> {
    let wrong = if name.is_empty() {
        Some("it has no name")
    } else if name.contains(['=', '\0']) {
        Some("its name holds an equals sign or a zero byte")
    } else if value.as_encoded_bytes().contains(&0) {
        Some("its value holds a zero byte")
    } else if name.len() + value.len() + 2 > BYTES_MAX {
        Some("it is longer than the system takes")
    } else {
        None
    };
    match wrong {
        Some(why) => Err(NotRunnable::Variable { name, why }),
        None => Ok((name.into(), value)),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use wire::link::Order;

    use super::*;
    use crate::session::Task;

    fn start(body: &str, order: Order) -> StartOrder {
        let task = Task {
            job: 3,
            job_name: "nightly".into(),
            body: serde_json::from_str(body).unwrap(),
            tenant: String::new(),
            pool: String::new(),
        };
        StartOrder { order, task: task.into(), leash_until: None, until: Timestamp(0) }
    }

    fn agent(name: &str) -> Option<OsString> {
        [("SECRET", "x"), ("DULY_SECRET_KEY", "x"), ("LANG", "C"), ("ZONE", "agent's")]
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, v)| v.into())
    }

    fn show(body: &str, order: Order) -> String {
        let start = start(body, order);
        match environment(&start, &start.task.body.env, &super::super::params(&start).unwrap(), None, agent) {
            Ok(env) => env.into_iter().map(|(n, v)| format!("{}={}\n", n.display(), v.display())).collect(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_task_sees_what_its_order_says_and_nothing_else() {
        let body = r#"{"kind":"command","argv":["x"], "env":{"ZONE":"task's","DULY_FENCE":"0"}, "env_pass":["LANG","ZONE","NONE","DULY_SECRET_KEY"],
                       "params":{"day":"monday","n.rows":5,"deep":{"a":[1]}}}"#;
        let order = Order {
            attempt: 70,
            attempt_no: 2,
            instance: 9,
            planned: 1_700_000_000_000_001,
            index: 1,
            total: 4,
            params: br#"{"day":"tuesday"}"#.to_vec().into(),
            ..Order::default()
        };
        expect![[r#"
            DULY_ATTEMPT_ID=70
            DULY_ATTEMPT_NO=2
            DULY_FENCE=70
            DULY_IDEMPOTENCY_KEY=9
            DULY_INSTANCE_ID=9
            DULY_JOB=nightly
            DULY_JOB_ID=3
            DULY_PARAMS={"day":"tuesday","deep":{"a":[1]},"n.rows":5}
            DULY_PARAM_DAY=tuesday
            DULY_PARAM_DEEP={"a":[1]}
            DULY_PARAM_N_ROWS=5
            DULY_PLANNED_AT=2023-11-14T22:13:20.000001Z
            DULY_SHARD_INDEX=1
            DULY_SHARD_TOTAL=4
            LANG=C
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
            ZONE=task's
        "#]]
        .assert_eq(&show(body, order));
    }

    #[test]
    fn what_no_system_takes_is_refused_by_name() {
        let long = format!(r#"{{"kind":"noop","env":{{"BIG":"{}"}}}}"#, "x".repeat(BYTES_MAX));
        assert_eq!(show(&long, Order::default()), r#""BIG" cannot be a variable: it is longer than the system takes"#);
        let equals = r#"{"kind":"noop","env":{"A=B":"x"}}"#;
        assert!(show(equals, Order::default()).starts_with(r#""A=B" cannot"#));
        let zero = r#"{"kind":"noop","params":{"a":"\u0000"}}"#;
        assert!(show(zero, Order::default()).starts_with(r#""DULY_PARAM_A" cannot"#));
    }
}
