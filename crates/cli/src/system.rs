//! The installation as a whole: `verify`, `stats`, `health`, `harden`, `quarantine`, `backup`, `openapi`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use wire::Code;
use wire::api::{FindingWeight, StatsQuery, StatsView, VerifyQuery, VerifyView};

use crate::Session;
use crate::failure::{Done, FAILED, Failure, UNREACHABLE, VERIFY_FOUND};
use crate::moment::Moment;
use crate::out::{Out, Tone, absolute, spinner};
use crate::table::{Rows, facts, plain};

#[derive(Args)]
pub struct VerifyArgs {
    /// From this planned time: an instant, or how long ago (2h); an hour ago if absent.
    #[arg(long)]
    from: Option<Moment>,
    /// Before this planned time.
    #[arg(long)]
    to: Option<Moment>,
    /// One job only.
    #[arg(long)]
    job: Option<String>,
}

#[derive(Args)]
pub struct StatsArgs {
    #[arg(long)]
    from: Option<Moment>,
    #[arg(long)]
    to: Option<Moment>,
}

#[derive(Args)]
pub struct BackupArgs {
    /// Where to write it; must not exist yet.
    #[arg(short, long)]
    output: PathBuf,
}

impl Session<'_> {
    pub(crate) async fn verify(&self, args: VerifyArgs) -> Done {
        let query = VerifyQuery {
            from: args.from.map(|moment| moment.resolve(self.out.now)),
            to: args.to.map(|moment| moment.resolve(self.out.now)),
            job: args.job,
        };
        let turning = spinner("computing every planned time anew");
        let answer = self.client.verify(&query).await;
        turning.finish_and_clear();
        let view = answer?;
        self.out.answer(&view.raw, || verified(&view, self.out));
        if view.ok { Ok(()) } else { Err(Failure::quiet(Code::VerifyFound, VERIFY_FOUND)) }
    }

    pub(crate) async fn stats(&self, args: StatsArgs) -> Done {
        let query = StatsQuery {
            from: args.from.map(|moment| moment.resolve(self.out.now)),
            to: args.to.map(|moment| moment.resolve(self.out.now)),
        };
        let view = self.client.stats(&query).await?;
        self.out.answer(&view.raw, || counted(&view));
        Ok(())
    }

    /// Fails while something serious is found, so that it can stand in a pipeline.
    pub(crate) async fn harden(&self) -> Done {
        let view = self.client.harden().await?;
        self.out.answer(&view.raw, || {
            let mut told =
                format!("{} of 100; {} things looked at, {} found\n", view.score, view.checks, view.findings.len());
            let mut findings: Vec<_> = view.findings.iter().collect();
            findings.sort_by_key(|finding| finding.weight);
            for finding in findings {
                let (weight, id) = (finding.weight.word(), &finding.id);
                told.push_str(&format!(
                    "\n{weight}: {} ({id})\n  seen: {}\n  do:   {}\n",
                    finding.what, finding.seen, finding.fix
                ));
            }
            told
        });
        match view.findings.iter().any(|finding| finding.weight == FindingWeight::Serious) {
            true => Err(Failure::quiet(Code::VerifyFound, FAILED)),
            false => Ok(()),
        }
    }

    pub(crate) async fn health(&self) -> Done {
        let version = self.client.version().await?;
        let ready = self.client.ready().await;
        let health = self.client.health().await?;
        let missing = match &ready {
            Ok(ready) => ready.missing.join(", "),
            Err(error) => error.to_string(),
        };
        let is_ready = ready.as_ref().is_ok_and(|ready| ready.ready);
        let raw = format!(r#"{{"version":{},"health":{},"ready":{is_ready}}}"#, version.raw.trim(), health.raw.trim());
        self.out.answer(&raw, || {
            let shards = health.shards.iter().map(|shard| {
                let stuck = shard.stuck.as_ref().map(|why| format!(", stuck: {why}")).unwrap_or_default();
                let horizon = self.out.time(Some(shard.horizon));
                format!("{}: term {}, batch {}, decided up to {horizon}{stuck}", shard.id, shard.term, shard.batch)
            });
            let word = |good: bool, no: String| if good { "yes".into() } else { no };
            facts(&[
                ("server", self.client.url().to_owned()),
                (
                    "version",
                    format!("{} (agent protocol {}, tzdata {})", version.version, version.protocol, version.tzdata),
                ),
                ("alive", word(health.ok, "no: the loop makes no progress".into())),
                ("ready", word(is_ready, format!("no: {missing}"))),
                ("up for", health.uptime.to_string()),
                ("shards", shards.collect::<Vec<_>>().join("\n")),
            ])
        });
        if health.ok && is_ready { Ok(()) } else { Err(Failure::quiet(Code::NotReady, FAILED)) }
    }

    pub(crate) async fn quarantine(&self) -> Done {
        let page = self.client.quarantine().await?;
        self.out.answer(&page.raw, || {
            let mut rows = Rows::new(self.out, &["AT", "JOB", "ERROR", "INPUT"]);
            for held in &page.items {
                rows.add(vec![
                    plain(self.out.time(Some(held.at))),
                    plain(held.job.as_deref().unwrap_or("-")),
                    plain(&held.error),
                    plain(&held.input),
                ]);
            }
            rows.show("nothing is held")
        });
        Ok(())
    }

    pub(crate) async fn openapi(&self) -> Done {
        let document = self.client.openapi().await?;
        self.out.answer(&document.raw, || format!("{:#}\n", document.view));
        Ok(())
    }

    pub(crate) async fn backup(&self, args: BackupArgs) -> Done {
        let path = &args.output;
        if path.exists() {
            return Err(Failure::usage(Code::BadFile, format!("{} exists already", path.display())));
        }
        let mut response = self.client.backup().await?;
        let bar = match response.content_length() {
            Some(total) => indicatif::ProgressBar::new(total).with_style(
                indicatif::ProgressStyle::with_template("{bar:40} {bytes} of {total_bytes}, {eta}")
                    .expect("the template is ours"),
            ),
            None => spinner("receiving the backup"),
        };
        // It gets its name only when it is whole: half a backup must not be taken for one.
        let part = path.with_extension("part");
        let mut file = create_private(&part).map_err(|error| unwritable(&part, &error))?;
        let mut size = 0u64;
        loop {
            let chunk = response.chunk().await;
            let cut = |error| Failure::new(Code::Unreachable, format!("the backup broke off: {error}"), UNREACHABLE);
            let Some(bytes) = chunk.map_err(cut)? else { break };
            file.write_all(&bytes).map_err(|error| unwritable(&part, &error))?;
            size += bytes.len() as u64;
            bar.set_position(size);
        }
        file.sync_all().and_then(|()| std::fs::rename(&part, path)).map_err(|error| unwritable(path, &error))?;
        bar.finish_and_clear();
        let name = serde_json::to_string(&path.display().to_string()).expect("a text");
        let raw = format!(r#"{{"file":{name},"bytes":{size}}}"#);
        self.out.answer(&raw, || format!("Wrote {size} bytes to {}.\n", path.display()));
        Ok(())
    }
}

/// A backup holds everything the store holds: nobody else is to read it.
fn create_private(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Code::BadFile, format!("cannot write {}: {error}", path.display()), FAILED)
}

