//! `duly group …`, `duly role …`, `duly grant …`, `duly session …`

use clap::{Args, Subcommand};
use wire::api::{GrantBody, GrantView, GroupBody, RoleBody, SessionInfoView, SessionWay};

use crate::Session;
use crate::failure::Done;
use crate::out::Out;
use crate::table::{Rows, plain};

#[derive(Subcommand)]
pub enum GroupCommand {
    /// List groups and who is in them.
    List,
    /// Make a group.
    Create { name: String },
    /// Put somebody into a group: they hold what it holds.
    Add { group: String, person: String },
    /// Take somebody out of a group.
    Remove { group: String, person: String },
    /// Delete a group with the grants it has.
    Delete {
        name: String,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Subcommand)]
pub enum RoleCommand {
    /// List roles and their permissions.
    List,
    /// Name a set of permissions, or change one.
    Set {
        name: String,
        /// Such as job.see job.run, or job.* for all that can be done to jobs.
        #[arg(required = true)]
        permissions: Vec<String>,
    },
    /// Delete a role that nobody has.
    Delete { name: String },
}

#[derive(Subcommand)]
pub enum GrantCommand {
    /// List who has which role in the tenant.
    List,
    /// Give a role to a person or a group.
    Create(GrantArgs),
    /// Take a grant back.
    Delete { id: i64 },
}

#[derive(Args)]
pub struct GrantArgs {
    /// viewer, operator, developer, tenant_admin, platform_admin, or one of your own.
    role: String,
    #[arg(long, required_unless_present = "group", conflicts_with = "group")]
    person: Option<String>,
    #[arg(long)]
    group: Option<String>,
    /// In the whole installation, not only in the tenant.
    #[arg(long)]
    everywhere: bool,
    /// Only in this folder and those below it.
    #[arg(long)]
    folder: Option<String>,
    /// Only for jobs with this label; may be given several times.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
}

#[derive(Subcommand)]
pub enum SessionCommand {
    /// List one's own sessions, or another's.
    List {
        #[arg(long)]
        person: Option<String>,
    },
    /// End one of one's own sessions, or all of a person's.
    End {
        #[arg(required_unless_present = "person", conflicts_with = "person")]
        id: Option<String>,
        /// All of this person's.
        #[arg(long)]
        person: Option<String>,
    },
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write it as key=value")?;
    Ok((key.to_owned(), value.to_owned()))
}

impl Session<'_> {
    pub(crate) async fn group(&self, command: GroupCommand) -> Done {
        match command {
            GroupCommand::List => {
                let page = self.client.groups().await?;
                self.out.answer(&page.raw, || {
                    let mut rows = Rows::new(self.out, &["NAME", "MEMBERS", "CREATED", "BY"]);
                    for group in &page.items {
                        rows.add(vec![
                            plain(&group.name),
                            plain(group.members.join(", ")),
                            plain(self.out.time(Some(group.created_at))),
                            plain(&group.created_by),
                        ]);
                    }
                    rows.show("no groups")
                });
            }
            GroupCommand::Create { name } => {
                let made = self.client.create_group(&GroupBody { name }).await?;
                self.out.answer(&made.raw, || format!("The group {} is there; nobody is in it yet.\n", made.name));
            }
            GroupCommand::Add { group, person } => {
                self.client.join_group(&group, &person).await?;
                self.out.done(&format!("{person} is in {group}."));
            }
            GroupCommand::Remove { group, person } => {
                self.client.leave_group(&group, &person).await?;
                self.out.done(&format!("{person} is not in {group} any more."));
            }
            GroupCommand::Delete { name, yes } => {
                if self.out.consent(&format!("Delete the group {name} and what was granted to it?"), yes)? {
                    self.client.delete_group(&name).await?;
                    self.out.done(&format!("The group {name} is gone."));
                }
            }
        }
        Ok(())
    }

    pub(crate) async fn role(&self, command: RoleCommand) -> Done {
        match command {
            RoleCommand::List => {
                let page = self.client.roles().await?;
                self.out.answer(&page.raw, || {
                    let mut rows = Rows::new(self.out, &["NAME", "MADE BY", "PERMISSIONS"]);
                    for role in &page.items {
                        let by = if role.built_in { "Duly" } else { "you" };
                        rows.add(vec![plain(&role.name), plain(by), plain(role.permissions.join(" "))]);
                    }
                    rows.show("no roles")
                });
            }
            RoleCommand::Set { name, permissions } => {
                let role = self.client.put_role(&name, &RoleBody { permissions }).await?;
                self.out.answer(&role.raw, || format!("{}: {}\n", role.name, role.permissions.join(" ")));
            }
            RoleCommand::Delete { name } => {
                self.client.delete_role(&name).await?;
                self.out.done(&format!("The role {name} is gone."));
            }
        }
        Ok(())
    }

    pub(crate) async fn grant(&self, command: GrantCommand) -> Done {
        match command {
            GrantCommand::List => {
                let page = self.client.grants().await?;
                self.out.answer(&page.raw, || grants(self.out, &page.items));
            }
            GrantCommand::Create(args) => {
                let GrantArgs { role, person, group, everywhere, folder, labels } = args;
                let labels = labels.into_iter().collect();
                let body = GrantBody { person, group, role, everywhere, folder, labels };
                let made = self.client.create_grant(&body).await?;
                self.out.answer(&made.raw, || {
                    format!("{} is {} {} (grant {}).\n", holder(&made), made.role, place(&made), made.id)
                });
            }
            GrantCommand::Delete { id } => {
                self.client.delete_grant(id).await?;
                self.out.done(&format!("Grant {id} is taken back."));
            }
        }
        Ok(())
    }

    pub(crate) async fn session(&self, command: SessionCommand) -> Done {
        match command {
            SessionCommand::List { person } => {
                let page = match &person {
                    Some(person) => self.client.sessions_of(person).await?,
                    None => self.client.sessions().await?,
                };
                self.out.answer(&page.raw, || sessions(self.out, &page.items));
            }
            SessionCommand::End { id: Some(id), .. } => {
                self.client.end_session(&id).await?;
                self.out.done(&format!("Session {id} has ended."));
            }
            SessionCommand::End { id: None, person } => {
                let person = person.expect("asked for by the command line");
                self.client.sign_out(&person).await?;
                self.out.done(&format!("All sessions of {person} have ended."));
            }
        }
        Ok(())
    }
}

