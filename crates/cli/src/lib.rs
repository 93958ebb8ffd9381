//! The client commands of `duly`: tables for people, the API's own bodies for programs, exit codes that mean something.
//! Everything goes through `client`; nothing here decides.
//!
//! Exit codes: 0 done; 1 the operation failed; 2 wrongly asked; 3 not found; 4 not permitted; 5 no server;
//! 6 `verify` found something; 7 the instance waited for did not end well.

mod access;
mod agents;
mod apply;
mod audit;
mod cluster;
mod doctor;
mod examples;
mod failure;
mod files;
mod grants;
mod instance;
mod job;
mod log;
mod moment;
mod out;
mod overview;
pub mod password;
mod people;
mod plan;
pub mod remembered;
mod resources;
mod system;
mod table;
mod tenants;
mod times;
mod values;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};
use client::{Client, Settings};
use wire::Code;

use crate::failure::{Done, Failure};
use crate::out::Out;
use crate::remembered::Remembered;

/// Where the server is and who asks; the same for every client command.
#[derive(Args, Clone)]
pub struct ClientOptions {
    /// The server.
    #[arg(long, env = "DULY_URL", global = true, default_value = Settings::DEFAULT_URL, help_heading = "Client")]
    pub url: String,
    /// An API token.
    #[arg(long, env = "DULY_TOKEN", hide_env_values = true, global = true, help_heading = "Client")]
    pub token: Option<String>,
    /// A file holding the token.
    #[arg(long, env = "DULY_TOKEN_FILE", global = true, help_heading = "Client")]
    pub token_file: Option<PathBuf>,
    /// The tenant to act in; your own if absent.
    #[arg(long, env = "DULY_TENANT", global = true, help_heading = "Client")]
    pub tenant: Option<String>,
    /// Why something is changed; kept in the audit.
    #[arg(long, env = "DULY_REASON", global = true, help_heading = "Client")]
    pub reason: Option<String>,
    /// Print the API's answer as it came, for programs.
    #[arg(long, global = true, help_heading = "Client")]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum Commands {
    /// Jobs: list, show, apply, export, trigger, pause, resume, enable, disable, delete, release, history, versions, rollback.
    #[command(subcommand)]
    Job(job::JobCommand),
    /// Instances: list, show, attempts, stop, rerun, replay, resolve.
    #[command(subcommand)]
    Instance(instance::InstanceCommand),
    /// Print what an instance's task wrote.
    Log(log::LogArgs),
    /// Say why an instance or a job waits, was skipped, or does what it does.
    Why(times::WhyArgs),
    /// Compare the ledger with the triggers, computed anew by brute force.
    Verify(system::VerifyArgs),
    /// The next planned times of a job or an expression.
    Next(times::NextArgs),
    /// The times a trigger would name, without making a job.
    Preview(times::PreviewArgs),
    /// Agents: list, show, drain, undrain, share, remove.
    #[command(subcommand)]
    Agents(agents::AgentsCommand),
    /// Pools: list, set, delete.
    #[command(subcommand)]
    Pool(agents::PoolCommand),
    /// Mutexes and counted resources: list, set.
    #[command(subcommand)]
    Resource(resources::ResourceCommand),
    /// Variables: list, set, delete, effective.
    #[command(subcommand)]
    Variable(values::VariableCommand),
    /// Secrets: list, set, delete, rotate-key.
    #[command(subcommand)]
    Secret(values::SecretCommand),
    /// Tenants: list, show, create, set, export, delete.
    #[command(subcommand)]
    Tenant(tenants::TenantCommand),
    /// Make a token with which one agent joins.
    JoinToken(agents::JoinTokenArgs),
    /// Servers of the installation: status, drain, undrain, weight, forget.
    #[command(subcommand)]
    Cluster(cluster::ClusterCommand),
    /// API tokens: list, create, revoke.
    #[command(subcommand)]
    Token(access::TokenCommand),
    /// Tokens that XXL-JOB executors show: list, create, revoke.
    #[command(subcommand)]
    XxlToken(access::XxlTokenCommand),
    /// Accounts of persons and programs: list, show, create, disable, enable, unlock, password, delete.
    #[command(subcommand)]
    Person(people::PersonCommand),
    /// Groups of persons: list, create, add, remove, delete.
    #[command(subcommand)]
    Group(grants::GroupCommand),
    /// Roles and what they permit: list, set, delete.
    #[command(subcommand)]
    Role(grants::RoleCommand),
    /// Who has which role where: list, create, delete.
    #[command(subcommand)]
    Grant(grants::GrantCommand),
    /// Who is signed in: list, end.
    #[command(subcommand)]
    Session(grants::SessionCommand),
    /// Who you are to the server, by what, and what you may do.
    Whoami,
    /// Open a session with name and password; prints its token.
    Login(access::LoginArgs),
    /// Close the session whose token is in use.
    Logout,
    /// Instances running at once in the whole installation.
    #[command(subcommand)]
    Limit(agents::LimitCommand),
    /// Print events as they happen.
    Events(log::EventsArgs),
    /// How safe the installation is set up: a score, and what to do about each deviation. Fails if one is serious.
    Harden,
    /// Who did what and what was refused: list, show, verify, export.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Counts of instances, jobs and agents.
    Stats(system::StatsArgs),
    /// The state of things at a glance: what is open, late and failing, and how soon things start.
    Overview,
    /// The jobs with the soonest planned times.
    Upcoming(overview::UpcomingArgs),
    /// Whether the server is alive and ready, and its version.
    Health,
    /// Jobs held because deciding about them failed.
    Quarantine,
    /// Write a backup of the store to a file, while the server works on.
    Backup(system::BackupArgs),
    /// Print the OpenAPI document.
    Openapi,
    /// Add three small jobs to try things with.
    Examples(examples::ExamplesArgs),
    /// Look for what is wrong between here and the server.
    Doctor,
    /// Print a completion script for a shell.
    Completion(CompletionArgs),
}

