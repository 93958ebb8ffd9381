//! Whether an answer is what the job expects.

use std::ops::RangeInclusive;

use model::{Outcome, Timestamp, Usage, Verdict};

use super::Answer;

pub(super) struct Statuses(Vec<RangeInclusive<u16>>);

impl Statuses {
    /// Numbers or ranges; the two hundreds if there are none.
    pub(super) fn parse(texts: &[String]) -> Result<Statuses, String> {
        if texts.is_empty() {
            return Ok(Statuses(vec![200..=299]));
        }
        texts.iter().map(|text| range(text)).collect::<Result<_, _>>().map(Statuses)
    }

    fn contain(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }
}

fn range(text: &str) -> Result<RangeInclusive<u16>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let ends = first.trim().parse::<u16>().ok().zip(last.trim().parse::<u16>().ok());
    match ends.filter(|(first, last)| first <= last) {
        Some((first, last)) => Ok(first..=last),
        None => Err(format!("{text:?} is no status and no range like 200-299")),
    }
}

pub(super) fn judge(answer: &Answer, expected: &Statuses, text: Option<&str>, now: Timestamp) -> Outcome {
    let problem = if !expected.contain(answer.status.as_u16()) {
        Some(format!("answered {}", answer.status))
    } else {
        text.filter(|text| !contains(&answer.body, text)).map(|text| format!("the answer does not contain {text:?}"))
    };
    Outcome {
        verdict: if problem.is_some() { Verdict::Failed } else { Verdict::Succeeded },
        exit_code: Some(answer.status.as_u16().into()),
        message: problem,
        outputs: None,
        started_at: None,
        ended_at: now,
        usage: Usage::default(),
    }
}

fn contains(body: &[u8], text: &str) -> bool {
    text.is_empty() || body.windows(text.len()).any(|window| window == text.as_bytes())
}
