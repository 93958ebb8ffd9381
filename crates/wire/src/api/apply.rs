//! Applying jobs: what is sent, and the plan that is shown before anything is done.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::errors::Code;
use crate::job::{self, JobBody};
use crate::problem::Fault;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyBody {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobBody>,
    /// Job files as text, beside `jobs`; faults then name the line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileBody>,
    /// Only say what would be done.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dry_run: bool,
    /// Delete jobs that are not among these: all others, or those of `prune_folder`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub prune: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prune_folder: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FileBody {
    /// For messages.
    pub name: String,
    /// YAML, or JSON if the name ends in `.json`.
    pub text: String,
}

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

impl ApplyBody {
    /// The jobs of the call that could be read, and everything that is wrong; `judge` adds what only the engine sees.
    pub fn read(&self, judge: impl Fn(&JobBody) -> Option<Fault>) -> (Vec<JobBody>, Vec<Fault>) {
        let mut all = Vec::new();
        let mut faults = Vec::new();
        for (n, body) in self.jobs.iter().enumerate() {
            let found = body.check().into_iter().chain(judge(body));
            faults.extend(found.map(|fault| fault.below(&format!("jobs[{n}]"))));
            all.push((format!("jobs[{n}].job"), body.clone()));
        }
        for file in &self.files {
            let read = job::read_file(&file.name, &file.text);
            faults.extend(read.faults.into_iter().map(|fault| in_file(&file.name, fault)));
            for (n, body) in read.jobs {
                let judged = judge(&body).map(|fault| file.place(n, fault).below(&format!("jobs[{n}]")));
                faults.extend(judged.map(|fault| in_file(&file.name, fault)));
                all.push((format!("{}: jobs[{n}].job", file.name), body));
            }
        }
        let mut seen = BTreeSet::new();
        for (path, body) in &all {
            if !seen.insert(body.job.as_str()) {
                faults.push(Fault::new(Code::NamedTwice, path, format!("{} is named twice in this call", body.job)));
            }
        }
        (all.into_iter().map(|(_, body)| body).collect(), faults)
    }
}

impl FileBody {
    fn place(&self, n: usize, fault: Fault) -> Fault {
        if self.name.ends_with(".json") { fault } else { job::locate(&self.text, n, fault) }
    }
}

