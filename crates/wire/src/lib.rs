//! Bodies that cross a process: the public API, the agent protocol. Conversions to and from the nouns live here;
//! nothing here decides or does anything.

pub mod link;
pub mod task;
