//! `duly token …`, `duly login`, `duly logout`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use wire::api::{SessionBody, TokenBody, TokenView, XxlTokenBody};
use wire::{Code, Length};

use crate::Session;
use crate::failure::{Done, Failure};
use crate::password;
use crate::remembered::Remembered;
use crate::table::{Rows, plain};

#[derive(Subcommand)]
pub enum TokenCommand {
    /// List one's own API tokens, or another's; the tokens themselves are never shown again.
    List {
        #[arg(long)]
        person: Option<String>,
    },
    /// Make an API token and print it, once.
    Create {
        /// What it is for.
        name: String,
        /// How long it works; for ever if absent.
        #[arg(long)]
        expires_in: Option<Length>,
        /// No more than this of what its owner may do, such as job.see; may be given several times.
        #[arg(long, value_name = "PERMISSION")]
        scope: Vec<String>,
        /// Only in the tenant that is named by --tenant, or one's own.
        #[arg(long)]
        only_here: bool,
        /// For this service account.
        #[arg(long, value_name = "SERVICE")]
        person: Option<String>,
    },
    /// Make a token worthless at once.
    Revoke {
        id: i64,
        /// Another's.
        #[arg(long)]
        person: Option<String>,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Subcommand)]
pub enum XxlTokenCommand {
    /// List the tokens; what they are is not shown again.
    List,
    /// Make a token for XXL-JOB executors and print it, once.
    Create {
        /// Only for executors of this application.
        #[arg(long, value_name = "APPNAME")]
        pool: Option<String>,
    },
    /// Refuse executors that show it, at once.
    Revoke {
        id: i64,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Args)]
pub struct LoginArgs {
    name: String,
    /// A file holding the password; a password on the command line would be seen by others.
    /// Asked for if absent, or read from standard input.
    #[arg(long)]
    password_file: Option<PathBuf>,
    /// Only print the session's token; remember nothing.
    #[arg(long)]
    print: bool,
}

impl Session<'_> {
    pub(crate) async fn token(&self, command: TokenCommand) -> Done {
        match command {
            TokenCommand::List { person } => {
                let page = match &person {
                    Some(person) => self.client.tokens_of(person).await?,
                    None => self.client.tokens().await?,
                };
                self.out.answer(&page.raw, || {
                    let header = ["ID", "NAME", "USER", "SCOPE", "CREATED", "LAST USED", "EXPIRES"];
                    let mut rows = Rows::new(self.out, &header);
                    for token in &page.items {
                        rows.add(vec![
                            plain(token.id),
                            plain(&token.name),
                            plain(&token.user),
                            plain(scope(token)),
                            plain(self.out.time(Some(token.created_at))),
                            plain(self.out.time(token.last_used_at)),
                            plain(token.expires_at.map_or("never".into(), |at| self.out.time(Some(at)))),
                        ]);
                    }
                    rows.show("no tokens")
                });
            }
            TokenCommand::Create { name, expires_in, scope, only_here, person } => {
                let body = TokenBody { name, expires_in, scope, only_here };
                let made = match &person {
                    Some(person) => self.client.create_token_of(person, &body).await?,
                    None => self.client.create_token(&body).await?,
                };
                self.out.answer(&made.raw, || format!("{}\n", made.token));
                self.out.note("Keep it: it is not shown again.");
            }
            TokenCommand::Revoke { id, person, yes } => {
                if self.out.consent(&format!("Make token {id} worthless?"), yes)? {
                    match &person {
                        Some(person) => self.client.revoke_token_of(person, id).await?,
                        None => self.client.revoke_token(id).await?,
                    }
                    self.out.done(&format!("Token {id} is worthless now."));
                }
            }
        }
        Ok(())
    }

    pub(crate) async fn xxl_token(&self, command: XxlTokenCommand) -> Done {
        match command {
            XxlTokenCommand::List => {
                let page = self.client.xxl_tokens().await?;
                self.out.answer(&page.raw, || {
                    let mut rows = Rows::new(self.out, &["ID", "POOL", "CREATED", "BY"]);
                    for token in &page.items {
                        rows.add(vec![
                            plain(token.id),
                            plain(token.pool.as_deref().unwrap_or("all")),
                            plain(self.out.time(Some(token.created_at))),
                            plain(&token.created_by),
                        ]);
                    }
                    rows.show("no tokens but what the server was started with")
                });
            }
            XxlTokenCommand::Create { pool } => {
                let made = self.client.create_xxl_token(&XxlTokenBody { pool }).await?;
                self.out.answer(&made.raw, || format!("{}\n", made.token));
                self.out.note("Put it into xxl.job.accessToken of the executors; it is not shown again.");
            }
            XxlTokenCommand::Revoke { id, yes } => {
                if self.out.consent(&format!("Refuse executors that show token {id}?"), yes)? {
                    self.client.revoke_xxl_token(id).await?;
                    self.out.done(&format!("Token {id} is worthless now."));
                }
            }
        }
        Ok(())
    }

    pub(crate) async fn login(&self, args: LoginArgs) -> Done {
        let told = password::read(args.password_file.as_deref(), &format!("Password of {}: ", args.name));
        let password =
            told.map_err(|error| Failure::usage(Code::BadArgument, format!("cannot read the password: {error}")))?;
        let session = self.client.login(&SessionBody { name: args.name.clone(), password }).await?;
        let until = self.out.time(Some(session.expires_at));
        let kept = Remembered::of_this_user().filter(|_| !args.print && !self.out.json);
        match kept.map(|kept| (kept.keep(&self.url, &session.token), kept)) {
            Some((Ok(()), _)) => self.out.done(&format!("You are {} to {} until {until}.", args.name, self.url)),
            Some((Err(error), kept)) => {
                let told = format!("cannot write {}: {error}", kept.path().display());
                return Err(Failure::usage(Code::BadArgument, told));
            }
            None => {
                self.out.answer(&session.raw, || format!("{}\n", session.token));
                self.out.note(&format!("Put it into DULY_TOKEN; it works until {until}."));
            }
        }
        Ok(())
    }

    pub(crate) async fn logout(&self) -> Done {
        self.client.logout().await?;
        if let Some(kept) = Remembered::of_this_user() {
            let _ = kept.forget(&self.url);
        }
        self.out.done("The session is closed.");
        Ok(())
    }
}

/// What of its owner's rights it carries.
fn scope(token: &TokenView) -> String {
    let mut words = token.scope.as_ref().map_or_else(|| "all".to_owned(), |scope| scope.join(" "));
    if let Some(tenant) = &token.tenant {
        words.push_str(&format!(" in {tenant}"));
    }
    words
}
