//! XXL-JOB executors: the door they come in by, the registry of who is there, and the lines they are called over. The
//! engine knows them as executors that keep no fence; every word of their protocol stays in here and in `wire::xxl`.

mod ask;
mod connection;
mod door;
mod evidence;
mod hearsay;
pub mod http;
mod line;
mod pace;
mod presence;
mod registry;
mod roll;
mod runs;
mod send;
mod signs;
mod switch;
mod tokens;

pub(crate) use door::take as door;
pub use pace::Pace;
pub(crate) use switch::Executors;
pub(crate) use tokens::Tokens;
pub use tokens::{BadToken, TokenRules};