#[derive(Args)]
pub struct CompletionArgs {
    pub shell: clap_complete::Shell,
}

/// Runs one client command to its end and says how it went.
pub async fn run(command: Commands, options: ClientOptions) -> ExitCode {
    let out = Out::detect(options.json);
    match dispatch(command, options, &out).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print(&out);
            ExitCode::from(failure.exit)
        }
    }
}

/// Prints the completion script of a whole command line: the binary's, which has more verbs than are here.
pub fn print_completion(shell: clap_complete::Shell, command: &mut clap::Command) {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "duly", &mut script);
    out::emit(&script);
}

/// The client commands as a command line of their own: what the parity test walks.
#[derive(Parser)]
#[command(name = "duly")]
struct ClientLine {
    #[command(flatten)]
    _options: ClientOptions,
    #[command(subcommand)]
    _command: Commands,
}

/// What every command has at hand.
struct Session<'a> {
    client: Client,
    /// The server, as it was named.
    url: String,
    out: &'a Out,
}

async fn dispatch(command: Commands, options: ClientOptions, out: &Out) -> Done {
    if let Commands::Completion(args) = &command {
        print_completion(args.shell, &mut ClientLine::command());
        return Ok(());
    }
    if let Commands::Examples(args) = &command
        && args.print
    {
        examples::print();
        return Ok(());
    }
    if let Commands::Audit(audit::AuditCommand::Verify(args)) = &command
        && let Some(file) = &args.file
    {
        return audit::verify_file(args, file, out);
    }
    let url = options.url.clone();
    let session = Session { client: connect(options)?, url, out };
    match command {
        Commands::Job(command) => session.job(command).await,
        Commands::Instance(command) => session.instance(command).await,
        Commands::Log(args) => session.log(args).await,
        Commands::Why(args) => session.why(args).await,
        Commands::Verify(args) => session.verify(args).await,
        Commands::Next(args) => session.next(args).await,
        Commands::Preview(args) => session.preview(args).await,
        Commands::Agents(command) => session.agents(command).await,
        Commands::Cluster(command) => session.cluster(command).await,
        Commands::Pool(command) => session.pool(command).await,
        Commands::Resource(command) => session.resource(command).await,
        Commands::Variable(command) => session.variable(command).await,
        Commands::Secret(command) => session.secret(command).await,
        Commands::Tenant(command) => session.tenant(command).await,
        Commands::JoinToken(args) => session.join_token(args).await,
        Commands::Token(command) => session.token(command).await,
        Commands::XxlToken(command) => session.xxl_token(command).await,
        Commands::Person(command) => session.person(command).await,
        Commands::Group(command) => session.group(command).await,
        Commands::Role(command) => session.role(command).await,
        Commands::Grant(command) => session.grant(command).await,
        Commands::Session(command) => session.session(command).await,
        Commands::Whoami => session.whoami().await,
        Commands::Login(args) => session.login(args).await,
        Commands::Logout => session.logout().await,
        Commands::Limit(command) => session.limit(command).await,
        Commands::Events(args) => session.events(args).await,
        Commands::Audit(command) => session.audit(command).await,
        Commands::Stats(args) => session.stats(args).await,
        Commands::Overview => session.overview().await,
        Commands::Upcoming(args) => session.upcoming(args).await,
        Commands::Health => session.health().await,
        Commands::Harden => session.harden().await,
        Commands::Quarantine => session.quarantine().await,
        Commands::Backup(args) => session.backup(args).await,
        Commands::Openapi => session.openapi().await,
        Commands::Examples(args) => session.examples(args).await,
        Commands::Doctor => session.doctor().await,
        Commands::Completion(_) => unreachable!("printed above, without a server"),
    }
}

/// What an earlier `duly setup` or `duly login` was given for this server.
fn remembered(url: &str) -> Result<Option<String>, Failure> {
    let Some(kept) = Remembered::of_this_user() else { return Ok(None) };
    let unread = |error: std::io::Error| format!("cannot read {}: {error}", kept.path().display());
    kept.token(url).map_err(|error| Failure::usage(Code::BadArgument, unread(error)))
}

fn connect(options: ClientOptions) -> Result<Client, Failure> {
    let token = match (options.token, options.token_file) {
        (Some(token), _) => Some(token),
        (None, Some(file)) => Some(files::read_text(&file)?),
        (None, None) => remembered(&options.url)?,
    };
    let token = token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
    let tenant = options.tenant.filter(|tenant| !tenant.is_empty());
    let settings = Settings { tenant, reason: options.reason, ..Settings::new(options.url, token) };
    Client::new(settings).map_err(|error| Failure::usage(Code::BadArgument, error.to_string()))
}

#[cfg(test)]
mod parity;
#[cfg(test)]
mod scripted;
