//! Why something waits, runs or ended as it did: what is open is asked of the shard, what has ended of its row.

use engine::input::Subject;
use engine::{Command, Reply, WhyReply};
use model::{Actor, AgentId, InstanceId, JobRecord, Why};
use wire::api::{InstanceView, ReasonView, StateWord, UncertainView, WhyView};

use super::{Desk, Done, Sight, instances, jobs};

impl Desk {
    pub(crate) async fn why_job(&self, sight: &Sight, name: &str) -> Done<WhyView> {
        let job = self.job(sight, name).await?;
        let reply = self.ask_why(Subject::Job(job.id)).await?;
        let mut reasons: Vec<ReasonView> = reply.why.iter().map(|why| self.reason(why)).collect();
        reasons.extend(self.lost_leader(&job).await?);
        let next = reply.next.map(Into::into);
        let mut view = WhyView { job: job.name, instance: None, state: None, reasons, next };
        if view.reasons.is_empty() {
            let text = "it has no planned time ahead and nothing of it is open; it runs when it is triggered";
            view.reasons.push(ReasonView { kind: "idle".into(), text: text.into() });
        }
        Ok(view)
    }

    /// Says so if the job it follows was deleted.
    async fn lost_leader(&self, job: &JobRecord) -> Done<Option<ReasonView>> {
        let rule = job.rule;
        let lost = self.read(move |reads, by| {
            for follow in &jobs::compiled(reads, rule, by)?.rule.trigger.follows {
                if reads.job(follow.job, by)?.is_none() {
                    return instances::job_name(reads, follow.job, by).map(Some);
                }
            }
            Ok(None)
        });
        let gone = |name: String| ReasonView {
            kind: "leader_gone".into(),
            text: format!(
                "it follows {name}, which was deleted and starts it no more; apply it again to follow another job"
            ),
        };
        Ok(lost.await?.map(gone))
    }

    pub(crate) async fn why_instance(&self, sight: &Sight, id: InstanceId) -> Done<WhyView> {
        let shown = self.show_instance(sight, id).await?;
        if shown.state.is_open()
            && let Ok(reply) = self.ask_why(Subject::Instance(id)).await
        {
            let mut reasons = Vec::new();
            for why in reply.why {
                reasons.push(self.reason(&self.complete(id, why).await));
            }
            return Ok(WhyView {
                job: shown.job,
                instance: Some(id.0),
                state: Some(reply.state.map_or(shown.state, StateWord::from)),
                reasons,
                next: reply.next.map(Into::into),
            });
        }
        // It may have ended while we asked.
        let shown = if shown.state.is_open() { self.show_instance(sight, id).await? } else { shown };
        let reasons = vec![ended(&shown)];
        Ok(WhyView { job: shown.job, instance: Some(id.0), state: Some(shown.state), reasons, next: None })
    }

    /// What memory knows of an open instance and its row does not say yet.
    pub(super) async fn add_what_is_known_now(&self, shown: &mut InstanceView) {
        let Ok(reply) = self.ask_why(Subject::Instance(InstanceId(shown.id))).await else { return };
        if let Some(state) = reply.state {
            shown.state = state.into();
        }
        let Some(first) = reply.why.first() else { return };
        shown.why = Some(self.reason(first).text);
        for why in &reply.why {
            match why {
                Why::Running { agent, since } => {
                    shown.started_at.get_or_insert((*since).into());
                    self.name_agent(shown, *agent);
                }
                Why::Ordered { agent, at } => {
                    shown.ordered_at.get_or_insert((*at).into());
                    self.name_agent(shown, *agent);
                }
                Why::Uncertain { since, why, .. } if shown.uncertain.is_none() => {
                    shown.uncertain = Some(UncertainView { since: (*since).into(), why: why.clone() });
                }
                _ => {}
            }
        }
    }

    async fn ask_why(&self, subject: Subject) -> Done<WhyReply> {
        match self.shards.ask(Actor::system(), Command::Why { subject }).await? {
            Reply::Why(reply) => Ok(reply),
            other => Err(wire::Problem::new(wire::Code::Internal, format!("an unexpected reply: {other:?}")).into()),
        }
    }

    fn name_agent(&self, shown: &mut InstanceView, agent: AgentId) {
        shown.agent_id = Some(agent.0);
        shown.agent = self.anybody(agent).map(|record| record.name.clone()).or(shown.agent.take());
    }

    /// People know agents by name.
    fn reason(&self, why: &Why) -> ReasonView {
        let mut view = ReasonView::from(why);
        view.text = instances::name_agents(&view.text, &self.agent_names());
        view
    }
}

fn ended(shown: &InstanceView) -> ReasonView {
    let mut text = match shown.state {
        StateWord::Succeeded => "it ended well".to_owned(),
        StateWord::Warned => "it ended with a warning".to_owned(),
        StateWord::Failed => "it failed".to_owned(),
        StateWord::Dead => "it failed, its retries are used up, and it waits for a person to replay it".to_owned(),
        StateWord::Skipped => "it was skipped".to_owned(),
        StateWord::Stopped => "it was stopped".to_owned(),
        StateWord::Forced => "a person declared it over".to_owned(),
        open => format!("it is {open}"),
    };
    if let Some(reason) = &shown.reason {
        text.push_str(&format!(" ({reason})"));
    }
    if let Some(code) = shown.exit_code.filter(|code| *code != 0) {
        text.push_str(&format!(", exit code {code}"));
    }
    for more in [&shown.why, &shown.message].into_iter().flatten() {
        text.push_str(&format!("; {more}"));
    }
    ReasonView { kind: shown.reason.clone().unwrap_or_else(|| shown.state.to_string()), text }
}
