//! `duly doctor`: goes the way a request goes and says at which step it ends.

use wire::api::{AgentStateWord, JobQuery};

use crate::Session;
use crate::failure::{Done, FAILED, Failure};
use crate::out::Tone;

/// What one look found: fine, or what to do.
struct Finding {
    what: &'static str,
    found: Result<String, String>,
}

impl Session<'_> {
    pub(crate) async fn doctor(&self) -> Done {
        let findings = self.examine().await;
        let ok = findings.iter().all(|finding| finding.found.is_ok());
        let items: Vec<serde_json::Value> = findings
            .iter()
            .map(|f| {
                let words = f.found.as_ref().unwrap_or_else(|words| words);
                serde_json::json!({"check": f.what, "ok": f.found.is_ok(), "message": words})
            })
            .collect();
        let raw = serde_json::json!({"ok": ok, "items": items}).to_string();
        self.out.answer(&raw, || findings.iter().map(|finding| self.line(finding)).collect());
        if ok { Ok(()) } else { Err(Failure::quiet(wire::Code::NotReady, FAILED)) }
    }

    fn line(&self, finding: &Finding) -> String {
        let (tone, word, words) = match &finding.found {
            Ok(words) => (Tone::Good, "ok  ", words),
            Err(words) => (Tone::Bad, "FAIL", words),
        };
        format!("{}  {:<8}  {words}\n", self.out.paint(tone, word), finding.what)
    }

    /// A step that fails makes those behind it pointless.
    async fn examine(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add = |what, found: Result<String, String>| {
            let ok = found.is_ok();
            findings.push(Finding { what, found });
            ok
        };
        let version = self.client.version().await.map_err(|error| advice(&error));
        let own = env!("CARGO_PKG_VERSION");
        if !add(
            "server",
            version.map(|v| match v.version == own {
                true => format!("{} runs version {own}", self.client.url()),
                false => format!("{} runs version {}, this command is {own}", self.client.url(), v.version),
            }),
        ) {
            return findings;
        }
        let health = self.client.health().await.map_err(|error| advice(&error));
        add(
            "alive",
            health.and_then(|health| match health.ok {
                true => Ok(format!("up for {}", health.uptime)),
                false => {
                    let stuck: Vec<String> = health.shards.iter().filter_map(|shard| shard.stuck.clone()).collect();
                    Err(format!("the loop makes no progress: {}", stuck.join("; ")))
                }
            }),
        );
        let ready = self.client.ready().await.map_err(|error| advice(&error));
        add(
            "ready",
            ready.and_then(|ready| match ready.ready {
                true => Ok("takes work".into()),
                false => Err(format!("waits for {}", ready.missing.join(", "))),
            }),
        );
        let jobs = self.client.jobs(&JobQuery { limit: Some(1), ..JobQuery::default() }).await;
        if !add("token", jobs.map(|_| "is accepted".into()).map_err(|error| advice(&error))) {
            return findings;
        }
        let agents = self.client.agents().await.map_err(|error| advice(&error));
        add(
            "agents",
            agents.and_then(|agents| {
                let online = |state: AgentStateWord| state == AgentStateWord::Online;
                match agents.items.iter().filter(|agent| online(agent.state) && !agent.drained).count() {
                    0 => {
                        Err(format!("none of {} is online and takes work; see `duly agents list`", agents.items.len()))
                    }
                    n => Ok(format!("{n} of {} are online and take work", agents.items.len())),
                }
            }),
        );
        let held = self.client.quarantine().await.map_err(|error| advice(&error));
        add(
            "held",
            held.and_then(|page| match page.items.len() {
                0 => Ok("no job is held".into()),
                n => Err(format!("{n} inputs are in quarantine; see `duly quarantine`")),
            }),
        );
        findings
    }
}

fn advice(error: &client::Error) -> String {
    let help = error.help().map(|help| format!(" {help}")).unwrap_or_default();
    format!("{error} ({}).{help}", error.code())
}
