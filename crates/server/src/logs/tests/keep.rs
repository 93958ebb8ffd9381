//! What came is kept, in order and byte for byte.

use super::*;

#[tokio::test]
async fn frames_come_back_in_the_order_they_were_printed() {
    let world = World::new(USUAL);
    let acks = world.send([up(1, 0, "out:a err:b"), up(2, 0, "err:x"), up(1, 2, "out:c err:d end")]).await;
    assert_eq!(acks, "1:4 2:1");
    assert_eq!(world.log(1), "out:a err:b out:c err:d end");
    assert_eq!(world.log(2), "err:x");
    assert_eq!(world.log_from(1, 2), "out:c err:d end");
    assert_eq!(world.log(3), "");
}

#[tokio::test]
async fn repeats_are_answered_and_dropped() {
    for segment_bytes in [USUAL, TINY] {
        let mut world = World::new(segment_bytes);
        assert_eq!(world.send([up(1, 0, "out:a out:b")]).await, "1:2");
        assert_eq!(world.send([up(1, 0, "out:a out:b")]).await, "1:2");
        assert_eq!(world.send([up(1, 1, "out:b out:c end"), up(1, 0, "out:a")]).await, "1:3");
        world.restart();
        assert_eq!(world.send([up(1, 0, "out:a"), up(1, 2, "out:c end"), up(1, 3, "end")]).await, "1:3");
        assert_eq!(world.log(1), "out:a out:b out:c end");
    }
}

#[tokio::test]
async fn an_end_is_written_once() {
    let world = World::new(USUAL);
    world.send([up(1, 0, "out:a end")]).await;
    let bytes = world.store().bytes();
    world.send([up(1, 1, "end"), up(1, 0, "out:a end")]).await;
    assert_eq!(world.store().bytes(), bytes);
}

#[tokio::test]
async fn what_comes_after_the_end_is_kept_and_the_end_stays_known() {
    for segment_bytes in [USUAL, TINY] {
        let mut world = World::new(segment_bytes);
        world.send([up(1, 0, "out:a end")]).await;
        world.send([up(1, 1, "out:late")]).await;
        let far = LogUp { attempt: 2, first: 0, frames: vec![frame(link::Stream::Stdout, &[0; 50_000])], last: false };
        world.send([far]).await;
        world.send([up(1, 2, "out:later")]).await;
        for _ in 0..2 {
            assert_eq!(world.log(1), "out:a out:late out:later end");
            world.restart();
        }
    }
}

#[tokio::test]
async fn a_gap_is_marked_and_what_follows_kept() {
    let mut world = World::new(USUAL);
    assert_eq!(world.send([up(1, 0, "out:a"), up(1, 5, "out:f"), up(1, 3, "out:d out:e")]).await, "1:6");
    for _ in 0..2 {
        assert_eq!(world.log(1), format!("out:a {} out:f", lost(4)));
        assert_eq!(world.log_from(1, 3), format!("{} out:f", lost(4)));
        assert_eq!(world.log_from(1, 5), "out:f");
        world.restart();
    }
    assert_eq!(world.send([up(2, 3, "end")]).await, "2:3");
    assert_eq!(world.log(2), format!("{} end", lost(3)));
}

#[tokio::test]
async fn a_silent_task_ends_too() {
    let mut world = World::new(TINY);
    world.send([up(1, 0, "end")]).await;
    assert_eq!(world.log(1), " end");
    world.restart();
    assert_eq!(world.log(1), " end");
}

#[tokio::test]
async fn bytes_stay_what_they_were() {
    let mut world = World::new(USUAL);
    let printed: &[&[u8]] = &[b"\x1b[31mred\x1b[0m\r\n", b"\xff\xfe\x00broken \xe4\xb8", b"", b"\xad\n"];
    let frames = printed.iter().map(|bytes| frame(link::Stream::Stderr, bytes)).collect();
    world.send([LogUp { attempt: 1, first: 0, frames, last: true }]).await;
    world.restart();
    let kept: Vec<Vec<u8>> = world.chunk(1, 0, usize::MAX).frames.into_iter().map(|frame| frame.bytes).collect();
    assert_eq!(kept, printed);
}

