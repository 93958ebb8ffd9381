//! What a run is called with, and what its answer means. Pure: bytes in, meaning out.

use std::time::Duration;

use engine::Order;
use model::{Overlap, Verdict};
use sha2::{Digest, Sha256};
use wire::task::{Block, ExecutorTask, Glue};
use wire::xxl::{Answer, GlueType, Run};

use super::connection::CallError;
use super::http::Response;

/// How long an executor may take to say that it has a run.
pub(super) const TAKEN_WITHIN: Duration = Duration::from_secs(10);

/// Between two tries of a run that was refused because its job seemed to run.
pub(super) const STILL_BUSY: [Duration; 4] =
    [Duration::from_millis(5), Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(300)];

/// What became of a run that was sent, or was to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Taken,
    /// It has ended before it began, and the executor said so.
    Over(Verdict, String),
    /// It knows the call by its other name.
    OtherName,
    /// It never got there.
    NotSent {
        refused: bool,
        why: String,
    },
    /// Nobody knows.
    Unanswered(String),
}

pub(super) fn fate(called: Result<Response, CallError>) -> Fate {
    let response = match called {
        Ok(response) => response,
        Err(CallError::NotSent { refused, why }) => return Fate::NotSent { refused, why },
        Err(CallError::Unanswered(why)) => return Fate::Unanswered(why),
    };
    if response.status == 404 {
        return Fate::OtherName;
    }
    let answer = match Answer::read(&response.body) {
        Ok(answer) => answer,
        Err(_) if response.status != 200 => {
            let text = String::from_utf8_lossy(&response.body[..response.body.len().min(300)]).into_owned();
            return Fate::Over(Verdict::Refused, format!("the executor answered HTTP {}: {text}", response.status));
        }
        // It said 200 and nobody understands the rest: it may well run.
        Err(error) => return Fate::Unanswered(error.to_string()),
    };
    if answer.is_success() && response.status == 200 {
        return Fate::Taken;
    }
    let text = &answer.message;
    if answer.knows_no_such_call() {
        Fate::OtherName
    } else if text.contains("block strategy effect") && text.contains("Discard") {
        Fate::Over(Verdict::Discarded, text.clone())
    } else if text.contains("trigger job, logId") {
        // It has this very run in its queue.
        Fate::Taken
    } else if response.status == 200 {
        Fate::Over(Verdict::Refused, text.clone())
    } else {
        Fate::Over(Verdict::Refused, format!("the executor answered HTTP {}: {text}", response.status))
    }
}

/// Whether a run was refused because the executor takes an earlier one of the job for running. Some free a job only when
/// they have read that its result was taken, which may be after the next run has come: a moment later they take it.
pub(super) fn is_still_busy(fate: &Fate, overlap: Overlap) -> bool {
    let ours_to_serialise = !matches!(overlap, Overlap::Allow { .. });
    match fate {
        Fate::Over(Verdict::Refused, text) => ours_to_serialise && text.contains("running"),
        Fate::Over(..) | Fate::Taken | Fate::OtherName | Fate::NotSent { .. } | Fate::Unanswered(_) => false,
    }
}

/// The call for one order. `params` is what was given for this instance alone.
pub(super) fn run(order: &Order, task: &ExecutorTask, params: String) -> Run {
    Run {
        job_id: order.alias,
        executor_handler: task.handler.clone(),
        executor_params: params,
        executor_block_strategy: strategy(task.block, order.overlap),
        executor_timeout: order.timeout.map_or(0, |timeout| (timeout.0 + 999_999) / 1_000_000),
        log_id: order.attempt.0,
        log_date_time: log_date(order.dated),
        glue_type: task.glue.map_or(GlueType::Bean, glue_type),
        glue_source: task.source.clone(),
        glue_updatetime: task.glue.map_or(0, |_| mark(&task.source)),
        broadcast_index: order.part.index().unwrap_or(0),
        broadcast_total: order.part.total.max(1),
    }
}

/// The very number that `/log` must name again.
pub(super) fn log_date(dated: model::Timestamp) -> i64 {
    dated.0.div_euclid(1_000)
}

