//! Orders and stops: what is started, what is answered without starting, and why.

use model::{Outcome, Span, Timestamp, Usage, Verdict};
use wire::link;
use wire::task::TaskKind;

use super::tasks::Known;
use super::waiting::WAITING_MAX;
use super::{Act, Graves, Kept, Leash, Note, Now, Run, Server, Session, StartOrder, Task, Told, beats_on};

/// An attempt stopped before it came is remembered for this long.
const STOP_REMEMBERED: Span = Span::HOUR;

/// An order that is answered without being started.
struct Refusal {
    verdict: Verdict,
    why: &'static str,
}

const fn undelivered(why: &'static str) -> Refusal {
    Refusal { verdict: Verdict::Undelivered, why }
}

impl Session {
    pub(super) fn on_orders(&mut self, from: Server, now: Now, orders: Vec<link::Order>, out: &mut Vec<Act>) {
        for order in orders {
            self.on_order(from, now, order, out);
        }
    }

    fn on_order(&mut self, from: Server, now: Now, order: link::Order, out: &mut Vec<Act>) {
        let (attempt, shard) = (order.attempt, order.shard);
        // Whoever orders under an old term hears nothing, and nothing is remembered: the owner of now may order this attempt
        // under the same number, and it must start then.
        if !self.admit(from, shard, order.term, out) {
            let why = "it was ordered by a server that no longer owns its shard";
            return out.push(Act::Note(Note::NotStarted { attempt, why }));
        }
        if self.runs.contains_key(&attempt) {
            return;
        }
        if self.graves.contains(attempt) {
            return self.on_repeat(now, &order);
        }
        let server_now = self.stream_mut(from).clock.latest(now.steady);
        let until = Graves::until(Timestamp(order.start_by), server_now.unwrap_or(Timestamp(order.start_by)));
        match self.judge(from, &order, server_now, out) {
            Ok(Some(start)) => {
                let heard = self.stream_mut(from).heard;
                let leash = order.leash_us.map(Span);
                if let Some(span) = leash {
                    let soon = now.steady + beats_on(span);
                    let beats = self.streams.values_mut().filter_map(|stream| stream.next_beat.as_mut());
                    beats.for_each(|next| *next = soon.min(*next));
                }
                let leash = leash.map(|span| Leash { span, until: heard.map(|heard| heard + span) });
                let run = Run { shard, until, leash, begun: false, started_at: None, told: Told::Nothing };
                self.runs.insert(attempt, run);
                self.waiting.push_back(Box::new(StartOrder { order, task: start, leash_until: None, until }));
                self.start_waiting(now, out);
            }
            Ok(None) => self.end(attempt, shard, until, ended_at_once(now.wall), Kept::Journal),
            Err(Refusal { verdict, why }) => {
                out.push(Act::Note(Note::NotStarted { attempt, why }));
                let kept = if self.full { Kept::Nowhere } else { Kept::Journal };
                self.end(attempt, shard, until, Outcome::of(verdict, why, now.wall), kept);
            }
        }
    }

    /// The task to start; none if there is nothing to run.
    fn judge(
        &mut self,
        from: Server,
        order: &link::Order,
        server_now: Option<Timestamp>,
        out: &mut Vec<Act>,
    ) -> Result<Option<std::sync::Arc<Task>>, Refusal> {
        if server_now.is_none_or(|server_now| server_now.0 > order.start_by) {
            return Err(undelivered("it arrived too late to be started"));
        }
        if self.full {
            return Err(undelivered("the agent has no room to keep another result"));
        }
        let task = match self.stream_mut(from).tasks.of(order.version) {
            Known::Task(task) => task,
            Known::Unreadable(first) => {
                let version = order.version;
                out.extend(first.map(|error| Act::Note(Note::UnreadableTask { version, error })));
                let why = "this version of the agent cannot read the task";
                return Err(Refusal { verdict: Verdict::Refused, why });
            }
            Known::Nothing => return Err(undelivered("it came without its task")),
        };
        if task.body.kind == TaskKind::Noop {
            return Ok(None);
        }
        if self.waiting.len() >= WAITING_MAX {
            return Err(undelivered("all slots of the agent are in use, and as many orders wait for one as it keeps"));
        }
        Ok(Some(task))
    }

    /// It has ended here before. Whoever asks again has not got the ending, or has lost it.
    fn on_repeat(&mut self, now: Now, order: &link::Order) {
        let attempt = order.attempt;
        if !self.outbox.push_again(attempt) {
            let why = "it had ended here and its result was acknowledged and dropped";
            let outcome = Outcome::of(Verdict::Lost, why, now.wall);
            self.end(attempt, order.shard, Timestamp(order.start_by), outcome, Kept::Nowhere);
        }
    }

    pub(super) fn on_stop(&mut self, from: Server, now: Now, stop: link::Stop, out: &mut Vec<Act>) {
        if self.stop_waiting(now, &stop) {
            return;
        }
        let link::Stop { attempt, by, grace_us, shard } = stop;
        if self.runs.contains_key(&attempt) {
            return out.push(Act::Stop { attempt, by, grace: Span(grace_us) });
        }
        if self.outbox.push_again(attempt) {
            return;
        }
        let server_now = self.stream_mut(from).clock.latest(now.steady).unwrap_or(now.wall);
        let message = format!("stopped by {by} before it reached the agent");
        let outcome = Outcome::of(Verdict::Stopped, message, now.wall);
        self.end(attempt, shard, server_now + STOP_REMEMBERED, outcome, Kept::Journal);
    }
}

fn ended_at_once(at: Timestamp) -> Outcome {
    Outcome {
        verdict: Verdict::Succeeded,
        exit_code: Some(0),
        message: None,
        outputs: None,
        started_at: Some(at),
        ended_at: at,
        usage: Usage::default(),
    }
}
