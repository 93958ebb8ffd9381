//! Requests and answers of the public API: snake_case, times in RFC 3339 UTC with microseconds, durations as `90s`.
//! Views are made from nouns here and hold nothing that is not shown.

pub mod access;
pub mod agent;
pub mod apply;
pub mod attempt;
pub mod audit;
pub mod cluster;
pub mod event;
pub mod instance;
pub mod job;
pub mod overview;
pub mod page;
pub mod people;
pub mod placing;
pub mod resource;
pub mod system;
pub mod tenant;
pub mod value;
pub mod why;

pub use access::{
    JoinTokenBody, JoinTokenView, SessionBody, SessionInfoView, SessionView, SessionWay, SetupBody, SetupView,
    TokenBody, TokenCreatedView, TokenView, XxlTokenBody, XxlTokenCreatedView, XxlTokenView,
};
pub use agent::{AgentKindWord, AgentPolicy, AgentStateWord, AgentView, LimitBody, LoadView, PoolBody, PoolView};
pub use apply::{Action, ApplyBody, FieldDiff, FileBody, PlanItem, PlanView};
pub use attempt::{AttemptView, VerdictWord};
pub use audit::{
    AuditFindingKind, AuditFindingView, AuditQuery, AuditVerifyQuery, AuditVerifyView, AuditView, MarkView,
};
pub use cluster::{ClusterView, OwnedView, ReservedStateWord, ReservedView, ServerStateWord, ServerView, WeightBody};
pub use event::{EventKind, EventView, LogEndView, LogFrameView, LogQuery, LogStream};
pub use instance::{
    CauseView, CauseWord, InstanceQuery, InstanceView, PartView, RefusedView, ReplayBody, ReplayView, ResolveBody,
    ResolveWord, StateWord, StoppingView, UncertainView, UsageView,
};
pub use job::{
    DeleteQuery, FireView, FolderView, JobQuery, JobVersionView, JobView, LastView, NextQuery, PreviewBody,
    PreviewView, TriggerBody,
};
pub use overview::{FailingView, OverviewView, StartDelayView, UpcomingJobView, UpcomingQuery, UpcomingView};
pub use page::{Cursor, Page};
pub use people::{
    GrantBody, GrantView, GroupBody, GroupView, OwnPasswordBody, PasswordBody, PersonBody, PersonKind, PersonView,
    RightView, RoleBody, RoleView, WhoamiView,
};
pub use placing::PlacingView;
pub use resource::{ResourceBody, ResourceKindWord, ResourceView, TicketView};
pub use system::{
    FindingKind, FindingView, FindingWeight, HardenFinding, HardenView, HealthView, JobCounts, LateView, LatenessView,
    QuarantineView, ReadyView, ShardView, StatsQuery, StatsView, VerifyQuery, VerifyView, VersionView,
};
pub use tenant::{
    QuotasBody, SharingBody, TenantBody, TenantChangeBody, TenantDeleteQuery, TenantDeletionView, TenantStateWord,
    TenantUsageView, TenantView,
};
pub use value::{
    EffectiveView, LevelWord, RotatedView, SecretBody, SecretView, VariableBody, VariableQuery, VariableView,
};
pub use why::{ReasonView, WhyView};
