//! `duly examples`: three small jobs to try things with, added like any other after a look at the plan.

use std::path::Path;

use clap::Args;
use wire::api::ApplyBody;

use crate::Session;
use crate::apply::Consent;
use crate::failure::Done;
use crate::files::Loaded;
use crate::out::emit;

const FILES: [(&str, &str); 3] = [
    ("hello.yaml", include_str!("../../../examples/hello.yaml")),
    ("report.yaml", include_str!("../../../examples/report.yaml")),
    ("flaky.yaml", include_str!("../../../examples/flaky.yaml")),
];

#[derive(Args)]
pub struct ExamplesArgs {
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
    /// Only print them.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) print: bool,
}

pub(crate) fn print() {
    let texts: Vec<&str> = FILES.iter().map(|(_, text)| *text).collect();
    emit(texts.join("---\n").as_bytes());
}

impl Session<'_> {
    pub(crate) async fn examples(&self, args: ExamplesArgs) -> Done {
        let loaded = load();
        let consent = if args.yes { Consent::Given } else { Consent::Ask };
        let body = ApplyBody { jobs: loaded.jobs.clone(), ..ApplyBody::default() };
        self.apply_loaded(&loaded, body, consent).await
    }
}

fn load() -> Loaded {
    let mut loaded = Loaded::default();
    for (name, text) in FILES {
        let faults = loaded.add(name.into(), text.into(), Path::new(""));
        assert!(faults.is_empty(), "the embedded example {name} is good: {faults:?}");
    }
    loaded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_are_good_jobs() {
        assert_eq!(load().jobs.len(), 3);
    }
}
