//! Deleting a tenant, in two steps: the first says what would go and gives a word, the second needs that word. What
//! follows is done by `closing`, and goes on after a crash.

use model::{Actor, Span, TenantId, TenantRecord, TenantState, Timestamp};
use wire::api::{TenantDeleteQuery, TenantDeletionView};
use wire::{Code, Problem};

use super::tenants::facts;
use super::{Desk, Done};
use crate::audit::{self, Facts};
use crate::secret;

const CONFIRM_WITHIN: Span = Span::MINUTE.saturating_mul(10);

impl Desk {
    pub(crate) async fn delete_tenant(
        &self,
        name: &str,
        query: TenantDeleteQuery,
        by: Actor,
    ) -> Done<TenantDeletionView> {
        let tenant = self.tenant_named(name)?;
        if tenant.id == TenantId::DEFAULT {
            return Err(Problem::new(Code::TenantKept, "the tenant every installation has stays").into());
        }
        if tenant.is_closing() {
            return self.deletion(&tenant, None).await;
        }
        if !self.is_exported(&tenant).await? {
            let detail = match &tenant.exported {
                None => format!("tenant {name} was never exported"),
                Some(_) => format!("tenant {name} has changed since it was exported"),
            };
            return Err(Problem::new(Code::NotExported, detail).into());
        }
        match query.confirm {
            None => {
                let word = self.promise(tenant.id).await?;
                audit::after(Facts::new().put("asked_only", true));
                self.deletion(&tenant, Some(word)).await
            }
            Some(word) => {
                self.keep_promise(tenant.id, &word).await?;
                audit::before(facts(&tenant));
                self.note_closing(tenant.id, query.stop.unwrap_or(false)).await?;
                let closing = TenantRecord { state: TenantState::Closing, ..tenant };
                self.put_tenant(closing.clone(), by).await?;
                self.close_soon.notify_one();
                self.deletion(&closing, None).await
            }
        }
    }

    async fn deletion(&self, tenant: &TenantRecord, promised: Option<(String, Timestamp)>) -> Done<TenantDeletionView> {
        let usage = self.usage(tenant.id).await?;
        let (confirm, confirm_by) = promised.map(|(word, by)| (word, by.into())).unzip();
        Ok(TenantDeletionView {
            name: tenant.name.clone(),
            state: tenant.state.into(),
            jobs: usage.jobs,
            pools: usage.pools,
            agents: usage.agents,
            open: usage.open,
            confirm,
            confirm_by,
        })
    }

    /// A word that works once and not for long; only its hash is kept.
    async fn promise(&self, tenant: TenantId) -> Done<(String, Timestamp)> {
        let (word, by) = (secret::make("delete"), self.clock.now() + CONFIRM_WITHIN);
        let kept = format!("{} {}", by.0, fingerprint(&word));
        self.access.run(move |access| access.put_setting(&promise_key(tenant), Some(kept.as_str()))).await?;
        Ok((word, by))
    }

    async fn keep_promise(&self, tenant: TenantId, word: &str) -> Done<()> {
        let kept = self.access.run(move |access| access.setting(&promise_key(tenant))).await?;
        let now = self.clock.now();
        let holds = kept
            .as_deref()
            .and_then(|kept| kept.split_once(' '))
            .is_some_and(|(by, hash)| by.parse().is_ok_and(|by| now <= Timestamp(by)) && hash == fingerprint(word));
        if !holds {
            let detail = "the word is not the one that was given, was used, or is too old";
            return Err(Problem::new(Code::NotConfirmed, detail).into());
        }
        self.access.run(move |access| access.put_setting(&promise_key(tenant), None)).await?;
        Ok(())
    }

    /// Whether runs are stopped or waited for must outlive this server.
    async fn note_closing(&self, tenant: TenantId, stop: bool) -> Done<()> {
        let how = if stop { "stop" } else { "wait" };
        self.access.run(move |access| access.put_setting(&closing_key(tenant), Some(how))).await?;
        Ok(())
    }
}

fn promise_key(tenant: TenantId) -> String {
    format!("tenant.{tenant}.confirm")
}

pub(crate) fn closing_key(tenant: TenantId) -> String {
    format!("tenant.{tenant}.closing")
}

fn fingerprint(word: &str) -> String {
    secret::hash(word).iter().map(|byte| format!("{byte:02x}")).collect()
}
