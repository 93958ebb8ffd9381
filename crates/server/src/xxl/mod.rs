//! XXL-JOB's executors: what they are told over HTTP, byte for byte as the pickiest of them reads it.

pub mod http;