#[tokio::test]
async fn what_is_acknowledged_outlives_a_crash() {
    let world = World::new(USUAL);
    world.send([up(1, 0, "out:a"), up(2, 0, "out:b")]).await;
    // The store is not closed: a second one sees the files as a crash would leave them.
    let mut after = World { dir: tempfile::tempdir().unwrap(), segment_bytes: USUAL, store: None };
    for path in world.files("seg") {
        fs::copy(&path, after.dir.path().join(path.file_name().unwrap())).unwrap();
    }
    after.start();
    assert_eq!((after.log(1), after.log(2)), ("out:a".into(), "out:b".into()));
}

#[tokio::test]
async fn an_agent_writes_only_what_it_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let allowed = Arc::new(|agent, attempt, _| match (agent, attempt) {
        (AGENT, AttemptId(1)) => Leave::Keep,
        _ => Leave::Refused,
    });
    let store = LogStore::open(dir.path(), LogOptions { allowed, ..LogOptions::default() }).unwrap();
    let acks = send(&store, [up(1, 0, "out:mine"), up(2, 0, "out:not out:mine")]).await;
    let mut acks: Vec<_> = acks.into_iter().map(|ack| ack.unwrap()).map(|ack| (ack.attempt, ack.kept)).collect();
    acks.sort();
    assert_eq!(acks, [(1, 1), (2, 2)], "a refused frame is answered too");
    assert_eq!(show(&store.read(AttemptId(1), 0, 100).unwrap().frames), "out:mine");
    assert_eq!(store.read(AttemptId(2), 0, 100).unwrap(), Chunk::default());
}

#[tokio::test]
async fn what_is_left_out_is_answered_and_said_once() {
    let dir = tempfile::tempdir().unwrap();
    let room = std::sync::atomic::AtomicI64::new(2);
    let allowed =
        Arc::new(move |_, _, bytes| match room.fetch_sub(bytes as i64, std::sync::atomic::Ordering::Relaxed) {
            2.. => Leave::Keep,
            1 => Leave::Blank(Some("[full]".into())),
            _ => Leave::Blank(None),
        });
    let store = LogStore::open(dir.path(), LogOptions { allowed, ..LogOptions::default() }).unwrap();
    let sent = [up(1, 0, "out:a"), up(1, 1, "out:b out:c"), up(1, 3, "out:d")];
    let acks = send(&store, sent).await;
    assert_eq!(acks.last().unwrap().as_ref().unwrap().kept, 4, "it is not sent again");
    assert_eq!(show(&store.read(AttemptId(1), 0, 100).unwrap().frames), "out:a [full] out: out:");
}

#[tokio::test]
async fn numbers_and_sizes_beyond_reason_are_refused() {
    let world = World::new(USUAL);
    let long = frame(link::Stream::Stdout, &vec![0; 9 << 20]);
    for message in [up(1, u64::MAX, "out:a"), LogUp { attempt: 1, first: 0, frames: vec![long], last: false }] {
        let acks = send(world.store(), [message]).await;
        assert_eq!(acks[0].as_ref().unwrap_err().code(), tonic::Code::InvalidArgument);
    }
    let empty = vec![frame(link::Stream::Stdout, b""); 200_000];
    assert_eq!(world.send([LogUp { attempt: 1, first: 0, frames: empty, last: false }]).await, "1:200000");
    assert_eq!(world.chunk(1, 199_000, usize::MAX).frames.len(), 1_000);
}

#[tokio::test]
async fn a_failed_write_is_not_acknowledged_and_can_be_sent_again() {
    let mut world = World::new(USUAL);
    world.send([up(1, 0, "out:a")]).await;
    let read_only = fs::File::open(&world.files("seg")[0]).unwrap();
    let broken = Arc::new(super::super::sync::Wet::new(read_only));
    world.store().shelf.state.write().open.as_mut().unwrap().wet = broken;
    let acks = send(world.store(), [up(1, 1, "out:b")]).await;
    assert_eq!(acks[0].as_ref().unwrap_err().code(), tonic::Code::Unavailable);
    assert_eq!(world.send([up(1, 1, "out:b end")]).await, "1:2");
    assert_eq!(world.log(1), "out:a out:b end");
    world.restart();
    assert_eq!(world.log(1), "out:a out:b end");
}
