//! How many tasks run at once. What is ordered beyond that waits.

#[derive(Debug)]
pub(crate) struct Slots {
    all: u32,
    used: u32,
}

impl Slots {
    /// Tasks found running are counted even if there are more of them than slots.
    pub(crate) fn new(all: u32, used: u32) -> Slots {
        Slots { all, used }
    }

    #[must_use]
    pub(crate) fn take(&mut self) -> bool {
        let free = self.used < self.all;
        self.used += u32::from(free);
        free
    }

    pub(crate) fn give_back(&mut self) {
        self.used = self.used.checked_sub(1).expect("only a taken slot is given back");
    }

    pub(crate) fn used(&self) -> u32 {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_more_than_all_and_adopted_ones_count() {
        let mut slots = Slots::new(2, 0);
        assert_eq!([slots.take(), slots.take(), slots.take()], [true, true, false]);
        slots.give_back();
        assert!(slots.take());

        let mut crowded = Slots::new(1, 2);
        crowded.give_back();
        assert!(!crowded.take());
        crowded.give_back();
        assert!(crowded.take());
    }
}
