//! What does a command of so many requests take?

use std::time::{Duration, Instant};

use iostack_merge::Policy;
use iostack_model::Direction;
use iostack_target::{MergeAsked, MergeFitRound};
use iostack_workload::Rng;

use super::content::{Content, ReadRoom};
use super::load::{Bench, send};
use super::shuffled;

/// Times commands of each size in turns: one thread sends requests as one and waits for all.
pub(super) fn measure(
    bench: &Bench<'_>,
    asked: &MergeAsked,
    tell: &dyn Fn(u32),
) -> (Vec<MergeFitRound>, Vec<String>) {
    let mut rng = Rng::stream(bench.seed, 0xf17);
    let slice = Duration::from_nanos(asked.fit_slice.0);
    let (mut rounds, mut failures) = (Vec::new(), Vec::new());
    for number in 0..asked.fit_rounds {
        tell(number);
        let mut round = MergeFitRound::new();
        for index in shuffled(asked.sizes.len(), &mut rng) {
            if bench.stopped() {
                return (rounds, failures);
            }
            match commands(bench, asked.sizes[index], slice, &mut rng) {
                Ok(times) => round.push((asked.sizes[index], median(times.clone()), times.len() as u64)),
                Err(failure) => failures.push(failure),
            }
        }
        round.sort_by_key(|(size, ..)| *size);
        rounds.push(round);
        if !failures.is_empty() {
            break;
        }
    }
    (rounds, failures)
}

fn commands(bench: &Bench<'_>, size: u32, slice: Duration, rng: &mut Rng) -> Result<Vec<f64>, String> {
    let mut room = ReadRoom::new(size as usize * bench.request);
    let mut list: Vec<(u64, &mut [u8])> =
        room.slice().chunks_exact_mut(bench.request).map(|block| (0, block)).collect();
    let (started, mut times) = (Instant::now(), Vec::new());
    let writes = bench.direction == Direction::Write;
    while times.is_empty() || started.elapsed() < slice {
        for (offset, block) in &mut list {
            *offset = bench.content.next(bench.blocks, bench.request as u64, rng);
            if writes { Content::stamp(block, *offset, bench.seed) } else { bench.content.forget(block) }
        }
        let began = Instant::now();
        send(bench.file(Policy::Ring), writes, &mut list).map_err(|error| error.to_string())?;
        times.push(began.elapsed().as_nanos() as f64);
        if !writes {
            list.iter().try_for_each(|(offset, block)| bench.content.check(block, *offset))?;
        }
    }
    Ok(times)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
