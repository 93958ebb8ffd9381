//! Looks after the agent of this machine: starts it in a process of its own, finds it again after either was killed,
//! and starts another when it is gone. Never stops it: its tasks outlive this server.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use model::{PoolRef, Span, TenantId};
use store::access::JoinToken;
use tokio::process::Child;

use crate::app::App;
use crate::config::LocalAgent;
use crate::{lock, secret};

const LOOK_EVERY: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(5);
const TOKEN_LIFE: Span = Span::MINUTE.saturating_mul(10);

pub(crate) async fn run(app: Arc<App>, local: LocalAgent) {
    let mut pause = LOOK_EVERY;
    while !app.stop.is_cancelled() {
        match start_if_gone(&app, &local).await {
            Ok(Some(mut child)) => {
                let started = tokio::time::Instant::now();
                tokio::select! {
                    status = child.wait() => tracing::warn!(?status, "the local agent ended"),
                    () = app.stop.cancelled() => return,
                }
                // One that ends at once would otherwise be started in a loop.
                pause = if started.elapsed() > PAUSE_MAX { LOOK_EVERY } else { (pause * 2).min(PAUSE_MAX) };
            }
            Ok(None) => pause = LOOK_EVERY,
            Err(error) => {
                tracing::error!(%error, "the local agent cannot be started");
                pause = PAUSE_MAX;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = app.stop.cancelled() => return,
        }
    }
}

/// An agent that survived the last server still holds its lock; it will dial in by itself.
async fn start_if_gone(
    app: &App,
    local: &LocalAgent,
) -> Result<Option<Child>, Box<dyn std::error::Error + Send + Sync>> {
    if lock::is_held(&local.lock_file) {
        return Ok(None);
    }
    leave_token(app, local).await?;
    let log = std::fs::OpenOptions::new().create(true).append(true).open(local.data.join("agent.log"))?;
    let mut command = std::process::Command::new(&local.program);
    command
        .args(&local.args)
        // It may hold the database's password, which no agent needs.
        .env_remove("DULY_STORE")
        .env_remove("DULY_SECRET_KEY")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        // A Ctrl-C meant for the server must not reach the agent's tasks.
        .process_group(0);
    crate::open_files::as_before(&mut command);
    Ok(Some(tokio::process::Command::from(command).spawn()?))
}

/// A fresh one-time token where the agent looks for it: used only if it has no identity this server knows.
async fn leave_token(app: &App, local: &LocalAgent) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    std::fs::create_dir_all(&local.data)?;
    std::fs::set_permissions(&local.data, std::fs::Permissions::from_mode(0o700))?;
    let (text, now) = (secret::make("join"), app.clock.now());
    let token = JoinToken {
        hash: secret::hash(&text),
        serves: model::Serves::Own,
        tenant: TenantId::DEFAULT,
        pools: vec![PoolRef::DEFAULT.to_string()],
        labels: Default::default(),
        created_at: now,
        expires_at: now + TOKEN_LIFE,
    };
    app.access.run(move |access| access.put_join_token(&token)).await?;
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&local.token_file)?;
    file.write_all(app.doorman.join_text(&text).as_bytes())?;
    Ok(())
}
