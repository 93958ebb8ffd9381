//! Finds any of many words in a stream, one step per byte (the automaton of Aho and Corasick). Told one byte at a time,
//! it knows the longest word that ends there, and how much of what came may still become one.

const ROOT: u32 = 0;
const NONE: u32 = 0;

#[derive(Default)]
pub(super) struct Words {
    nodes: Vec<Node>,
    /// Where each first byte of a word leads.
    first: Vec<u32>,
}

/// What was read last is the beginning of a word.
#[derive(Clone, Copy, Default)]
struct Node {
    byte: u8,
    child: u32,
    sibling: u32,
    /// The longest shorter beginning that was read last, too.
    fail: u32,
    depth: u32,
    /// The length of the longest word that ends here.
    ends: u32,
    /// The longest part of it that may still become a word; a word that cannot go on is over.
    open: u32,
}

impl Words {
    pub(super) fn of<'a>(words: impl IntoIterator<Item = &'a [u8]>) -> Words {
        let mut all = Words { nodes: vec![Node::default()], first: vec![NONE; 256] };
        for word in words.into_iter().filter(|word| !word.is_empty()) {
            all.insert(word);
        }
        all.link();
        all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.len() <= 1
    }

    /// Whether a word begins with this byte.
    pub(super) fn begins(&self, byte: u8) -> bool {
        self.first[usize::from(byte)] != NONE
    }

    pub(super) fn step(&self, mut state: u32, byte: u8) -> u32 {
        loop {
            if state == ROOT {
                return self.first[usize::from(byte)];
            }
            match self.child(state, byte) {
                NONE => state = self.nodes[state as usize].fail,
                next => return next,
            }
        }
    }

    /// The length of the longest word that was just completed; 0 for none.
    pub(super) fn ends(&self, state: u32) -> usize {
        self.nodes[state as usize].ends as usize
    }

    /// How many of the last bytes may still become a word.
    pub(super) fn open(&self, state: u32) -> usize {
        self.nodes[state as usize].open as usize
    }

    fn child(&self, of: u32, byte: u8) -> u32 {
        if of == ROOT {
            return self.first[usize::from(byte)];
        }
        let mut at = self.nodes[of as usize].child;
        while at != NONE && self.nodes[at as usize].byte != byte {
            at = self.nodes[at as usize].sibling;
        }
        at
    }

    fn insert(&mut self, word: &[u8]) {
        let mut at = ROOT;
        for byte in word {
            at = match self.child(at, *byte) {
                NONE => self.grow(at, *byte),
                child => child,
            };
        }
        self.nodes[at as usize].ends = self.nodes[at as usize].depth;
    }

    fn grow(&mut self, parent: u32, byte: u8) -> u32 {
        let new = self.nodes.len() as u32;
        let Node { depth, child, .. } = self.nodes[parent as usize];
        // The root's children are in a table and in its list, so that all nodes can be walked alike.
        self.nodes.push(Node { byte, sibling: child, depth: depth + 1, ..Node::default() });
        self.nodes[parent as usize].child = new;
        if parent == ROOT {
            self.first[usize::from(byte)] = new;
        }
        new
    }

    /// Shorter ones first, because each looks at shorter ones.
    fn link(&mut self) {
        let mut level = vec![ROOT];
        while !level.is_empty() {
            let mut next = Vec::new();
            for parent in level {
                let mut at = self.nodes[parent as usize].child;
                while at != NONE {
                    self.link_one(parent, at);
                    next.push(at);
                    at = self.nodes[at as usize].sibling;
                }
            }
            level = next;
        }
    }

    fn link_one(&mut self, parent: u32, at: u32) {
        let byte = self.nodes[at as usize].byte;
        let fail = if parent == ROOT { ROOT } else { self.step(self.nodes[parent as usize].fail, byte) };
        let shorter = self.nodes[fail as usize];
        let node = &mut self.nodes[at as usize];
        node.fail = fail;
        node.ends = node.ends.max(shorter.ends);
        node.open = if node.child == NONE { shorter.open } else { node.depth };
    }
}
