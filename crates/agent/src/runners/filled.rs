//! A task with its values in place, and what it is told in confidence. Values come with the order and go no further than
//! the task: nothing here is written down or printed.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::sync::Arc;

use serde_json::{Map, Value};
use wire::fill::{Unfilled, fill};
use wire::link::SecretValue;
use wire::task::{HttpCall, TaskKind};

use super::forms::Forms;
use super::{NotRunnable, with_params_of};
use crate::session::StartOrder;
use crate::shim::{Masks, Secrets};

/// The parts of a task that name variables; arguments are filled by themselves.
pub(crate) struct Filled<'s> {
    pub(crate) env: Cow<'s, BTreeMap<String, String>>,
    pub(crate) cwd: Option<Cow<'s, str>>,
    /// With those of the instance laid over them.
    pub(crate) params: Map<String, Value>,
    pub(crate) call: Option<Cow<'s, HttpCall>>,
}

impl<'s> Filled<'s> {
    pub(crate) fn of(start: &'s StartOrder) -> Result<Filled<'s>, NotRunnable> {
        let body = &start.task.body;
        let call = match &body.kind {
            TaskKind::Http(call) => Some(&**call),
            TaskKind::Noop | TaskKind::Script { .. } | TaskKind::Command { .. } | TaskKind::Executor { .. } => None,
        };
        if body.uses.is_none() {
            let cwd = body.cwd.as_deref().map(Cow::Borrowed);
            let params = with_params_of(start, body.params.clone())?;
            return Ok(Filled { env: Cow::Borrowed(&body.env), cwd, params, call: call.map(Cow::Borrowed) });
        }
        let order = &start.order;
        let pen = Pen { variables: &order.variables, secrets: &order.secrets };
        let mut params = body.params.clone();
        params.values_mut().try_for_each(|value| pen.fill_value(value))?;
        Ok(Filled {
            env: Cow::Owned(pen.fill_all(&body.env)?),
            cwd: body.cwd.as_deref().map(|cwd| pen.fill(cwd).map(Cow::Owned)).transpose()?,
            params: with_params_of(start, params)?,
            call: call.map(|call| pen.fill_call(call).map(Cow::Owned)).transpose()?,
        })
    }
}

struct Pen<'o> {
    variables: &'o HashMap<String, String>,
    secrets: &'o HashMap<String, SecretValue>,
}

impl Pen<'_> {
    /// Without secrets: the text may be seen.
    fn fill(&self, text: &str) -> Result<String, Unfilled> {
        fill(text, |name| self.variables.get(name).map(String::as_str), |_| None)
    }

    fn fill_in_confidence(&self, text: &str) -> Result<String, Unfilled> {
        let secret = |name: &str| self.secrets.get(name).map(|value| value.text.as_str());
        fill(text, |name| self.variables.get(name).map(String::as_str), secret)
    }

    fn fill_all(&self, texts: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Unfilled> {
        texts.iter().map(|(key, text)| Ok((key.clone(), self.fill(text)?))).collect()
    }

    fn fill_value(&self, value: &mut Value) -> Result<(), Unfilled> {
        match value {
            Value::String(text) => *text = self.fill(text)?,
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.fill_value(item))?,
            Value::Object(map) => map.values_mut().try_for_each(|item| self.fill_value(item))?,
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(())
    }

    fn fill_call(&self, call: &HttpCall) -> Result<HttpCall, Unfilled> {
        let header = |(key, text): (&String, &String)| Ok((key.clone(), self.fill_in_confidence(text)?));
        Ok(HttpCall {
            url: self.fill(&call.url)?,
            headers: call.headers.iter().map(header).collect::<Result<_, Unfilled>>()?,
            body: call.body.as_deref().map(|body| self.fill_in_confidence(body)).transpose()?,
            ..call.clone()
        })
    }
}

/// None if the task has none. An order that lacks one of them is refused: its task never starts without.
pub(super) fn secrets(start: &StartOrder) -> Result<Option<Secrets>, NotRunnable> {
    let body = &start.task.body;
    if body.secrets.is_empty() {
        return Ok(None);
    }
    let value = |name: &String| {
        let found = start.order.secrets.get(name);
        found.map(|value| value.text.as_bytes().to_vec()).ok_or_else(|| NotRunnable::NoSecret(name.clone()))
    };
    let env = body.secrets.iter().map(|(variable, name)| Ok((OsString::from(variable), value(name)?)));
    let env = env.collect::<Result<Vec<_>, NotRunnable>>()?;
    let forms = Forms::of(start.order.secrets.values().map(|value| value.text.as_str()));
    let mut secrets = Secrets::default();
    (secrets.env, secrets.words, secrets.wrapped) = (env, forms.words, forms.wrapped);
    Ok(Some(secrets))
}