fn verified(view: &VerifyView, out: &Out) -> String {
    let window = format!("{} to {}", absolute(view.from), absolute(view.to));
    let counts = format!(
        "{} planned times of {} jobs: {} fired, {} skipped, {} merged, {} missed",
        view.times, view.jobs, view.fired, view.skipped, view.merged, view.missed
    );
    let starts = started(view, out);
    if view.ok && view.findings.is_empty() {
        return format!("{}\n{counts}\n{starts}{window}\n", out.paint(Tone::Good, "Ledger and triggers agree."));
    }
    let mut rows = Rows::new(out, &["WHAT", "JOB", "PLANNED", "INSTANCE", "WHY"]);
    for finding in &view.findings {
        rows.add(vec![
            plain(finding.kind),
            plain(finding.job.as_deref().unwrap_or("-")),
            plain(finding.planned_at.map_or("-".into(), absolute)),
            plain(finding.instance.map_or("-".into(), |id| id.to_string())),
            plain(&finding.message),
        ]);
    }
    let more = if view.truncated { "… and more\n" } else { "" };
    let headline = out.paint(Tone::Bad, &format!("{} findings", view.findings.len()));
    format!("{headline}\n{counts}\n{starts}{window}\n{}{more}", rows.show(""))
}

/// How late planned work started, and whose was later than allowed.
fn started(view: &VerifyView, out: &Out) -> String {
    let lateness = &view.lateness;
    if lateness.starts == 0 {
        return String::new();
    }
    let text = format!(
        "{} starts after their planned time by {} (half), {} (99 %), {} (latest)\n",
        lateness.starts, lateness.p50, lateness.p99, lateness.longest
    );
    if lateness.late == 0 {
        return text;
    }
    let mut rows = Rows::new(out, &["LATE", "JOB", "GRACE", "LATEST", "INSTANCE", "PLANNED"]);
    for job in &lateness.jobs {
        rows.add(vec![
            plain(job.starts),
            plain(&job.job),
            plain(job.grace),
            plain(job.longest),
            plain(job.instance),
            plain(absolute(job.planned_at)),
        ]);
    }
    let late = out.paint(Tone::Warn, &format!("{} of them later than their jobs allow", lateness.late));
    format!("{text}{late}\n{}", rows.show(""))
}

