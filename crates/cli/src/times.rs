//! `duly why`, `duly next`, `duly preview`: what will happen, and why something does not.

use clap::Args;
use wire::api::{NextQuery, PreviewBody, PreviewView, WhyView};
use wire::job::{CronForm, CronMap, Dialect, EveryForm, OnceForm};

use crate::Session;
use crate::failure::Done;
use crate::moment::Moment;
use crate::out::Out;
use crate::table::{Rows, plain};

#[derive(Args)]
pub struct WhyArgs {
    /// The number of an instance, or the name of a job.
    subject: String,
}

#[derive(Args)]
pub struct NextArgs {
    /// The name of a job, or a cron expression in quotes (five fields are read as crontab's).
    subject: String,
    /// How many.
    #[arg(short, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    n: u32,
    /// After this instant; now if absent.
    #[arg(long)]
    from: Option<Moment>,
    /// The zone of an expression.
    #[arg(long)]
    zone: Option<String>,
}

#[derive(Args)]
#[group(id = "trigger", required = true, multiple = false, args = ["cron", "every", "once"])]
pub struct PreviewArgs {
    /// A Quartz expression, or with --unix a crontab one.
    #[arg(long)]
    cron: Option<String>,
    /// A fixed rate, like 30s.
    #[arg(long)]
    every: Option<String>,
    /// One instant.
    #[arg(long)]
    once: Option<String>,
    #[arg(long, requires = "cron")]
    zone: Option<String>,
    /// Five fields, as in crontab.
    #[arg(long, requires = "cron")]
    unix: bool,
    /// How many.
    #[arg(short, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    n: u32,
    /// After this instant; now if absent.
    #[arg(long)]
    from: Option<Moment>,
}

impl Session<'_> {
    pub(crate) async fn why(&self, args: WhyArgs) -> Done {
        // A job's name is never digits alone.
        let answer = match args.subject.parse::<i64>() {
            Ok(id) => self.client.why_instance(id).await?,
            Err(_) => self.client.why_job(&args.subject).await?,
        };
        self.out.answer(&answer.raw, || explained(&answer, self.out));
        Ok(())
    }

    pub(crate) async fn next(&self, args: NextArgs) -> Done {
        let from = args.from.map(|moment| moment.resolve(self.out.now));
        let answer = if is_expression(&args.subject) {
            let unix = args.subject.starts_with('@') || args.subject.split_whitespace().count() == 5;
            let body = PreviewBody { n: Some(args.n), from, ..cron(args.subject, args.zone, unix) };
            self.client.preview(&body).await?
        } else {
            self.client.next_fires(&args.subject, &NextQuery { n: Some(args.n), from }).await?
        };
        self.out.answer(&answer.raw, || fires(&answer, self.out));
        Ok(())
    }

    pub(crate) async fn preview(&self, args: PreviewArgs) -> Done {
        let base = match args.cron {
            Some(expr) => cron(expr, args.zone, args.unix),
            None => PreviewBody {
                every: args.every.map(EveryForm::Short),
                once: args.once.map(OnceForm::Short),
                ..PreviewBody::default()
            },
        };
        let from = args.from.map(|moment| moment.resolve(self.out.now));
        let answer = self.client.preview(&PreviewBody { n: Some(args.n), from, ..base }).await?;
        self.out.answer(&answer.raw, || fires(&answer, self.out));
        Ok(())
    }
}

/// No name has a blank in it, and no expression is without one, nicknames apart.
fn is_expression(subject: &str) -> bool {
    subject.starts_with('@') || subject.trim().contains(char::is_whitespace)
}

fn cron(expr: String, zone: Option<String>, unix: bool) -> PreviewBody {
    let dialect = unix.then_some(Dialect::Unix);
    let cron = Some(CronForm::Long(CronMap { expr, zone, dialect, ..CronMap::default() }));
    PreviewBody { cron, ..PreviewBody::default() }
}

fn fires(view: &PreviewView, out: &Out) -> String {
    let mut rows = Rows::new(out, &["", "UTC", view.zone.as_str()]);
    for fire in &view.fires {
        let absolute = crate::out::absolute(fire.at);
        rows.add(vec![plain(out.relative(fire.at)), plain(absolute), plain(&fire.local)]);
    }
    let note = view.note.as_ref().map(|note| format!("{note}\n")).unwrap_or_default();
    rows.show("no planned time is ahead") + &note
}

fn explained(view: &WhyView, out: &Out) -> String {
    let subject = match (view.instance, view.state) {
        (Some(id), Some(state)) => format!("Instance {id} of {} is {state}", view.job),
        (Some(id), None) => format!("Instance {id} of {}", view.job),
        (None, _) => format!("Job {}", view.job),
    };
    let reasons: String = match view.reasons.as_slice() {
        [] => "  nothing holds it\n".into(),
        reasons => reasons.iter().map(|reason| format!("  {}\n", reason.text)).collect(),
    };
    let next = view.next.map(|at| format!("Next: {}\n", out.time(Some(at)))).unwrap_or_default();
    format!("{subject}:\n{reasons}{next}")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn reasons_are_told_in_words() {
        let view: WhyView = serde_json::from_str(
            r#"{"job":"tick","instance":7,"state":"ready","reasons":[{"kind":"no_free_slot","text":"all 4 slots of the 1 eligible agents of pool default are in use"}],"next":"2026-11-15T10:05:00Z"}"#,
        )
        .unwrap();
        expect![[r#"
            Instance 7 of tick is ready:
              all 4 slots of the 1 eligible agents of pool default are in use
            Next: in 5m00s (2026-11-15 10:05:00Z)
        "#]]
        .assert_eq(&explained(&view, &Out::plain("2026-11-15T10:00:00Z")));
    }

    #[test]
    fn planned_times_are_shown_on_both_clocks() {
        let view: PreviewView = serde_json::from_str(
            r#"{"zone":"Asia/Shanghai","fires":[{"at":"2026-11-15T18:30:00Z","local":"2026-11-16T02:30:00+08:00"}],"note":"the job is paused"}"#,
        )
        .unwrap();
        expect![[r#"
                      UTC                   Asia/Shanghai
            in 8h30m  2026-11-15 18:30:00Z  2026-11-16T02:30:00+08:00
            the job is paused
        "#]]
        .assert_eq(&fires(&view, &Out::plain("2026-11-15T10:00:00Z")));
    }

    #[test]
    fn an_expression_is_told_from_a_name() {
        assert!(is_expression("* * * * * ?") && is_expression("@daily"));
        assert!(!is_expression("nightly_export"));
    }
}
