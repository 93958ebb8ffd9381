//! Variables and secrets of a job, as far as the file alone tells what is wrong with them.

use super::JobBody;
use super::faults::{Faults, clip};
use crate::errors::Code;
use crate::fill::{Confidence, Piece, VALUE_MAX, for_each_text, name_fault, pieces};
use crate::task::TaskBody;

const VARIABLES_MAX: usize = 256;
const SECRETS_MAX: usize = 64;
/// Names that mean something to a task already.
const OURS: &str = "DULY_";

impl JobBody {
    pub(super) fn check_values(&self, faults: &mut Faults) {
        faults.count("variables", self.variables.len(), VARIABLES_MAX);
        for (name, value) in &self.variables {
            let path = format!("variables.{}", clip(name));
            if let Some(wrong) = name_fault(name) {
                faults.add(Code::BadName, &path, format!("the name {:?} {wrong}", clip(name)));
            }
            faults.size(&path, value.len(), VALUE_MAX);
        }
        faults.count("secrets", self.secrets.len(), SECRETS_MAX);
        for (variable, name) in &self.secrets {
            let path = format!("secrets.{}", clip(variable));
            let mut wrong = |what: &str, hint: &str| faults.add_hint(Code::BadSecretUse, &path, what, hint);
            if variable.is_empty() || variable.contains(['=', '\0']) {
                wrong("this cannot be the name of a variable", "write NAME: secret");
            }
            if variable.starts_with(OURS) {
                wrong("names that begin with DULY_ are Duly's own", "choose another name");
            }
            if self.env.contains_key(variable) || self.env_pass.contains(variable) {
                wrong("the same variable is set in env or env_pass, too", "keep one of them");
            }
            if let Some(wrong) = name_fault(name) {
                faults.add(Code::BadName, &path, format!("the name {:?} {wrong}", clip(name)));
            }
        }
        let told = !self.secrets.is_empty();
        if told && (self.http.is_some() || self.noop == Some(true)) {
            let hint = "in a header or the body of a call, write ${secret.name}";
            faults.add_hint(Code::BadSecretUse, "secrets", "this task has no environment", hint);
        }
    }
}

/// Placeholders that nobody could fill, and secrets where they would be seen.
pub(super) fn check_texts(task: &TaskBody, short_call: bool, faults: &mut Faults) {
    for_each_text(task, |path, text, confidence| {
        let path = if short_call && path == "http.url" { "http" } else { path };
        let secret = |piece: &Piece| matches!(piece, Piece::Secret(_));
        match pieces(text) {
            Err(error) => {
                let hint = "write ${name}, or $${ for a plain ${";
                faults.add_hint(Code::BadPlaceholder, path, error.to_string(), hint);
            }
            Ok(pieces) if confidence == Confidence::Broken && pieces.iter().any(secret) => {
                let hint = "hand it to the task under secrets, as NAME: secret";
                faults.add_hint(Code::BadSecretUse, path, "a secret would be seen here", hint);
            }
            Ok(_) => {}
        }
    });
}
