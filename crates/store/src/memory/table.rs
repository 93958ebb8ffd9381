//! A map that can take back what was done to it since a point: how a batch is written whole or not at all, and how a
//! store goes back.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;

#[derive(Debug)]
pub(super) struct Table<K, V> {
    rows: BTreeMap<K, V>,
    /// What stood before, newest last; the batch under way.
    undo: Vec<(K, Option<V>)>,
    /// The same of batches already written, newest last; kept only for stores that go back.
    past: VecDeque<Vec<(K, Option<V>)>>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Table { rows: BTreeMap::new(), undo: Vec::new(), past: VecDeque::new() }
    }
}

/// Reading is reading a map.
impl<K, V> Deref for Table<K, V> {
    type Target = BTreeMap<K, V>;
    fn deref(&self) -> &BTreeMap<K, V> {
        &self.rows
    }
}

impl<K: Ord + Clone, V> Table<K, V> {
    pub(super) fn put(&mut self, key: K, value: V) {
        let before = self.rows.insert(key.clone(), value);
        self.undo.push((key, before));
    }

    pub(super) fn delete(&mut self, key: &K) -> bool {
        let Some((key, before)) = self.rows.remove_entry(key) else { return false };
        self.undo.push((key, Some(before)));
        true
    }

    /// Edits a row in place. The caller says that it is there.
    pub(super) fn edit(&mut self, key: &K, edit: impl FnOnce(&mut V))
    where
        V: Clone,
    {
        let row = self.rows.get_mut(key).expect("only rows that were found are edited");
        self.undo.push((key.clone(), Some(row.clone())));
        edit(row);
    }

    /// The batch is written; remembers it if the last `keep` batches may have to be taken back.
    pub(super) fn seal(&mut self, keep: usize) {
        if keep == 0 {
            self.undo.clear();
            return;
        }
        self.past.push_back(std::mem::take(&mut self.undo));
        while self.past.len() > keep {
            self.past.pop_front();
        }
    }

    /// What was done since the last batch stays, whatever is taken back.
    pub(super) fn forget_undo(&mut self) {
        self.undo.clear();
    }

    /// The batch under way never was.
    pub(super) fn undo(&mut self) {
        let undo = std::mem::take(&mut self.undo);
        self.restore(undo);
    }

    /// The last written batch never was.
    pub(super) fn go_back(&mut self) {
        if let Some(undo) = self.past.pop_back() {
            self.restore(undo);
        }
    }

    fn restore(&mut self, undo: Vec<(K, Option<V>)>) {
        for (key, before) in undo.into_iter().rev() {
            match before {
                Some(value) => self.rows.insert(key, value),
                None => self.rows.remove(&key),
            };
        }
    }
}
