//! Which tests run beside which? Two lanes, the longest first; what measures time runs alone.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::Result;

use super::cargo;
use super::programs::{Program, Times};
use super::tally::Tally;

/// Programs whose figures are of time, or of what the machine does beside: a neighbour spoils them. `APART` has parts of others.
const ALONE: [&str; 2] = ["iostack alone", "iostack-attribute clocks"];

/// It boots machines one after the other, and begins first also where no time is known yet.
const LONGEST: &str = "iostack all lab::";

/// More would share two cores among three.
const LANES: usize = 2;

/// Runs them, and says what each did: the sum, and the time of each. `slow` are the names of the slow tests that are wanted, none: all
/// others.
pub(super) fn run(programs: &[Program], slow: &[String], before: &Times) -> Result<(Tally, Times)> {
    let is_alone = |program: &&Program| program.is_alone || ALONE.contains(&program.name.as_str());
    let (alone, mut beside): (Vec<&Program>, Vec<&Program>) = programs.iter().partition(is_alone);
    let time = |program: &Program| match before.get(&program.name) {
        Some(&seconds) => seconds,
        None if program.name == LONGEST => f64::INFINITY,
        None => f64::MAX,
    };
    beside.sort_by(|a, b| time(b).total_cmp(&time(a)));
    let (mut tally, mut times) = (Tally::default(), Times::new());
    for (order, lanes) in [(alone, 1), (beside, LANES)] {
        let (sum, took) = each(&order, slow, lanes)?;
        tally.absorb(sum);
        times.extend(took);
    }
    Ok((tally, times))
}

/// Runs them in this order, so many at a time; where one at a time, its tests too.
fn each(order: &[&Program], slow: &[String], lanes: usize) -> Result<(Tally, Times)> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new((Tally::default(), Times::new()));
    let lane = || -> Result<()> {
        while let Some(program) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let began = Instant::now();
            let name = &program.name;
            let tell = |lines: &[String], one: &Tally| tell(name, lines, one, began.elapsed().as_secs());
            let one = cargo::heard(&mut program.command(slow, lanes == 1), &tell)?;
            let mut done = done.lock().expect("nothing panics with it");
            done.0.absorb(one);
            done.1.insert(name.clone(), began.elapsed().as_secs_f64());
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        running.into_iter().try_for_each(|lane| lane.join().expect("a lane returns its errors"))
    })?;
    Ok(done.into_inner().expect("nothing panics with it"))
}

/// Tells what a binary did, in full when something failed.
pub(super) fn tell(name: &str, lines: &[String], one: &Tally, seconds: u64) {
    if *one == Tally::default() {
        return;
    }
    let heard = if one.failed.is_empty() { String::new() } else { lines.join("\n") + "\n" };
    println!("{heard}          {name}: {one}, {seconds} s");
}
