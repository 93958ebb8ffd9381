//! `duly variable …` and `duly secret …`. A secret's value is read from a file, standard input or a prompt, never from an
//! argument: those are seen by everybody on the machine, and kept in histories.

use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use clap::Subcommand;
use wire::Code;
use wire::api::{EffectiveView, SecretBody, SecretView, VariableBody, VariableQuery, VariableView};

use crate::Session;
use crate::failure::{Done, Failure};
use crate::out::Out;
use crate::table::{Rows, plain};

#[derive(Subcommand)]
pub enum VariableCommand {
    /// List variables with their levels.
    List,
    /// Set what ${NAME} stands for.
    Set {
        name: String,
        value: String,
        /// For jobs in and below this folder; for all of the tenant if absent.
        #[arg(long)]
        folder: Option<String>,
        /// For the whole installation.
        #[arg(long, conflicts_with = "folder")]
        platform: bool,
    },
    /// Take a variable away at one level.
    Delete {
        name: String,
        #[arg(long)]
        folder: Option<String>,
        #[arg(long, conflicts_with = "folder")]
        platform: bool,
    },
    /// What every variable is in a job, and at which level it is set.
    Effective { job: String },
}

#[derive(Subcommand)]
pub enum SecretCommand {
    /// List secrets: name, version, who set it and when, and which jobs use it. Never their values.
    List,
    /// Set a secret; its value comes from standard input, a file or a prompt. One line end at its end is left out.
    Set {
        name: String,
        /// Only jobs in and below this folder may use it.
        #[arg(long)]
        folder: Option<String>,
        /// A file holding the value.
        #[arg(long)]
        file: Option<PathBuf>,
    },
    /// Take a secret away; jobs that use it fail from then on.
    Delete { name: String },
    /// Make a new master key and move every secret to it.
    RotateKey,
}

impl Session<'_> {
    pub(crate) async fn variable(&self, command: VariableCommand) -> Done {
        match command {
            VariableCommand::List => {
                let page = self.client.variables().await?;
                self.out.answer(&page.raw, || variables(self.out, &page.items));
            }
            VariableCommand::Set { name, value, folder, platform } => {
                let kept = self.client.put_variable(&name, &VariableBody { value, folder, platform }).await?;
                self.out.answer(&kept.raw, || {
                    format!("{} is {} now ({}).\n", kept.name, kept.value, origin(kept.level, &kept.folder))
                });
            }
            VariableCommand::Delete { name, folder, platform } => {
                self.client.delete_variable(&name, &VariableQuery { folder, platform }).await?;
                self.out.done(&format!("The variable {name} is gone."));
            }
            VariableCommand::Effective { job } => {
                let page = self.client.effective_variables(&job).await?;
                self.out.answer(&page.raw, || effective(self.out, &page.items));
            }
        }
        Ok(())
    }

    pub(crate) async fn secret(&self, command: SecretCommand) -> Done {
        match command {
            SecretCommand::List => {
                let page = self.client.secrets().await?;
                self.out.answer(&page.raw, || secrets(self.out, &page.items));
            }
            SecretCommand::Set { name, folder, file } => {
                let value = value(&name, file)?;
                let kept = self.client.put_secret(&name, &SecretBody { value, folder }).await?;
                self.out.answer(&kept.raw, || format!("Secret {} is set (version {}).\n", kept.name, kept.version));
            }
            SecretCommand::Delete { name } => {
                self.client.delete_secret(&name).await?;
                self.out.done(&format!("The secret {name} is gone."));
            }
            SecretCommand::RotateKey => {
                let rotated = self.client.rotate_secret_key().await?;
                self.out.answer(&rotated.raw, || {
                    format!("All secrets are kept under key {} now; {} were moved.\n", rotated.key, rotated.moved)
                });
            }
        }
        Ok(())
    }
}

fn value(name: &str, file: Option<PathBuf>) -> Result<String, Failure> {
    let text = match file {
        Some(file) => crate::files::read_text(&file)?,
        None if std::io::stdin().is_terminal() => {
            rpassword::prompt_password(format!("Value of {name}: ")).map_err(unread)?
        }
        None => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(unread)?;
            text
        }
    };
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

fn unread(error: std::io::Error) -> Failure {
    Failure::usage(Code::BadFile, format!("the value cannot be read: {error}"))
}

fn origin(level: wire::api::LevelWord, folder: &Option<String>) -> String {
    folder.as_ref().map_or_else(|| level.to_string(), |folder| format!("{level} {folder}"))
}

fn variables(out: &Out, variables: &[VariableView]) -> String {
    let mut rows = Rows::new(out, &["NAME", "LEVEL", "VALUE", "CHANGED", "BY"]);
    for v in variables {
        rows.add(vec![
            plain(&v.name),
            plain(origin(v.level, &v.folder)),
            plain(&v.value),
            plain(out.time(Some(v.changed_at))),
            plain(&v.changed_by),
        ]);
    }
    rows.show("no variables")
}

fn effective(out: &Out, variables: &[EffectiveView]) -> String {
    let mut rows = Rows::new(out, &["NAME", "VALUE", "FROM", "USED"]);
    for v in variables {
        let used = if v.used { "yes" } else { "" };
        rows.add(vec![plain(&v.name), plain(&v.value), plain(origin(v.level, &v.folder)), plain(used)]);
    }
    rows.show("no variables")
}

fn secrets(out: &Out, secrets: &[SecretView]) -> String {
    let mut rows = Rows::new(out, &["NAME", "FOLDER", "VERSION", "KEY", "CHANGED", "BY", "USED BY"]);
    for s in secrets {
        let folder = s.folder.as_deref().unwrap_or_default();
        rows.add(vec![
            plain(&s.name),
            plain(folder),
            plain(s.version),
            plain(&s.key),
            plain(out.time(Some(s.changed_at))),
            plain(&s.changed_by),
            plain(s.used_by.join(", ")),
        ]);
    }
    rows.show("no secrets")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn values_are_shown_with_their_origin_and_secrets_without_theirs() {
        let variables: Vec<EffectiveView> = serde_json::from_str(
            r#"[{"name":"region","value":"eu","level":"folder","folder":"billing","used":true,"hides":1},
                {"name":"rate","value":"7","level":"job","folder":null,"used":false,"hides":0}]"#,
        )
        .unwrap();
        let out = Out::plain("2026-11-15T10:00:05Z");
        expect![[r#"
            NAME    VALUE  FROM            USED
            region  eu     folder billing  yes
            rate    7      job
        "#]]
        .assert_eq(&effective(&out, &variables));
        let all: Vec<SecretView> = serde_json::from_str(
            r#"[{"name":"db","folder":null,"version":2,"key":"0a1b","changed_at":"2026-11-15T10:00:00Z","changed_by":"ann","used_by":["load","dump"]}]"#,
        )
        .unwrap();
        let shown = secrets(&out, &all);
        assert!(shown.contains("load, dump") && shown.contains("0a1b"), "{shown}");
    }
}
