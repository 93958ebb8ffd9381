//! What is too old goes, what is young stays.

use std::time::{Duration, SystemTime};

use super::*;

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test]
async fn old_segments_go_and_young_ones_stay() {
    let mut world = World::new(TINY);
    world.send([up(1, 0, "out:a")]).await;
    world.send([up(1, 1, "out:b")]).await;
    world.restart();
    let now = SystemTime::now();
    assert_eq!(world.store().tidy(HOUR, now).unwrap(), 0);
    assert_eq!(world.store().tidy(HOUR, now + HOUR / 2).unwrap(), 0);
    assert!(world.store().bytes() > 0);
    assert_eq!(world.store().tidy(HOUR, now + 2 * HOUR).unwrap(), 2);
    assert_eq!(world.store().bytes(), 0);
    // An index may be under way while its segment goes; closing waits for it.
    world.restart();
    assert_eq!((world.files("seg").len(), world.files("idx").len()), (0, 0));
    assert_eq!(world.log(1), "");
}

#[tokio::test]
async fn a_log_whose_beginning_is_gone_says_so() {
    let mut world = World::new(TINY);
    for number in 0..4 {
        world.send([up(1, number, &format!("out:{number}"))]).await;
    }
    world.restart();
    age(&world, 2);
    world.restart();
    assert_eq!(world.store().tidy(HOUR, SystemTime::now()).unwrap(), 2);
    for _ in 0..2 {
        assert_eq!(world.log(1), format!("{} out:2 out:3", gone(2)));
        assert_eq!(world.log_from(1, 2), "out:2 out:3");
        world.restart();
    }
    assert_eq!(world.send([up(1, 4, "end")]).await, "1:4", "it is known how far the log had come");
}

#[tokio::test]
async fn a_quiet_store_forgets_as_well() {
    let world = World::new(USUAL);
    world.send([up(1, 0, "out:a end")]).await;
    assert_eq!(world.store().tidy(HOUR, SystemTime::now() + 2 * HOUR).unwrap(), 1);
    assert_eq!(world.log(1), "");
    world.send([up(2, 0, "out:b")]).await;
    assert_eq!(world.log(2), "out:b");
}

#[tokio::test]
async fn bytes_are_those_of_the_files() {
    let mut world = World::new(TINY);
    for attempt in 0..20 {
        world.send([up(attempt, 0, "out:a end")]).await;
    }
    world.restart();
    let told = world.store().bytes();
    world.stop();
    let files = [world.files("seg"), world.files("idx")].concat();
    assert_eq!(files.len(), 40);
    assert_eq!(told, files.iter().map(|path| path.metadata().unwrap().len()).sum::<u64>());
}

/// Makes the first segments look as if they were finished long ago: their indexes are made anew from the files' time.
fn age(world: &World, count: usize) {
    let long_ago = SystemTime::now() - 3 * HOUR;
    for path in world.files("seg").iter().take(count) {
        fs::remove_file(path.with_extension("idx")).unwrap();
        fs::File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
    }
}
