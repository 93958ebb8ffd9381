//! Doors of agents, pools, resources and limits.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use model::AgentId;
use model::rights::{Action, Kind};
use wire::api::{
    AgentView, JoinTokenBody, JoinTokenView, LimitBody, Page, PoolBody, PoolView, ResourceBody, ResourceView,
    SharingBody,
};
use wire::{Code, Problem};

use super::super::endpoint::*;
use super::super::guard::Caller;
use super::super::take::{Body, Named, OptionalBody};
use super::{Answer, Created, Nothing, created};
use crate::ops::Desk;

type Id = Named<i64>;
type Name = Named<String>;

pub(crate) async fn pools(who: Caller<PoolList>, State(desk): State<Desk>) -> Answer<Page<PoolView>> {
    Ok(Json(desk.list_pools(who.tenant()).await?))
}

pub(crate) async fn put_pool(
    who: Caller<PoolPut>,
    State(desk): State<Desk>,
    Named(name): Name,
    Body(body): Body<PoolBody>,
) -> Answer<PoolView> {
    Ok(Json(desk.put_pool(who.tenant(), name, body, who.actor()).await?))
}

pub(crate) async fn delete_pool(who: Caller<PoolDelete>, State(desk): State<Desk>, Named(name): Name) -> Nothing {
    desk.delete_pool(who.tenant(), name, who.actor()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn resources(who: Caller<ResourceList>, State(desk): State<Desk>) -> Answer<Page<ResourceView>> {
    Ok(Json(desk.list_resources(who.tenant()).await?))
}

pub(crate) async fn put_resource(
    who: Caller<ResourcePut>,
    State(desk): State<Desk>,
    Named(name): Name,
    Body(body): Body<ResourceBody>,
) -> Answer<ResourceView> {
    Ok(Json(desk.put_resource(who.tenant(), name, body, who.actor()).await?))
}

pub(crate) async fn list(who: Caller<AgentList>, State(desk): State<Desk>) -> Answer<Page<AgentView>> {
    Ok(Json(desk.list_agents(who.sight())))
}

pub(crate) async fn show(who: Caller<AgentShow>, State(desk): State<Desk>, Named(id): Id) -> Answer<AgentView> {
    Ok(Json(desk.show_agent(who.sight(), AgentId(id))?))
}

pub(crate) async fn drain(who: Caller<AgentDrain>, State(desk): State<Desk>, Named(id): Id) -> Answer<AgentView> {
    Ok(Json(desk.set_drained(who.sight(), AgentId(id), true, who.actor()).await?))
}

pub(crate) async fn undrain(who: Caller<AgentUndrain>, State(desk): State<Desk>, Named(id): Id) -> Answer<AgentView> {
    Ok(Json(desk.set_drained(who.sight(), AgentId(id), false, who.actor()).await?))
}

pub(crate) async fn remove(who: Caller<AgentRemove>, State(desk): State<Desk>, Named(id): Id) -> Nothing {
    desk.remove_agent(who.sight(), AgentId(id), who.actor()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn revoke(who: Caller<AgentRevoke>, State(desk): State<Desk>, Named(id): Id) -> Nothing {
    desk.revoke_agent(who.sight(), AgentId(id), who.actor()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn join_token(
    who: Caller<JoinToken>,
    State(desk): State<Desk>,
    OptionalBody(body): OptionalBody<JoinTokenBody>,
) -> Created<JoinTokenView> {
    // An agent for others than its own tenant is a matter of the installation.
    if !body.sharing.is_plain() && who.also(Kind::Tenant, Action::Edit).is_none() {
        let detail = format!("{} lacks tenant.edit, which sharing an agent needs", who.actor().0);
        return Err(Problem::new(Code::NotPermitted, detail).into());
    }
    Ok(created(desk.join_token(who.tenant(), body).await?))
}

pub(crate) async fn share(
    who: Caller<AgentShare>,
    State(desk): State<Desk>,
    Named(id): Id,
    Body(body): Body<SharingBody>,
) -> Answer<AgentView> {
    Ok(Json(desk.share_agent(AgentId(id), body, who.actor()).await?))
}

pub(crate) async fn limit(_: Caller<LimitShow>, State(desk): State<Desk>) -> Answer<LimitBody> {
    Ok(Json(desk.limit().await?))
}

pub(crate) async fn put_limit(
    who: Caller<LimitPut>,
    State(desk): State<Desk>,
    Body(body): Body<LimitBody>,
) -> Answer<LimitBody> {
    Ok(Json(desk.put_limit(body, who.actor()).await?))
}
