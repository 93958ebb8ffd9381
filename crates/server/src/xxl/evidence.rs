//! What the signs say about an attempt that an executor had and does not talk about. Pure: signs in, a conclusion out.
//! Nothing is concluded from silence.

use model::{Span, Timestamp};

/// What is known of an attempt when it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signs {
    pub now: Timestamp,
    pub ordered_at: Timestamp,
    pub taken_at: Option<Timestamp>,
    /// The executor once said that it has it.
    pub taken: bool,
    /// What it says of the job now; none if it did not answer.
    pub idle: Option<bool>,
    /// Its word for idle is worth something.
    pub honest: bool,
    /// It said idle for long about a run that it then told the result of: its word is worth nothing.
    pub liar: bool,
    /// It has no log of the attempt; none if it was never seen to keep any, or did not say.
    pub logless: Option<bool>,
    /// Since when it has said idle, whenever asked.
    pub idle_since: Option<Timestamp>,
    /// Nobody listened at its address for a while: another process since.
    pub restart: Option<Restart>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Restart {
    /// Nobody listened at this time: whatever was taken before it, another process had.
    pub gone: Timestamp,
    /// Somebody does since.
    pub back: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conclusion {
    Wait,
    /// It may be gone: a person should know, and it does not count as running for ever.
    Doubt,
    /// It never got there, so it may be sent.
    NeverCame,
    /// It was there, is not any more, and how it ended will not be told.
    Gone,
    Restarted,
}

/// What was sent by a process that is gone since may take a moment to arrive.
const ARRIVES_WITHIN: Span = Span::secs(5);

pub(super) fn conclude(signs: Signs, guard: Span) -> Conclusion {
    let guard_over = |since: Timestamp| signs.now - since >= guard;
    let had = signs.taken_at.unwrap_or(signs.ordered_at);
    if let Some(restart) = signs.restart.filter(|restart| had < restart.gone) {
        return if guard_over(restart.back) { Conclusion::Restarted } else { Conclusion::Wait };
    }
    if signs.idle != Some(true) {
        return Conclusion::Wait;
    }
    // One SDK finds no log of anything and calls itself idle while it works.
    let arrived = signs.now - signs.ordered_at >= ARRIVES_WITHIN.min(guard);
    if signs.honest && !signs.taken && signs.logless == Some(true) && arrived {
        return Conclusion::NeverCame;
    }
    match signs.idle_since {
        Some(since) if guard_over(since) && signs.honest => Conclusion::Gone,
        Some(since) if guard_over(since) && signs.taken && !signs.liar => Conclusion::Doubt,
        Some(_) | None => Conclusion::Wait,
    }
}

/// Whether this is how Java's executor answers: it alone calls its JSON a page. It is known to say busy while it runs or
/// queues a job, and to open a run's log before it runs it.
pub(super) fn is_java(kind: &str) -> bool {
    kind.starts_with("text/html")
}

/// Whether a page of log is an executor's way to say that there is none.
pub(super) fn says_no_log(text: &str) -> bool {
    text.contains("logFile not exists")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUARD: Span = Span::secs(45);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_secs(1_000 + seconds)
    }

    fn signs() -> Signs {
        Signs {
            now: at(60),
            ordered_at: at(0),
            taken_at: None,
            taken: true,
            idle: Some(true),
            honest: true,
            liar: false,
            logless: None,
            idle_since: Some(at(10)),
            restart: None,
        }
    }

    fn judge(change: impl Fn(&mut Signs)) -> Conclusion {
        let mut signs = signs();
        change(&mut signs);
        conclude(signs, GUARD)
    }

    #[test]
    fn idle_for_long_enough_is_gone_if_its_word_is_worth_something() {
        assert_eq!(judge(|_| {}), Conclusion::Gone);
        assert_eq!(judge(|s| s.idle_since = Some(at(20))), Conclusion::Wait, "a result may be under way");
        assert_eq!(judge(|s| s.honest = false), Conclusion::Doubt, "it may always say so");
        assert_eq!(judge(|s| (s.honest, s.liar) = (false, true)), Conclusion::Wait, "it is known always to say so");
        assert_eq!(judge(|s| (s.honest, s.idle_since) = (false, Some(at(20)))), Conclusion::Wait);
        assert_eq!(judge(|s| s.idle = Some(false)), Conclusion::Wait);
        assert_eq!(judge(|s| s.idle = None), Conclusion::Wait, "silence is no sign");
    }

    #[test]
    fn what_it_has_no_log_of_and_never_took_can_be_sent() {
        let unread = |s: &mut Signs| {
            s.taken = false;
            s.logless = Some(true);
        };
        assert_eq!(judge(unread), Conclusion::NeverCame);
        let strange = |s: &mut Signs| {
            unread(s);
            s.honest = false;
        };
        assert_eq!(judge(strange), Conclusion::Wait, "it says idle whatever it does");
        let soon = |s: &mut Signs| {
            unread(s);
            (s.now, s.idle_since) = (at(3), Some(at(2)));
        };
        assert_eq!(judge(soon), Conclusion::Wait, "it may still arrive");
        let busy = |s: &mut Signs| {
            unread(s);
            s.idle = Some(false);
        };
        assert_eq!(judge(busy), Conclusion::Wait, "it may be in its queue, where it has no log yet");
        let logged = |s: &mut Signs| {
            unread(s);
            (s.logless, s.idle_since) = (Some(false), Some(at(20)));
        };
        assert_eq!(judge(logged), Conclusion::Wait);
    }

    #[test]
    fn a_restarted_executor_has_lost_what_the_earlier_one_ran() {
        let away = |gone: i64, back: i64| {
            let restart = Some(Restart { gone: at(gone), back: at(back) });
            move |s: &mut Signs| (s.restart, s.idle) = (restart, None)
        };
        assert_eq!(judge(away(5, 10)), Conclusion::Restarted);
        assert_eq!(judge(away(5, 30)), Conclusion::Wait, "what it kept on disk may still be told");
        assert_eq!(judge(away(-5, 10)), Conclusion::Wait, "it was ordered after that");
        let late = |s: &mut Signs| {
            away(5, 10)(s);
            s.taken_at = Some(at(6));
        };
        assert_eq!(judge(late), Conclusion::Wait, "it waited in line, and the new one took it");
    }
}
