//! Passwords of people: what makes one fit, and slow hashes, computed away from the workers that serve requests, a few at
//! a time.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Shorter ones are refused.
pub(crate) const LENGTH_MIN: usize = 10;
/// Longer ones would only make us hash longer.
pub(crate) const LENGTH_MAX: usize = 1_024;
/// Each takes 19 MB while it is computed; a flood of logins must not take all memory.
static AT_ONCE: Semaphore = Semaphore::const_new(2);
/// Nobody needs to be known to have a password looked at: whoever comes when so many wait is sent away.
static IN_LINE: Semaphore = Semaphore::const_new(64);

/// What everybody tries first, of those that are long enough. Compared without case, and without what was only added to
/// it at the end to please a rule.
const COMMON: &[&str] = &[
    "password",
    "passwort",
    "passw0rd",
    "p@ssword",
    "p@ssw0rd",
    "motdepasse",
    "contraseña",
    "administrator",
    "administrador",
    "changeme",
    "changemenow",
    "changeit",
    "letmein",
    "letmeinnow",
    "welcome",
    "qwerty",
    "qwertyuiop",
    "qwertzuiop",
    "asdfghjkl",
    "1q2w3e4r5t",
    "1qaz2wsx3edc",
    "zaq12wsx",
    "iloveyou",
    "trustno",
    "football",
    "baseball",
    "superman",
    "princess",
    "sunshine",
    "dragon",
    "monkey",
    "starwars",
    "whatever",
    "computer",
    "internet",
    "secret",
    "default",
    "test",
    "testtest",
    "woaini",
    "schedule",
    "scheduler",
    "duly",
    "dulyadmin",
    "xxl-job",
    "xxljob",
];

/// Why a password does not do, in the words of a sentence about it.
pub(crate) fn fault(password: &str, name: &str) -> Option<String> {
    let length = password.chars().count();
    if length < LENGTH_MIN {
        return Some(format!("the password has fewer than {LENGTH_MIN} characters"));
    }
    if password.len() > LENGTH_MAX {
        return Some(format!("the password has more than {LENGTH_MAX} bytes"));
    }
    let (lower, name) = (password.to_lowercase(), name.to_lowercase());
    let core = lower.trim_end_matches(|c: char| c.is_ascii_digit() || "!?.#*_-@$".contains(c));
    if core == name || lower == name || (name.len() > 2 && core.replace(&name, "").chars().count() < 4) {
        return Some("the password is the name, or little more".into());
    }
    let is_run = |text: &str| {
        let mut pairs = text.as_bytes().windows(2).map(|pair| i16::from(pair[1]) - i16::from(pair[0]));
        let first = pairs.next().unwrap_or_default();
        (-1..=1).contains(&first) && pairs.all(|step| step == first || step == -9 || step == 9)
    };
    if COMMON.contains(&core) || core.is_empty() || is_run(&lower) {
        return Some("the password is one of those everybody tries first".into());
    }
    None
}

pub(crate) async fn hash(password: String) -> String {
    let _turn = AT_ONCE.acquire().await.expect("never closed");
    tokio::task::spawn_blocking(move || hash_now(&password)).await.expect("hashing does not panic")
}

pub(crate) fn hash_now(password: &str) -> String {
    Argon2::default().hash_password(password.as_bytes()).expect("the default parameters are valid").to_string()
}

/// A place among those whose passwords are looked at.
pub(crate) struct InLine(#[expect(dead_code, reason = "kept while it is held")] SemaphorePermit<'static>);

/// None: too many are waiting already.
pub(crate) fn wait_in_line() -> Option<InLine> {
    IN_LINE.try_acquire().ok().map(InLine)
}

/// Who does not exist, has no password or is disabled takes as long to refuse as a wrong password: a hash is computed
/// either way.
pub(crate) async fn verify(password: String, kept: Option<String>, _in_line: InLine) -> bool {
    let _turn = AT_ONCE.acquire().await.expect("never closed");
    tokio::task::spawn_blocking(move || verify_now(&password, kept.as_deref())).await.expect("hashing does not panic")
}

fn verify_now(password: &str, kept: Option<&str>) -> bool {
    let stand_in;
    let (text, real) = match kept {
        Some(kept) => (kept, true),
        None => {
            stand_in = STAND_IN.get_or_init(|| hash_now("nobody's password"));
            (stand_in.as_str(), false)
        }
    };
    let same =
        PasswordHash::new(text).is_ok_and(|kept| Argon2::default().verify_password(password.as_bytes(), &kept).is_ok());
    same && real
}

/// What a password is held against when there is none to hold it against.
static STAND_IN: std::sync::OnceLock<String> = std::sync::OnceLock::new();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_not_the_name_and_not_what_everybody_tries() {
        for good in ["correct horse", "кофе-без-сахара", "tr0ub4dor&3x", "xkcd 936 xkcd"] {
            assert_eq!(fault(good, "ann"), None, "{good}");
        }
        let bad = [
            "short",
            "Password123!",
            "1234567890",
            "0987654321",
            "qwertyuiop",
            "aaaaaaaaaaaa",
            "administrator",
            "wilhelmina",
            "Wilhelmina1",
            "wilhelmina-2026",
            "letmein!!!!!",
            "123456789012345",
        ];
        for bad in bad {
            assert!(fault(bad, "wilhelmina").is_some(), "{bad}");
        }
    }

    #[test]
    fn the_line_of_those_who_sign_in_has_an_end() {
        let waiting: Vec<InLine> = std::iter::from_fn(wait_in_line).collect();
        assert_eq!(waiting.len(), 64);
        drop(waiting);
        assert!(wait_in_line().is_some());
    }

    #[test]
    fn nobodys_password_is_refused_after_the_same_work() {
        let kept = hash_now("correct horse");
        assert!(verify_now("correct horse", Some(&kept)));
        assert!(!verify_now("wrong horse", Some(&kept)));
        assert!(!verify_now("nobody's password", None), "the stand-in lets nobody in");
        // The same parameters, so the same work.
        let stand_in = STAND_IN.get().expect("it was held against something");
        let parameters = |text: &str| text.rsplitn(3, '$').last().map(str::to_owned);
        assert_eq!(parameters(stand_in), parameters(&kept));
    }
}
