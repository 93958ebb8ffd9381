//! `duly person …`, `duly whoami`

use std::path::{Path, PathBuf};

use clap::Subcommand;
use wire::api::{OwnPasswordBody, PasswordBody, PersonBody, PersonKind, PersonView, RightView, WhoamiView};

use crate::failure::{Done, Failure};
use crate::out::Out;
use crate::table::{Rows, facts, plain};
use crate::{Session, files};

#[derive(Subcommand)]
pub enum PersonCommand {
    /// List accounts of persons and programs.
    List,
    /// One account.
    Show { name: String },
    /// Make an account. It may do nothing until a role is granted to it.
    Create {
        name: String,
        /// A program: it has no password, and comes with tokens made by `duly token create --person NAME`.
        #[arg(long)]
        service: bool,
        /// A file holding the first password, which they must change when they sign in.
        #[arg(long, conflicts_with = "service")]
        password_file: Option<PathBuf>,
        /// They sign in by the identity provider, under this name.
        #[arg(long, conflicts_with = "service")]
        provider: bool,
    },
    /// Let nobody in by this account any more; their sessions end at once.
    Disable { name: String },
    /// Let them in again.
    Enable { name: String },
    /// Lift the lock that many wrong passwords put on a name.
    Unlock { name: String },
    /// Set one's own password (with the old one), or another's, who must change it.
    Password {
        /// Another person's.
        name: Option<String>,
        /// A file holding the new password.
        #[arg(long)]
        password_file: PathBuf,
        /// A file holding the old password, for one's own.
        #[arg(long, required_unless_present = "name")]
        old_password_file: Option<PathBuf>,
        /// Revoke their API tokens, too.
        #[arg(long, requires = "name")]
        revoke_tokens: bool,
    },
    /// Delete an account with all it holds; what it made stays.
    Delete {
        name: String,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
    },
}

impl Session<'_> {
    pub(crate) async fn whoami(&self) -> Done {
        let view = self.client.whoami().await?;
        self.out.answer(&view.raw, || whoami(self.out, &view));
        Ok(())
    }

    pub(crate) async fn person(&self, command: PersonCommand) -> Done {
        match command {
            PersonCommand::List => {
                let page = self.client.people().await?;
                self.out.answer(&page.raw, || list(self.out, &page.items));
            }
            PersonCommand::Show { name } => {
                let person = self.client.person(&name).await?;
                self.out.answer(&person.raw, || show(self.out, &person));
            }
            PersonCommand::Create { name, service, password_file, provider } => {
                let password = password_file.as_deref().map(password).transpose()?;
                let kind = if service { PersonKind::Service } else { PersonKind::Person };
                let made = self.client.create_person(&PersonBody { name, kind, password, provider }).await?;
                self.out.answer(&made.raw, || {
                    let name = &made.name;
                    format!("{name} has an account; `duly grant create ROLE --person {name}` says what they may do.\n")
                });
            }
            PersonCommand::Disable { name } => {
                self.client.disable_person(&name).await?;
                self.out.done(&format!("Nobody gets in as {name} any more."));
            }
            PersonCommand::Enable { name } => {
                self.client.enable_person(&name).await?;
                self.out.done(&format!("{name} may come in again."));
            }
            PersonCommand::Unlock { name } => {
                self.client.unlock_person(&name).await?;
                self.out.done(&format!("{name} may try again from anywhere."));
            }
            PersonCommand::Password { name, password_file, old_password_file, revoke_tokens } => {
                let new = password(&password_file)?;
                match (name, old_password_file) {
                    (Some(name), _) => {
                        self.client.set_password(&name, &PasswordBody { password: new, revoke_tokens }).await?;
                        let tokens = if revoke_tokens { " Their tokens work no more." } else { "" };
                        self.out.done(&format!("{name} has another password, and must change it.{tokens}"));
                    }
                    (None, old) => {
                        let old = password(&old.expect("asked for by the command line"))?;
                        self.client.set_own_password(&OwnPasswordBody { old, new }).await?;
                        self.out.done("Your password is another one now; your other sessions have ended.");
                    }
                }
            }
            PersonCommand::Delete { name, yes } => {
                if self.out.consent(&format!("Delete the account {name}?"), yes)? {
                    self.client.delete_person(&name).await?;
                    self.out.done(&format!("{name} has no account any more."));
                }
            }
        }
        Ok(())
    }
}

