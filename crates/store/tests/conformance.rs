//! One suite, every store.

use duly_store::conformance::{Bed, SharedBed};
use duly_store::memory::MemoryStore;
use duly_store::sqlite::{Options, SqliteStore};
use duly_store::{Leases, Reads, Store, Wakes};
use engine::change::Row;
use model::ServerId;

#[path = "support/cluster.rs"]
mod cluster;

mod sqlite {
    use super::*;

    struct Dir(tempfile::TempDir);

    fn bed() -> Dir {
        Dir(tempfile::tempdir().unwrap())
    }

    impl Dir {
        fn open(&self) -> SqliteStore {
            SqliteStore::open(self.0.path(), &Options { shards: 2, readers: 1, ..Options::default() }).unwrap()
        }
    }

    impl Bed for Dir {
        fn store(&self) -> Box<dyn Store> {
            Box::new(self.open())
        }

        fn reads(&self) -> Box<dyn Reads> {
            Box::new(self.open().reads().unwrap())
        }

        fn spoil(&self, row: Row) {
            let conn = rusqlite::Connection::open(self.open().path()).unwrap();
            let table = format!("instance_d{}", row.planned.day());
            let changed = conn.execute(&format!("update {table} set cause = 77 where id = ?1"), [row.id.0]).unwrap();
            assert_eq!(changed, 1);
        }
    }

    duly_store::conformance!(bed);
}

mod memory {
    use super::*;

    struct Maps(MemoryStore);

    fn bed() -> Maps {
        Maps(MemoryStore::with_shards(2))
    }

    impl Bed for Maps {
        fn store(&self) -> Box<dyn Store> {
            Box::new(self.0.clone())
        }

        fn reads(&self) -> Box<dyn Reads> {
            Box::new(self.0.clone())
        }

        fn spoil(&self, row: Row) {
            self.0.spoil(row.id);
        }
    }

    impl SharedBed for Maps {
        fn leases(&self) -> Box<dyn Leases> {
            Box::new(self.0.leases())
        }

        fn wakes(&self, me: ServerId) -> Box<dyn Wakes> {
            Box::new(self.0.wakes(me))
        }

        fn pass(&self) {
            self.0.set_now(self.0.now() + model::Span::millis(10));
        }
    }

    duly_store::conformance!(bed);
    duly_store::lease_conformance!(bed);
}

mod postgres {
    use duly_store::postgres::{Options, PgStore};

    use super::cluster::Database;
    use super::*;

    fn bed() -> Database {
        Database::fresh()
    }

    fn open(of: &Database) -> PgStore {
        PgStore::open(&of.address, &Options { shards: 2, readers: 1 }).unwrap()
    }

    impl Bed for Database {
        fn store(&self) -> Box<dyn Store> {
            Box::new(open(self))
        }

        fn reads(&self) -> Box<dyn Reads> {
            Box::new(open(self).reads().unwrap())
        }

        fn spoil(&self, row: Row) {
            // People see all days as one table.
            assert_eq!(self.run(&format!("update duly.instance set cause = 77 where id = {}", row.id.0)), 1);
        }
    }

    impl SharedBed for Database {
        fn leases(&self) -> Box<dyn Leases> {
            Box::new(open(self).leases().unwrap())
        }

        fn wakes(&self, me: ServerId) -> Box<dyn Wakes> {
            Box::new(open(self).wakes(me).unwrap())
        }

        fn pass(&self) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    duly_store::conformance!(bed);
    duly_store::lease_conformance!(bed);
}
