//! What names and sizes are allowed. Everything a stranger can send has a bound here.

use std::collections::BTreeMap;

use super::JobBody;
use super::faults::{Faults, clip};
use crate::errors::Code;

pub const NAME_MAX: usize = 128;
pub const SOURCE_MAX: usize = 1 << 20;
pub const PARAMS_MAX: usize = 64 << 10;
pub const ENV_MAX: usize = 64 << 10;
pub const DESCRIPTION_MAX: usize = 4 << 10;
/// A whole job file.
pub const FILE_MAX: usize = 8 << 20;

/// What is wrong with a name, if anything: lower-case letters and digits of any script, `_`, `.`, `-`.
pub fn name_fault(name: &str) -> Option<&'static str> {
    let letter = |c: char| c.is_alphanumeric() && !c.is_uppercase();
    if name.is_empty() {
        Some("is empty")
    } else if name.chars().count() > NAME_MAX {
        Some("is longer than 128 characters")
    } else if !name.starts_with(letter) {
        Some("does not begin with a lower-case letter or digit")
    } else if !name.chars().all(|c| letter(c) || matches!(c, '_' | '.' | '-')) {
        Some("has characters other than lower-case letters, digits, '_', '.' and '-'")
    } else if name.bytes().all(|b| b.is_ascii_digit()) {
        Some("has only digits, so it reads like the number of an instance")
    } else if name == "apply" {
        Some("is kept for the address /api/v1/jobs/apply")
    } else {
        None
    }
}

/// The same for a pool, whose name may be an application's: capitals are allowed, and digits alone.
pub fn pool_name_fault(name: &str) -> Option<&'static str> {
    let odd = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.' | '-');
    if name.is_empty() {
        Some("is empty")
    } else if name.chars().count() > NAME_MAX {
        Some("is longer than 128 characters")
    } else if name.contains(odd) {
        Some("has characters other than letters, digits, '_', '.' and '-'")
    } else {
        None
    }
}

pub(super) fn pool_name(name: &str, path: &str, faults: &mut Faults) {
    if let Some(wrong) = pool_name_fault(name) {
        let hint = "use letters, digits, '_', '.' and '-'";
        faults.add_hint(Code::BadName, path, format!("the name {:?} {wrong}", clip(name)), hint);
    }
}

pub(super) fn name(name: &str, path: &str, faults: &mut Faults) {
    if let Some(wrong) = name_fault(name) {
        let hint = "use lower-case letters, digits, '_', '.' and '-'";
        faults.add_hint(Code::BadName, path, format!("the name {:?} {wrong}", clip(name)), hint);
    }
}

pub(super) fn short_text(text: &str, path: &str, faults: &mut Faults) {
    faults.size(path, text.len(), 256);
    if text.chars().any(char::is_control) {
        faults.add(Code::BadName, path, "control characters are not allowed here");
    }
}

pub(super) fn labels(labels: &BTreeMap<String, String>, path: &str, faults: &mut Faults) {
    faults.count(path, labels.len(), 64);
    for (key, value) in labels {
        let here = format!("{path}.{}", clip(key));
        if key.is_empty() {
            faults.add(Code::BadName, &here, "a label needs a name");
        }
        short_text(key, &here, faults);
        short_text(value, &here, faults);
    }
}

impl JobBody {
    pub(super) fn check_head(&self, faults: &mut Faults) {
        name(&self.job, "job", faults);
        if let Some(folder) = &self.folder {
            check_folder(folder, faults);
        }
        faults.size("description", self.description.as_ref().map_or(0, String::len), DESCRIPTION_MAX);
        if let Some(owner) = &self.owner {
            short_text(owner, "owner", faults);
        }
        labels(&self.labels, "labels", faults);
    }
}

/// What is wrong with a folder's name, if anything; an empty one is no folder.
pub fn folder_fault(folder: &str) -> Option<&'static str> {
    let good = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.chars().any(char::is_control);
    if folder.len() > 256 {
        Some("is longer than 256 bytes")
    } else if !folder.is_empty() && !folder.split('/').all(good) {
        Some("has an empty or odd part")
    } else {
        None
    }
}

fn check_folder(folder: &str, faults: &mut Faults) {
    faults.size("folder", folder.len(), 256);
    let good = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.chars().any(char::is_control);
    if !folder.is_empty() && !folder.split('/').all(good) {
        let message = format!("the folder {:?} has an empty or odd part", clip(folder));
        faults.add_hint(Code::BadName, "folder", message, "write it like billing/nightly");
    }
}
