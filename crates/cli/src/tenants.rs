//! `duly tenant …`

use clap::{Args, Subcommand};
use wire::Code;
use wire::api::{
    QuotasBody, TenantBody, TenantChangeBody, TenantDeleteQuery, TenantDeletionView, TenantUsageView, TenantView,
};

use crate::Session;
use crate::agents::{Bound, bound};
use crate::failure::{Done, Failure, UNREACHABLE};
use crate::out::{Out, emit};
use crate::table::{Rows, facts, plain};

#[derive(Subcommand)]
pub enum TenantCommand {
    /// List tenants with their weights and quotas.
    List,
    /// Show one tenant: what it has beside what it may have.
    Show { name: String },
    /// Make a tenant.
    Create {
        name: String,
        /// The servers that may schedule it, by their names: a,b. Without: any.
        #[arg(long, value_delimiter = ',', value_name = "NAMES")]
        servers: Vec<String>,
        #[command(flatten)]
        bounds: Bounds,
    },
    /// Change a tenant; what is not named stays.
    Set {
        name: String,
        /// Give it another name.
        #[arg(long)]
        rename: Option<String>,
        /// The servers that may schedule it, by their names: a,b.
        #[arg(long, value_delimiter = ',', value_name = "NAMES", conflicts_with = "any_server")]
        servers: Option<Vec<String>>,
        /// Any server may schedule it again.
        #[arg(long)]
        any_server: bool,
        #[command(flatten)]
        bounds: Bounds,
    },
    /// Write everything of a tenant as JSON lines: jobs, pools, resources, agents, history.
    Export { name: String },
    /// Delete a tenant, in two steps: first say what would go, then confirm it with the word that was given.
    Delete {
        name: String,
        /// The word of the first call.
        #[arg(long)]
        confirm: Option<String>,
        /// Stop what runs instead of waiting for it.
        #[arg(long)]
        stop: bool,
    },
}

/// Each quota is a number, or `none` for no bound.
#[derive(Args)]
pub struct Bounds {
    /// Its share beside the others' when there is not enough for all: 1 to 1000.
    #[arg(long)]
    weight: Option<u32>,
    /// Jobs it may have.
    #[arg(long, value_parser = bound)]
    jobs: Option<Bound>,
    /// Instances it may run at once.
    #[arg(long, value_parser = bound)]
    running: Option<Bound>,
    /// Starts it may make in a second, evenly.
    #[arg(long, value_parser = bound)]
    per_second: Option<Bound>,
    /// Bytes of what its tasks print that are kept of each day: a number, or one with kB, MB or GB.
    #[arg(long, value_parser = size)]
    log_bytes_per_day: Option<Size>,
    /// Days for which what has ended is kept, if that is less than the installation keeps it.
    #[arg(long, value_parser = bound)]
    history_days: Option<Bound>,
    /// Whether its HTTP tasks and executors may be at private addresses.
    #[arg(long)]
    private_network: Option<bool>,
}

impl Bounds {
    /// None: nothing was said about quotas.
    fn quotas(&self, now: QuotasBody) -> Option<QuotasBody> {
        let said = |given: Option<Bound>, now: Option<u32>| given.map_or(now, |Bound(bound)| bound);
        let quotas = QuotasBody {
            jobs: said(self.jobs, now.jobs),
            running: said(self.running, now.running),
            per_second: said(self.per_second, now.per_second),
            log_bytes_per_day: self.log_bytes_per_day.map_or(now.log_bytes_per_day, |Size(size)| size),
            history_days: said(self.history_days, now.history_days),
        };
        (quotas != now).then_some(quotas)
    }
}

/// Bytes that may be none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size(Option<u64>);

fn size(text: &str) -> Result<Size, String> {
    if text == "none" {
        return Ok(Size(None));
    }
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        None => (text, 1),
        Some(at) => match text[at..].trim() {
            "kB" => (&text[..at], 1_000),
            "MB" => (&text[..at], 1_000_000),
            "GB" => (&text[..at], 1_000_000_000),
            _ => ("", 1),
        },
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.map(|bytes| Size(Some(bytes))).ok_or_else(|| "write a number of bytes, as in 500MB, or none".into())
}

