//! The audit as it is listed and checked.

use model::audit::{Finding, Mark, Walked};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::audit::AuditEntry;
use crate::time::Time;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// Whose doing it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// The name of an operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(example = "job_pause")]
    pub operation: Option<String>,
    /// A job, a pool, an instance, by name or number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// `done`, `refused`, `unknown`, or the code of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(example = "refused")]
    pub outcome: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditVerifyQuery {
    /// A head that was noted earlier: its hash, or its number, a colon and its hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
}

/// An entry and its place in the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditView {
    pub seq: i64,
    /// Covers this entry and all before it.
    pub hash: String,
    pub entry: AuditEntry,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditVerifyView {
    /// Nothing was found.
    pub ok: bool,
    /// How many entries were looked at.
    pub entries: u64,
    /// The newest entry: note it elsewhere, and compare later.
    pub head: MarkView,
    pub findings: Vec<AuditFindingView>,
    /// Findings beyond those.
    pub more: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MarkView {
    pub seq: i64,
    pub hash: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditFindingView {
    /// The entry at which it shows.
    pub seq: i64,
    pub kind: AuditFindingKind,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditFindingKind {
    /// An entry is not what was written.
    Changed,
    /// An entry is listed as something else than it says.
    Mislabelled,
    /// Entries were taken out.
    Missing,
    /// An entry stands elsewhere.
    Moved,
    /// The newest entries are gone.
    CutOff,
    /// Entries were added past the head.
    Added,
    /// The head is not the last entry's.
    Head,
    /// The oldest entries are gone, and nobody signed that off.
    Front,
    /// What was noted elsewhere is not there.
    Rewritten,
}

impl From<&Finding> for AuditFindingView {
    fn from(finding: &Finding) -> AuditFindingView {
        let kind = match finding {
            Finding::Changed { .. } => AuditFindingKind::Changed,
            Finding::Mislabelled { .. } => AuditFindingKind::Mislabelled,
            Finding::Missing { .. } => AuditFindingKind::Missing,
            Finding::Moved { .. } => AuditFindingKind::Moved,
            Finding::CutOff { .. } => AuditFindingKind::CutOff,
            Finding::Added { .. } => AuditFindingKind::Added,
            Finding::Head { .. } => AuditFindingKind::Head,
            Finding::Front { .. } => AuditFindingKind::Front,
            Finding::Rewritten { .. } => AuditFindingKind::Rewritten,
        };
        AuditFindingView { seq: finding.seq(), kind, message: finding.to_string() }
    }
}

impl From<Mark> for MarkView {
    fn from(mark: Mark) -> MarkView {
        MarkView { seq: mark.seq, hash: mark.hash.to_string() }
    }
}

impl From<&Walked> for AuditVerifyView {
    fn from(walked: &Walked) -> AuditVerifyView {
        AuditVerifyView {
            ok: walked.findings.is_empty(),
            entries: walked.entries,
            head: walked.last.into(),
            findings: walked.findings.iter().map(Into::into).collect(),
            more: walked.more,
        }
    }
}
