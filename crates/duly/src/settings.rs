//! The settings file: what can also be said on the command line, for those who keep it in a file. What is said on the
//! command line counts more; a key nobody knows is refused, because it was surely meant to do something.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use server::TokenRules;

use crate::options::XxlOptions;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    #[serde(default)]
    pub xxl: XxlSettings,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct XxlSettings {
    pub token: Option<String>,
    pub token_file: Option<PathBuf>,
    #[serde(default)]
    pub allow_default_token: bool,
    #[serde(default)]
    pub allow_empty_token: bool,
    pub prefix: Option<String>,
}

pub(crate) fn read(file: Option<&Path>) -> Result<Settings, anyhow::Error> {
    let Some(file) = file else { return Ok(Settings::default()) };
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read the settings in {}", file.display()))?;
    toml::from_str(&text).with_context(|| format!("the settings in {} have a fault", file.display()))
}

/// What executors must show, and the path they may come by.
pub(crate) fn xxl(options: XxlOptions, settings: XxlSettings) -> Result<(TokenRules, Option<String>), anyhow::Error> {
    anyhow::ensure!(
        settings.token.is_none() || settings.token_file.is_none(),
        "the settings name both xxl.token and xxl.token_file; keep one of them"
    );
    let (token, file) = match (options.xxl_token, options.xxl_token_file) {
        (None, None) => (settings.token, settings.token_file),
        (_, Some(file)) => (None, Some(file)),
        (token, None) => (token, None),
    };
    let token = match (token, file) {
        (Some(token), _) => Some(token),
        (None, Some(file)) => {
            let text = std::fs::read_to_string(&file);
            Some(
                text.with_context(|| format!("cannot read the XXL-JOB token from {}", file.display()))?
                    .trim()
                    .to_string(),
            )
        }
        (None, None) => None,
    };
    let rules = TokenRules {
        token,
        allow_default: options.xxl_allow_default_token || settings.allow_default_token,
        allow_empty: options.xxl_allow_empty_token || settings.allow_empty_token,
    };
    Ok((rules, options.xxl_prefix.or(settings.prefix)))
}
