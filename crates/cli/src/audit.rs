//! `duly audit …`

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use wire::Code;
use wire::api::{AuditQuery, AuditVerifyQuery, AuditVerifyView, AuditView};
use wire::audit::{Export, Noted};

use crate::Session;
use crate::failure::{Done, FAILED, Failure, UNREACHABLE, VERIFY_FOUND};
use crate::moment::Moment;
use crate::out::{self, Out, Tone, absolute, spinner};
use crate::table::{Rows, facts, plain};

#[derive(Subcommand)]
pub enum AuditCommand {
    /// List what was done and what was refused, newest first.
    List(AuditListArgs),
    /// Show one entry at length, with what was before and after.
    Show { seq: i64 },
    /// Check that nothing was changed, taken out, moved or cut off.
    Verify(AuditVerifyArgs),
    /// Write all of it as lines of JSON, which can be checked without a server.
    Export {
        /// Where to write it; to standard output if absent.
        #[arg(short, long)]
        output: Option<PathBuf>,
    },
}

#[derive(Args)]
pub struct AuditListArgs {
    /// By this person or program only.
    #[arg(long)]
    who: Option<String>,
    /// Of this operation only, like job_pause.
    #[arg(long)]
    operation: Option<String>,
    /// About this job, pool or instance only, by name or number.
    #[arg(long)]
    about: Option<String>,
    /// Since an instant, or for so long (2h).
    #[arg(long)]
    since: Option<Moment>,
    /// done, refused, unknown, or the code of a refusal.
    #[arg(long)]
    outcome: Option<String>,
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: Option<u32>,
    /// Where to go on, from the page before.
    #[arg(long)]
    cursor: Option<String>,
}

#[derive(Args)]
pub struct AuditVerifyArgs {
    /// A head that was noted earlier: its hash, or number:hash as this command prints it.
    #[arg(long, value_name = "HASH")]
    expect: Option<String>,
    /// Check a file that `duly audit export` wrote, without a server.
    #[arg(long)]
    pub(crate) file: Option<PathBuf>,
}

impl Session<'_> {
    pub(crate) async fn audit(&self, command: AuditCommand) -> Done {
        match command {
            AuditCommand::List(args) => self.list_audit(args).await,
            AuditCommand::Show { seq } => {
                let entry = self.client.audit_entry(seq).await?;
                self.out.answer(&entry.raw, || shown(&entry, self.out));
                Ok(())
            }
            AuditCommand::Verify(args) => {
                let turning = spinner("walking along the chain");
                let answer = self.client.verify_audit(&AuditVerifyQuery { expect: args.expect }).await;
                turning.finish_and_clear();
                let view = answer?;
                conclude(&view, &view.raw, self.out)
            }
            AuditCommand::Export { output } => self.export_audit(output.as_deref()).await,
        }
    }

    async fn list_audit(&self, args: AuditListArgs) -> Done {
        let query = AuditQuery {
            who: args.who,
            operation: args.operation,
            about: args.about,
            since: args.since.map(|moment| moment.resolve(self.out.now)),
            outcome: args.outcome,
            limit: args.limit,
            cursor: args.cursor,
        };
        let page = self.client.audit(&query).await?;
        self.out.answer(&page.raw, || list(&page.items, self.out));
        self.more(page.next.as_deref());
        Ok(())
    }

    async fn export_audit(&self, output: Option<&Path>) -> Done {
        let mut response = self.client.export_audit().await?;
        let mut file = output.map(create).transpose()?;
        loop {
            let cut = |error| Failure::new(Code::Unreachable, format!("the export broke off: {error}"), UNREACHABLE);
            let Some(bytes) = response.chunk().await.map_err(cut)? else { break };
            match &mut file {
                Some(file) => file.write_all(&bytes).map_err(|error| unwritable(output, &error))?,
                None => out::emit(&bytes),
            }
        }
        if let Some(file) = file {
            file.sync_all().map_err(|error| unwritable(output, &error))?;
            self.out.note("Check it with duly audit verify --file.");
        }
        Ok(())
    }
}

/// Checks an export where it lies.
pub(crate) fn verify_file(args: &AuditVerifyArgs, file: &Path, out: &Out) -> Done {
    let noted = args.expect.as_deref().map(noted).transpose()?;
    let bad = |error: &dyn std::fmt::Display| Failure::usage(Code::BadFile, format!("{}: {error}", file.display()));
    let opened = File::open(file).map_err(|error| bad(&error))?;
    let mut export = Export::new(noted);
    for line in BufReader::new(opened).lines() {
        export.line(&line.map_err(|error| bad(&error))?).map_err(|error| bad(&error))?;
    }
    let view = AuditVerifyView::from(&export.end().map_err(|error| bad(&error))?);
    let raw = serde_json::to_string(&view).expect("a view is plain data");
    conclude(&view, &raw, out)
}

fn noted(text: &str) -> Result<Noted, Failure> {
    let bad = || Failure::usage(Code::BadArgument, "--expect takes a hash, or number:hash as verify prints it");
    let (seq, hash) = match text.split_once(':') {
        Some((seq, hash)) => (Some(seq.parse().map_err(|_| bad())?), hash),
        None => (None, text),
    };
    Ok(Noted { seq, hash: hash.parse().map_err(|_| bad())? })
}

fn create(path: &Path) -> Result<File, Failure> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| unwritable(Some(path), &error))
}

fn unwritable(path: Option<&Path>, error: &std::io::Error) -> Failure {
    let path = path.unwrap_or(Path::new("-"));
    Failure::new(Code::BadFile, format!("cannot write {}: {error}", path.display()), FAILED)
}

