//! `duly resource …`

use clap::Subcommand;
use wire::api::{ResourceBody, ResourceView, TicketView};

use crate::Session;
use crate::failure::Done;
use crate::out::Out;
use crate::table::{Rows, plain};

#[derive(Subcommand)]
pub enum ResourceCommand {
    /// List mutexes and counted resources: how much is held, by whom, and who waits.
    List,
    /// Say how many units of a counted resource there are.
    Set {
        name: String,
        /// What jobs name under `resources` is taken from these; nobody who holds some loses it.
        #[arg(long)]
        units: u32,
    },
}

impl Session<'_> {
    pub(crate) async fn resource(&self, command: ResourceCommand) -> Done {
        match command {
            ResourceCommand::List => {
                let page = self.client.resources().await?;
                self.out.answer(&page.raw, || list(self.out, &page.items));
            }
            ResourceCommand::Set { name, units } => {
                let resource = self.client.put_resource(&name, &ResourceBody { units }).await?;
                self.out.answer(&resource.raw, || {
                    let ResourceView { name, units, held, waiting, .. } = &*resource;
                    format!("Resource {name} has {units} units; {held} are held, {waiting} instances wait.\n")
                });
            }
        }
        Ok(())
    }
}

fn list(out: &Out, resources: &[ResourceView]) -> String {
    let mut rows = Rows::new(out, &["KIND", "NAME", "UNITS", "HELD", "WAITING", "HOLDERS", "NEXT"]);
    for resource in resources {
        let (held, waiting): (Vec<_>, Vec<_>) = resource.line.iter().partition(|ticket| ticket.held);
        rows.add(vec![
            plain(resource.kind),
            plain(&resource.name),
            plain(resource.units),
            plain(resource.held),
            plain(resource.waiting),
            plain(few(&held)),
            plain(few(&waiting)),
        ]);
    }
    rows.show("no mutexes or resources in use")
}

/// The first few of a line, by job and number.
fn few(tickets: &[&TicketView]) -> String {
    const TOLD: usize = 3;
    let told = |ticket: &&&TicketView| match ticket.units {
        1 => format!("{} {}", ticket.job, ticket.instance),
        units => format!("{} {} ({units})", ticket.job, ticket.instance),
    };
    let mut few: Vec<String> = tickets.iter().take(TOLD).map(|ticket| told(&ticket)).collect();
    if tickets.len() > TOLD {
        few.push("…".into());
    }
    few.join(", ")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_line_is_shown_with_its_holders_and_who_is_next() {
        let resources: Vec<ResourceView> = serde_json::from_str(
            r#"[{"kind":"mutex","name":"books","units":1,"held":1,"waiting":1,"line":[
                    {"instance":7,"job":"close","units":1,"held":true,"since":"2026-11-15T10:00:00Z"},
                    {"instance":9,"job":"report","units":1,"held":false,"since":"2026-11-15T10:00:01Z"}]},
                {"kind":"counted","name":"licence","units":5,"held":4,"waiting":0,"line":[
                    {"instance":8,"job":"solve","units":4,"held":true,"since":"2026-11-15T10:00:00Z"}]}]"#,
        )
        .unwrap();
        expect![[r#"
            KIND     NAME     UNITS  HELD  WAITING  HOLDERS      NEXT
            mutex    books    1      1     1        close 7      report 9
            counted  licence  5      4     0        solve 8 (4)
        "#]]
        .assert_eq(&list(&Out::plain("2026-11-15T10:00:05Z"), &resources));
    }
}
