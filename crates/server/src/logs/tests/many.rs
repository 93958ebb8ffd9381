//! Many attempts, many segments, floods and restarts.

use std::collections::BTreeMap;

use super::*;

#[tokio::test]
async fn an_attempt_is_found_over_many_segments() {
    let mut world = World::new(3_000);
    for round in 0..20 {
        let messages = (0..50).map(|attempt| up(attempt * 3, round * 2, &format!("out:{attempt}.{round} err:{round}")));
        world.send(messages).await;
    }
    assert!(world.files("seg").len() >= 10);
    for _ in 0..2 {
        for attempt in 0..50 {
            let all: Vec<_> = (0..20).map(|round| format!("out:{attempt}.{round} err:{round}")).collect();
            assert_eq!(world.log(attempt * 3), all.join(" "));
            assert_eq!(world.log(attempt * 3 + 1), "");
            assert_eq!(world.log_from(attempt * 3, 20), all[10..].join(" "));
        }
        world.restart();
    }
}

#[tokio::test]
async fn chunks_of_any_size_make_up_the_log() {
    let mut world = World::new(20_000);
    for number in 0..200 {
        world.send([up(1, number, &format!("out:{}", "x".repeat(number as usize))), up(2, number, "err:y")]).await;
    }
    world.send([up(1, 200, "end")]).await;
    world.restart();
    let whole = world.chunk(1, 0, usize::MAX);
    assert_eq!((whole.frames.len(), whole.next, whole.ended), (200, 200, true));
    for bytes in [0, 1, 100, 5_000, 100_000] {
        let mut frames = Vec::new();
        let mut from = 0;
        loop {
            let chunk = world.chunk(1, from, bytes);
            let payload: usize = chunk.frames.iter().map(|frame| frame.bytes.len()).sum();
            assert!(payload <= bytes + 200, "{payload} bytes for {bytes}");
            assert!(chunk.ended || chunk.next > from, "a read brings at least a frame");
            frames.extend(chunk.frames);
            from = chunk.next;
            if chunk.ended {
                break;
            }
        }
        assert_eq!(frames, whole.frames);
    }
}

#[tokio::test]
async fn a_flood_and_a_thousand_others_share_the_store() {
    let mut world = World::new(4 << 20);
    let line = [b'x'; 32 << 10];
    for round in 0..10_u64 {
        let flood = (0..40).map(|n| frame(link::Stream::Stdout, &line[..line.len() - n])).collect();
        let flood = LogUp { attempt: 500, first: round * 40, frames: flood, last: round == 9 };
        let others = (1_000..2_000).map(|attempt| up(attempt, round, &format!("out:{attempt}.{round}")));
        world.send(std::iter::once(flood).chain(others)).await;
    }
    for _ in 0..2 {
        for attempt in (1_000..2_000).step_by(37) {
            let expected: Vec<_> = (0..10).map(|round| format!("out:{attempt}.{round}")).collect();
            assert_eq!(world.log(attempt), expected.join(" "));
        }
        let flood = world.chunk(500, 0, usize::MAX);
        assert!(flood.ended && !flood.missing);
        assert_eq!(flood.frames.len(), 400);
        assert!(flood.frames.iter().enumerate().all(|(n, frame)| frame.bytes.len() == line.len() - n % 40));
        world.restart();
    }
}

#[tokio::test]
async fn the_last_lines_are_found_from_the_end() {
    let world = World::new(30_000);
    for number in 0..1_000 {
        let text = format!("{number}\n");
        world
            .send([LogUp {
                attempt: 1,
                first: number,
                frames: vec![frame(link::Stream::Stdout, text.as_bytes())],
                last: false,
            }])
            .await;
    }
    let last = |lines, bytes| {
        let chunk = world.store().read_last(AttemptId(1), lines, bytes).unwrap();
        assert_eq!(chunk.next, 1_000);
        String::from_utf8(chunk.frames.into_iter().flat_map(|frame| frame.bytes).collect()).unwrap()
    };
    assert_eq!(last(3, 1_000), "997\n998\n999\n");
    assert_eq!(last(0, 1_000), "");
    assert_eq!(last(500, 1 << 20).lines().next(), Some("500"));
    assert_eq!(last(5_000, 1 << 20).lines().count(), 1_000);
    assert_eq!(last(500, 10), "7\n998\n999\n");
    assert_eq!(world.store().read_last(AttemptId(2), 5, 100).unwrap(), Chunk::default());
}

/// What an agent does over a bad line and a store that restarts: sends again what was kept, in pieces that overlap.
#[tokio::test]
async fn any_mix_of_repeats_restarts_and_reads_gives_back_what_was_printed() {
    for seed in 1..=20 {
        let mut dice = Dice(seed);
        let mut world = World::new(200 << dice.roll(8));
        let mut printed: BTreeMap<i64, Vec<String>> = BTreeMap::new();
        for _ in 0..150 {
            let attempt = dice.roll(6) as i64;
            let log = printed.entry(attempt).or_default();
            match dice.roll(12) {
                0 => world.restart(),
                1..=4 => {
                    let from = dice.roll(log.len() as u64 + 1);
                    assert_eq!(world.log_from(attempt, from), log[from as usize..].join(" "), "seed {seed}");
                }
                _ => {
                    let first = log.len() as u64 - dice.roll(log.len().min(4) as u64 + 1);
                    let fresh = dice.roll(5);
                    log.extend((0..fresh).map(|_| format!("out:{}", "z".repeat(1 + dice.roll(300) as usize))));
                    let acks = world.send([up(attempt, first, &log[first as usize..].join(" "))]).await;
                    assert_eq!(acks, format!("{attempt}:{}", log.len()), "seed {seed}");
                }
            }
        }
    }
}

struct Dice(u64);

impl Dice {
    /// Less than `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides.max(1)
    }
}
