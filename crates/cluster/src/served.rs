//! Whether somebody schedules a tenant that only some servers may. Says it of the same rows that decide it.

use store::leases::{Picture, Reserved};

use crate::round::may_have;
use crate::tenure::Terms;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    Yes,
    /// By one that shall have nothing: no other that may is there, so it gives nothing away.
    Kept,
    /// None of those that may is there: its jobs wait.
    No,
}

pub fn served(picture: &Picture, reserved: &Reserved, terms: &Terms) -> Served {
    let may = may_have(picture, reserved, terms);
    if may.iter().any(|server| !server.draining && server.weight > 0) {
        return Served::Yes;
    }
    let is_held = |server: model::ServerId| {
        picture.leases.iter().any(|row| row.server == Some(server) && reserved.shards.contains(&row.shard))
    };
    if may.iter().any(|server| is_held(server.id)) { Served::Kept } else { Served::No }
}

#[cfg(test)]
mod tests {
    use model::{ServerId, ShardId, Timestamp};
    use store::leases::{LeaseRow, ServerRow};

    use super::*;

    fn check(draining: bool, until: i64, holder: Option<i64>) -> Served {
        let server = |id: i64, name: &str, draining: bool, until: i64| ServerRow {
            id: ServerId(id),
            name: name.into(),
            weight: 1,
            draining,
            until: Timestamp(until),
            ..ServerRow::default()
        };
        let lease = LeaseRow { shard: ShardId(64), server: holder.map(ServerId), ..LeaseRow::default() };
        let picture = Picture {
            now: Timestamp(60_000_000),
            servers: vec![server(1, "a", draining, until), server(2, "other", false, i64::MAX / 2)],
            leases: vec![lease],
            ..Picture::default()
        };
        let shards = vec![ShardId(64)];
        let reserved = Reserved { tenant: "acme".into(), servers: vec!["a".into(), "b".into()], shards };
        served(&picture, &reserved, &Terms::default())
    }

    #[test]
    fn a_tenant_is_served_while_one_of_its_servers_is_there() {
        let (there, gone) = (61_000_000, 1_000_000);
        assert_eq!(check(false, there, None), Served::Yes, "it takes them in a moment");
        assert_eq!(check(true, there, Some(1)), Served::Kept);
        assert_eq!(check(true, there, None), Served::No, "one that drains takes nothing");
        assert_eq!(check(false, gone, Some(1)), Served::No, "it is dead, and nobody takes it from it");
        assert_eq!(check(true, there, Some(2)), Served::No, "a foreigner is about to let go");
    }
}
