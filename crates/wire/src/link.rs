//! The agent protocol, generated from `proto/link.proto`, and its conversions to our nouns.

#[allow(clippy::all, unreachable_pub)]
mod generated {
    tonic::include_proto!("duly.link.v1");
}

pub use generated::*;

/// What this build speaks. A peer with another number is told so and may still talk: fields are only ever added.
pub const PROTOCOL: u32 = 3;
/// From here on a peer knows Greets, TermsStored and Servers.
pub const SEVERAL_SERVERS: u32 = 2;
/// From here on an agent fills in the variables of an order, and hands its secrets to nobody but the task. An older one
/// would start the task without them.
pub const VALUES: u32 = 3;

impl std::fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretValue")
    }
}

impl From<model::Verdict> for Verdict {
    fn from(verdict: model::Verdict) -> Self {
        match verdict {
            model::Verdict::Succeeded => Verdict::Succeeded,
            model::Verdict::Warned => Verdict::Warned,
            model::Verdict::Failed => Verdict::Failed,
            model::Verdict::FailedForGood => Verdict::FailedForGood,
            model::Verdict::TimedOut => Verdict::TimedOut,
            model::Verdict::Stopped => Verdict::Stopped,
            model::Verdict::Lost => Verdict::Lost,
            model::Verdict::Undelivered => Verdict::Undelivered,
            // Agents never say the last; nothing of it goes over this link.
            model::Verdict::Refused | model::Verdict::Discarded => Verdict::Refused,
        }
    }
}

impl From<Verdict> for model::Verdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Succeeded => model::Verdict::Succeeded,
            Verdict::Warned => model::Verdict::Warned,
            // A newer agent may know endings we do not: whatever they are, they are no success.
            Verdict::Failed | Verdict::Unknown => model::Verdict::Failed,
            Verdict::FailedForGood => model::Verdict::FailedForGood,
            Verdict::TimedOut => model::Verdict::TimedOut,
            Verdict::Stopped => model::Verdict::Stopped,
            Verdict::Lost => model::Verdict::Lost,
            Verdict::Undelivered => model::Verdict::Undelivered,
            Verdict::Refused => model::Verdict::Refused,
        }
    }
}

impl From<model::Report> for Report {
    fn from(report: model::Report) -> Self {
        let body = match report.kind {
            model::ReportKind::Started { at } => report::Body::Started(Started { at: at.0 }),
            model::ReportKind::Ended(outcome) => report::Body::Ended((*outcome).into()),
        };
        Report { attempt: report.attempt.0, seq: report.seq, shard: 0, body: Some(body) }
    }
}

impl From<model::Outcome> for Ended {
    fn from(outcome: model::Outcome) -> Self {
        Ended {
            verdict: Verdict::from(outcome.verdict).into(),
            exit_code: outcome.exit_code,
            message: outcome.message,
            outputs: outcome.outputs,
            started_at: outcome.started_at.map(|t| t.0),
            ended_at: outcome.ended_at.0,
            cpu_us: outcome.usage.cpu_us,
            peak_kb: outcome.usage.peak_kb,
            log_bytes: outcome.usage.log_bytes,
        }
    }
}

impl From<Ended> for model::Outcome {
    fn from(ended: Ended) -> Self {
        model::Outcome {
            verdict: ended.verdict().into(),
            exit_code: ended.exit_code,
            started_at: ended.started_at.map(model::Timestamp),
            ended_at: model::Timestamp(ended.ended_at),
            usage: model::Usage { cpu_us: ended.cpu_us, peak_kb: ended.peak_kb, log_bytes: ended.log_bytes },
            message: ended.message,
            outputs: ended.outputs,
        }
    }
}

/// None: a report of a kind this build does not know, which cannot be acted on.
impl From<Report> for Option<model::Report> {
    fn from(report: Report) -> Self {
        let kind = match report.body? {
            report::Body::Started(started) => model::ReportKind::Started { at: model::Timestamp(started.at) },
            report::Body::Ended(ended) => model::ReportKind::Ended(Box::new(ended.into())),
        };
        Some(model::Report { attempt: model::AttemptId(report.attempt), seq: report.seq, kind })
    }
}
