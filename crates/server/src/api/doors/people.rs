//! Doors of accounts, groups, roles and grants.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use wire::api::{
    GrantBody, GrantView, GroupBody, GroupView, OwnPasswordBody, Page, PasswordBody, PersonBody, PersonView, RoleBody,
    RoleView, SessionInfoView, TokenBody, TokenCreatedView, TokenView, WhoamiView,
};

use super::super::endpoint::*;
use super::super::guard::Caller;
use super::super::take::{Body, Named};
use super::{Answer, Created, Nothing, created};
use crate::ops::Desk;
use crate::visitor::Way;

pub(crate) async fn whoami(who: Caller<Whoami>, State(desk): State<Desk>) -> Answer<WhoamiView> {
    Ok(Json(desk.whoami(who.principal())))
}

pub(crate) async fn own_password(
    who: Caller<OwnPassword>,
    State(desk): State<Desk>,
    Extension(way): Extension<Way>,
    Body(body): Body<OwnPasswordBody>,
) -> Nothing {
    desk.set_own_password(body, who.principal(), who.key, way.from.address).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn list(_: Caller<PersonList>, State(desk): State<Desk>) -> Answer<Page<PersonView>> {
    Ok(Json(desk.list_people().await?))
}

pub(crate) async fn show(
    _: Caller<PersonShow>,
    State(desk): State<Desk>,
    Named(name): Named<String>,
) -> Answer<PersonView> {
    Ok(Json(desk.show_person(&name).await?))
}

pub(crate) async fn create(
    who: Caller<PersonCreate>,
    State(desk): State<Desk>,
    Body(body): Body<PersonBody>,
) -> Created<PersonView> {
    Ok(created(desk.create_person(body, who.principal()).await?))
}

pub(crate) async fn disable(
    who: Caller<PersonDisable>,
    State(desk): State<Desk>,
    Named(name): Named<String>,
) -> Answer<PersonView> {
    Ok(Json(desk.set_disabled(&name, true, who.principal()).await?))
}

pub(crate) async fn enable(
    who: Caller<PersonEnable>,
    State(desk): State<Desk>,
    Named(name): Named<String>,
) -> Answer<PersonView> {
    Ok(Json(desk.set_disabled(&name, false, who.principal()).await?))
}

pub(crate) async fn unlock(
    who: Caller<PersonUnlock>,
    State(desk): State<Desk>,
    Named(name): Named<String>,
) -> Answer<PersonView> {
    Ok(Json(desk.unlock_person(&name, who.principal()).await?))
}

pub(crate) async fn password(
    who: Caller<PersonPassword>,
    State(desk): State<Desk>,
    Named(name): Named<String>,
    Body(body): Body<PasswordBody>,
) -> Nothing {
    desk.set_password(&name, body, who.principal()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn delete(who: Caller<PersonDelete>, State(desk): State<Desk>, Named(name): Named<String>) -> Nothing {
    desk.delete_person(&name, who.principal()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn sessions(
    who: Caller<PersonSessions>,
    State(desk): State<Desk>,
    Named(name): Named<String>,
) -> Answer<Page<SessionInfoView>> {
    Ok(Json(desk.list_sessions(&name, who.principal()).await?))
}

pub(crate) async fn sign_out(
    who: Caller<PersonSignOut>,
    State(desk): State<Desk>,
    Named(name): Named<String>,
) -> Nothing {
    desk.end_sessions(&name, who.principal()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn tokens(
    _: Caller<PersonTokens>,
    State(desk): State<Desk>,
    Named(name): Named<String>,
) -> Answer<Page<TokenView>> {
    Ok(Json(desk.list_tokens(&name).await?))
}

pub(crate) async fn create_token(
    who: Caller<PersonTokenCreate>,
    State(desk): State<Desk>,
    Named(name): Named<String>,
    Body(body): Body<TokenBody>,
) -> Created<TokenCreatedView> {
    Ok(created(desk.create_token_of(&name, who.tenant(), body, who.principal()).await?))
}

pub(crate) async fn revoke_token(
    who: Caller<PersonTokenRevoke>,
    State(desk): State<Desk>,
    Named((name, id)): Named<(String, i64)>,
) -> Nothing {
    desk.revoke_token(&name, id, who.principal()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn groups(_: Caller<GroupList>, State(desk): State<Desk>) -> Answer<Page<GroupView>> {
    Ok(Json(desk.list_groups().await?))
}

pub(crate) async fn create_group(
    who: Caller<GroupCreate>,
    State(desk): State<Desk>,
    Body(body): Body<GroupBody>,
) -> Created<GroupView> {
    Ok(created(desk.create_group(body, who.principal()).await?))
}

pub(crate) async fn delete_group(
    who: Caller<GroupDelete>,
    State(desk): State<Desk>,
    Named(name): Named<String>,
) -> Nothing {
    desk.delete_group(&name, who.principal()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn join(
    who: Caller<GroupJoin>,
    State(desk): State<Desk>,
    Named((group, person)): Named<(String, String)>,
) -> Nothing {
    desk.join_group(&group, &person, who.principal()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn leave(
    who: Caller<GroupLeave>,
    State(desk): State<Desk>,
    Named((group, person)): Named<(String, String)>,
) -> Nothing {
    desk.leave_group(&group, &person, who.principal()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn roles(_: Caller<RoleList>, State(desk): State<Desk>) -> Answer<Page<RoleView>> {
    Ok(Json(desk.list_roles().await?))
}

pub(crate) async fn put_role(
    who: Caller<RolePut>,
    State(desk): State<Desk>,
    Named(name): Named<String>,
    Body(body): Body<RoleBody>,
) -> Answer<RoleView> {
    Ok(Json(desk.put_role(name, body, who.principal()).await?))
}

pub(crate) async fn delete_role(
    who: Caller<RoleDelete>,
    State(desk): State<Desk>,
    Named(name): Named<String>,
) -> Nothing {
    desk.delete_role(&name, who.principal()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn grants(who: Caller<GrantList>, State(desk): State<Desk>) -> Answer<Page<GrantView>> {
    Ok(Json(desk.list_grants(who.tenant(), who.principal()).await?))
}

pub(crate) async fn create_grant(
    who: Caller<GrantCreate>,
    State(desk): State<Desk>,
    Body(body): Body<GrantBody>,
) -> Created<GrantView> {
    Ok(created(desk.create_grant(who.tenant(), body, who.principal()).await?))
}

pub(crate) async fn delete_grant(who: Caller<GrantDelete>, State(desk): State<Desk>, Named(id): Named<i64>) -> Nothing {
    desk.delete_grant(who.tenant(), id, who.principal()).await?;
    Ok(StatusCode::NO_CONTENT)
}
