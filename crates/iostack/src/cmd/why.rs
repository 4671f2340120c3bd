//! `iostack why`: what held the slow I/Os and the long sleeps of the last seconds?

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::ensure;
use iostack_attribute::watch::explain;
use iostack_host::save::Output;
use iostack_model::answers::{WatchSlice, Why};
use iostack_model::{Nanos, SCHEMA};
use iostack_report::stacks;

use crate::cmd::watch::{self, recorder};
use crate::exit::Ended;
use crate::talk::Talk;
use crate::written::{self, AnswerArgs};

/// Arguments of `iostack why`.
#[derive(clap::Args)]
pub(crate) struct WhyArgs {
    /// A folder of `watch --record`, or a file of `watch --lines` [/run/iostack
    /// where a watch records there now; else this host is watched].
    record: Option<PathBuf>,
    /// Look at so much of the end of a record.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    since: Nanos,
    /// Tell so many of the slowest.
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    slowest: usize,
    /// Watch for so long, where there is no record.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    runtime: Nanos,
    /// I/Os and sleeps from here on are slow, where there is no record [longer
    /// than all but one of a thousand before].
    #[arg(long, value_name = "TIME")]
    slow: Option<Nanos>,
    /// Write the slowest, and what was told of the same moment, as a timeline for
    /// ui.perfetto.dev to a new file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    perfetto: Option<PathBuf>,
    /// Write long sleeps as folded stacks, in microseconds, for flamegraph.pl to a
    /// new file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    folded: Option<PathBuf>,
    #[command(flatten)]
    answer: AnswerArgs,
}

/// Length of an interval of a look of its own: the shorter, the better neighbours are told from those who came later.
const INTERVAL: Nanos = Nanos::millis(250);
/// A record whose last slice is older is not being written any more.
const FRESH: Duration = Duration::from_secs(10);

/// Reads or watches, and tells.
pub(crate) fn run(args: &WhyArgs) -> anyhow::Result<Ended> {
    let files = [("--perfetto", args.perfetto.as_ref()), ("--folded", args.folded.as_ref())];
    args.answer.refuse("why", files.into_iter().filter_map(|(flag, path)| Output::new(flag, path)))?;
    let talk = args.answer.talk();
    let mut notes = Vec::new();
    let slices = match &args.record {
        Some(path) => recent(recorder::read(path)?, args.since),
        None => match current() {
            Some(slices) => recent(slices, args.since),
            None => watched(args, &talk, &mut notes)?,
        },
    };
    let elapsed = Nanos(slices.iter().map(|slice| slice.elapsed.0).sum());
    ensure!(elapsed.0 > 0, "nothing was recorded in the last {}", args.since);
    let lost: u64 = slices.iter().map(|slice| slice.lost).sum();
    if lost > 0 {
        notes.push(format!("{lost} events were lost: some slow ones are not here."));
    }
    let explained = explain(&slices, args.slowest);
    let first = slices.first().map_or(0, |slice| slice.ended_unix_ns.saturating_sub(slice.elapsed.0));
    let why = Why {
        schema: SCHEMA,
        iostack: env!("IOSTACK_VERSION").to_owned(),
        started_unix_ms: first / 1_000_000,
        elapsed,
        ios: slices.iter().flat_map(|slice| &slice.ios).map(|row| row.ios).sum(),
        slow: explained.causes.iter().map(|(_, number, _)| number).sum(),
        causes: explained.causes,
        findings: explained.findings,
        notes,
    };
    args.answer.tell(&why, &talk)?;
    if let Some(path) = &args.perfetto {
        let slowest = why.findings.first();
        let trace = slowest.map(|slowest| iostack_report::outlier(slowest, &slices));
        written::beside(
            "timeline",
            path,
            &trace.unwrap_or_else(|| "{\"traceEvents\":[]}\n".to_owned()),
            &talk,
        )?;
    }
    if let Some(path) = &args.folded {
        written::beside("long sleeps", path, &stacks::folded_sleeps(&slices), &talk)?;
    }
    Ok(Ended::Done)
}

/// Slices of the last `since` of a record.
fn recent(mut slices: Vec<WatchSlice>, since: Nanos) -> Vec<WatchSlice> {
    let end = slices.last().map_or(0, |slice| slice.ended_unix_ns);
    slices.retain(|slice| slice.ended_unix_ns > end.saturating_sub(since.0));
    slices
}

/// The record of a service, while it is being written.
fn current() -> Option<Vec<WatchSlice>> {
    let slices = recorder::read(Path::new(recorder::USUAL)).ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let age = now.saturating_sub(Duration::from_nanos(slices.last()?.ended_unix_ns));
    (age < FRESH).then_some(slices)
}

fn watched(args: &WhyArgs, talk: &Talk, notes: &mut Vec<String>) -> anyhow::Result<Vec<WatchSlice>> {
    let mut watcher = watch::attach(args.slow)?;
    notes.extend(watcher.limits());
    talk.say(&format!("nothing records here, so this host is watched for {}; Ctrl-C ends it", args.runtime));
    let mut slices = Vec::new();
    watch::slices(&mut watcher, INTERVAL, Some(args.runtime), |slice| {
        slices.push(slice);
        Ok(())
    })?;
    Ok(slices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_record_is_counted_from_its_last_slice() {
        let slice = |at: u64| WatchSlice {
            ended_unix_ns: at * 1_000_000_000,
            elapsed: Nanos::secs(1),
            ..WatchSlice::default()
        };
        let slices: Vec<_> = (1..=100).map(slice).collect();
        assert_eq!(recent(slices.clone(), Nanos::secs(10)).len(), 10);
        assert_eq!(recent(slices.clone(), Nanos(u64::MAX)).len(), 100);
        assert!(recent(slices, Nanos(0)).is_empty());
        assert!(recent(Vec::new(), Nanos::secs(1)).is_empty());
    }
}
