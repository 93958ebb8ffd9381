//! Set-up, and the tokens of XXL-JOB executors.

use model::{Actor, TenantId};
use store::access::ExecutorToken;
use wire::api::{Page, SetupBody, SetupView, XxlTokenBody, XxlTokenCreatedView, XxlTokenView};
use wire::job::check::pool_name_fault;
use wire::{Code, Fault, Problem};

use super::{Desk, Done};
use crate::audit::{self, Facts};
use crate::secret;
use crate::setup::SetupError;

impl Desk {
    pub(crate) async fn set_up(&self, body: SetupBody) -> Done<SetupView> {
        let (user, now) = (body.admin.clone(), self.clock.now());
        let done = self.setup.finish(&self.access, &body.token, body.admin, body.password, now).await;
        let token = done.map_err(|error| match error {
            SetupError::AlreadyDone => Problem::new(Code::SetupDone, error.to_string()).into(),
            SetupError::WrongToken => Problem::new(Code::BadSetupToken, error.to_string()).into(),
            SetupError::WeakPassword(_) => {
                super::Refused::from(Fault::new(Code::WeakPassword, "password", error.to_string()).alone())
            }
            SetupError::BadName => Fault::new(Code::BadName, "admin", error.to_string()).alone().into(),
            SetupError::Store(error) => error.into(),
        })?;
        audit::known_as(&user, "set-up link");
        Ok(SetupView { user, token })
    }
}

impl Desk {
    pub(crate) async fn list_xxl_tokens(&self, tenant: TenantId) -> Done<Page<XxlTokenView>> {
        let mut tokens = self.access.run(|access| access.executor_tokens()).await?;
        tokens.retain(|token| token.tenant == tenant);
        let views = tokens.into_iter().map(|token| XxlTokenView {
            id: token.id,
            pool: token.pool,
            created_at: token.created_at.into(),
            created_by: token.created_by,
        });
        Ok(Page::whole(views.collect()))
    }

    /// Kept readable: executors are shown it, too.
    pub(crate) async fn create_xxl_token(
        &self,
        tenant: TenantId,
        body: XxlTokenBody,
        by: Actor,
    ) -> Done<XxlTokenCreatedView> {
        if let Some(wrong) = body.pool.as_deref().and_then(pool_name_fault) {
            return Err(Fault::new(Code::BadName, "pool", format!("the name {wrong}")).alone().into());
        }
        let mut token = ExecutorToken {
            id: 0,
            token: secret::make("xxl"),
            tenant,
            pool: body.pool,
            created_at: self.clock.now(),
            created_by: by.0,
        };
        let kept = token.clone();
        token.id = self.access.run(move |access| access.put_executor_token(&kept)).await?;
        audit::after(Facts::new().put("id", token.id).put("pool", token.pool.as_ref()));
        self.executors.tokens().keep(token.clone());
        Ok(XxlTokenCreatedView { id: token.id, pool: token.pool, token: token.token })
    }

    pub(crate) async fn revoke_xxl_token(&self, tenant: TenantId, id: i64) -> Done<()> {
        let gone = self.access.run(move |access| {
            let own = access.executor_tokens()?.into_iter().any(|token| token.id == id && token.tenant == tenant);
            if own { access.remove_executor_token(id) } else { Ok(false) }
        });
        let gone = gone.await?;
        if gone && let Some(token) = self.executors.tokens().forget(id) {
            self.executors.revoked(&token);
        }
        if gone { Ok(()) } else { Err(Problem::new(Code::NoSuchToken, format!("there is no token {id}")).into()) }
    }
}
