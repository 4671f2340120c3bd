//! Is this machine ready for this SSD, what holds it back, and what would a change give?
//!
//! Arguments and printing only: what a command does stands in the crates, most of it in `study`. Start reading at the command you want in
//! `cmd/`.

mod cmd;
mod exit;
mod flags;
mod stored;
mod talk;
mod written;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: iostack_host::Allocator = iostack_host::Allocator;

/// Measure storage, honestly: one job, any target, one outcome.
#[derive(Parser)]
#[command(name = "iostack", version = env!("IOSTACK_VERSION"), max_term_width = 80, arg_required_else_help = true)]
#[command(
    after_help = "Begin with `iostack check`: one screen and an HTML report, about a minute, safe by default."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Is this platform ready for its SSD, and what holds it back?
    Check(cmd::check::CheckArgs),
    /// Run one workload: fio job file, TOML or flags.
    Run(cmd::run::RunArgs),
    /// fio's command line as it is: alias fio='iostack fio'.
    #[command(disable_help_flag = true)]
    Fio(cmd::fio::FioArgs),
    /// Which of two does better? Run in turns until it is sure.
    Ab(cmd::ab::AbArgs),
    /// The tests of the 2008 tool: rates, and the clocks of each kernel layer.
    Iolat(cmd::iolat::IolatArgs),
    /// Look inside a drive, from timing alone.
    Probe(cmd::probe::ProbeArgs),
    /// Does temporal merging pay on this device? Measured.
    Merge(cmd::merge::MergeArgs),
    /// The same on many hosts: who differs from its equals, in what, and why?
    Fleet(cmd::fleet::FleetArgs),
    /// What may be measured here, and how to enable the rest?
    Doctor(cmd::doctor::DoctorArgs),
    /// Where does the latency of an I/O go, stage by stage?
    Stages(cmd::stages::StagesArgs),
    /// Where do the CPU clocks of an I/O go, layer by layer?
    Layers(cmd::layers::LayersArgs),
    /// Who uses the storage of this host, who waits, what was slow? Always on.
    Watch(cmd::watch::WatchArgs),
    /// Why were the slow I/Os of the last seconds slow?
    Why(cmd::why::WhyArgs),
    /// A simulated platform that answers as this machine did, from its outcomes.
    Calibrate(cmd::calibrate::CalibrateArgs),
    /// Simulated devices: what is there, what they are made of, and sweeps.
    Sim(cmd::sim::SimArgs),
    /// A simulated drive as a disk for any program, in real time.
    Serve(cmd::serve::ServeArgs),
    /// Does what was published come out again? Experiments on simulated devices.
    Repro(cmd::repro::ReproArgs),
    /// A real kernel with real drivers, emulated: the exact cost of one I/O.
    Lab(cmd::lab::LabArgs),
    /// Show a stored result again, in any form.
    Report(cmd::report::ReportArgs),
    /// Do two outcomes differ, by how much, how surely?
    Compare(cmd::compare::CompareArgs),
    /// Did a figure change over time, when, and what changed with it?
    History(cmd::history::HistoryArgs),
    /// Count user instructions, system calls and switches per I/O of any program.
    Cost(cmd::cost::CostArgs),
    /// How is the JSON of a command laid out? As JSON Schema.
    Schema(cmd::schema::SchemaArgs),
    /// List the options of jobs and job files.
    Options(cmd::options::OptionsArgs),
    /// Write man pages, and completions for bash, zsh and fish.
    Manual(cmd::manual::ManualArgs),
}

/// Groups of the first screen, in the order of [`Command`]; what is rarely needed comes last.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["check", "run", "fio", "ab", "iolat", "probe", "merge", "fleet", "doctor"]),
    ("Look inside", &["stages", "layers", "watch", "why"]),
    ("Simulate", &["calibrate", "sim", "serve", "repro"]),
    ("Lab", &["lab"]),
    ("Results", &["report", "compare", "history"]),
    ("Rarely needed", &["cost", "schema", "options", "manual"]),
];

/// Puts the commands of the first screen in groups; clap has one list of them.
fn in_groups(command: clap::Command) -> clap::Command {
    let mut screen = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (heading, names) in GROUPS {
        screen.extend(["\n", heading, ":\n"]);
        for one in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            screen += &talk::paragraph(&format!("  {:<8} ", one.get_name()), &about, 11);
        }
    }
    command.help_template(screen + "\nOptions:\n{options}{after-help}")
}

fn main() -> std::process::ExitCode {
    if iostack_lab::guest::is_here() {
        iostack_lab::guest::run(&cmd::lab::far_side);
    }
    iostack_host::signals::fail_beyond_file_limit();
    let matches = in_groups(Arguments::command()).try_get_matches();
    let arguments = match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        // Help and version are answers too.
        Err(error) if !error.use_stderr() => {
            talk::wrote(|| error.print());
            return exit::code(&Ok(exit::Ended::Done));
        }
        Err(error) => {
            let _ = error.print();
            if let Some(meant) = cmd::fio::meant(&error) {
                eprintln!("\n  {meant}");
            }
            return std::process::ExitCode::from(2);
        }
    };
    let result = match arguments.command {
        Command::Check(args) => cmd::check::run(&args),
        Command::Run(args) => cmd::run::run(&args),
        Command::Fio(args) => return cmd::fio::run(&args),
        Command::Ab(args) => cmd::ab::run(&args),
        Command::Iolat(args) => cmd::iolat::run(&args),
        Command::Probe(args) => cmd::probe::run(&args),
        Command::Merge(args) => cmd::merge::run(&args),
        Command::Fleet(args) => cmd::fleet::run(&args),
        Command::Doctor(args) => cmd::doctor::run(&args),
        Command::Stages(args) => cmd::stages::run(&args),
        Command::Layers(args) => cmd::layers::run(&args),
        Command::Watch(args) => cmd::watch::run(&args),
        Command::Why(args) => cmd::why::run(&args),
        Command::Calibrate(args) => cmd::calibrate::run(&args),
        Command::Sim(args) => cmd::sim::run(&args),
        Command::Serve(args) => cmd::serve::run(&args),
        Command::Repro(args) => cmd::repro::run(&args),
        Command::Lab(args) => cmd::lab::run(&args),
        Command::Report(args) => cmd::report::run(&args),
        Command::Compare(args) => cmd::compare::run(&args),
        Command::History(args) => cmd::history::run(&args),
        Command::Cost(args) => cmd::cost::run(&args),
        Command::Schema(args) => cmd::schema::run(&args),
        Command::Options(args) => cmd::options::run(&args),
        Command::Manual(args) => cmd::manual::run(&args),
    };
    exit::code(&result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Arguments::command();
        let all: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(all, grouped);
    }
}
