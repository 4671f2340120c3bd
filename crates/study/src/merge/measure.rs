//! Measures every cell once a round, until all rounds are done or Ctrl-C is pressed.

use std::time::{Duration, Instant};

use iostack_host::counters::WorkerWatch;
use iostack_model::Nanos;
use iostack_target::Audience;
use iostack_workload::Rng;

use super::fit::{self, FitRound};
use super::load::{Bench, Measured};
use super::plan::{Plan, Planned, shuffled};

/// All rounds of one cell.
pub(crate) struct Rounds {
    pub(crate) cell: Planned,
    pub(crate) rounds: Vec<Measured>,
}

/// What was measured.
pub(crate) struct Found {
    pub(crate) fit: Vec<FitRound>,
    pub(crate) cells: Vec<Rounds>,
    /// What went wrong with the fit.
    pub(crate) failures: Vec<String>,
    pub(crate) workers: WorkerWatch,
}

/// Fits, then makes the rounds.
pub(crate) fn measure(bench: &Bench<'_>, plan: &Plan, talk: &dyn Audience, started: Instant) -> Found {
    let elapsed = || Nanos(started.elapsed().as_nanos() as u64);
    let end = elapsed() + plan.expected();
    talk.step("c + b x: commands of 1 to 64 requests", elapsed(), end);
    let tell = |round: u32| {
        talk.point("c + b x", &format!("round {} of {}", round + 1, plan.fit_rounds), elapsed(), end);
    };
    let (fit, failures) = fit::measure(bench, plan, &tell);
    let mut cells: Vec<Rounds> = plan.cells.iter().map(|&cell| Rounds { cell, rounds: Vec::new() }).collect();
    let (mut rng, mut workers) = (Rng::stream(bench.seed, 0xce11), WorkerWatch::default());
    let slice = Duration::from_nanos(plan.slice.0);
    let mut left = plan.expected() - plan.fit_time();
    for number in (0..plan.rounds).take_while(|_| !bench.stopped()) {
        let title = format!("round {} of {}", number + 1, plan.rounds);
        talk.step(&title, elapsed(), elapsed() + left);
        for index in shuffled(cells.len(), &mut rng) {
            if bench.stopped() {
                break;
            }
            let one = &mut cells[index];
            if one.rounds.iter().any(|round| !round.failures.is_empty()) {
                continue;
            }
            let label = format!("{} at {} {}", one.cell.policy, one.cell.column, one.cell.ask.over());
            talk.point(&title, &label, elapsed(), elapsed() + left);
            let measured = bench.run(&one.cell, number, slice, &mut workers);
            // What Ctrl-C cut short is no round.
            if !bench.stopped() || !measured.failures.is_empty() {
                one.rounds.push(measured);
            }
            left = left - plan.each();
        }
    }
    Found { fit, cells, failures, workers }
}
