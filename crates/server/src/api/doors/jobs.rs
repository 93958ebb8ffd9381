//! Doors of jobs.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use model::JobMode;
use model::rights::{Action, Kind};
use wire::api::{
    ApplyBody, DeleteQuery, FolderView, InstanceView, JobQuery, JobVersionView, JobView, NextQuery, Page, PlanView,
    PreviewBody, PreviewView, TriggerBody, WhyView,
};

use super::super::endpoint::*;
use super::super::guard::Caller;
use super::super::take::{Body, Key, Named, OptionalBody, Query};
use super::{Answer, Created, Nothing, created};
use crate::ops::{Desk, Hand, Refused};

type Name = Named<String>;

pub(crate) async fn list(
    who: Caller<JobList>,
    State(desk): State<Desk>,
    Query(query): Query<JobQuery>,
) -> Answer<Page<JobView>> {
    Ok(Json(desk.list_jobs(who.sight(), query).await?))
}

pub(crate) async fn folders(who: Caller<JobFolders>, State(desk): State<Desk>) -> Answer<Page<FolderView>> {
    Ok(Json(desk.job_folders(who.sight()).await?))
}

pub(crate) async fn apply(
    who: Caller<JobApply>,
    State(desk): State<Desk>,
    Body(body): Body<ApplyBody>,
) -> Answer<PlanView> {
    let (codes, secrets) = (who.also(Kind::Job, Action::Code), who.also(Kind::Secret, Action::See));
    let hand = Hand { edits: who.sight().clone(), codes, secrets };
    Ok(Json(desk.apply(hand, body, who.actor()).await?))
}

pub(crate) async fn show(who: Caller<JobShow>, State(desk): State<Desk>, Named(name): Name) -> Answer<JobView> {
    Ok(Json(desk.show_job(who.sight(), &name).await?))
}

pub(crate) async fn delete(
    who: Caller<JobDelete>,
    State(desk): State<Desk>,
    Named(name): Name,
    Query(query): Query<DeleteQuery>,
) -> Nothing {
    desk.delete_job(who.sight(), &name, query.force.unwrap_or(false), who.actor()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn trigger(
    who: Caller<JobTrigger>,
    State(desk): State<Desk>,
    Named(name): Name,
    Key(key): Key,
    OptionalBody(body): OptionalBody<TriggerBody>,
) -> Created<InstanceView> {
    Ok(created(desk.trigger(who.sight(), &name, body, key, who.actor()).await?))
}

pub(crate) async fn pause(who: Caller<JobPause>, State(desk): State<Desk>, Named(name): Name) -> Answer<JobView> {
    Ok(Json(desk.set_mode(who.sight(), &name, JobMode::Paused, who.actor()).await?))
}

pub(crate) async fn resume(who: Caller<JobResume>, State(desk): State<Desk>, Named(name): Name) -> Answer<JobView> {
    Ok(Json(desk.resume(who.sight(), &name, who.actor()).await?))
}

pub(crate) async fn enable(who: Caller<JobEnable>, State(desk): State<Desk>, Named(name): Name) -> Answer<JobView> {
    Ok(Json(desk.set_mode(who.sight(), &name, JobMode::Enabled, who.actor()).await?))
}

pub(crate) async fn disable(who: Caller<JobDisable>, State(desk): State<Desk>, Named(name): Name) -> Answer<JobView> {
    Ok(Json(desk.set_mode(who.sight(), &name, JobMode::Disabled, who.actor()).await?))
}

pub(crate) async fn release(who: Caller<JobRelease>, State(desk): State<Desk>, Named(name): Name) -> Answer<JobView> {
    Ok(Json(desk.release(who.sight(), &name, who.actor()).await?))
}

pub(crate) async fn versions(
    who: Caller<JobVersions>,
    State(desk): State<Desk>,
    Named(name): Name,
) -> Answer<Page<JobVersionView>> {
    Ok(Json(desk.job_versions(who.sight(), &name).await?))
}

pub(crate) async fn next(
    who: Caller<JobNext>,
    State(desk): State<Desk>,
    Named(name): Name,
    Query(query): Query<NextQuery>,
) -> Answer<PreviewView> {
    Ok(Json(desk.next_fires(who.sight(), &name, query).await?))
}

pub(crate) async fn why(who: Caller<JobWhy>, State(desk): State<Desk>, Named(name): Name) -> Answer<WhyView> {
    Ok(Json(desk.why_job(who.sight(), &name).await?))
}

pub(crate) async fn export(
    who: Caller<JobExport>,
    State(desk): State<Desk>,
    Named(name): Name,
) -> Result<impl IntoResponse, Refused> {
    Ok(([(header::CONTENT_TYPE, "application/yaml")], desk.export_job(who.sight(), &name).await?))
}

pub(crate) async fn preview(
    _: Caller<Preview>,
    State(desk): State<Desk>,
    Body(body): Body<PreviewBody>,
) -> Answer<PreviewView> {
    Ok(Json(desk.preview(&body)?))
}
