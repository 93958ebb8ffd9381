//! What a damaged store still gives: torn ends, spoilt records, forged ones, lost indexes.

use std::os::unix::fs::FileExt;
use std::path::Path;

use super::*;

/// Sixteen attempts of three frames each, each frame a record of its own; attempt 5 lies amid others.
async fn world_of_small_records(segment_bytes: u64) -> World {
    let world = World::new(segment_bytes);
    for number in 0..3 {
        for attempt in 0..16 {
            world.send([up(attempt, number, &format!("out:{attempt}.{number}"))]).await;
        }
    }
    world
}

fn find(path: &Path, text: &str) -> u64 {
    let bytes = fs::read(path).unwrap();
    bytes.windows(text.len()).position(|window| window == text.as_bytes()).expect("printed") as u64
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    fs::File::options().write(true).open(path).unwrap().write_all_at(bytes, at).unwrap();
}

fn whole(attempt: i64) -> String {
    format!("out:{attempt}.0 out:{attempt}.1 out:{attempt}.2")
}

#[tokio::test]
async fn a_torn_end_is_cut_and_written_over() {
    let mut world = world_of_small_records(USUAL).await;
    world.stop();
    let segment = world.files("seg").remove(0);
    let length = segment.metadata().unwrap().len();
    for cut in [1, 7, 20, 40] {
        fs::File::options().write(true).open(&segment).unwrap().set_len(length - cut).unwrap();
        world.start();
        assert_eq!(world.log(15), "out:15.0 out:15.1", "cut by {cut}");
        assert_eq!(world.log(14), whole(14));
        assert_eq!(world.send([up(15, 2, "out:15.2")]).await, "15:3");
        assert_eq!(world.log(15), whole(15));
        world.stop();
        assert_eq!(segment.metadata().unwrap().len(), length);
    }
}

#[tokio::test]
async fn zeros_after_the_end_are_cut() {
    let mut world = world_of_small_records(USUAL).await;
    world.stop();
    let segment = world.files("seg").remove(0);
    let length = segment.metadata().unwrap().len();
    fs::File::options().write(true).open(&segment).unwrap().set_len(length + 600_000).unwrap();
    world.start();
    assert_eq!(segment.metadata().unwrap().len(), length);
    assert_eq!(world.log(15), whole(15));
}

#[tokio::test]
async fn a_damaged_record_is_marked_and_the_rest_readable() {
    let mut world = world_of_small_records(USUAL).await;
    let segment = world.files("seg").remove(0);
    overwrite(&segment, find(&segment, "5.1"), b"x");
    // Once as the running store finds it, once as the next start does, which reads the segment through.
    for _ in 0..2 {
        for attempt in 0..16 {
            let expected = if attempt == 5 { format!("out:5.0 {} out:5.2", gone(1)) } else { whole(attempt) };
            assert_eq!(world.log(attempt), expected);
        }
        assert_eq!(world.log_from(5, 2), "out:5.2");
        world.restart();
    }
}

#[tokio::test]
async fn a_damaged_end_is_marked_while_it_is_known_that_there_was_one() {
    for segment_bytes in [USUAL, 900] {
        let world = world_of_small_records(segment_bytes).await;
        let segment = world.files("seg").pop().unwrap();
        overwrite(&segment, find(&segment, "5.2"), b"x");
        assert_eq!(world.log(5), format!("out:5.0 out:5.1 {}", gone(1)));
        assert_eq!(world.log_from(5, 2), gone(1));
        assert_eq!(world.send([up(5, 2, "out:5.2"), up(5, 3, "out:5.3")]).await, "5:4");
        assert_eq!(world.log(5), format!("out:5.0 out:5.1 {} out:5.3", gone(1)));
    }
}

#[tokio::test]
async fn a_length_gone_mad_does_not_hide_what_follows() {
    let mut world = world_of_small_records(USUAL).await;
    world.stop();
    let segment = world.files("seg").remove(0);
    let body = find(&segment, "5.1") - 25 - 13;
    for length in [0, 26, 5_000, 10_000_000, u32::MAX] {
        overwrite(&segment, body - 4, &u32::to_le_bytes(length));
        world.start();
        assert_eq!(world.log(5), format!("out:5.0 {} out:5.2", gone(1)), "length {length}");
        assert_eq!(world.log(6), whole(6));
        world.stop();
    }
}

