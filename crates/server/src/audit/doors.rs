//! What happens at the doors that are not the API's: agents that join or are refused, executors that are refused, people
//! who come back from the identity provider.

use std::net::IpAddr;

use model::{AgentRecord, TenantId, TenantRecord};
use store::audit::DONE;
use wire::Code;
use wire::audit::AuditEntry;

use super::{Audit, Facts};
use crate::ops::Refused;
use crate::visitor::Origin;

/// A name that somebody unknown gives is no longer than this.
const NAME_MAX: usize = 128;

impl Audit {
    pub(crate) async fn agent_joined(&self, agent: &AgentRecord, from: Option<Origin>) {
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
    pub(crate) fn agent_refused(&self, operation: &str, code: Code, named: &str, from: Option<Origin>) {
        let named: String = named.chars().take(NAME_MAX).collect();
        let about = [("agent".to_string(), named)].into();
        let entry = AuditEntry { about, ..self.at_door(operation, code.as_str(), from) };
        self.refused(entry, from.map(|from| from.address));
    }

    pub(crate) fn executor_refused(&self, call: &str, code: Code, of: Option<TenantId>, from: Option<Origin>) {
        let operation = match call {
            "registry" => "xxl_registry",
            "registryRemove" => "xxl_registry_remove",
            "callback" => "xxl_callback",
            // Whatever else is asked for is not repeated.
            _ => "xxl_call",
        };
        let entry = AuditEntry { tenant: of.map(|tenant| tenant.0), ..self.at_door(operation, code.as_str(), from) };
        self.refused(entry, from.map(|from| from.address));
    }

    /// The end of what somebody asked for: nothing of the tenant is left.
    pub(crate) fn tenant_gone(&self, tenant: &TenantRecord) -> AuditEntry {
        let about = [("name".to_string(), tenant.name.clone())].into();
        AuditEntry { by: Some("server".into()), about, ..self.at_door("tenant_gone", DONE, None) }
    }

    pub(crate) async fn came_back(&self, who: Result<&str, &Refused>, from: Option<Origin>) {
        let by = Some("identity provider".into());
        match who {
            Ok(who) => {
                let about = [("name".to_string(), who.to_string())].into();
                let entry = AuditEntry { who: Some(who.into()), by, about, ..self.at_door("session_open", DONE, from) };
                self.record(vec![entry.into()], None).await;
            }
            Err(refused) => {
                let entry = AuditEntry { by, ..self.at_door("session_open", &refused.0.code, from) };
                self.refused(entry, from.map(|from| from.address));
            }
        }
    }

    /// What the identity provider's word has changed of an account, before whoever it is about has come in.
    pub(crate) async fn changed_by_provider(
        &self,
        operation: &str,
        name: &str,
        before: Option<Facts>,
        after: Facts,
        from: IpAddr,
    ) {
        let entry = AuditEntry {
            by: Some("identity provider".into()),
            about: [("name".to_string(), name.to_string())].into(),
            before: before.map(Into::into),
            after: Some(after.into()),
            ..self.at_door(operation, DONE, Some(Origin { address: from, port: None }))
        };
        self.record(vec![entry.into()], None).await;
    }

    fn at_door(&self, operation: &str, outcome: &str, from: Option<Origin>) -> AuditEntry {
        let from = from.map(|from| from.to_string());
        AuditEntry { from, ..AuditEntry::new(self.now().into(), operation, outcome) }
    }
}
