//! One method per operation of the API, in the order of `wire::routes`.

use reqwest::Response;
use serde_json::Value;
use wire::api::{
    AgentView, ApplyBody, AttemptView, AuditQuery, AuditVerifyQuery, AuditVerifyView, AuditView, ClusterView,
    DeleteQuery, FolderView, HardenView, HealthView, InstanceQuery, InstanceView, JobQuery, JobVersionView, JobView,
    JoinTokenBody, JoinTokenView, LimitBody, LogQuery, NextQuery, OverviewView, Page, PlanView, PoolBody, PoolView,
    PreviewBody, PreviewView, QuarantineView, ReadyView, ReplayBody, ReplayView, ResolveBody, ResourceBody,
    ResourceView, SessionBody, SessionView, SetupBody, SetupView, StatsQuery, StatsView, TokenBody, TokenCreatedView,
    TokenView, TriggerBody, UpcomingQuery, UpcomingView, VerifyQuery, VerifyView, VersionView, WeightBody, WhyView,
    XxlTokenBody, XxlTokenCreatedView, XxlTokenView,
};
use wire::api::{EffectiveView, RotatedView, SecretBody, SecretView, VariableBody, VariableQuery, VariableView};
use wire::api::{SharingBody, TenantBody, TenantChangeBody, TenantDeleteQuery, TenantDeletionView, TenantView};
use wire::routes;

use crate::{Answer, Client, Error};

type Result<T> = std::result::Result<Answer<T>, Error>;

/// Jobs.
impl Client {
    pub async fn jobs(&self, query: &JobQuery) -> Result<Page<JobView>> {
        self.call(routes::JOB_LIST, &[]).query(query).json().await
    }

    pub async fn folders(&self) -> Result<Page<FolderView>> {
        self.call(routes::JOB_FOLDERS, &[]).json().await
    }

    pub async fn apply(&self, body: &ApplyBody) -> Result<PlanView> {
        self.call(routes::JOB_APPLY, &[]).body(body).unbounded().json().await
    }

    pub async fn job(&self, name: &str) -> Result<JobView> {
        self.call(routes::JOB_SHOW, &[name]).json().await
    }

    pub async fn delete_job(&self, name: &str, query: &DeleteQuery) -> std::result::Result<(), Error> {
        self.call(routes::JOB_DELETE, &[name]).query(query).send().await.map(drop)
    }

    /// The same key with the same request gives the same instance, however often it is sent.
    pub async fn trigger(&self, name: &str, body: &TriggerBody, key: Option<String>) -> Result<InstanceView> {
        self.call(routes::JOB_TRIGGER, &[name]).key(key).body(body).json().await
    }

    pub async fn pause(&self, name: &str) -> Result<JobView> {
        self.call(routes::JOB_PAUSE, &[name]).json().await
    }

    pub async fn resume(&self, name: &str) -> Result<JobView> {
        self.call(routes::JOB_RESUME, &[name]).json().await
    }

    pub async fn enable(&self, name: &str) -> Result<JobView> {
        self.call(routes::JOB_ENABLE, &[name]).json().await
    }

    pub async fn disable(&self, name: &str) -> Result<JobView> {
        self.call(routes::JOB_DISABLE, &[name]).json().await
    }

    pub async fn release(&self, name: &str) -> Result<JobView> {
        self.call(routes::JOB_RELEASE, &[name]).json().await
    }

    pub async fn versions(&self, name: &str) -> Result<Page<JobVersionView>> {
        self.call(routes::JOB_VERSIONS, &[name]).json().await
    }

    pub async fn next_fires(&self, name: &str, query: &NextQuery) -> Result<PreviewView> {
        self.call(routes::JOB_NEXT, &[name]).query(query).json().await
    }

    pub async fn why_job(&self, name: &str) -> Result<WhyView> {
        self.call(routes::JOB_WHY, &[name]).json().await
    }

    /// The job as YAML.
    pub async fn export(&self, name: &str) -> std::result::Result<String, Error> {
        self.call(routes::JOB_EXPORT, &[name]).text().await
    }