#[tokio::test]
async fn what_was_damaged_at_the_end_is_asked_for_again_or_marked() {
    let mut world = world_of_small_records(USUAL).await;
    world.stop();
    let segment = world.files("seg").remove(0);
    overwrite(&segment, find(&segment, "5.2"), b"x");
    overwrite(&segment, find(&segment, "6.2"), b"x");
    world.start();
    assert_eq!(world.send([up(5, 2, "out:5.2 end"), up(6, 3, "out:6.3 end")]).await, "5:3 6:4");
    assert_eq!(world.log(5), whole(5) + " end");
    assert_eq!(world.log(6), format!("out:6.0 out:6.1 {} out:6.3 end", lost(1)));
}

#[tokio::test]
async fn a_task_cannot_print_a_record_into_another_log() {
    let mut world = World::new(USUAL);
    world.send([up(1, 0, "out:honest")]).await;
    let segment = world.files("seg").remove(0);
    // The very bytes of a sound record of an older segment, which is the most anybody could know.
    let record = fs::read(&segment).unwrap()[20..].to_vec();
    let mut other = World::new(USUAL);
    let frames = vec![frame(link::Stream::Stdout, &record)];
    other.send([LogUp { attempt: 2, first: 0, frames, last: false }, up(3, 0, "out:after")]).await;
    other.stop();
    let segment = other.files("seg").remove(0);
    overwrite(&segment, 20, b"damaged!");
    other.start();
    assert_eq!((other.log(1), other.log(2), other.log(3)), (String::new(), String::new(), "out:after".into()));
    world.stop();
}

#[tokio::test]
async fn a_lost_or_damaged_index_is_made_anew() {
    let mut world = world_of_small_records(900).await;
    world.stop();
    let indexes = world.files("idx");
    assert!(indexes.len() >= 2, "{} indexes", indexes.len());
    let sound: Vec<_> = indexes.iter().map(|path| fs::read(path).unwrap()).collect();
    for (path, at) in [(0, None), (1, None), (0, Some(3)), (0, Some(30)), (1, Some(70)), (1, Some(200))] {
        match at {
            None => fs::remove_file(&indexes[path]).unwrap(),
            Some(at) => overwrite(&indexes[path], at, b"\xa5\x5a"),
        }
        world.start();
        (0..16).for_each(|attempt| assert_eq!(world.log(attempt), whole(attempt), "index {path} at {at:?}"));
        world.stop();
        (0..2).for_each(|n| assert_eq!(fs::read(&indexes[n]).unwrap()[60..], sound[n][60..], "mended"));
    }
}

#[tokio::test]
async fn a_damaged_segment_under_its_index_is_marked() {
    let mut world = world_of_small_records(900).await;
    world.restart();
    let segment = world.files("seg").remove(0);
    overwrite(&segment, find(&segment, "5.0"), b"x");
    assert_eq!(world.log(5), format!("{} out:5.1 out:5.2", gone(1)));
    assert_eq!(world.log(6), whole(6));
    // And with the index gone as well.
    overwrite(&segment.with_extension("idx"), 60, &[0; 640]);
    for _ in 0..2 {
        assert_eq!(world.log(5), format!("{} out:5.1 out:5.2", gone(1)));
        assert_eq!(world.log(6), whole(6));
        world.restart();
    }
}

#[tokio::test]
async fn a_file_without_a_beginning_is_left_alone() {
    let mut world = world_of_small_records(900).await;
    world.stop();
    let segments = world.files("seg");
    overwrite(&segments[0], 0, b"????????");
    fs::remove_file(segments[0].with_extension("idx")).unwrap();
    fs::write(world.dir.path().join("0000000099.seg"), b"dulyl").unwrap();
    fs::write(world.dir.path().join("0000000098.idx"), b"").unwrap();
    fs::write(world.dir.path().join("0000000097.tmp"), b"").unwrap();
    fs::write(world.dir.path().join("notes.txt"), b"").unwrap();
    world.start();
    let log = world.log(15);
    assert!(log.starts_with(&gone(1)) && log.ends_with("out:15.2"), "{log}");
    assert!(segments[0].exists(), "kept for whoever can make sense of it");
    assert_eq!(world.send([up(15, 3, "out:15.3")]).await, "15:4");
    world.restart();
    assert!(world.log(15).ends_with("out:15.2 out:15.3"));
    assert_eq!((world.files("tmp").len(), world.files("txt").len()), (0, 1));
}
