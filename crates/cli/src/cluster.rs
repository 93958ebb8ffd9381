//! `duly cluster …`

use std::collections::BTreeMap;

use clap::Subcommand;
use wire::api::{ClusterView, ReservedStateWord, ReservedView, ServerStateWord, ServerView, WeightBody};

use crate::Session;
use crate::failure::{Done, Failure, NOT_FOUND};
use crate::out::{Out, Tone};
use crate::table::{Rows, plain, toned};

#[derive(Subcommand)]
pub enum ClusterCommand {
    /// Servers, what each owns, and how far it has decided.
    Status {
        /// Every shard with its owner, term and lag.
        #[arg(long)]
        shards: bool,
    },
    /// Let a server give away all it owns and take nothing more: before it is stopped or upgraded.
    Drain {
        /// Its name or number.
        server: String,
    },
    /// Let a drained server take its share again.
    Undrain { server: String },
    /// Change a server's share compared with the others'.
    Weight {
        server: String,
        /// 0 takes nothing; twice as much is twice the shards.
        weight: u32,
    },
    /// Forget a server that is dead and holds nothing.
    Forget {
        server: String,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
    },
}

impl Session<'_> {
    pub(crate) async fn cluster(&self, command: ClusterCommand) -> Done {
        match command {
            ClusterCommand::Status { shards } => {
                let view = self.client.cluster().await?;
                self.out.answer(&view.raw, || status(&view, shards, self.out));
            }
            ClusterCommand::Drain { server } => {
                let view = self.client.drain_server(self.server(&server).await?).await?;
                self.out.answer(&view.raw, || drained(&server, &view));
            }
            ClusterCommand::Undrain { server } => {
                let view = self.client.undrain_server(self.server(&server).await?).await?;
                self.out.answer(&view.raw, || format!("{server} takes its share again.\n"));
            }
            ClusterCommand::Weight { server, weight } => {
                let id = self.server(&server).await?;
                let view = self.client.weigh_server(id, &WeightBody { weight }).await?;
                self.out.answer(&view.raw, || format!("{server} has weight {weight}.\n"));
            }
            ClusterCommand::Forget { server, yes } => {
                let id = self.server(&server).await?;
                if self.out.consent(&format!("Forget server {server}?"), yes)? {
                    self.client.forget_server(id).await?;
                    self.out.done(&format!("Forgot {server}."));
                }
            }
        }
        Ok(())
    }

    async fn server(&self, named: &str) -> Result<i64, Failure> {
        let view = self.client.cluster().await?;
        let by_name: Vec<&ServerView> = view.servers.iter().filter(|server| server.name == named).collect();
        match by_name[..] {
            [one] => return Ok(one.id),
            [] => {}
            _ => {
                return Err(Failure::usage(
                    wire::Code::BadArgument,
                    format!("several servers are named {named}; use the number"),
                ));
            }
        }
        let by_id = named.parse().ok().filter(|id| view.servers.iter().any(|server| server.id == *id));
        by_id.ok_or_else(|| Failure::new(wire::Code::NoSuchServer, format!("no server is named {named}"), NOT_FOUND))
    }
}

fn drained(server: &str, view: &ClusterView) -> String {
    let mut text = format!("{server} gives away what it owns.\n");
    let its = view.reserved.iter().filter(|reserved| reserved.servers.iter().any(|name| name == server));
    text.extend(its.filter_map(reserved));
    text
}

/// What is to be known of a tenant that only some servers may schedule; nothing if one of them does.
fn reserved(view: &ReservedView) -> Option<String> {
    let ReservedView { tenant, servers, shards, state } = view;
    let only = format!("Tenant {tenant} may only be scheduled by {}", servers.join(", "));
    match state {
        ReservedStateWord::Served => None,
        ReservedStateWord::Kept => Some(format!(
            "{only}, and no other of them is there to take its {shards} shards: the drained one keeps them, and they wait \
             while it is stopped.\n"
        )),
        ReservedStateWord::Waiting => {
            Some(format!("{only}, and none of them is there to do it: its {shards} shards wait.\n"))
        }
    }
}

fn status(view: &ClusterView, shards: bool, out: &Out) -> String {
    if view.servers.is_empty() {
        return "One server, with a store of its own.\n".into();
    }
    let mut rows = Rows::new(out, &["ID", "NAME", "STATE", "WEIGHT", "SHARDS", "API", "VERSION"]);
    for server in &view.servers {
        let (tone, state) = match server.state {
            ServerStateWord::Alive => (Tone::Good, "alive"),
            ServerStateWord::Draining => (Tone::Warn, "draining"),
            ServerStateWord::Dead => (Tone::Bad, "dead"),
        };
        rows.add(vec![
            plain(server.id),
            plain(&server.name),
            toned(tone, state),
            plain(server.weight),
            plain(server.shards),
            plain(&server.api),
            plain(&server.version),
        ]);
    }
    let mut text = rows.show("no servers");
    let free = view.shards.iter().filter(|shard| shard.server.is_none()).count();
    text.push_str(&format!("{} shards, {free} without an owner.\n", view.shards.len()));
    text.extend(view.reserved.iter().filter_map(reserved));
    if shards {
        let names: BTreeMap<i64, &str> = view.servers.iter().map(|server| (server.id, server.name.as_str())).collect();
        let mut rows = Rows::new(out, &["SHARD", "OWNER", "TERM", "BATCH", "DECIDED UP TO"]);
        for shard in &view.shards {
            let owner = shard.server.map_or("-", |id| names.get(&id).copied().unwrap_or("?"));
            rows.add(vec![
                plain(shard.id),
                plain(owner),
                plain(shard.term),
                plain(shard.batch),
                plain(if shard.batch == 0 { "nothing yet".into() } else { out.time(Some(shard.horizon)) }),
            ]);
        }
        text.push('\n');
        text.push_str(&rows.show("no shards"));
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_tenant_that_nobody_else_may_schedule_is_named() {
        let view =
            |state| ReservedView { tenant: "acme".into(), servers: vec!["a".into(), "b".into()], shards: 8, state };
        assert_eq!(reserved(&view(ReservedStateWord::Served)), None);
        let told = [ReservedStateWord::Kept, ReservedStateWord::Waiting].map(|state| reserved(&view(state)).unwrap());
        expect![[r#"
            Tenant acme may only be scheduled by a, b, and no other of them is there to take its 8 shards: the drained one keeps them, and they wait while it is stopped.
            Tenant acme may only be scheduled by a, b, and none of them is there to do it: its 8 shards wait.
        "#]]
        .assert_eq(&told.concat());
    }
}