    pub async fn preview(&self, body: &PreviewBody) -> Result<PreviewView> {
        self.call(routes::PREVIEW, &[]).body(body).json().await
    }
}

/// Instances.
impl Client {
    pub async fn instances(&self, query: &InstanceQuery) -> Result<Page<InstanceView>> {
        self.call(routes::INSTANCE_LIST, &[]).query(query).json().await
    }

    pub async fn instance(&self, id: i64) -> Result<InstanceView> {
        self.call(routes::INSTANCE_SHOW, &[&id.to_string()]).json().await
    }

    /// Answered once the intent is on disk; the instance ends when its processes are gone.
    pub async fn stop(&self, id: i64) -> Result<InstanceView> {
        self.call(routes::INSTANCE_STOP, &[&id.to_string()]).json().await
    }

    pub async fn rerun(&self, id: i64) -> Result<InstanceView> {
        self.call(routes::INSTANCE_RERUN, &[&id.to_string()]).json().await
    }

    pub async fn resolve(&self, id: i64, body: &ResolveBody) -> Result<InstanceView> {
        self.call(routes::INSTANCE_RESOLVE, &[&id.to_string()]).body(body).json().await
    }

    pub async fn replay(&self, body: &ReplayBody) -> Result<ReplayView> {
        self.call(routes::INSTANCE_REPLAY, &[]).body(body).json().await
    }

    pub async fn attempts(&self, id: i64) -> Result<Page<AttemptView>> {
        self.call(routes::ATTEMPT_LIST, &[&id.to_string()]).json().await
    }

    pub async fn why_instance(&self, id: i64) -> Result<WhyView> {
        self.call(routes::INSTANCE_WHY, &[&id.to_string()]).json().await
    }

    /// The log so far, as the bytes the task wrote; read it with `chunk`.
    pub async fn log(&self, id: i64, attempt: Option<i64>) -> std::result::Result<Response, Error> {
        let query = LogQuery { attempt, follow: None };
        self.call(routes::LOG, &[&id.to_string()]).query(&query).unbounded().send().await
    }
}

/// Agents, pools, limits.
impl Client {
    pub async fn pools(&self) -> Result<Page<PoolView>> {
        self.call(routes::POOL_LIST, &[]).json().await
    }

    pub async fn put_pool(&self, name: &str, body: &PoolBody) -> Result<PoolView> {
        self.call(routes::POOL_PUT, &[name]).body(body).json().await
    }

    pub async fn delete_pool(&self, name: &str) -> std::result::Result<(), Error> {
        self.call(routes::POOL_DELETE, &[name]).send().await.map(drop)
    }

    pub async fn resources(&self) -> Result<Page<ResourceView>> {
        self.call(routes::RESOURCE_LIST, &[]).json().await
    }

    pub async fn put_resource(&self, name: &str, body: &ResourceBody) -> Result<ResourceView> {
        self.call(routes::RESOURCE_PUT, &[name]).body(body).json().await
    }

    pub async fn agents(&self) -> Result<Page<AgentView>> {
        self.call(routes::AGENT_LIST, &[]).json().await
    }

    pub async fn agent(&self, id: i64) -> Result<AgentView> {
        self.call(routes::AGENT_SHOW, &[&id.to_string()]).json().await
    }

    pub async fn drain(&self, id: i64) -> Result<AgentView> {
        self.call(routes::AGENT_DRAIN, &[&id.to_string()]).json().await
    }

    pub async fn undrain(&self, id: i64) -> Result<AgentView> {
        self.call(routes::AGENT_UNDRAIN, &[&id.to_string()]).json().await
    }

    pub async fn remove_agent(&self, id: i64) -> std::result::Result<(), Error> {
        self.call(routes::AGENT_REMOVE, &[&id.to_string()]).send().await.map(drop)
    }

    pub async fn revoke_agent(&self, id: i64) -> std::result::Result<(), Error> {
        self.call(routes::AGENT_REVOKE, &[&id.to_string()]).send().await.map(drop)
    }

    pub async fn join_token(&self, body: &JoinTokenBody) -> Result<JoinTokenView> {
        self.call(routes::JOIN_TOKEN, &[]).keyless().body(body).json().await
    }

