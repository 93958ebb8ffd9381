//! Starts what drives the browser and takes its word: one line of JSON for each round. Knows nothing of pages.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;
use serde_json::Value;

use crate::product::Product;

const SCRIPT: &str = "bench/browser/console.py";

pub(super) struct Browser<'a> {
    pub(super) python: &'a Path,
    pub(super) product: &'a Product,
    /// Where the password lies.
    pub(super) dir: &'a Path,
}

/// What is missing, in words; before anything is made.
pub(super) fn why_not(python: &Path) -> Option<String> {
    match Command::new(python).args([SCRIPT, "check"]).output() {
        Ok(checked) if checked.status.success() => None,
        Ok(checked) => Some(String::from_utf8_lossy(&checked.stderr).trim().to_string()),
        Err(_) => Some(format!("there is no {}; `make bench console` makes it", python.display())),
    }
}

impl Browser<'_> {
    /// What it says on its way is for people and goes straight to them.
    pub(super) fn drive(&self, what: &str, told: &[&str]) -> anyhow::Result<Vec<Value>> {
        let driven = Command::new(self.python)
            .args([SCRIPT, what, "--url", &self.product.url()])
            .arg("--password-file")
            .arg(self.dir.join("password"))
            .arg("--token-file")
            .arg(self.dir.join("token"))
            .args(told)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run {}", self.python.display()))?;
        anyhow::ensure!(driven.status.success(), "the browser was not driven to the end of {what}");
        let said = String::from_utf8_lossy(&driven.stdout);
        said.lines().map(|line| serde_json::from_str(line).context("what drives the browser says JSON")).collect()
    }
}
