//! Ids are i64 everywhere: small on hot rows, and an attempt's id doubles as its fence.

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub i64);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = std::num::ParseIntError;
            fn from_str(s: &str) -> Result<Self, Self::Err> {
                s.parse().map($name)
            }
        }
    )*};
}

id! {
    /// Boundary of ownership, rights and quota.
    TenantId,
    JobId,
    /// One version of a job as somebody applied it.
    VersionId,
    /// One occurrence of a job for one planned time; also the idempotency key, because it survives retries.
    InstanceId,
    /// One try at an instance. Grows within a job, so it is the fence too.
    AttemptId,
    AgentId,
    /// Immutable bytes kept once: a rule, a task, parameters.
    ContentId,
    /// A slice of all jobs, owned by one server at a time.
    ShardId,
    /// One server, however often its process is started.
    ServerId,
    /// The fencing number of a shard's ownership.
    Term,
    /// Number of a commit within a shard.
    Batch,
}

impl TenantId {
    /// The tenant every installation has.
    pub const DEFAULT: TenantId = TenantId(1);
}
