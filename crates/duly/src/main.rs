//! The binary: reads what it is told and starts a server, an agent, a shim or a command. Holds no logic of its own.

mod agent_role;
mod fence_role;
mod migrate_role;
mod options;
mod server_role;
mod settings;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use options::{Cli, Role};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A shim owns one task and must stay small: it leaves before anything else is set up.
    let mut args = std::env::args_os();
    if args.nth(1).is_some_and(|verb| verb == "shim") {
        return agent::shim::main(args);
    }
    let cli = Cli::parse();
    match cli.role {
        Role::Up(options) => server_role::up(options),
        Role::Server(options) => server_role::server(options),
        Role::Agent(options) => agent_role::run(options),
        Role::Setup(options) => server_role::setup(options),
        Role::Restore(options) => server_role::restore(options),
        Role::FenceCheck(options) => fence_role::run(&options),
        Role::MigrateStore(options) => migrate_role::run(&options),
        Role::Client(cli::Commands::Completion(args)) => {
            cli::print_completion(args.shell, &mut Cli::command());
            ExitCode::SUCCESS
        }
        Role::Client(command) => client_command(command, cli.client),
    }
}

fn client_command(command: cli::Commands, options: cli::ClientOptions) -> ExitCode {
    // One TLS stack, named before the first client is made.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(cli::run(command, options)),
        Err(error) => {
            eprintln!("error: cannot start: {error}");
            ExitCode::FAILURE
        }
    }
}