fn counted(view: &StatsView) -> String {
    let states: Vec<String> = view.instances.iter().map(|(state, n)| format!("{n} {state}")).collect();
    let jobs = view.jobs;
    facts(&[
        ("window", format!("{} to {}", absolute(view.from), absolute(view.to))),
        ("instances", if states.is_empty() { "none".into() } else { states.join(", ") }),
        (
            "jobs",
            format!("{} enabled, {} paused, {} disabled, {} held", jobs.enabled, jobs.paused, jobs.disabled, jobs.held),
        ),
        ("agents", format!("{} of {} online", view.agents_online, view.agents)),
    ])
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn view(rest: &str) -> VerifyView {
        let text = format!(
            r#"{{"from":"2026-11-15T09:00:00Z","to":"2026-11-15T10:00:00Z","jobs":2,"times":3660,"fired":3600,"skipped":58,"merged":1,"missed":1,"truncated":false,"tzdata":"2026b","lateness":{{"starts":3600,"p50":"2ms","p99":"15ms","longest":"3m","late":2,"jobs":[{{"job":"tick","starts":2,"grace":"1m","longest":"3m","instance":77,"planned_at":"2026-11-15T09:20:00Z"}}]}},{rest}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn verify_says_plainly_whether_all_is_well() {
        let out = Out::plain("2026-11-15T10:00:00Z");
        expect![[r#"
            Ledger and triggers agree.
            3660 planned times of 2 jobs: 3600 fired, 58 skipped, 1 merged, 1 missed
            3600 starts after their planned time by 2ms (half), 15ms (99 %), 3m (latest)
            2 of them later than their jobs allow
            LATE  JOB   GRACE  LATEST  INSTANCE  PLANNED
            2     tick  1m     3m      77        2026-11-15 09:20:00Z
            2026-11-15 09:00:00Z to 2026-11-15 10:00:00Z
        "#]]
        .assert_eq(&verified(&view(r#""ok":true,"findings":[]"#), &out));
        let lost = r#""ok":false,"findings":[{"kind":"lost","job":"tick","planned_at":"2026-11-15T09:30:00Z","message":"no entry for this time"},{"kind":"orphan","instance":5,"message":"attempt 9 reported by agent 1"}]"#;
        expect![[r#"
            2 findings
            3660 planned times of 2 jobs: 3600 fired, 58 skipped, 1 merged, 1 missed
            3600 starts after their planned time by 2ms (half), 15ms (99 %), 3m (latest)
            2 of them later than their jobs allow
            LATE  JOB   GRACE  LATEST  INSTANCE  PLANNED
            2     tick  1m     3m      77        2026-11-15 09:20:00Z
            2026-11-15 09:00:00Z to 2026-11-15 10:00:00Z
            WHAT    JOB   PLANNED               INSTANCE  WHY
            lost    tick  2026-11-15 09:30:00Z  -         no entry for this time
            orphan  -     -                     5         attempt 9 reported by agent 1
        "#]]
        .assert_eq(&verified(&view(lost), &out));
    }

    #[test]
    fn counts_are_told_in_lines() {
        let view: StatsView = serde_json::from_str(
            r#"{"from":"2026-11-14T10:00:00Z","to":"2026-11-15T10:00:00Z","instances":{"failed":2,"succeeded":86398},"jobs":{"enabled":3,"paused":1,"disabled":0,"held":0},"agents":2,"agents_online":1}"#,
        )
        .unwrap();
        expect![[r#"
            window     2026-11-14 10:00:00Z to 2026-11-15 10:00:00Z
            instances  2 failed, 86398 succeeded
            jobs       3 enabled, 1 paused, 0 disabled, 0 held
            agents     1 of 2 online
        "#]]
        .assert_eq(&counted(&view));
    }
}
