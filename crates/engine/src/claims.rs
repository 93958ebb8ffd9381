//! Claims: what the store may refuse. Asked in one step; what depends on the answer is decided in the step that
//! gets it, so memory is never ahead on something the store may deny.

use model::{Actor, InstanceId, JobId, Timestamp, shard_of};

use crate::change::{Change, Claim, ClaimAnswer, ClaimName};
use crate::effect::{Decisions, Refusal, Reply};
use crate::input::{Caller, JobDraft, Triggering};
use crate::shard::Shard;

/// A command that waits for a claim.
#[derive(Clone, Debug)]
pub(crate) enum Waiting {
    NewJob { caller: Caller, by: Actor, draft: Box<JobDraft> },
    Trigger { caller: Caller, by: Actor, asked: Triggering },
}

impl Shard {
    pub(crate) fn claim(
        &mut self,
        name: ClaimName,
        holder: i64,
        waiting: Waiting,
        now: Timestamp,
        out: &mut Decisions,
    ) {
        self.claiming.entry(name.clone()).or_default().push_back(waiting);
        out.claims.push(Claim { name, holder, at: now });
    }

    pub(crate) fn claim_answered(&mut self, answer: ClaimAnswer, now: Timestamp, out: &mut Decisions) {
        // Claims of one name are answered in the order they were asked.
        let Some(line) = self.claiming.get_mut(&answer.name) else { return };
        let waiting = line.pop_front();
        if line.is_empty() {
            self.claiming.remove(&answer.name);
        }
        match waiting {
            Some(Waiting::NewJob { caller, by, draft }) => {
                let holder = JobId(answer.holder);
                // A holder of ours that does not exist was promised the name just before a crash: the promise passes
                // on. Of another shard's we cannot know.
                let ours = self.shards == 1 || shard_of(holder, self.shards) == self.id;
                let reply = if answer.granted() || (ours && !self.jobs.contains_key(&holder)) {
                    Ok(self.make_job(holder, *draft, by, now, out))
                } else {
                    Err(Refusal::NameTaken { name: draft.name, by: holder })
                };
                out.reply(caller, reply);
            }
            Some(Waiting::Trigger { caller, by, asked }) => {
                let number = InstanceId(answer.holder);
                let reply = if answer.granted() {
                    let made = self.trigger_granted(by, &asked, Some(number), now, out);
                    // What was refused may be asked for again under the same key.
                    if made.is_err() {
                        out.change(Change::Released { claim: answer.name });
                    }
                    made
                } else {
                    let planned = self.open.get(&number).map(|open| open.planned);
                    Ok(Reply::Repeated { id: number, planned })
                };
                out.reply(caller, reply);
            }
            None => {}
        }
    }
}
