//! The way to accounts, tokens and settings: a connection of their own, used away from the workers that serve requests.

use std::sync::Arc;

use parking_lot::Mutex;
use store::StoreError;
use store::access::Access;

#[derive(Clone)]
pub struct AccessHandle(Arc<Mutex<Box<dyn Access + Send>>>);

impl AccessHandle {
    pub fn new(access: Box<dyn Access + Send>) -> AccessHandle {
        AccessHandle(Arc::new(Mutex::new(access)))
    }

    pub async fn run<T: Send + 'static>(
        &self,
        errand: impl FnOnce(&mut dyn Access) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let access = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || errand(&mut **access.lock()));
        done.await.unwrap_or_else(|panic| Err(StoreError::Failed(format!("a look at the accounts failed: {panic}"))))
    }
}