impl Session<'_> {
    pub(crate) async fn tenant(&self, command: TenantCommand) -> Done {
        match command {
            TenantCommand::List => {
                let page = self.client.tenants().await?;
                self.out.answer(&page.raw, || list(self.out, &page.items));
            }
            TenantCommand::Show { name } => {
                let tenant = self.client.tenant(&name).await?;
                self.out.answer(&tenant.raw, || shown(self.out, &tenant));
            }
            TenantCommand::Create { name, servers, bounds } => {
                let quotas = bounds.quotas(QuotasBody::default()).unwrap_or_default();
                let private_network = bounds.private_network.unwrap_or(false);
                let body = TenantBody { name, weight: bounds.weight, quotas, private_network, servers };
                let tenant = self.client.create_tenant(&body).await?;
                self.out.answer(&tenant.raw, || format!("Tenant {} is there.\n", tenant.name));
            }
            TenantCommand::Set { name, rename, servers, any_server, bounds } => {
                let now = self.client.tenant(&name).await?.quotas;
                let body = TenantChangeBody {
                    name: rename,
                    weight: bounds.weight,
                    quotas: bounds.quotas(now),
                    private_network: bounds.private_network,
                    servers: if any_server { Some(Vec::new()) } else { servers },
                };
                let tenant = self.client.change_tenant(&name, &body).await?;
                self.out.answer(&tenant.raw, || shown(self.out, &tenant));
            }
            TenantCommand::Export { name } => return self.export_tenant(&name).await,
            TenantCommand::Delete { name, confirm, stop } => {
                let query = TenantDeleteQuery { confirm, stop: stop.then_some(true) };
                let view = self.client.delete_tenant(&name, &query).await?;
                self.out.answer(&view.raw, || deletion(self.out, &view, stop));
            }
        }
        Ok(())
    }

    async fn export_tenant(&self, name: &str) -> Done {
        let mut response = self.client.export_tenant(name).await?;
        let cut = |error| Failure::new(Code::Unreachable, format!("the export broke off: {error}"), UNREACHABLE);
        let mut last = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(cut)? {
            emit(&bytes);
            last.extend_from_slice(&bytes);
            last.drain(..last.len().saturating_sub(256));
        }
        if !String::from_utf8_lossy(&last).contains(r#""kind":"end""#) {
            let what = "the export broke off before its last line";
            return Err(Failure::new(Code::Unreachable, what.to_string(), UNREACHABLE));
        }
        Ok(())
    }
}

fn told(bound: Option<u32>) -> String {
    bound.map_or("any".into(), |bound| bound.to_string())
}

fn list(out: &Out, tenants: &[TenantView]) -> String {
    let mut rows = Rows::new(out, &["NAME", "STATE", "WEIGHT", "JOBS", "RUNNING", "PER SECOND"]);
    for tenant in tenants {
        rows.add(vec![
            plain(&tenant.name),
            plain(tenant.state),
            plain(tenant.weight),
            plain(told(tenant.quotas.jobs)),
            plain(told(tenant.quotas.running)),
            plain(told(tenant.quotas.per_second)),
        ]);
    }
    rows.show("no tenants")
}

fn shown(out: &Out, tenant: &TenantView) -> String {
    let usage = tenant.usage.unwrap_or_default();
    let of = |has: u64, may: Option<u32>| may.map_or(has.to_string(), |may| format!("{has} of {may}"));
    let TenantUsageView { jobs, running, open, agents, pools, log_bytes_today } = usage;
    let logs = quotas_of(log_bytes_today, tenant.quotas.log_bytes_per_day);
    let quotas = &tenant.quotas;
    facts(&[
        ("name", tenant.name.clone()),
        ("number", tenant.id.to_string()),
        ("state", tenant.state.to_string()),
        ("weight", tenant.weight.to_string()),
        ("jobs", of(jobs, quotas.jobs)),
        ("running", of(running, quotas.running)),
        ("open", open.to_string()),
        ("starts", quotas.per_second.map_or("any".into(), |rate| format!("{rate} in a second"))),
        ("logs today", logs),
        ("history", quotas.history_days.map_or("as long as the installation's".into(), |days| format!("{days} days"))),
        ("agents", agents.to_string()),
        ("pools", pools.to_string()),
        ("private network", if tenant.private_network { "allowed" } else { "refused" }.into()),
        ("servers", servers(tenant)),
        ("created", format!("{} by {}", out.time(Some(tenant.created_at)), tenant.created_by)),
        ("exported", tenant.exported_at.map_or("never".into(), |at| out.time(Some(at)))),
    ])
}

fn servers(tenant: &TenantView) -> String {
    match (&tenant.servers[..], &tenant.own_shards[..]) {
        ([], _) => "any".into(),
        (servers, [first, .., last]) => format!("{} (shards {first} to {last})", servers.join(", ")),
        (servers, _) => servers.join(", "),
    }
}

fn quotas_of(has: u64, may: Option<u64>) -> String {
    may.map_or_else(|| format!("{has} bytes"), |may| format!("{has} of {may} bytes"))
}