/// What must not be read in what the agent itself says about an order; none if there is nothing.
pub(crate) fn masks(start: &StartOrder) -> Option<Arc<Masks>> {
    if start.order.secrets.is_empty() {
        return None;
    }
    let forms = Forms::of(start.order.secrets.values().map(|value| value.text.as_str()));
    Some(Arc::new(Masks::new(&forms.words, &forms.wrapped)))
}

#[cfg(test)]
mod tests {
    use model::Timestamp;
    use wire::link::Order;

    use super::*;
    use crate::session::Task;

    fn start(body: &str) -> StartOrder {
        let mut body: wire::task::TaskBody = serde_json::from_str(body).unwrap();
        body.uses = wire::fill::Uses::of(&body);
        let order = Order {
            variables: HashMap::from([("zone".into(), "eu".into()), ("evil".into(), "${zone}".into())]),
            secrets: HashMap::from([("db".into(), SecretValue { text: "hunter22".into() })]),
            params: br#"{"late":"${zone}"}"#.to_vec().into(),
            ..Order::default()
        };
        let task = Task { job: 3, job_name: "nightly".into(), body, tenant: String::new(), pool: String::new() };
        StartOrder { order, task: task.into(), leash_until: None, until: Timestamp(0) }
    }

    #[test]
    fn values_reach_every_text_and_no_parameter_of_an_instance_is_read_for_them() {
        let start = start(
            r#"{"kind":"command","argv":["x"],"env":{"A":"${zone}-${evil}","B":"$${zone}"},"cwd":"/srv/${zone}",
                "params":{"deep":[{"z":"${zone}"}]}}"#,
        );
        let filled = Filled::of(&start).unwrap();
        assert_eq!((filled.env["A"].as_str(), filled.env["B"].as_str()), ("eu-${zone}", "${zone}"));
        assert_eq!(filled.cwd.as_deref(), Some("/srv/eu"));
        assert_eq!(Value::Object(filled.params).to_string(), r#"{"deep":[{"z":"eu"}],"late":"${zone}"}"#);
    }

    #[test]
    fn a_call_has_its_secrets_where_only_the_called_sees_them() {
        let call = |header: &str, url: &str| {
            let body =
                r#"{"kind":"http","url":"URL","headers":{"authorization":"HEADER"},"body":"{\"p\":\"${secret.db}\"}"}"#;
            let start = start(&body.replace("HEADER", header).replace("URL", url));
            Filled::of(&start)
                .map(|filled| filled.call.unwrap().into_owned())
                .map_err(|error| format!("{error}: {}", std::error::Error::source(&error).unwrap()))
        };
        let filled = call("Bearer ${secret.db}", "https://${zone}/").unwrap();
        assert_eq!((filled.url.as_str(), filled.headers["authorization"].as_str()), ("https://eu/", "Bearer hunter22"));
        assert_eq!(filled.body.as_deref(), Some(r#"{"p":"hunter22"}"#));
        let refused = call("x", "https://${secret.db}/").unwrap_err();
        assert_eq!(refused, "what the task names cannot be filled in: the secret db has no value here");
        assert!(call("${night}", "https://x/").unwrap_err().ends_with("the variable night has no value"));
    }

    #[test]
    fn a_task_without_its_secret_is_refused() {
        let with = start(r#"{"kind":"command","argv":["x"],"secrets":{"PASSWORD":"db"}}"#);
        let told = secrets(&with).unwrap().unwrap();
        assert_eq!(told.env, [(OsString::from("PASSWORD"), b"hunter22".to_vec())]);
        assert!(told.words.contains(&b"hunter22".to_vec()) && !told.wrapped.is_empty());
        let without = start(r#"{"kind":"command","argv":["x"],"secrets":{"PASSWORD":"other"}}"#);
        let why = secrets(&without).unwrap_err().to_string();
        assert_eq!(why, "the order came without the secret other, which the task needs");
        assert!(!format!("{with:?}").contains("hunter22"));
    }
}
