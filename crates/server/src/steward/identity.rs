//! Which server this is: a number given by the store and kept in the data directory, so that a server that starts again
//! is the same one and may go on with what it held.

use std::path::Path;

use model::ServerId;
use store::{Store, StoreError};

const FILE: &str = "server-id";

/// The number kept here, if it was given by this very installation; a new one otherwise.
pub(crate) fn identify(data: &Path, installation: &str, store: &mut dyn Store) -> Result<ServerId, StoreError> {
    let path = data.join(FILE);
    let kept = std::fs::read_to_string(&path).ok();
    if let Some(id) = kept.as_deref().and_then(|text| read(text, installation)) {
        return Ok(id);
    }
    let id = ServerId(store.take_ids(None, 1)?.start);
    let fresh = path.with_extension("new");
    std::fs::write(&fresh, format!("{installation} {}\n", id.0))
        .and_then(|()| std::fs::rename(&fresh, &path))
        .map_err(|error| StoreError::Failed(format!("cannot write {}: {error}", path.display())))?;
    Ok(id)
}

fn read(text: &str, installation: &str) -> Option<ServerId> {
    let (of, id) = text.trim().split_once(' ')?;
    let id = id.parse().ok()?;
    (of == installation).then_some(ServerId(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_counts_only_in_the_installation_that_gave_it() {
        assert_eq!(read("abc 17\n", "abc"), Some(ServerId(17)));
        assert_eq!(read("abc 17\n", "def"), None);
        assert_eq!(read("17", "abc"), None);
    }
}
