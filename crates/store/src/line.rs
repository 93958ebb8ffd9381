//! Which lines a batch has to do with. They are locked in this order before anything is written, so that all lines agree
//! on who came first.

use std::collections::BTreeSet;

use engine::change::{Change, Commit};
use model::ResourceName;

pub(crate) fn lines_of(commit: &Commit) -> BTreeSet<ResourceName> {
    let mut lines = BTreeSet::new();
    for change in &commit.changes {
        match change {
            Change::Drawn(draw) | Change::Returned(draw) => {
                lines.extend(draw.needs.iter().map(|need| need.of(draw.tenant)));
            }
            Change::ResourcePut { name, .. } => drop(lines.insert(name.clone())),
            _ => {}
        }
    }
    lines
}

/// What a name has before anybody gave it units: a mutex needs nobody to.
pub(crate) fn units_at_first(name: &ResourceName) -> u32 {
    match name.kind {
        model::ResourceKind::Mutex => 1,
        model::ResourceKind::Counted => 0,
    }
}
