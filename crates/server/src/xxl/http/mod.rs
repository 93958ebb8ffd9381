//! HTTP/1.1 towards executors, without a socket: requests as bytes, answers from bytes. Ours, because one executor reads
//! header names letter by letter and the usual clients write them in their own case; the answers' heads are parsed by
//! `httparse`.

mod request;
mod response;

pub use request::{Headers, request};
pub use response::{BadResponse, Reader, Response};
