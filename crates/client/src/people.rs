//! Accounts, groups, roles, grants, sessions and tokens: one method per operation.

use wire::api::{
    GrantBody, GrantView, GroupBody, GroupView, OwnPasswordBody, Page, PasswordBody, PersonBody, PersonView, RoleBody,
    RoleView, SessionInfoView, TokenBody, TokenCreatedView, TokenView, WhoamiView,
};
use wire::routes;

use crate::{Answer, Client, Error};

type Result<T> = std::result::Result<Answer<T>, Error>;
type Nothing = std::result::Result<(), Error>;

impl Client {
    pub async fn whoami(&self) -> Result<WhoamiView> {
        self.call(routes::WHOAMI, &[]).json().await
    }

    pub async fn set_own_password(&self, body: &OwnPasswordBody) -> Nothing {
        self.call(routes::OWN_PASSWORD, &[]).body(body).send().await.map(drop)
    }

    pub async fn people(&self) -> Result<Page<PersonView>> {
        self.call(routes::PERSON_LIST, &[]).json().await
    }

    pub async fn person(&self, name: &str) -> Result<PersonView> {
        self.call(routes::PERSON_SHOW, &[name]).json().await
    }

    pub async fn create_person(&self, body: &PersonBody) -> Result<PersonView> {
        self.call(routes::PERSON_CREATE, &[]).body(body).json().await
    }

    pub async fn disable_person(&self, name: &str) -> Result<PersonView> {
        self.call(routes::PERSON_DISABLE, &[name]).json().await
    }

    pub async fn enable_person(&self, name: &str) -> Result<PersonView> {
        self.call(routes::PERSON_ENABLE, &[name]).json().await
    }

    pub async fn unlock_person(&self, name: &str) -> Result<PersonView> {
        self.call(routes::PERSON_UNLOCK, &[name]).json().await
    }

    pub async fn set_password(&self, name: &str, body: &PasswordBody) -> Nothing {
        self.call(routes::PERSON_PASSWORD, &[name]).body(body).send().await.map(drop)
    }

    pub async fn delete_person(&self, name: &str) -> Nothing {
        self.call(routes::PERSON_DELETE, &[name]).send().await.map(drop)
    }

    /// One's own.
    pub async fn sessions(&self) -> Result<Page<SessionInfoView>> {
        self.call(routes::SESSION_LIST, &[]).json().await
    }

    pub async fn end_session(&self, id: &str) -> Nothing {
        self.call(routes::SESSION_END, &[id]).send().await.map(drop)
    }

    pub async fn sessions_of(&self, person: &str) -> Result<Page<SessionInfoView>> {
        self.call(routes::PERSON_SESSIONS, &[person]).json().await
    }

    /// All of them.
    pub async fn sign_out(&self, person: &str) -> Nothing {
        self.call(routes::PERSON_SIGN_OUT, &[person]).send().await.map(drop)
    }

    pub async fn tokens_of(&self, person: &str) -> Result<Page<TokenView>> {
        self.call(routes::PERSON_TOKENS, &[person]).json().await
    }

    pub async fn create_token_of(&self, person: &str, body: &TokenBody) -> Result<TokenCreatedView> {
        self.call(routes::PERSON_TOKEN_CREATE, &[person]).keyless().body(body).json().await
    }

    pub async fn revoke_token_of(&self, person: &str, id: i64) -> Nothing {
        self.call(routes::PERSON_TOKEN_REVOKE, &[person, &id.to_string()]).send().await.map(drop)
    }

    pub async fn groups(&self) -> Result<Page<GroupView>> {
        self.call(routes::GROUP_LIST, &[]).json().await
    }

    pub async fn create_group(&self, body: &GroupBody) -> Result<GroupView> {
        self.call(routes::GROUP_CREATE, &[]).body(body).json().await
    }

    pub async fn delete_group(&self, name: &str) -> Nothing {
        self.call(routes::GROUP_DELETE, &[name]).send().await.map(drop)
    }

    pub async fn join_group(&self, group: &str, person: &str) -> Nothing {
        self.call(routes::GROUP_JOIN, &[group, person]).send().await.map(drop)
    }

    pub async fn leave_group(&self, group: &str, person: &str) -> Nothing {
        self.call(routes::GROUP_LEAVE, &[group, person]).send().await.map(drop)
    }

    pub async fn roles(&self) -> Result<Page<RoleView>> {
        self.call(routes::ROLE_LIST, &[]).json().await
    }

    pub async fn put_role(&self, name: &str, body: &RoleBody) -> Result<RoleView> {
        self.call(routes::ROLE_PUT, &[name]).body(body).json().await
    }

    pub async fn delete_role(&self, name: &str) -> Nothing {
        self.call(routes::ROLE_DELETE, &[name]).send().await.map(drop)
    }

    pub async fn grants(&self) -> Result<Page<GrantView>> {
        self.call(routes::GRANT_LIST, &[]).json().await
    }

    pub async fn create_grant(&self, body: &GrantBody) -> Result<GrantView> {
        self.call(routes::GRANT_CREATE, &[]).body(body).json().await
    }

    pub async fn delete_grant(&self, id: i64) -> Nothing {
        self.call(routes::GRANT_DELETE, &[&id.to_string()]).send().await.map(drop)
    }
}