    pub async fn limit(&self) -> Result<LimitBody> {
        self.call(routes::LIMIT_SHOW, &[]).json().await
    }

    pub async fn put_limit(&self, body: &LimitBody) -> Result<LimitBody> {
        self.call(routes::LIMIT_PUT, &[]).body(body).json().await
    }
}

/// Tenants.
impl Client {
    pub async fn share_agent(&self, id: i64, body: &SharingBody) -> Result<AgentView> {
        self.call(routes::AGENT_SHARE, &[&id.to_string()]).body(body).json().await
    }

    pub async fn tenants(&self) -> Result<Page<TenantView>> {
        self.call(routes::TENANT_LIST, &[]).json().await
    }

    pub async fn create_tenant(&self, body: &TenantBody) -> Result<TenantView> {
        self.call(routes::TENANT_CREATE, &[]).body(body).json().await
    }

    pub async fn tenant(&self, name: &str) -> Result<TenantView> {
        self.call(routes::TENANT_SHOW, &[name]).json().await
    }

    pub async fn change_tenant(&self, name: &str, body: &TenantChangeBody) -> Result<TenantView> {
        self.call(routes::TENANT_SET, &[name]).body(body).json().await
    }

    /// JSON lines; read them with `chunk`. The last one says `end`.
    pub async fn export_tenant(&self, name: &str) -> std::result::Result<Response, Error> {
        self.call(routes::TENANT_EXPORT, &[name]).unbounded().send().await
    }

    pub async fn delete_tenant(&self, name: &str, query: &TenantDeleteQuery) -> Result<TenantDeletionView> {
        self.call(routes::TENANT_DELETE, &[name]).query(query).json().await
    }
}

/// The servers.
impl Client {
    pub async fn cluster(&self) -> Result<ClusterView> {
        self.call(routes::CLUSTER_SHOW, &[]).json().await
    }

    pub async fn drain_server(&self, id: i64) -> Result<ClusterView> {
        self.call(routes::SERVER_DRAIN, &[&id.to_string()]).json().await
    }

    pub async fn undrain_server(&self, id: i64) -> Result<ClusterView> {
        self.call(routes::SERVER_UNDRAIN, &[&id.to_string()]).json().await
    }

    pub async fn weigh_server(&self, id: i64, body: &WeightBody) -> Result<ClusterView> {
        self.call(routes::SERVER_WEIGHT, &[&id.to_string()]).body(body).json().await
    }

    pub async fn forget_server(&self, id: i64) -> std::result::Result<(), Error> {
        self.call(routes::SERVER_FORGET, &[&id.to_string()]).send().await.map(drop)
    }
}

/// The installation.
impl Client {
    pub async fn verify(&self, query: &VerifyQuery) -> Result<VerifyView> {
        self.call(routes::VERIFY, &[]).query(query).unbounded().json().await
    }

    pub async fn stats(&self, query: &StatsQuery) -> Result<StatsView> {
        self.call(routes::STATS, &[]).query(query).json().await
    }

    pub async fn overview(&self) -> Result<OverviewView> {
        self.call(routes::OVERVIEW, &[]).json().await
    }

    pub async fn upcoming(&self, query: &UpcomingQuery) -> Result<UpcomingView> {
        self.call(routes::UPCOMING, &[]).query(query).json().await
    }

    pub async fn harden(&self) -> Result<HardenView> {
        self.call(routes::HARDEN, &[]).json().await
    }

    pub async fn quarantine(&self) -> Result<Page<QuarantineView>> {
        self.call(routes::QUARANTINE, &[]).json().await
    }

    /// The backup file as it is made; read it with `chunk`.
    pub async fn backup(&self) -> std::result::Result<Response, Error> {
        self.call(routes::BACKUP, &[]).keyless().unbounded().send().await
    }

    pub async fn health(&self) -> Result<HealthView> {
        self.call(routes::HEALTH, &[]).json().await
    }

    pub async fn ready(&self) -> Result<ReadyView> {
        self.call(routes::READY, &[]).json().await
    }

    pub async fn version(&self) -> Result<VersionView> {
        self.call(routes::VERSION, &[]).json().await
    }

