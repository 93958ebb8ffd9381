//! What happens at the doors that are not the API's: agents that join or are refused, executors that are refused, people
//! who come back from the identity provider.

use std::net::SocketAddr;

use model::AgentRecord;
use store::audit::DONE;
use wire::Code;
use wire::audit::AuditEntry;

use super::{Audit, Facts};
use crate::ops::Refused;

/// A name that somebody unknown gives is no longer than this.
const NAME_MAX: usize = 128;

impl Audit {
    pub(crate) async fn agent_joined(&self, agent: &AgentRecord, from: Option<SocketAddr>) {
        let entry = AuditEntry {
            by: Some("join token".into()),
            tenant: Some(agent.tenant.0),
            about: [("agent".to_string(), agent.id.to_string())].into(),
            after: Some(Facts::new().put("name", &agent.name).put("pools", &agent.pools).into()),
            ..self.at_door("agent_join", DONE, from)
        };
        self.record(vec![entry.into()], None).await;
    }

    /// `named` is what it says of itself, which nobody has checked.
    pub(crate) fn agent_refused(&self, operation: &str, code: Code, named: &str, from: Option<SocketAddr>) {
        let named: String = named.chars().take(NAME_MAX).collect();
        let about = [("agent".to_string(), named)].into();
        let entry = AuditEntry { about, ..self.at_door(operation, code.as_str(), from) };
        self.refused(entry, from.map(|from| from.ip()));
    }

    pub(crate) fn executor_refused(&self, call: &str, code: Code, from: Option<SocketAddr>) {
        let operation = match call {
            "registry" => "xxl_registry",
            "registryRemove" => "xxl_registry_remove",
            "callback" => "xxl_callback",
            // Whatever else is asked for is not repeated.
            _ => "xxl_call",
        };
        self.refused(self.at_door(operation, code.as_str(), from), from.map(|from| from.ip()));
    }

    pub(crate) async fn came_back(&self, who: Result<&str, &Refused>, from: Option<SocketAddr>) {
        let by = Some("identity provider".into());
        match who {
            Ok(who) => {
                let about = [("name".to_string(), who.to_string())].into();
                let entry = AuditEntry { who: Some(who.into()), by, about, ..self.at_door("session_open", DONE, from) };
                self.record(vec![entry.into()], None).await;
            }
            Err(refused) => {
                let entry = AuditEntry { by, ..self.at_door("session_open", &refused.0.code, from) };
                self.refused(entry, from.map(|from| from.ip()));
            }
        }
    }

    fn at_door(&self, operation: &str, outcome: &str, from: Option<SocketAddr>) -> AuditEntry {
        let from = from.map(|from| from.to_string());
        AuditEntry { from, ..AuditEntry::new(self.now().into(), operation, outcome) }
    }
}
