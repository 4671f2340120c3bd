//! `iostack fleet ...`: the same on many hosts. The Python package does it; this is its door.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::exit::Ended;

const HELP: &str = "\
The same on many hosts: who differs from its equals, in what, and why?

Usage: iostack fleet check [OPTIONS] [HOST]...
       iostack fleet run JOB [OPTIONS] [HOST]...

Hosts:
  HOST..                Names for ssh; each needs python3 and iostack
  --hosts FILE          Hosts, one a line: name [on] [--set KEY=VALUE] ..
  --scheduler ADDRESS   Workers of this Dask scheduler, each host once
  --local N             Worker processes on this machine, to try it out
  --ssh COMMAND         How a host is reached
  --program PATH        iostack on the hosts
  --timeout SECONDS     Longest wait for one host [3600]

Measurement:
  --on TARGET           What is measured on each host [a folder of its own]
  --quick, --full       Effort of `check`
  --watch SECONDS       `check`: then one reader, to see what others do [1]
  --size SIZE, --seed N As for `iostack check`
  --together            `run`: begin at one instant on all hosts, and tell
                        the sum
  --clock-limit SECONDS Name clocks that are further off [0.1]
  --destroy-data        Allow writing over what exists, on workers whose
                        environment has IOSTACK_FLEET_DESTROY=yes as well

Report:
  --difference SHARE    Smaller differences do not matter [5%]
  --against FILE        fleet.json or fleet.parquet of last time: what has
                        changed?
  --output DIR          New directory for fleet.html, fleet.json, fleet.parquet
  --json                Every figure on stdout
  --quiet               No progress on stderr

`iostack fleet check --help` tells more. It needs the Python package
(docs/install.md). Exit 0: done; 1: a host differs, cannot, or needs care; 2: it
could not be done, or was interrupted.
";

/// Module of the package.
const MODULE: &str = "iostack.fleet";

/// Arguments of `iostack fleet`.
#[derive(clap::Args)]
#[command(override_help = HELP)]
pub(crate) struct FleetArgs {
    /// As `python3 -m iostack.fleet` takes them.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "FLEET_ARGUMENTS"
    )]
    words: Vec<OsString>,
}

/// Becomes the Python program, whose exit status stands; comes back only where that cannot be.
pub(crate) fn run(args: &FleetArgs) -> anyhow::Result<Ended> {
    let found = Command::new("python3").args(["-c", &format!("import {MODULE}")]).output();
    let found = found.context("`iostack fleet` needs python3 and the package of iostack for it; install them as docs/install.md says")?;
    ensure!(
        found.status.success(),
        "`iostack fleet` needs the package of iostack, which python3 does not find; pip install its wheel (docs/install.md), or name its \
         folder in PYTHONPATH: {}",
        String::from_utf8_lossy(&found.stderr).lines().last().unwrap_or("it says nothing")
    );
    let mut python = Command::new("python3");
    if std::env::var_os("IOSTACK_PROGRAM").is_none() {
        python.env("IOSTACK_PROGRAM", std::env::current_exe().context("cannot find this program")?);
    }
    Err(python.args(["-m", MODULE]).args(&args.words).exec()).context("cannot run python3")
}
