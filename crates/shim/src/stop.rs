//! Somebody's wish to end an attempt, on disk before anything is signalled.

use std::io;
use std::time::Duration;

use crate::order::micros;
use crate::record::{self, Writer};

const TITLE: &str = "duly-stop 1";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    pub by: String,
    pub grace: Duration,
}

impl Stop {
    pub fn encode(&self) -> Vec<u8> {
        let mut file = Writer::new(TITLE);
        file.bytes("by", self.by.as_bytes());
        file.number("grace", micros(self.grace));
        file.finish()
    }

    pub fn decode(file: &[u8]) -> io::Result<Stop> {
        let mut stop = Stop { by: String::new(), grace: Duration::ZERO };
        for (name, value) in record::read(TITLE, file)? {
            match name {
                "by" => stop.by = record::text(value),
                "grace" => stop.grace = Duration::from_micros(record::number(name, value)?),
                _ => {}
            }
        }
        Ok(stop)
    }
}