fn grants(out: &Out, grants: &[GrantView]) -> String {
    let mut rows = Rows::new(out, &["ID", "WHO", "ROLE", "WHERE", "SINCE", "BY"]);
    for grant in grants {
        rows.add(vec![
            plain(grant.id),
            plain(holder(grant)),
            plain(&grant.role),
            plain(place(grant)),
            plain(out.time(Some(grant.created_at))),
            plain(&grant.created_by),
        ]);
    }
    rows.show("no grants")
}

fn holder(grant: &GrantView) -> String {
    match (&grant.person, &grant.group) {
        (Some(person), _) => person.clone(),
        (None, Some(group)) => format!("group {group}"),
        (None, None) => String::new(),
    }
}

fn place(grant: &GrantView) -> String {
    let mut place = grant.tenant.as_ref().map_or("everywhere".to_owned(), |tenant| format!("in {tenant}"));
    if let Some(folder) = &grant.folder {
        place.push_str(&format!(", folder {folder}"));
    }
    for (key, value) in &grant.labels {
        place.push_str(&format!(", {key}={value}"));
    }
    place
}

fn sessions(out: &Out, sessions: &[SessionInfoView]) -> String {
    let mut rows = Rows::new(out, &["ID", "USER", "BY", "FROM", "WITH", "LAST USED", "EXPIRES"]);
    for session in sessions {
        let mark = if session.current { " (this one)" } else { "" };
        let way = match session.way {
            SessionWay::Password => "password",
            SessionWay::Provider => "provider",
        };
        rows.add(vec![
            plain(format!("{}{mark}", session.id)),
            plain(&session.user),
            plain(way),
            plain(&session.address),
            plain(&session.program),
            plain(out.time(Some(session.last_used_at))),
            plain(out.time(Some(session.expires_at))),
        ]);
    }
    rows.show("no sessions")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn grants_say_who_may_do_what_where() {
        let list: Vec<GrantView> = serde_json::from_str(
            r#"[{"id":1,"person":"ann","group":null,"role":"platform_admin","tenant":null,"folder":null,"labels":{},
                 "from_provider":false,"created_at":"2026-11-15T10:00:00Z","created_by":"ann"},
                {"id":2,"person":null,"group":"night","role":"operator","tenant":"default","folder":"etl",
                 "labels":{"team":"a"},"from_provider":false,"created_at":"2026-11-15T10:00:00Z","created_by":"ann"}]"#,
        )
        .unwrap();
        let places: Vec<String> = list.iter().map(|grant| format!("{} {}", holder(grant), place(grant))).collect();
        expect![[r#"
            ann everywhere
            group night in default, folder etl, team=a"#]]
        .assert_eq(&places.join("\n"));
    }
}
