//! What every store must do, as tests that speak through the seam only. A new store passes them, or is none.
//!
//! `duly_store::conformance!(bed)` makes a `#[test]` of each; `bed` is a function that returns a fresh [`Bed`].

mod between;
mod claims;
mod commits;
mod history;
mod instances;
mod jobs;
mod leases;
mod lines;
mod lists;
mod loads;
mod together;
mod world;

use engine::change::Row;

use crate::{Reads, Store};

pub use self::between::*;
pub use self::claims::*;
pub use self::commits::*;
pub use self::history::*;
pub use self::instances::*;
pub use self::jobs::*;
pub use self::leases::*;
pub use self::lines::*;
pub use self::lists::*;
pub use self::loads::*;
pub use self::together::*;

/// A fresh store of one kind, with two shards.
pub trait Bed {
    /// Another door to the same store, as a process that starts later would have.
    fn store(&self) -> Box<dyn Store>;
    fn reads(&self) -> Box<dyn Reads>;
    /// Makes the row of an instance unreadable.
    fn spoil(&self, row: Row);
}

#[macro_export]
macro_rules! conformance {
    ($bed:path) => {
        $crate::conformance_tests! { $bed =>
            a_shard_is_written_under_its_term_only,
            batches_follow_one_another,
            a_take_over_fences_the_old_owner,
            nothing_of_an_impossible_batch_is_written,
            the_standing_tells_what_was_written,
            ids_are_lent_once,
            a_lent_id_tells_its_shard,
            each_shard_has_its_horizon,
            bytes_are_kept_once,
            shards_are_apart,
            batches_of_several_shards_are_written_at_once,
            a_refused_batch_refuses_no_other,
            a_planned_time_has_one_instance,
            an_id_beyond_what_was_handed_out_is_refused,
            only_the_fence_may_end_an_instance,
            an_instance_ends_once,
            every_ending_reads_back,
            progress_is_written_under_the_fence,
            a_retry_moves_the_attempt,
            an_ended_instance_can_be_opened_again,
            only_what_waits_for_its_time_is_withdrawn,
            a_stop_is_recorded_before_it_happens,
            a_report_about_an_unknown_attempt_is_kept,
            a_job_is_what_it_was_when,
            a_version_says_one_thing,
            versions_are_read_with_whose_they_are,
            several_jobs_are_read_by_their_names,
            a_removed_job_leaves_its_history,
            two_living_jobs_never_share_a_name,
            a_held_job_is_held_until_somebody_looked,
            agents_pools_and_limits_are_loaded,
            tenants_are_loaded_and_gone_with_what_is_theirs,
            gaps_and_notes_are_found_by_their_time,
            a_name_has_one_holder,
            a_removed_or_renamed_job_frees_its_name,
            a_refused_claim_does_not_refuse_the_batch,
            a_message_is_taken_once_by_whom_it_is_for,
            messages_wait_in_order_and_only_the_written_ones,
            followers_from_elsewhere_are_loaded,
            a_mutex_has_one_holder_and_a_line,
            a_line_lets_through_as_many_as_fit_and_none_past_another,
            lines_of_several_names_agree_on_who_came_first,
            a_resource_may_get_more_and_less,
            tickets_that_cannot_be_are_refused,
            lines_are_shared_by_batches_written_at_once,
            loading_finds_exactly_what_is_open,
            what_is_open_long_is_found_after_many_batches,
            an_unreadable_row_is_reported,
            pages_are_complete_and_without_repeats,
            filters_choose_what_they_say,
            children_are_listed_under_their_parent,
            jobs_are_listed_by_name,
            lists_have_what_lies_in_the_places_they_are_bound_to,
            the_ledger_is_read_by_windows,
            counts_agree_with_the_list,
            filters_by_agent_and_cause_choose_what_they_say,
            what_is_open_and_what_failed_is_counted,
            retention_drops_old_days_and_keeps_what_is_open,
            the_history_of_one_tenant_goes_before_the_others,
            retention_keeps_what_the_ledger_refers_to,
            idempotency_keys_expire,
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($bed:path => $($name:ident),* $(,)?) => {$(
        #[test]
        fn $name() {
            $crate::conformance::$name(&$bed());
        }
    )*};
}
