//! `duly overview`, `duly upcoming`: how things are, and what comes next.

use clap::Args;
use wire::api::{OverviewView, UpcomingQuery, UpcomingView};

use crate::Session;
use crate::failure::Done;
use crate::out::{Out, length};
use crate::table::{Rows, facts, plain};

#[derive(Args)]
pub struct UpcomingArgs {
    /// How far to look ahead.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=168))]
    hours: Option<u32>,
    /// How many jobs.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
}

impl Session<'_> {
    pub(crate) async fn overview(&self) -> Done {
        let view = self.client.overview().await?;
        self.out.answer(&view.raw, || glance(&view));
        Ok(())
    }

    pub(crate) async fn upcoming(&self, args: UpcomingArgs) -> Done {
        let query = UpcomingQuery { hours: args.hours, limit: args.limit };
        let view = self.client.upcoming(&query).await?;
        self.out.answer(&view.raw, || coming(&view, self.out));
        Ok(())
    }
}

fn glance(view: &OverviewView) -> String {
    let open: Vec<String> = view.open.iter().map(|(state, n)| format!("{n} {state}")).collect();
    let failing: Vec<String> = view.failing.iter().map(|one| format!("{} {}", one.failed, one.job)).collect();
    let none = |told: Vec<String>| if told.is_empty() { "nothing".into() } else { told.join(", ") };
    let delay = view.start_delay.map_or("nothing started lately".into(), |delay| {
        format!("{} (half), {} (95 %), of {} starts", micros(delay.half_us), micros(delay.most_us), delay.starts)
    });
    facts(&[
        ("open", none(open)),
        ("late", format!("{} due for more than a minute and not begun", view.late)),
        ("failed", format!("{} in the last 24 hours: {}", view.failed, none(failing))),
        ("ended", format!("{} in the last five minutes", view.ended)),
        ("start delay", delay),
    ])
}

fn micros(us: i64) -> String {
    length(us.unsigned_abs())
}

fn coming(view: &UpcomingView, out: &Out) -> String {
    let mut rows = Rows::new(out, &["NEXT", "JOB", "THEN"]);
    for job in &view.jobs {
        let then: Vec<String> = job.times.iter().skip(1).take(2).map(|at| out.time(Some(*at))).collect();
        rows.add(vec![plain(out.time(job.times.first().copied())), plain(&job.job), plain(then.join(", "))]);
    }
    let more =
        if view.more > 0 { format!("{} more jobs with a time in this window\n", view.more) } else { String::new() };
    format!("{}{more}", rows.show("No job has a planned time in this window."))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_glance_fits_into_five_lines() {
        let view = r#"{"at":"2026-11-15T10:00:00Z","open":{"ready":2,"running":7},"late":1,"failed":4,
            "failing":[{"job":"etl","failed":3},{"job":"mail","failed":1}],"ended":300,
            "start_delay":{"starts":290,"half_us":2100,"most_us":15000}}"#;
        expect![[r#"
            open         2 ready, 7 running
            late         1 due for more than a minute and not begun
            failed       4 in the last 24 hours: 3 etl, 1 mail
            ended        300 in the last five minutes
            start delay  2.1ms (half), 15ms (95 %), of 290 starts
        "#]]
        .assert_eq(&glance(&serde_json::from_str(view).unwrap()));
    }

    #[test]
    fn what_comes_is_told_soonest_first() {
        let view = r#"{"from":"2026-11-15T10:00:00Z","to":"2026-11-15T16:00:00Z","more":3,
            "jobs":[{"job":"tick","times":["2026-11-15T10:00:01Z","2026-11-15T10:00:02Z"],"more":true},
                    {"job":"etl","times":["2026-11-15T11:00:00Z"],"more":false}]}"#;
        let out = Out::plain("2026-11-15T10:00:00Z");
        expect![[r#"
            NEXT                             JOB   THEN
            in 1s (2026-11-15 10:00:01Z)     tick  in 2s (2026-11-15 10:00:02Z)
            in 1h00m (2026-11-15 11:00:00Z)  etl
            3 more jobs with a time in this window
        "#]]
        .assert_eq(&coming(&serde_json::from_str(view).unwrap(), &out));
    }
}
