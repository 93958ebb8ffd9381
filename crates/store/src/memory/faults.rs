//! What a simulation can make the memory store do to its owner.

/// Met by one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Full or busy: nothing is written. A stall is several of these in a row.
    Retry,
    /// Written, but the answer is lost.
    AppliedUnknown,
    /// Not written, and the answer is lost.
    DroppedUnknown,
    /// The store comes back without its last `batches` batches; the answer is lost. It can go back no further than the
    /// simulation asked it to remember.
    GoBack { batches: usize },
    /// Somebody else takes the shard over just before.
    LoseOwner,
    /// The disk failed.
    Fatal,
}
