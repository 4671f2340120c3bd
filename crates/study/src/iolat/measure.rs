//! Makes the tests, round after round, until they are done or Ctrl-C is pressed.

use iostack_model::{Nanos, Outcome};

use super::plan::{self, Test};
use crate::check::measure::Examiner;
use crate::check::traced::Profiler;

/// The rounds of one test, in the order of time.
pub(crate) struct MeasuredTest {
    pub(crate) test: Test,
    /// Number of the round and what came of it.
    pub(crate) rounds: Vec<(u32, Outcome)>,
}

/// Outcomes of all rounds, and failures.
pub(crate) struct Rounds {
    /// Every test, also one without rounds.
    pub(crate) tests: Vec<MeasuredTest>,
    /// Failures in whole sentences.
    pub(crate) notes: Vec<String>,
}

/// Wall time of the whole.
pub(crate) fn expected(tests: usize, runtime: Nanos) -> Nanos {
    Nanos(each(runtime).0 * tests as u64 * u64::from(plan::ROUNDS))
}

/// Wall time of one round of one test.
fn each(runtime: Nanos) -> Nanos {
    plan::round_time(runtime) + plan::OVERHEAD
}

/// Makes every test once a round.
pub(crate) fn measure(
    examiner: &Examiner<'_>,
    profiler: &mut Profiler,
    tests: &[Test],
    runtime: Nanos,
    seed: u64,
) -> Rounds {
    let mut measured: Vec<MeasuredTest> =
        tests.iter().map(|&test| MeasuredTest { test, rounds: Vec::new() }).collect();
    let mut notes = Vec::new();
    let mut left = expected(tests.len(), runtime);
    for round in 0..plan::ROUNDS {
        let title = format!("round {} of {}", round + 1, plan::ROUNDS);
        examiner.talk.step(&title, examiner.elapsed(), examiner.elapsed() + left);
        let mut warm = false;
        for one in &mut measured {
            if examiner.stopped() {
                break;
            }
            examiner.talk.point(&title, one.test.name, examiner.elapsed(), examiner.elapsed() + left);
            if !one.test.direct && !warm {
                warm = true;
                if let Err(reason) = examiner.run(&plan::warm_up(&examiner.session.about().place)) {
                    notes.push(format!("The page cache could not be filled: {reason}."));
                }
            }
            let job =
                plan::job(&one.test, &examiner.session.about().place, plan::round_time(runtime), seed, round);
            match profiler.run(examiner, &job) {
                Ok(outcome) if outcome.ios() > 0 => one.rounds.push((round, outcome)),
                Ok(_) => {}
                Err(reason) => notes.push(format!("{}, round {}: {reason}.", one.test.name, round + 1)),
            }
            left = Nanos(left.0.saturating_sub(each(runtime).0));
        }
    }
    notes.dedup();
    Rounds { tests: measured, notes }
}
