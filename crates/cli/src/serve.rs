//! `muffle serve`: live pages of all runs in a folder.

use crate::CommandResult;
use clap::Args;
use muffle_page::server::Server;
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

/// Show the runs and results in a folder as live pages in a browser, until it is interrupted.
///
/// A list of all runs with their state and what is left of their budgets, the curves of a run while it goes on, runs laid over each other,
/// results of comparisons, sweeps, studies, audits and attacks, the methods with their verdicts, and a calculator. Runs are only looked at: a page
/// can neither start nor stop one, and watching does not slow it down.
///
/// Only this machine can ask, and only by the address that is printed.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle serve
  muffle serve runs --port 8000")]
pub struct Arguments {
    /// Folder with runs and results, also in folders within it
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Port; 0 takes one that is free
    #[arg(long, default_value_t = 7878)]
    port: u16,
    /// Address to listen on. Beyond this machine there is neither a password nor encryption: whoever reaches the port reads everything
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// Print the address as a JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let Arguments { folder, port, bind, json } = arguments;
    let server = Server::open(folder, *bind, *port)?;
    let address = format!("http://{}/", server.address());
    if !bind.is_loopback() {
        eprintln!("warning: --bind {bind}: whoever reaches this address reads all runs, without a password");
    }
    match json {
        true => println!("{}", json!({ "address": address, "folder": folder })),
        false => println!("{address}\nInterrupt to stop."),
    }
    server.run()
}
