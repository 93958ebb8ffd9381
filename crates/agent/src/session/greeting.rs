//! The agent and the server as such: hello, welcome, heartbeats, and what follows from a server that answers.

use model::{Span, Timestamp};
use wire::link;

use super::{Act, BEAT_EVERY_MIN, Note, Now, Server, Session};

impl Session {
    pub(super) fn hello(&self, now: Now) -> link::Hello {
        let profile = &self.profile;
        link::Hello {
            protocol: link::PROTOCOL,
            version: profile.version.clone(),
            name: profile.name.clone(),
            pools: profile.pools.clone(),
            labels: profile.labels.clone().into_iter().collect(),
            slots: profile.slots,
            rebooted: self.rebooted,
            up_us: (now.steady - self.booted).0.max(1),
            tasks: profile.tasks.clone(),
            policy: profile.policy.clone(),
        }
    }

    pub(super) fn on_welcome(&mut self, from: Server, now: Now, welcome: link::Welcome, out: &mut Vec<Act>) {
        let stream = self.stream_mut(from);
        stream.clock.sample(stream.said_hello, now.steady, Timestamp(welcome.now));
        if welcome.beat_every_ms > 0 {
            stream.beat_every = Span::millis(welcome.beat_every_ms.into()).max(BEAT_EVERY_MIN);
        }
        stream.next_beat = Some(now.steady);
        let heard = stream.said_hello;
        self.hear(from, heard, out);
        if welcome.server != 0 {
            out.push(Act::Identified { at: from, server: welcome.server });
        }
        if welcome.protocol != link::PROTOCOL {
            let (server, version, agent) = (welcome.protocol, welcome.version, link::PROTOCOL);
            out.push(Act::Note(Note::OtherProtocol { server, version, agent }));
        }
    }

    pub(super) fn on_beat_seen(&mut self, from: Server, now: Now, seen: link::BeatSeen, out: &mut Vec<Act>) {
        let sent_at = Timestamp(seen.sent_at);
        let stream = self.stream_mut(from);
        if sent_at < stream.said_hello || sent_at > now.steady {
            return;
        }
        stream.clock.sample(sent_at, now.steady, Timestamp(seen.now));
        self.hear(from, sent_at, out);
    }

    /// The server was there at `at`: leashed tasks of the shards it owns may run on from then.
    fn hear(&mut self, from: Server, at: Timestamp, out: &mut Vec<Act>) {
        let stream = self.stream_mut(from);
        if stream.heard.is_some_and(|heard| heard >= at) {
            return;
        }
        stream.heard = Some(at);
        for (attempt, run) in &mut self.runs {
            if run.leash.is_some() && self.owners.get(&run.shard).is_some_and(|owner| *owner == from) {
                run.lengthen(*attempt, at, out);
            }
        }
    }
}