fn deletion(out: &Out, view: &TenantDeletionView, stop: bool) -> String {
    let TenantDeletionView { name, jobs, pools, agents, open, .. } = view;
    let goes = format!("{jobs} jobs, {pools} pools, {agents} agents, and its tokens; {open} instances have not ended");
    match &view.confirm {
        Some(word) => format!(
            "Deleting tenant {name} takes away {goes}.\nTo do it, with a word that works once and ends {}:\n  duly tenant delete {name} --confirm {word}\n",
            out.time(view.confirm_by)
        ),
        None => {
            let how = if stop { "stopped" } else { "waited for" };
            format!("Tenant {name} is being deleted: {goes} and are {how}.\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn view(more: &str) -> TenantView {
        let text = format!(
            r#"{{"id":70,"name":"acme","weight":3,"quotas":{{"jobs":10,"running":2}},"private_network":false,
                "state":"active","created_at":"2026-11-15T10:00:00Z","created_by":"ann","exported_at":null{more}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_tenant_is_shown_with_what_it_has_of_what_it_may_have() {
        let tenant = view(r#","usage":{"jobs":4,"running":2,"open":9,"agents":1,"pools":1}"#);
        expect![[r#"
            name             acme
            number           70
            state            active
            weight           3
            jobs             4 of 10
            running          2 of 2
            open             9
            starts           any
            logs today       0 bytes
            history          as long as the installation's
            agents           1
            pools            1
            private network  refused
            servers          any
            created          5s ago (2026-11-15 10:00:00Z) by ann
            exported         never
        "#]]
        .assert_eq(&shown(&Out::plain("2026-11-15T10:00:05Z"), &tenant));
        expect![[r#"
            NAME  STATE   WEIGHT  JOBS  RUNNING  PER SECOND
            acme  active  3       10    2        any
        "#]]
        .assert_eq(&list(&Out::plain("2026-11-15T10:00:05Z"), &[tenant]));
    }

    #[test]
    fn a_tenant_of_some_servers_names_them() {
        let told = |more: &str| servers(&view(more));
        assert_eq!(told(""), "any");
        assert_eq!(told(r#","servers":["a","b"],"own_shards":[64,65,66]"#), "a, b (shards 64 to 66)");
        assert_eq!(told(r#","servers":[],"own_shards":[64,65,66]"#), "any");
    }

    #[test]
    fn deleting_says_what_goes_and_how_to_confirm_it() {
        let text = r#"{"name":"acme","state":"active","jobs":4,"pools":1,"agents":2,"open":3,"confirm":"w",
            "confirm_by":"2026-11-15T10:10:05Z"}"#;
        let view: TenantDeletionView = serde_json::from_str(text).unwrap();
        expect![[r#"
            Deleting tenant acme takes away 4 jobs, 1 pools, 2 agents, and its tokens; 3 instances have not ended.
            To do it, with a word that works once and ends in 10m00s (2026-11-15 10:10:05Z):
              duly tenant delete acme --confirm w
        "#]]
        .assert_eq(&deletion(&Out::plain("2026-11-15T10:00:05Z"), &view, false));
        let view = TenantDeletionView { confirm: None, ..view };
        expect![[r#"
            Tenant acme is being deleted: 4 jobs, 1 pools, 2 agents, and its tokens; 3 instances have not ended and are stopped.
        "#]].assert_eq(&deletion(&Out::plain("2026-11-15T10:00:05Z"), &view, true));
    }

    #[test]
    fn sizes_have_units() {
        let told = ["none", "0", "17", "5kB", "500MB", "2GB"].map(|text| size(text).unwrap().0);
        let meant = [None, Some(0), Some(17), Some(5_000), Some(500_000_000), Some(2_000_000_000)];
        assert_eq!(told, meant);
        for wrong in ["", "MB", "-1", "1.5GB", "5KB", "5 potatoes", "99999999999999GB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_not_named_stays_and_none_is_no_bound() {
        let now = QuotasBody { jobs: Some(5), running: Some(2), ..QuotasBody::default() };
        let bounds = |jobs, running| Bounds {
            weight: None,
            jobs,
            running,
            per_second: None,
            log_bytes_per_day: None,
            history_days: None,
            private_network: None,
        };
        assert_eq!(bounds(None, None).quotas(now), None);
        let changed = bounds(Some(Bound(None)), Some(Bound(Some(7)))).quotas(now);
        assert_eq!(changed, Some(QuotasBody { jobs: None, running: Some(7), ..QuotasBody::default() }));
    }
}
