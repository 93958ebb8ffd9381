//! Every table that is moved, as both stores have it. What is made anew on the other side (shards, leases, blocks, what
//! is open long) is not here.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Text,
    Bytes,
    /// A number here, a truth there.
    Bool,
}

pub(crate) struct Table {
    pub name: &'static str,
    pub columns: Vec<(&'static str, Kind)>,
    /// What its rows are told apart and ordered by.
    pub key: &'static [&'static str],
    /// The column that names the job whose shard the row's `shard` is.
    pub job: Option<&'static str>,
}

impl Table {
    pub(crate) fn position(&self, column: &str) -> usize {
        self.columns.iter().position(|(name, _)| *name == column).expect("tables name columns they have")
    }
}

/// `column` is a number, `column:t` a text, `column:x` bytes, `column:b` a truth.
fn table(name: &'static str, columns: &'static str, key: &'static [&'static str]) -> Table {
    let column = |text: &'static str| match text.split_once(':') {
        None => (text, Kind::Int),
        Some((name, "t")) => (name, Kind::Text),
        Some((name, "x")) => (name, Kind::Bytes),
        Some((name, _)) => (name, Kind::Bool),
    };
    Table { name, columns: columns.split_whitespace().map(column).collect(), key, job: None }
}

impl Table {
    fn of_job(self, column: &'static str) -> Table {
        Table { job: Some(column), ..self }
    }
}

/// The instances of one day; the table's name is each store's own business.
pub(crate) fn instances() -> Table {
    let columns =
        "id shard tenant job version planned part parts parent cause cause_ref cause_by:t params state attempt
        attempt_no target created_at ordered_at started_at ended_at retry_at verdict reason ended_by:t exit_code
        message:t outputs:t cpu_us peak_kb log_bytes why:t stopping_by:t stopping_at uncertain_since uncertain_why:t
        retries_used";
    table("instance", columns, &["id"]).of_job("job")
}

pub(crate) fn all() -> Vec<Table> {
    vec![
        table("content", "id hash:x body:x refs kept_day touched_at", &["id"]),
        table(
            "job",
            "id shard tenant name:t version rule task source folder:t mode since fired changed_by:t removed_at
             removed_by:t alias labels:t",
            &["id"],
        )
        .of_job("id"),
        table("job_version", "id job rule task source created_at created_by:t kept_day", &["id"]),
        table("job_interval", "job since until version rule mode tenant name:t", &["job", "since"]),
        table(
            "attempt",
            "id instance day number target ordered_at verdict exit_code message:t outputs:t started_at ended_at cpu_us
             peak_kb log_bytes reopened_by:t reopened_at",
            &["id"],
        ),
        table("later_attempt", "id instance day", &["id"]),
        table("unwell", "state planned id tenant day", &["state", "planned", "id"]),
        table("gap", "id shard job tenant first last count fate reason instance why:t", &["id"]).of_job("job"),
        table(
            "agent",
            "id tenant name:t pools:t labels:t slots drained:b joined_at seen_at version:t executor listed
             serves:t",
            &["id"],
        ),
        table("pool", "tenant name:t running_max addresses:t", &["tenant", "name"]),
        table(
            "tenant",
            "id name:t weight jobs_max running_max starts_per_second log_bytes_max history_days private_network:b state
             created_at created_by:t exported_at exported:t servers:t own_shards:t",
            &["id"],
        ),
        table("quarantine", "id shard job input:t error:t at decided held:b looked_by:t", &["id"]).of_job("job"),
        table("orphan", "attempt agent kind at what:t", &["attempt", "agent", "kind"]),
        table("note", "id shard at job instance kind detail", &["id"]).of_job("job"),
        table("claim", "kind tenant name:t holder at", &["kind", "tenant", "name"]),
        table("resource", "tenant kind name:t units allowed", &["tenant", "kind", "name"]),
        table("ticket", "number tenant kind name:t shard job instance ticket units held:b at", &["number"])
            .of_job("job"),
        table("person", "name:t password:t created_at kind must_change subject:t disabled_at created_by:t", &["name"]),
        table("session", "hash:x person:t created_at expires_at address:t program:t used_at way", &["hash"]),
        table("api_token", "id hash:x name:t person:t created_at expires_at revoked_at scope:t tenant", &["id"]),
        table("access_group", "name:t created_at created_by:t", &["name"]),
        table("access_member", "member_of:t person:t", &["member_of", "person"]),
        table("access_role", "name:t permissions:t created_at created_by:t", &["name"]),
        table(
            "access_grant",
            "id person:t member_of:t role:t tenant folder:t labels:t origin created_at created_by:t",
            &["id"],
        ),
        table("sign_in", "name:t address:t failed failed_at succeeded_at", &["name", "address"]),
        table("join_token", "hash:x tenant pools:t labels:t created_at expires_at serves:t", &["hash"]),
        table("agent_secret", "agent hash:x", &["agent"]),
        table("executor_token", "id token:t tenant pool:t created_at created_by:t", &["id"]),
        table("setting", "key:t value:t", &["key"]),
        table("audit", "seq at tenant actor:t operation:t outcome:t entry:t hash:x", &["seq"]),
        table("audit_about", "value:t seq", &["value", "seq"]),
        table("audit_head", "id seq hash:x base_seq base_hash:x", &["id"]),
        table("audit_begun", "id:t at entry:t", &["id"]),
        table("variable", "tenant folder:t name:t value:t changed_at changed_by:t", &["tenant", "name", "folder"]),
        table(
            "secret",
            "tenant name:t folder:t version key_id:t wrapped:x sealed:x changed_at changed_by:t",
            &["tenant", "name"],
        ),
    ]
}
