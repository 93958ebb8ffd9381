//! The statements, written as SQL beside this file, by name.

macro_rules! statements {
    ($($name:ident = $file:literal),* $(,)?) => {
        $(pub(super) const $name: &str = include_str!(concat!("sql/", $file, ".sql"));)*
    };
}

statements! {
    ADVANCE_SHARD = "advance_shard",
    COUNT_FAILURES = "count_failures",
    COUNT_OPEN = "count_open",
    COUNT_OPEN_LONG = "count_open_long",
    CREATE_DAY = "create_day",
    CREATE_INSTANCE = "create_instance",
    END_INSTANCE = "end_instance",
    GET_INSTANCE = "get_instance",
    HAS_INSTANCE = "has_instance",
    HORIZON = "horizon",
    LAST_ATTEMPT = "last_attempt",
    LEDGER = "ledger",
    LIST_FOLDERS = "list_folders",
    LIST_JOBS = "list_jobs",
    LIST_LONG_OPEN = "list_long_open",
    LIST_OF_BLOCK = "list_of_block",
    LIST_OF_JOB = "list_of_job",
    LIST_OPEN = "list_open",
    LIST_OPEN_LONG = "list_open_long",
    LINE_HELD = "line_held",
    LIST_RESOURCES = "list_resources",
    LIST_UNWELL = "list_unwell",
    MARK_UNCERTAIN = "mark_uncertain",
    MOVE_ATTEMPT = "move_attempt",
    OLD_VERSIONS = "old_versions",
    OPEN_INSTANCE = "open_instance",
    OPEN_SINCE = "open_since",
    PLACE_INSTANCE = "place_instance",
    PROGRESS_INSTANCE = "progress_instance",
    PUT_AGENT = "put_agent",
    PUT_ATTEMPT = "put_attempt",
    PUT_BLOCK = "put_block",
    PUT_CLAIM = "put_claim",
    PUT_CONTENT = "put_content",
    PUT_GAP = "put_gap",
    PUT_INTERVAL = "put_interval",
    PUT_JOB = "put_job",
    PUT_RESOURCE = "put_resource",
    PUT_TENANT = "put_tenant",
    PUT_UNWELL = "put_unwell",
    PUT_VERSION = "put_version",
    REOPEN_INSTANCE = "reopen_instance",
    RETRY_INSTANCE = "retry_instance",
    STATES = "states",
    STOP_INSTANCE = "stop_instance",
    TAKE_OVER = "take_over",
    THIN_DAY = "thin_day",
    WITHDRAW_INSTANCE = "withdraw_instance",
}

/// A statement without the comment on top: the statement cache is searched by text.
pub(super) fn body(statement: &'static str) -> &'static str {
    let mut rest = statement;
    while let Some(comment) = rest.strip_prefix("--") {
        rest = comment.split_once('\n').map_or("", |(_, after)| after);
    }
    rest
}
