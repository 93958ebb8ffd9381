//! Which variable counts for a job, of those that share its name: the job's own, then its folder's and those of the
//! folders around it, the tenant's, the installation's. And which secrets a job may use. Pure.

use store::values::{PLATFORM, SealedSecret, Variable};

/// Whether a job in `folder` lies in `place` or below it; everything lies in the empty one.
pub(crate) fn lies_in(folder: &str, place: &str) -> bool {
    place.is_empty() || folder == place || folder.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'))
}

/// The nearest to a job in `folder`.
pub(crate) fn nearest<'v>(variables: &'v [Variable], folder: &str, name: &str) -> Option<&'v Variable> {
    let there = variables.iter().filter(|variable| variable.name == name && lies_in(folder, &variable.folder));
    there.max_by_key(|variable| (variable.tenant != PLATFORM, variable.folder.len()))
}

/// The secret of that name, if a job in `folder` may use it.
pub(crate) fn usable<'s>(secrets: &'s [SealedSecret], folder: &str, name: &str) -> Option<&'s SealedSecret> {
    secrets.iter().find(|secret| secret.name == name && lies_in(folder, &secret.folder))
}

#[cfg(test)]
mod tests {
    use model::{TenantId, Timestamp};

    use super::*;

    #[test]
    fn the_nearest_level_counts() {
        let variable = |tenant, folder: &str, value: &str| Variable {
            tenant: TenantId(tenant),
            folder: folder.into(),
            name: "zone".into(),
            value: value.into(),
            changed_at: Timestamp(0),
            changed_by: String::new(),
        };
        let all = [
            variable(0, "", "world"),
            variable(1, "a/b", "a/b"),
            variable(1, "", "tenant"),
            variable(1, "a", "a"),
            variable(1, "ab", "ab"),
        ];
        let value = |folder: &str| nearest(&all, folder, "zone").map(|variable| variable.value.as_str());
        assert_eq!(
            ["", "a", "a/b", "a/b/c", "a/bc", "ab/c", "x"].map(value),
            ["tenant", "a", "a/b", "a/b", "a", "ab", "tenant"].map(Some)
        );
        assert_eq!(nearest(&all[..1], "a", "zone").map(|variable| variable.value.as_str()), Some("world"));
        assert_eq!(nearest(&all, "a", "other"), None);
    }
}
