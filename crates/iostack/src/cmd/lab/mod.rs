//! `iostack lab`: a real kernel and real drivers in an emulated machine, and the exact cost of one I/O.

mod bench;
mod bisect;
mod ci;
mod cost;
mod exec;
mod held;
mod list;
mod matrix;
mod merging;
pub(crate) mod sheet;
mod shell;
mod test;
pub(crate) mod trial;
mod up;

use anyhow::ensure;
use iostack_engine::path::{PathOptions, PathTarget};
use iostack_lab::Request;
use iostack_lab::guest::Ready;
use iostack_lab::targets::{self, LabFlags};
use serde_json::Value;

use crate::exit::Ended;

/// Arguments of `iostack lab`.
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(clap::Subcommand)]
enum LabCommand {
    /// Which devices are there, and which file systems?
    List(list::ListArgs),
    /// Fetch and build what the lab needs, so that later runs need no network.
    Up(up::UpArgs),
    /// How many instructions does one I/O take, in which layer and function?
    Cost(cost::CostArgs),
    /// Which commit of a driver made its I/O dearer?
    Bisect(bisect::BisectArgs),
    /// Does the driver keep what it is given, also when things go wrong?
    Test(trial::TestArgs),
    /// What does one I/O take on every device? A boot each.
    Bench(bench::BenchArgs),
    /// Count what a kernel costs, as a sheet of numbers for the simulator.
    Sheet(sheet::SheetArgs),
    /// Run real programs on a simulated drive, in the machine's own time.
    Exec(exec::ExecArgs),
    /// Boot with a device and open a shell on it.
    Shell(shell::ShellArgs),
}

/// The machine of a request with so many processors. Those of several that take turns go by a clock that all its timers agree on.
fn with_processors(mut request: Request, count: u32, flags: &LabFlags) -> anyhow::Result<Request> {
    ensure!(
        count == 1 || flags.ghz.is_none(),
        "`--ghz` is for one processor; of several, an instruction is a nanosecond: leave out --ghz or --processors"
    );
    request.processors = count;
    request.khz = request.khz.filter(|_| count == 1);
    Ok(request)
}

/// Carries out an order in the guest.
pub(crate) fn far_side(order: &Value, ready: &Ready) -> Result<(), String> {
    if merging::is_meant(order) {
        return merging::run(ready);
    }
    // All there is in the guest was made for this.
    let paths = PathOptions { destroy_data: true, ..PathOptions::default() };
    targets::run_job(order, ready, &|name| Box::new(PathTarget::open(Some(name), &paths)))
}

/// Does what was asked.
pub(crate) fn run(args: &LabArgs) -> anyhow::Result<Ended> {
    match &args.command {
        LabCommand::List(args) => Ok(list::run(args)),
        LabCommand::Up(args) => up::run(args),
        LabCommand::Cost(args) => cost::run(args),
        LabCommand::Bisect(args) => bisect::run(args),
        LabCommand::Test(args) => test::run(args),
        LabCommand::Bench(args) => bench::run(args),
        LabCommand::Sheet(args) => sheet::run(args),
        LabCommand::Exec(args) => exec::run(args),
        LabCommand::Shell(args) => shell::run(args),
    }
}
