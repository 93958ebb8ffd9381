//! Passwords of people: slow hashes, computed away from the workers that serve requests, a few at a time.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};

/// Shorter ones are refused.
pub(crate) const LENGTH_MIN: usize = 10;
/// Each takes 19 MB while it is computed; a flood of logins must not take all memory.
static AT_ONCE: tokio::sync::Semaphore = tokio::sync::Semaphore::const_new(2);

pub(crate) async fn hash(password: String) -> String {
    let _turn = AT_ONCE.acquire().await.expect("never closed");
    tokio::task::spawn_blocking(move || hash_now(&password)).await.expect("hashing does not panic")
}

pub(crate) fn hash_now(password: &str) -> String {
    Argon2::default().hash_password(password.as_bytes()).expect("the default parameters are valid").to_string()
}

/// A user that does not exist takes as long to refuse as a wrong password.
pub(crate) async fn verify(password: String, kept: Option<String>) -> bool {
    let _turn = AT_ONCE.acquire().await.expect("never closed");
    let check = move || match kept {
        Some(kept) => PasswordHash::new(&kept)
            .is_ok_and(|kept| Argon2::default().verify_password(password.as_bytes(), &kept).is_ok()),
        None => {
            hash_now(&password);
            false
        }
    };
    tokio::task::spawn_blocking(check).await.expect("hashing does not panic")
}