/// Overlap is judged here over all executors; what one of them does by itself matters only where we let it.
fn strategy(block: Option<Block>, overlap: Overlap) -> &'static str {
    let block = block.unwrap_or(match overlap {
        Overlap::Allow { .. } | Overlap::Queue { .. } => Block::Serial,
        Overlap::Skip => Block::DiscardLater,
        Overlap::Replace => Block::CoverEarly,
    });
    match block {
        Block::Serial => "SERIAL_EXECUTION",
        Block::DiscardLater => "DISCARD_LATER",
        Block::CoverEarly => "COVER_EARLY",
    }
}

fn glue_type(glue: Glue) -> GlueType {
    match glue {
        Glue::Groovy => GlueType::Groovy,
        Glue::Shell => GlueType::Shell,
        Glue::Python => GlueType::Python,
        Glue::Python2 => GlueType::Python2,
        Glue::Node => GlueType::Node,
        Glue::Php => GlueType::Php,
        Glue::Powershell => GlueType::PowerShell,
    }
}

/// Executors replace a script, and end what still runs of it, when this number changes: so it changes with the script and
/// with nothing else. Small enough for those who read numbers as floats.
fn mark(source: &str) -> i64 {
    let digest = Sha256::digest(source.as_bytes());
    let bytes = <[u8; 8]>::try_from(&digest[..8]).expect("a digest has more than eight bytes");
    (u64::from_be_bytes(bytes) >> 12) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(status: u16, body: &str) -> Fate {
        fate(Ok(Response { status, body: body.as_bytes().to_vec(), keep: true, kind: String::new() }))
    }

    #[test]
    fn answers_mean_what_their_sdk_meant() {
        assert_eq!(says(200, r#"{"code":200}"#), Fate::Taken);
        assert_eq!(says(200, r#"{"code":500,"msg":"repeate trigger job, logId:7"}"#), Fate::Taken);
        let refused = |text: &str| Fate::Over(Verdict::Refused, text.into());
        assert_eq!(
            says(200, r#"{"code":500,"msg":"job handler [x] not found."}"#),
            refused("job handler [x] not found.")
        );
        assert_eq!(
            says(200, r#"[{"handleCode":500,"handleMsg":"There are tasks running"}]"#),
            refused("There are tasks running")
        );
        assert_eq!(says(500, "<html>"), refused("the executor answered HTTP 500: <html>"));
        let discarded = "block strategy effect：Discard Later";
        assert_eq!(
            says(200, &format!(r#"{{"code":500,"msg":"{discarded}"}}"#)),
            Fate::Over(Verdict::Discarded, discarded.into())
        );
        assert_eq!(says(404, "not found"), Fate::OtherName);
        assert_eq!(says(200, r#"{"code":500,"msg":"invalid request, uri-mapping(/run) not found."}"#), Fate::OtherName);
    }

    #[test]
    fn who_seems_to_run_the_job_still_is_tried_again_unless_it_may() {
        let refused = says(200, r#"{"code":500,"msg":"There is already have a same job is running."}"#);
        assert!(is_still_busy(&refused, Overlap::Skip));
        assert!(!is_still_busy(&refused, Overlap::Allow { max: None }));
        assert!(!is_still_busy(&says(200, r#"{"code":500,"msg":"job handler [x] not found."}"#), Overlap::Skip));
    }

    #[test]
    fn what_nobody_understands_is_in_doubt() {
        assert!(matches!(says(200, "<html>welcome"), Fate::Unanswered(_)));
        let cut = fate(Err(CallError::Unanswered("it hung up".into())));
        assert_eq!(cut, Fate::Unanswered("it hung up".into()));
    }

    #[test]
    fn a_script_is_replaced_only_when_it_changed() {
        assert_eq!(mark("echo 1"), mark("echo 1"));
        assert_ne!(mark("echo 1"), mark("echo 2"));
        assert!(mark("echo 1") < 1 << 53);
    }

    #[test]
    fn an_executor_is_told_what_its_job_says_of_overlap() {
        let queue = Overlap::Queue { max: 9 };
        assert_eq!(strategy(None, queue), "SERIAL_EXECUTION");
        assert_eq!(strategy(None, Overlap::Skip), "DISCARD_LATER");
        assert_eq!(strategy(None, Overlap::Replace), "COVER_EARLY");
        assert_eq!(strategy(Some(Block::CoverEarly), Overlap::Allow { max: None }), "COVER_EARLY");
    }
}
