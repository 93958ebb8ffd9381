//! Passwords as people give them: from a file, from a pipe, or typed without being shown. Never from an argument, which
//! everybody on the machine could read.

use std::io::{self, IsTerminal};
use std::path::Path;

/// One line; its end is no part of it.
pub fn read(file: Option<&Path>, prompt: &str) -> io::Result<String> {
    let mut text = match file {
        Some(file) => std::fs::read_to_string(file)?,
        None if io::stdin().is_terminal() => rpassword::prompt_password(prompt)?,
        None => {
            let mut line = String::new();
            io::stdin().read_line(&mut line)?;
            line
        }
    };
    for end in ['\n', '\r'] {
        if text.ends_with(end) {
            text.pop();
        }
    }
    Ok(text)
}

/// A new one: typed twice, because nobody sees it.
pub fn choose(file: Option<&Path>, whose: &str) -> io::Result<String> {
    let first = read(file, &format!("A password for {whose}, ten characters or more: "))?;
    if file.is_none() && io::stdin().is_terminal() && read(None, "Once more: ")? != first {
        return Err(io::Error::other("these were two different passwords"));
    }
    Ok(first)
}
