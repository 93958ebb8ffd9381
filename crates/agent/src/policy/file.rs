//! The policy file: TOML, in which a key nobody knows is a fault, because it was surely meant to forbid something.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::egress::{Egress, Net};
use model::{TaskSort, TaskSorts};
use serde::Deserialize;
use wire::Code;

use super::names::Names;
use super::{Http, Policy, Users};

/// Why an agent does not start with its policy.
#[derive(Debug, thiserror::Error)]
#[error("{}: the policy in {file} cannot be used: {why}", Code::BadPolicyFile)]
pub struct BadPolicy {
    pub file: String,
    pub why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    run_as: Option<String>,
    work: Option<PathBuf>,
    #[serde(default)]
    allow: Allow,
    #[serde(default)]
    env: Env,
    #[serde(default)]
    http: HttpPart,
    #[serde(default)]
    pools: BTreeMap<String, Whom>,
    #[serde(default)]
    tenants: BTreeMap<String, Whom>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allow {
    tasks: Option<Vec<String>>,
    #[serde(default)]
    users: Vec<String>,
    directories: Option<Vec<PathBuf>>,
    programs: Option<Vec<PathBuf>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Env {
    pass: Option<Vec<String>>,
    set: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpPart {
    private: Option<bool>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whom {
    run_as: String,
}

/// The policy in this file. One that was not asked for by name may be absent.
pub fn read(path: &Path, asked_for: bool) -> Result<Policy, BadPolicy> {
    let bad = |why: String| BadPolicy { file: path.display().to_string(), why };
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let policy = parse(&text).map_err(bad)?;
            let file = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            Ok(Policy { file: Some(file), ..policy })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !asked_for => Ok(Policy::default()),
        Err(error) => Err(bad(error.to_string())),
    }
}

/// Faults say the line.
pub(super) fn parse(text: &str) -> Result<Policy, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_string())?;
    let whoms = |map: BTreeMap<String, Whom>| map.into_iter().map(|(name, whom)| (name, whom.run_as)).collect();
    let http = Egress {
        private: file.http.private.unwrap_or(true),
        allow: nets("http.allow", file.http.allow)?,
        deny: nets("http.deny", file.http.deny)?,
    };
    Ok(Policy {
        file: None,
        work: file.work.map(|work| absolute("work", work)).transpose()?,
        tasks: file.allow.tasks.map_or(Ok(TaskSorts::ALL), sorts)?,
        users: Users {
            run_as: file.run_as,
            pools: whoms(file.pools),
            tenants: whoms(file.tenants),
            allowed: file.allow.users,
        },
        directories: places("allow.directories", file.allow.directories)?,
        programs: places("allow.programs", file.allow.programs)?,
        pass: file.env.pass.map(Names),
        set: file.env.set.map(Names),
        http: Http(http),
    })
}

fn sorts(keys: Vec<String>) -> Result<TaskSorts, String> {
    let mut sorts = TaskSorts::NONE;
    for key in keys {
        match (key.as_str(), TaskSort::of_key(&key)) {
            (_, Some(sort)) => sorts = sorts.with(sort),
            // Doing nothing is allowed everywhere, and may be said.
            ("noop", None) => {}
            ("scripts", None) => {
                let scripts =
                    TaskSort::ALL.into_iter().filter(|sort| !matches!(sort, TaskSort::Command | TaskSort::Http));
                sorts = scripts.fold(sorts, TaskSorts::with);
            }
            (_, None) => {
                let known: Vec<&str> = TaskSort::ALL.map(TaskSort::key).into();
                return Err(format!("allow.tasks: {key:?} is no kind of task; write scripts, {}", known.join(", ")));
            }
        }
    }
    Ok(sorts)
}

fn places(rule: &str, paths: Option<Vec<PathBuf>>) -> Result<Option<Vec<PathBuf>>, String> {
    paths.map(|paths| paths.into_iter().map(|path| absolute(rule, path)).collect()).transpose()
}

/// As it is once all links are followed, if it is there: that is what will be compared.
fn absolute(rule: &str, path: PathBuf) -> Result<PathBuf, String> {
    if !path.is_absolute() {
        return Err(format!("{rule}: {} must begin with a slash", path.display()));
    }
    Ok(path.canonicalize().unwrap_or(path))
}

fn nets(rule: &str, texts: Vec<String>) -> Result<Vec<Net>, String> {
    texts.iter().map(|text| text.parse().map_err(|error| format!("{rule}: {error}"))).collect()
}
