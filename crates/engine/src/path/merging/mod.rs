//! How do the merge library's policies do on a place that is held?
//!
//! ```text
//!   MergeAsked ──► commands: the time of commands of each size ──► rounds over all cells, in turns ──► MergeFound
//!                                                                   load: one cell   content: is it the right data?
//! ```

mod commands;
mod content;
mod load;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use anyhow::Context;
use iostack_host::Held;
use iostack_host::counters::{self, WorkerWatch};
use iostack_merge::Policy;
use iostack_model::{Direction, Nanos};
use iostack_target::{Audience, MergeAsked, MergeFound, MergeMeasured, Place};
use iostack_workload::Rng;

use content::Content;
use load::Bench;

/// Measures all that is asked, until Ctrl-C.
pub(super) fn merge(
    held: &Held,
    place: &Place,
    asked: &MergeAsked,
    audience: &dyn Audience,
) -> anyhow::Result<MergeFound> {
    let started = Instant::now();
    let policies = asked.cells.iter().map(load::policy_of).collect::<anyhow::Result<Vec<_>>>()?;
    let file = open(held, place, asked.direction)?;
    let blocks = place.region.0 / asked.request;
    let content = if asked.stamped || asked.direction == Direction::Write {
        Content::Stamped
    } else {
        Content::sample(&file, blocks, asked.request as usize, asked.seed)
            .with_context(|| format!("cannot read `{}`", held.path().display()))?
    };
    let bench = Bench::new(&file, asked, content, blocks, audience.stop())?;
    let cpu_before = counters::cpu();
    let mut found = measure(&bench, (asked, &policies), audience, started);
    let cpu = counters::cpu().since(cpu_before);
    let auto = bench.file(Policy::Auto);
    let advice = auto.advice();
    found.auto = format!("{}, because {}", advice.policy.name(), advice.why);
    auto.backend().clone_into(&mut found.backend);
    (found.busy, found.steal_share) = (cpu.busy, cpu.steal_share());
    (found.elapsed, found.interrupted) = (elapsed(started), bench.stopped());
    Ok(found)
}

fn open(held: &Held, place: &Place, direction: Direction) -> anyhow::Result<File> {
    let flags = if place.direct { libc::O_DIRECT } else { 0 };
    let mut options = OpenOptions::new();
    let opened = held.reopen(options.read(true).write(direction == Direction::Write).custom_flags(flags));
    opened.with_context(|| format!("cannot open `{}`", held.path().display()))
}

fn elapsed(started: Instant) -> Nanos {
    Nanos(started.elapsed().as_nanos() as u64)
}

/// Times commands, then makes the rounds.
fn measure(
    bench: &Bench<'_>,
    (asked, policies): (&MergeAsked, &[Policy]),
    audience: &dyn Audience,
    started: Instant,
) -> MergeFound {
    let each = asked.slice + asked.overhead;
    let fit_time = Nanos(asked.fit_slice.0 * asked.sizes.len() as u64 * u64::from(asked.fit_rounds));
    let mut left = Nanos(each.0 * asked.cells.len() as u64 * u64::from(asked.rounds));
    let end = elapsed(started) + fit_time + left;
    audience.step("c + b x: commands of 1 to 64 requests", elapsed(started), end);
    let tell = |round: u32| {
        let label = format!("round {} of {}", round + 1, asked.fit_rounds);
        audience.point("c + b x", &label, elapsed(started), end);
    };
    let (fit, fit_failures) = commands::measure(bench, asked, &tell);
    let mut cells: Vec<Vec<MergeMeasured>> = vec![Vec::new(); asked.cells.len()];
    let (mut rng, mut workers) = (Rng::stream(asked.seed, 0xce11), WorkerWatch::default());
    let slice = Duration::from_nanos(asked.slice.0);
    for number in (0..asked.rounds).take_while(|_| !bench.stopped()) {
        let title = format!("round {} of {}", number + 1, asked.rounds);
        audience.step(&title, elapsed(started), elapsed(started) + left);
        for index in shuffled(cells.len(), &mut rng) {
            if bench.stopped() {
                break;
            }
            let (cell, rounds) = (&asked.cells[index], &mut cells[index]);
            if rounds.iter().any(|round| !round.failures.is_empty()) {
                continue;
            }
            let label = format!("{} at {} {}", cell.policy, cell.column, cell.ask.over());
            audience.point(&title, &label, elapsed(started), elapsed(started) + left);
            let measured = bench.run((cell, policies[index]), number, slice, &mut workers);
            // What Ctrl-C cut short is no round.
            if !bench.stopped() || !measured.failures.is_empty() {
                rounds.push(measured);
            }
            left = left - each;
        }
    }
    let workers = workers.total();
    let workers = (workers.count, workers.cpu);
    MergeFound { fit, fit_failures, cells, workers, ..MergeFound::default() }
}

/// The numbers below `count` in an order that chance decides: no cell always follows the same.
fn shuffled(count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, rng.below(last as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_everything_once() {
        let mut order = shuffled(50, &mut Rng::from_seed(3));
        assert_ne!(order, (0..50).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..50).collect::<Vec<_>>());
        assert!(shuffled(0, &mut Rng::from_seed(1)).is_empty());
    }
}
