//! The doors of a real server on a directory of its own, asked over HTTP.

extern crate duly_server as server;

mod access;
mod apply;
mod audit;
mod instances;
mod jobs;
mod link;
mod logs;
mod matrix;
mod people;
mod problems;
mod rights;
mod strangers;
mod streams;
mod system;
mod verify;
mod world;
