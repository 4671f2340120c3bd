//! `iostack watch`: who uses the storage of this host, always on.
//!
//! ```text
//!   Watcher ──► a slice each interval ──┬─► sums: the live view, and the answer at the end
//!                                       ├─► lines      JSON on stdout
//!                                       ├─► metrics    OpenMetrics on a socket
//!                                       └─► recorder   the last minutes, for `iostack why`
//! ```

mod metrics;
pub(crate) mod recorder;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use iostack_attribute::watch::{Summed, WatchOptions, Watcher};
use iostack_engine::path::tracing::with_remedy;
use iostack_model::answers::{Watch, WatchSlice, labelled};
use iostack_model::{Machine, Nanos, SCHEMA};

use crate::exit::Ended;
use crate::talk::{Talk, data};
use crate::written::{AnswerArgs, json};
use metrics::Exporter;
use recorder::Recorder;

/// Arguments of `iostack watch`.
#[derive(clap::Args)]
pub(crate) struct WatchArgs {
    /// End after this time [until Ctrl-C].
    #[arg(long, value_name = "TIME")]
    runtime: Option<Nanos>,
    /// Length of an interval.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: Nanos,
    /// I/Os and sleeps from here on are slow [longer than all but one of a
    /// thousand before].
    #[arg(long, value_name = "TIME")]
    slow: Option<Nanos>,
    /// Print each interval as a line of JSON.
    #[arg(long, conflicts_with_all = ["format", "json"])]
    lines: bool,
    /// Answer with `OpenMetrics` at unix:PATH, or at PORT or ADDRESS:PORT of this
    /// machine's loopback.
    #[arg(long, value_name = "PLACE")]
    metrics: Option<String>,
    /// Keep the last minutes in a folder, where `iostack why` finds them.
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Time that --record keeps.
    #[arg(long, value_name = "TIME", default_value = "5m", requires = "record")]
    keep: Nanos,
    #[command(flatten)]
    answer: AnswerArgs,
}

/// Shortest interval: a look at all rows takes some milliseconds.
const INTERVAL_LEAST: Nanos = Nanos::millis(50);
/// The ring of events is emptied and the stop flag looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Attaches, or says why not and what would help.
pub(crate) fn attach(slow_from: Option<Nanos>) -> anyhow::Result<Watcher> {
    Watcher::attach(&WatchOptions { slow_from })
        .map_err(|error| with_remedy(&error, error.remedy()))
        .context("cannot watch this host")
}

/// Watches until it is told to end, and tells.
pub(crate) fn run(args: &WatchArgs) -> anyhow::Result<Ended> {
    args.answer.refuse("watch", None)?;
    ensure!(
        args.interval >= INTERVAL_LEAST,
        "--interval {} is too short; the shortest is {INTERVAL_LEAST}",
        args.interval
    );
    let exporter = args.metrics.as_deref().map(Exporter::open).transpose()?;
    let mut recorder = args.record.as_deref().map(|folder| Recorder::open(folder, args.keep)).transpose()?;
    let talk = args.answer.talk();
    let mut watcher = attach(args.slow)?;
    for limit in watcher.limits() {
        talk.say(&limit);
    }
    let started_unix_ms =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let machine = iostack_host::machine();
    let mut summed = Summed::default();
    talk.say("watching every device of this host; Ctrl-C ends it");
    let told = |summed: &Summed| answer(summed, args.interval, started_unix_ms, &machine);
    slices(&mut watcher, args.interval, args.runtime, |slice| {
        if args.lines {
            data(&json(&labelled(&slice))?);
        }
        if let Some(recorder) = &mut recorder {
            recorder.keep(&slice)?;
        }
        if talk.is_live() {
            let mut all = summed.clone();
            all.add(slice.clone());
            live(&talk, &told(&all), &slice);
        }
        summed.add(slice);
        if let Some(exporter) = &exporter {
            exporter.show(&told(&summed));
        }
        Ok(())
    })?;
    iostack_target::Audience::clear(&talk);
    if !args.lines {
        args.answer.tell(&told(&summed), &talk)?;
    }
    Ok(Ended::Done)
}

/// Hands over a slice each interval, until the time is over or a signal came; the last one may be shorter.
pub(crate) fn slices(
    watcher: &mut Watcher,
    interval: Nanos,
    runtime: Option<Nanos>,
    mut take: impl FnMut(WatchSlice) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let stop = iostack_host::signals::stop_flag();
    let started = Instant::now();
    let end = runtime.and_then(|runtime| started.checked_add(Duration::from_nanos(runtime.0)));
    let mut next = started + Duration::from_nanos(interval.0);
    loop {
        let over = stop.load(Ordering::Relaxed) || end.is_some_and(|end| Instant::now() >= end);
        if over || Instant::now() >= next {
            take(watcher.slice())?;
            next += Duration::from_nanos(interval.0);
        } else {
            watcher.look();
        }
        if over {
            return Ok(());
        }
        let until = end.map_or(next, |end| end.min(next));
        std::thread::sleep(until.saturating_duration_since(Instant::now()).min(LOOK_EVERY));
    }
}

fn live(talk: &Talk, watch: &Watch, last: &WatchSlice) {
    talk.block(&format!("{}Ctrl-C ends it with what was seen\n", iostack_report::live_watch(watch, last)));
}

fn answer(summed: &Summed, interval: Nanos, started_unix_ms: u64, machine: &Machine) -> Watch {
    Watch {
        schema: SCHEMA,
        iostack: env!("IOSTACK_VERSION").to_owned(),
        started_unix_ms,
        machine: machine.clone(),
        whole: summed.whole.clone(),
        heat: summed.heat(interval),
        cpus: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
    }
}
