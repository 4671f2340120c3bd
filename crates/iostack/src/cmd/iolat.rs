//! `iostack iolat [TARGET]`: the tool of 2008, for today.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use iostack_host::Effort;
use iostack_model::{Bytes, Iolat, Machine, Nanos, SCHEMA, Scratch};

use crate::check::fill;
use crate::check::measure::Session;
use crate::check::place::{self, Explored, Wishes};
use crate::check::traced::Profiler;
use crate::exit::Ended;
use crate::iolat::measure::{self, Rounds};
use crate::iolat::plan::{self, Test};
use crate::iolat::reference::{self, Reference};
use crate::iolat::{compare, gather};
use crate::left;
use crate::save;
use crate::talk::{self, Talk};

/// Arguments of `iostack iolat`.
#[derive(clap::Args)]
pub(crate) struct IolatArgs {
    /// A directory (a scratch file is made in it), a file or a block device
    /// (both only read).
    #[arg(default_value = ".")]
    target: OsString,
    /// Time of each test, in all its rounds.
    #[arg(long, default_value = "2500ms", value_name = "TIME")]
    runtime: Nanos,
    /// Leave out the tests through the page cache.
    #[arg(long)]
    direct_only: bool,
    /// Size of the scratch file, or of the region to use.
    #[arg(long)]
    size: Option<Bytes>,
    /// Reproduces offsets and content.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Allow writing over a file or device that exists: ITS DATA IS LOST.
    #[arg(long)]
    destroy_data: bool,
    /// Keep this run in a new file, to compare later ones with.
    #[arg(long, value_name = "FILE")]
    save_reference: Option<PathBuf>,
    /// Compare with a saved reference, or with a table printed in 2008:
    /// `scsi_ram` or `ata_ram`.
    #[arg(long, value_name = "FILE|NAME")]
    against: Option<String>,
    /// Exit with 1 when a test is slower than the reference, beyond the
    /// intervals.
    #[arg(long, requires = "against")]
    fail: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Write stdout's content to a new file instead.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write an HTML report to a new file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
}

/// Tests, compares and prints. Exit 1 when it is slower and that was asked for.
pub(crate) fn run(args: &IolatArgs) -> anyhow::Result<Ended> {
    save::refuse(args.output.iter().chain(&args.html).chain(&args.save_reference))?;
    let shortest = Nanos(plan::ROUND_SHORTEST.0 * u64::from(plan::ROUNDS));
    ensure!(args.runtime >= shortest, "--runtime {} is too short: name at least {shortest}", args.runtime);
    // Before the tests, so that a misspelt name costs no half minute.
    let against =
        args.against.as_deref().map(|name| reference::load(name).map(|found| (name, found))).transpose()?;
    let talk = Talk::new(args.quiet);
    let mut iolat = test(args, &talk)?;
    talk.clear();
    iolat.comparison = against.map(|(name, reference)| match reference {
        Reference::Published(table) => compare::with_published(&iolat, &table),
        Reference::Saved(there) => compare::with_saved(&iolat, &there, name),
    });
    let json = serde_json::to_string(&iolat).context("a run is plain data")?;
    let text = if args.json { json + "\n" } else { iostack_report::text::iolat(&iolat) };
    match &args.output {
        Some(path) => save::new_file(path, &text)?,
        None => talk::data(&text),
    }
    if let Some(path) = &args.html {
        save::new_file(path, &iostack_report::html::iolat(&iolat))?;
        talk.say(&format!("report: {}", path.display()));
    }
    if let Some(path) = &args.save_reference {
        ensure!(
            !iolat.interrupted,
            "the reference `{}` is not saved: half a run is no reference",
            path.display()
        );
        let kept = serde_json::to_string(&reference::to_save(&iolat)).context("a run is plain data")?;
        save::new_file(path, &kept)?;
        talk.say(&format!("reference: {}", path.display()));
    }
    let slower = iolat.comparison.as_ref().is_some_and(|comparison| comparison.slower);
    Ok(if args.fail && slower { Ended::FoundProblem } else { Ended::Done })
}

fn test(args: &IolatArgs, talk: &Talk) -> anyhow::Result<Iolat> {
    let started = Instant::now();
    let started_unix_ms =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_millis() as u64);
    let stop = iostack_host::signals::stop_flag();
    let target = iostack_host::resolve(&args.target)?;
    left::settings(&|text| talk.warn(text));
    left::files(&target, &|text| talk.warn(text));
    let machine = iostack_host::machine();
    let wishes = Wishes { effort: Effort::Quick, size: args.size, destroy_data: args.destroy_data };
    let mut explored = place::explore(target, &machine, &wishes)?;
    let limit = place::fill_limit(wishes.effort);
    let scratch = fill::fill(&mut explored, limit, talk, started)?;
    let (tests, mut notes) = plan::tests(&explored.place, args.direct_only);
    ensure!(!tests.is_empty(), "no test can be made on `{}`: {}", explored.target, notes.join(" "));
    let mut profiler = Profiler::new(&explored.ladder);
    let whole = measure::expected(tests.len(), args.runtime);
    talk.say(&format!(
        "{} tests in {} rounds on {}, about {:.0} s",
        tests.len(),
        plan::ROUNDS,
        explored.target,
        whole.as_secs_f64()
    ));
    let session = Session { explored: &explored, stop, talk, started, deadline: None, journal: None };
    let rounds = measure::measure(&session, &mut profiler, &tests, args.runtime, args.seed);
    notes.extend(rounds.notes.iter().cloned());
    let interrupted = stop.load(Ordering::Relaxed);
    if interrupted {
        notes.push(cut_short(&rounds, &tests));
    }
    let found = Found { explored, machine, scratch, rounds, profiler, notes };
    let elapsed = Nanos(started.elapsed().as_nanos() as u64);
    Ok(Iolat { started_unix_ms, elapsed, seed: args.seed, interrupted, ..figures(found) })
}

fn cut_short(rounds: &Rounds, tests: &[Test]) -> String {
    let made: usize = rounds.tests.iter().map(|test| test.rounds.len()).sum();
    let all = tests.len() * plan::ROUNDS as usize;
    format!("Interrupted after {made} of {all} measurements: the figures are of those.")
}

/// What was found, before it is summed up.
struct Found {
    explored: Explored,
    machine: Machine,
    scratch: Option<Scratch>,
    rounds: Rounds,
    profiler: Profiler,
    notes: Vec<String>,
}

fn figures(found: Found) -> Iolat {
    let Found { explored, machine, scratch, rounds, profiler, mut notes } = found;
    let tests: Vec<_> = rounds.tests.into_iter().filter_map(gather::test).collect();
    let profiled = tests.iter().any(|test| test.layers.is_some());
    let layers_missing = match profiler.missing {
        Some(reason) if profiled => {
            notes.push(format!("Some rounds have no layers: {reason}."));
            None
        }
        reason => reason,
    };
    Iolat {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: 0,
        elapsed: Nanos(0),
        seed: 0,
        target: explored.target,
        machine,
        storage: explored.storage,
        scratch,
        profiles: gather::profiles(&tests),
        tests,
        ladder: profiler.ladder,
        layers_missing,
        comparison: None,
        notes,
        interrupted: false,
    }
}