/// A password on the command line would be seen by others.
fn password(file: &Path) -> Result<String, Failure> {
    let text = files::read_text(file)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

fn list(out: &Out, people: &[PersonView]) -> String {
    let mut rows = Rows::new(out, &["NAME", "KIND", "STATE", "GROUPS", "CREATED", "BY"]);
    for person in people {
        rows.add(vec![
            plain(&person.name),
            plain(kind(person)),
            plain(state(person)),
            plain(person.groups.join(", ")),
            plain(out.time(Some(person.created_at))),
            plain(&person.created_by),
        ]);
    }
    rows.show("no accounts")
}

fn kind(person: &PersonView) -> &'static str {
    match person.kind {
        PersonKind::Person => "person",
        PersonKind::Service => "service",
    }
}

fn state(person: &PersonView) -> &'static str {
    match (person.disabled_at, person.locked_until, person.must_change_password) {
        (Some(_), ..) => "disabled",
        (None, Some(_), _) => "locked",
        (None, None, true) => "must change password",
        (None, None, false) => "active",
    }
}

fn show(out: &Out, person: &PersonView) -> String {
    let by = match (person.has_password, person.provider) {
        (true, true) => "password, identity provider",
        (true, false) => "password",
        (false, true) => "identity provider",
        (false, false) => "tokens only",
    };
    let when = |at: Option<wire::Time>| at.map(|at| out.time(Some(at))).unwrap_or_default();
    facts(&[
        ("name", person.name.clone()),
        ("kind", kind(person).into()),
        ("state", state(person).into()),
        ("signs in by", by.into()),
        ("groups", person.groups.join(", ")),
        ("disabled", when(person.disabled_at)),
        ("locked until", when(person.locked_until)),
        ("created", format!("{} by {}", out.time(Some(person.created_at)), person.created_by)),
    ])
}

fn whoami(out: &Out, who: &WhoamiView) -> String {
    let by = match (&who.token, &who.session) {
        (Some(token), _) => format!("the token {token}"),
        (None, Some(session)) => format!("the session {session}"),
        (None, None) => String::new(),
    };
    let rights: Vec<String> = who.rights.iter().map(right).collect();
    facts(&[
        ("name", who.name.clone()),
        ("by", by),
        ("expires", who.expires_at.map(|at| out.time(Some(at))).unwrap_or_default()),
        ("tenant", who.tenant.clone()),
        ("password", if who.must_change_password { "must be changed first".into() } else { String::new() }),
        ("rights", if rights.is_empty() { "none".into() } else { rights.join("\n") }),
    ])
}

fn right(right: &RightView) -> String {
    let mut place = right.tenant.as_ref().map_or("everywhere".into(), |tenant| format!("in {tenant}"));
    if let Some(folder) = &right.folder {
        place.push_str(&format!(", folder {folder}"));
    }
    for (key, value) in &right.labels {
        place.push_str(&format!(", {key}={value}"));
    }
    format!("{place}: {}", right.permissions.join(" "))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn who_one_is_and_what_one_may_is_shown() {
        let who: WhoamiView = serde_json::from_str(
            r#"{"name":"ann","token":"ci","session":null,"expires_at":null,"must_change_password":false,
                "tenant":"default","rights":[{"tenant":"default","folder":"etl","labels":{"team":"a"},
                "permissions":["job.see","job.run"]}]}"#,
        )
        .unwrap();
        expect![[r#"
            name    ann
            by      the token ci
            tenant  default
            rights  in default, folder etl, team=a: job.see job.run
        "#]]
        .assert_eq(&whoami(&Out::plain("2026-11-15T10:00:05Z"), &who));
    }
}