fn in_file(name: &str, mut fault: Fault) -> Fault {
    fault.path = if fault.path.is_empty() { name.into() } else { format!("{name}: {}", fault.path) };
    fault
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlanView {
    /// Whether it was done, or only said.
    pub applied: bool,
    pub items: Vec<PlanItem>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlanItem {
    pub job: String,
    pub action: Action,
    /// What differs; for a new job, what it says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldDiff>,
    /// Jobs that stay and follow the one that goes: nothing starts them any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub followers: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Create,
    Change,
    Delete,
    Same,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FieldDiff {
    #[schema(example = "retry.delay")]
    pub path: String,
    /// Absent if the key is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Value>,
    /// Absent if the key is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<Value>,
}

impl PlanView {
    pub fn count(&self, action: Action) -> usize {
        self.items.iter().filter(|item| item.action == action).count()
    }

    pub fn changes_nothing(&self) -> bool {
        self.count(Action::Same) == self.items.len()
    }
}

impl PlanItem {
    pub fn create(new: &JobBody) -> PlanItem {
        PlanItem {
            job: new.job.clone(),
            action: Action::Create,
            fields: between(None, Some(new)),
            followers: Vec::new(),
        }
    }

    /// A body that does not say its mode leaves the job's as it is.
    pub fn change(old: &JobBody, new: &JobBody) -> PlanItem {
        let mode = old.mode.unwrap_or(job::ModeWord::Enabled);
        let old = JobBody { mode: Some(mode), ..old.clone() };
        let new = JobBody { mode: Some(new.mode.unwrap_or(mode)), ..new.clone() };
        let fields = between(Some(&old), Some(&new));
        let action = if fields.is_empty() { Action::Same } else { Action::Change };
        PlanItem { job: new.job, action, fields, followers: Vec::new() }
    }

    pub fn delete(name: &str, followers: Vec<String>) -> PlanItem {
        PlanItem { job: name.into(), action: Action::Delete, fields: Vec::new(), followers }
    }
}

/// Two ways of saying one thing are no difference.
fn between(old: Option<&JobBody>, new: Option<&JobBody>) -> Vec<FieldDiff> {
    let value = |body: Option<&JobBody>| {
        let body = body.map(|body| body.normal().unwrap_or_else(|_| body.clone()));
        body.map(|body| serde_json::to_value(body).expect("a body is plain data"))
    };
    let mut diffs = Vec::new();
    compare("", value(old).as_ref(), value(new).as_ref(), &mut diffs);
    diffs.retain(|diff| diff.path != "job");
    diffs
}

fn compare(path: &str, old: Option<&Value>, new: Option<&Value>, out: &mut Vec<FieldDiff>) {
    if old == new {
        return;
    }
    let objects = (old.and_then(Value::as_object), new.and_then(Value::as_object));
    // A new or lost group is one difference; only the job itself is always taken apart.
    if let (Some(a), Some(b)) = objects {
        let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        for key in keys {
            compare(&join(path, key), a.get(key), b.get(key), out);
        }
    } else if path.is_empty() {
        for (key, value) in new.or(old).and_then(Value::as_object).into_iter().flatten() {
            let (old, new) = if new.is_some() { (None, Some(value)) } else { (Some(value), None) };
            out.push(FieldDiff { path: key.clone(), old: old.cloned(), new: new.cloned() });
        }
    } else {
        out.push(FieldDiff { path: path.into(), old: old.cloned(), new: new.cloned() });
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.into() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(yaml: &str) -> JobBody {
        job::parse_yaml(yaml).unwrap().remove(0)
    }

    fn told(item: &PlanItem) -> String {
        let side = |value: &Option<Value>| value.as_ref().map_or("-".into(), Value::to_string);
        let fields = item.fields.iter().map(|f| format!(" {}: {} > {}", f.path, side(&f.old), side(&f.new)));
        format!("{:?}{}", item.action, fields.collect::<Vec<_>>().join(","))
    }

    #[test]
    fn only_what_differs_is_told() {
        let old = job("job: a\ncron: \"0 0 * * * ?\"\nsh: date\nretry: 2\nlabels: { x: a, y: b }\nmode: paused\n");
        let same = job(
            "job: a\ncron: { expr: \"0 0 * * * ?\", zone: UTC }\nsh: date\nretry: { times: 2, delay: 10s }\nlabels: { y: b, x: a }\n",
        );
        assert_eq!(told(&PlanItem::change(&old, &same)), "Same");
        let new = job("job: a\nevery: 5m\nsh: date\nlabels: { x: c, y: b }\nmode: enabled\n");
        let change = PlanItem::change(&old, &new);
        let expected = concat!(
            r#"Change cron: "0 0 * * * ?" > -, every: - > "5m", labels.x: "a" > "c", "#,
            r#"mode: "paused" > "enabled", retry: 2 > -"#
        );
        assert_eq!(told(&change), expected);
        assert_eq!(told(&PlanItem::create(&job("job: n\nnoop: true\n"))), "Create noop: - > true");
    }

    #[test]
    fn a_call_is_read_as_a_whole() {
        let file = |name: &str, text: &str| FileBody { name: name.into(), text: text.into() };
        let body = ApplyBody {
            jobs: vec![job("job: a\nnoop: true\n")],
            files: vec![
                file("x.yaml", "job: b\nnoop: true\n---\njob: a\nnoop: true\n"),
                file("y.yaml", "job: c\nnop: true\n"),
                file("z.json", "{\"job\": \"d\", \"noop\": true, \"timeout\": \"x\"}"),
            ],
            ..ApplyBody::default()
        };
        let (_, faults) = body.read(|_| None);
        let told: Vec<String> = faults.iter().map(|f| format!("{} {}", f.code, f.path)).collect();
        let expected = ["E0202 y.yaml: jobs[0]", "E0208 z.json: jobs[0].timeout", "E0214 x.yaml: jobs[1].job"];
        assert_eq!(told, expected);
    }
}
