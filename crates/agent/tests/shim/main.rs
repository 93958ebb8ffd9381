//! Real processes under the real shim: what a task may do to escape, to hide or to fail, and what is found afterwards.

mod adopting;
mod ending;
mod running;
mod secrets;
mod world;
