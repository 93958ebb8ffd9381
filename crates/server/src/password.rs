//! Passwords of people: slow hashes, computed away from the workers that serve requests, a few at a time.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::Argon2;

/// Shorter ones are refused.
pub const LENGTH_MIN: usize = 10;
/// Each takes 19 MB while it is computed; a flood of logins must not take all memory.
static AT_ONCE: tokio::sync::Semaphore = tokio::sync::Semaphore::const_new(2);

pub async fn hash(password: String) -> String {
    let _turn = AT_ONCE.acquire().await.expect("never closed");
    tokio::task::spawn_blocking(move || hash_now(&password)).await.expect("hashing does not panic")
}

pub fn hash_now(password: &str) -> String {
    Argon2::default().hash_password(password.as_bytes()).expect("the default parameters are valid").to_string()
}

/// A user that does not exist takes as long to refuse as a wrong password.
pub async fn verify(password: String, kept: Option<String>) -> bool {
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