    pub async fn openapi(&self) -> Result<Value> {
        self.call(routes::OPENAPI, &[]).json().await
    }
}

/// The audit.
impl Client {
    pub async fn audit(&self, query: &AuditQuery) -> Result<Page<AuditView>> {
        self.call(routes::AUDIT_LIST, &[]).query(query).json().await
    }

    pub async fn audit_entry(&self, seq: i64) -> Result<AuditView> {
        self.call(routes::AUDIT_SHOW, &[&seq.to_string()]).json().await
    }

    pub async fn verify_audit(&self, query: &AuditVerifyQuery) -> Result<AuditVerifyView> {
        self.call(routes::AUDIT_VERIFY, &[]).query(query).unbounded().json().await
    }

    /// Lines of JSON as they are made; read them with `chunk`.
    pub async fn export_audit(&self) -> std::result::Result<Response, Error> {
        self.call(routes::AUDIT_EXPORT, &[]).unbounded().send().await
    }
}

/// Access.
impl Client {
    pub async fn setup(&self, body: &SetupBody) -> Result<SetupView> {
        self.call(routes::SETUP, &[]).keyless().body(body).json().await
    }

    pub async fn login(&self, body: &SessionBody) -> Result<SessionView> {
        self.call(routes::SESSION_OPEN, &[]).keyless().body(body).json().await
    }

    pub async fn logout(&self) -> std::result::Result<(), Error> {
        self.call(routes::SESSION_CLOSE, &[]).send().await.map(drop)
    }

    pub async fn tokens(&self) -> Result<Page<TokenView>> {
        self.call(routes::TOKEN_LIST, &[]).json().await
    }

    pub async fn create_token(&self, body: &TokenBody) -> Result<TokenCreatedView> {
        self.call(routes::TOKEN_CREATE, &[]).keyless().body(body).json().await
    }

    pub async fn revoke_token(&self, id: i64) -> std::result::Result<(), Error> {
        self.call(routes::TOKEN_REVOKE, &[&id.to_string()]).send().await.map(drop)
    }

    pub async fn xxl_tokens(&self) -> Result<Page<XxlTokenView>> {
        self.call(routes::XXL_TOKEN_LIST, &[]).json().await
    }

    pub async fn create_xxl_token(&self, body: &XxlTokenBody) -> Result<XxlTokenCreatedView> {
        self.call(routes::XXL_TOKEN_CREATE, &[]).keyless().body(body).json().await
    }

    pub async fn revoke_xxl_token(&self, id: i64) -> std::result::Result<(), Error> {
        self.call(routes::XXL_TOKEN_REVOKE, &[&id.to_string()]).send().await.map(drop)
    }
}

/// Variables and secrets.
impl Client {
    pub async fn variables(&self) -> Result<Page<VariableView>> {
        self.call(routes::VARIABLE_LIST, &[]).json().await
    }

    pub async fn put_variable(&self, name: &str, body: &VariableBody) -> Result<VariableView> {
        self.call(routes::VARIABLE_PUT, &[name]).body(body).json().await
    }

    pub async fn delete_variable(&self, name: &str, query: &VariableQuery) -> std::result::Result<(), Error> {
        self.call(routes::VARIABLE_DELETE, &[name]).query(query).send().await.map(drop)
    }

    pub async fn effective_variables(&self, job: &str) -> Result<Page<EffectiveView>> {
        self.call(routes::VARIABLE_EFFECTIVE, &[job]).json().await
    }

    pub async fn secrets(&self) -> Result<Page<SecretView>> {
        self.call(routes::SECRET_LIST, &[]).json().await
    }

    pub async fn put_secret(&self, name: &str, body: &SecretBody) -> Result<SecretView> {
        self.call(routes::SECRET_PUT, &[name]).body(body).json().await
    }

    pub async fn delete_secret(&self, name: &str) -> std::result::Result<(), Error> {
        self.call(routes::SECRET_DELETE, &[name]).send().await.map(drop)
    }

    pub async fn rotate_secret_key(&self) -> Result<RotatedView> {
        self.call(routes::SECRET_ROTATE, &[]).unbounded().json().await
    }
}
