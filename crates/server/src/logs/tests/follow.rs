//! Tails: woken by what concerns them, and by nothing else.

use futures::FutureExt;

use super::*;

#[tokio::test]
async fn a_tail_sees_each_frame_as_it_comes() {
    let world = World::new(USUAL);
    let store = Arc::clone(world.store());
    let (seen, mut shown) = mpsc::unbounded_channel();
    let tail = tokio::spawn(async move {
        let mut tail = store.watch(AttemptId(1));
        let mut from = 0;
        loop {
            let chunk = store.read(AttemptId(1), from, 1).unwrap();
            from = chunk.next;
            if !chunk.frames.is_empty() {
                seen.send(show(&chunk.frames)).unwrap();
            }
            if chunk.ended {
                return from;
            }
            if chunk.frames.is_empty() {
                assert!(tail.changed().await);
            }
        }
    });
    for (number, text) in ["out:a", "err:b", "out:c"].into_iter().enumerate() {
        world.send([up(1, number as u64, text)]).await;
        assert_eq!(shown.recv().await.as_deref(), Some(text));
    }
    world.send([up(1, 3, "end")]).await;
    assert_eq!(tail.await.unwrap(), 3);
}

#[tokio::test]
async fn a_write_between_look_and_wait_is_not_missed() {
    let world = World::new(USUAL);
    let mut tail = world.store().watch(AttemptId(1));
    assert_eq!(world.log(1), "");
    world.send([up(1, 0, "out:a")]).await;
    assert_eq!(tail.changed().now_or_never(), Some(true));
    assert_eq!(tail.changed().now_or_never(), None);
}

#[tokio::test]
async fn only_those_who_follow_an_attempt_are_woken() {
    let world = World::new(USUAL);
    let mut others: Vec<_> = (2..1_000).map(|attempt| world.store().watch(AttemptId(attempt))).collect();
    let mut pair = [world.store().watch(AttemptId(1)), world.store().watch(AttemptId(1))];
    world.send([up(1, 0, "out:a")]).await;
    assert!(others.iter_mut().all(|tail| tail.changed().now_or_never().is_none()));
    assert!(pair.iter_mut().all(|tail| tail.changed().now_or_never() == Some(true)));
    let [first, mut second] = pair;
    drop((first, others));
    assert_eq!(world.store().shelf.tails.followed(), 1);
    world.send([up(1, 1, "out:b")]).await;
    assert_eq!(second.changed().now_or_never(), Some(true));
    drop(second);
    assert_eq!(world.store().shelf.tails.followed(), 0);
}

#[tokio::test]
async fn a_closed_store_sends_its_tails_home() {
    let mut world = World::new(USUAL);
    let mut tail = world.store().watch(AttemptId(1));
    world.stop();
    assert!(!tail.changed().await);
}