fn conclude(view: &AuditVerifyView, raw: &str, out: &Out) -> Done {
    out.answer(raw, || verdict(view, out));
    if view.ok { Ok(()) } else { Err(Failure::quiet(Code::AuditBroken, VERIFY_FOUND)) }
}

fn verdict(view: &AuditVerifyView, out: &Out) -> String {
    let head = format!("{} entries; the head is {}:{}\n", view.entries, view.head.seq, view.head.hash);
    if view.ok {
        return format!("{}\n{head}", out.paint(Tone::Good, "The chain is whole."));
    }
    let mut text = format!("{}\n", out.paint(Tone::Bad, "The audit was tampered with, or is damaged."));
    for finding in &view.findings {
        text += &format!("  {}\n", finding.message);
    }
    if view.more > 0 {
        text += &format!("  … and {} more\n", view.more);
    }
    text + &head
}

fn list(entries: &[AuditView], out: &Out) -> String {
    let mut rows = Rows::new(out, &["SEQ", "AT", "WHO", "FROM", "OPERATION", "ABOUT", "OUTCOME", "REASON"]);
    for view in entries {
        let entry = &view.entry;
        let more = entry.more.map(|more| format!(" ({more} more)")).unwrap_or_default();
        rows.add(vec![
            plain(view.seq),
            plain(absolute(entry.at)),
            plain(entry.who.as_deref().unwrap_or("-")),
            plain(entry.from.as_deref().unwrap_or("-")),
            plain(&entry.operation),
            plain(about(view)),
            plain(format!("{}{more}", entry.outcome)),
            plain(entry.reason.as_deref().unwrap_or("")),
        ]);
    }
    rows.show("nothing is recorded that fits")
}

/// The values of the address, or the things that were changed.
fn about(view: &AuditView) -> String {
    const TOLD: usize = 3;
    let entry = &view.entry;
    let mut names: Vec<String> = entry.about.values().cloned().collect();
    let items = entry.after.as_ref().and_then(|after| after.get("items")?.as_array());
    names.extend(items.into_iter().flatten().filter_map(|item| Some(item.get("name")?.as_str()?.to_string())));
    let more = names.len().saturating_sub(TOLD);
    names.truncate(TOLD);
    match more {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

fn shown(view: &AuditView, out: &Out) -> String {
    let entry = &view.entry;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let json = |value: &Option<serde_json::Value>| value.as_ref().map(|value| format!("{value:#}")).unwrap_or_default();
    let named: Vec<String> = entry.about.iter().map(|(name, value)| format!("{name} {value}")).collect();
    facts(&[
        ("entry", view.seq.to_string()),
        ("at", out.time(Some(entry.at))),
        ("who", text(&entry.who)),
        ("by", text(&entry.by)),
        ("from", text(&entry.from)),
        ("tenant", entry.tenant.map(|tenant| tenant.to_string()).unwrap_or_default()),
        ("operation", entry.operation.clone()),
        ("about", named.join(", ")),
        ("before", json(&entry.before)),
        ("after", json(&entry.after)),
        ("reason", text(&entry.reason)),
        ("outcome", entry.outcome.clone()),
        ("more", entry.more.map(|more| more.to_string()).unwrap_or_default()),
        ("request", text(&entry.request)),
        ("server", text(&entry.server)),
        ("hash", view.hash.clone()),
    ])
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn entries_are_listed_with_who_where_what_and_why() {
        let entries: Vec<AuditView> = serde_json::from_str(
            r#"[{"seq":3,"hash":"00","entry":{"at":"2026-11-15T10:00:03Z","from":"10.0.0.9","operation":"refused_more","outcome":"refused","more":40}},
                {"seq":2,"hash":"00","entry":{"at":"2026-11-15T10:00:02Z","who":"ann","from":"10.0.0.7:51344","operation":"job_apply","outcome":"done",
                    "after":{"items":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}]}}},
                {"seq":1,"hash":"00","entry":{"at":"2026-11-15T10:00:01Z","who":"ann","by":"token 7","from":"10.0.0.7:51344","operation":"job_pause",
                    "about":{"name":"tick"},"outcome":"done","reason":"month end"}}]"#,
        )
        .unwrap();
        expect![[r#"
            SEQ  AT                    WHO  FROM            OPERATION     ABOUT               OUTCOME            REASON
            3    2026-11-15 10:00:03Z  -    10.0.0.9        refused_more                      refused (40 more)
            2    2026-11-15 10:00:02Z  ann  10.0.0.7:51344  job_apply     a, b, c and 1 more  done
            1    2026-11-15 10:00:01Z  ann  10.0.0.7:51344  job_pause     tick                done               month end
        "#]]
        .assert_eq(&list(&entries, &Out::plain("2026-11-15T10:00:05Z")));
    }

    #[test]
    fn a_file_is_checked_without_a_server() {
        use std::io::Write as _;
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let zeros = "0".repeat(64);
        writeln!(
            file,
            r#"{{"format":"duly-audit-1","base":{{"seq":0,"hash":"{zeros}"}},"head":{{"seq":1,"hash":"{zeros}"}}}}"#
        )
        .unwrap();
        let args = |expect: Option<&str>| AuditVerifyArgs { expect: expect.map(String::from), file: None };
        let out = Out::plain("2026-11-15T10:00:05Z");
        let path = file.path().to_owned();
        let told = |expect| verify_file(&args(expect), &path, &out).unwrap_err();
        assert_eq!(told(None).exit, VERIFY_FOUND, "the head knows of an entry that is not there");
        assert_eq!(told(Some("x:y")).problem.code, "E0805");
        writeln!(file, "not a line of ours").unwrap();
        assert_eq!(told(None).problem.code, "E0804");
    }
}
