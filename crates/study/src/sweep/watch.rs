//! How far is it, and when will it end?

use std::time::Instant;

use iostack_model::{Nanos, Outcome};
use iostack_target::{Audience, Targets};

use super::pool::{self, Given, Task, Watched};

/// CPUs, so that each thread has one.
pub fn parallel(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// Runs the tasks and tells how far they are, and when the whole will end.
pub fn watched(
    tasks: &[Task],
    names: &[String],
    (parallel, targets): (usize, &dyn Targets),
    talk: &dyn Audience,
) -> Vec<Option<Given>> {
    let started = Instant::now();
    let mut said = Instant::now();
    // Two emulators at once would only share the time.
    let is_alone = tasks.iter().any(|task| targets.kind(&targets.word(&task.device)).is_alone);
    let parallel = if is_alone { 1 } else { parallel };
    let given = pool::run(tasks, (parallel, targets), talk.stop(), &mut |watched, given| {
        let elapsed = started.elapsed();
        if let Some(index) = watched.ended
            && !talk.watches()
        {
            let what = given[index].as_ref().map_or_else(String::new, brief);
            talk.say(&format!("[{:>5.1} s] {}: {what}", elapsed.as_secs_f64(), names[index]));
        }
        if said.elapsed().as_millis() >= 100 || watched.ended.is_some() {
            said = Instant::now();
            talk.live(&line(watched, tasks.len(), Nanos(elapsed.as_nanos() as u64)));
        }
    });
    talk.clear();
    given
}

/// Result of one point, in a few words.
fn brief(given: &Given) -> String {
    match given {
        Ok(outcomes) => {
            let iops: f64 = outcomes.iter().map(Outcome::rate).sum();
            format!("{iops:.0} IOPS")
        }
        Err(error) => format!("FAILED: {error}"),
    }
}

/// `7 of 64 points, 12 %, 4 s of about 33 s`.
pub(crate) fn line(watched: &Watched, count: usize, elapsed: Nanos) -> String {
    let done = format!("{} of {count} points, {:.0} %", watched.done, watched.share * 100.0);
    if watched.share <= 0.02 {
        return done;
    }
    let whole = elapsed.as_secs_f64() / watched.share;
    format!("{done}, {:.0} s of about {whole:.0} s", elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_told_once_it_can_be_guessed() {
        let at = |share| line(&Watched { ended: None, done: 1, share }, 8, Nanos::secs(5));
        assert_eq!(at(0.0), "1 of 8 points, 0 %");
        assert_eq!(at(0.25), "1 of 8 points, 25 %, 5 s of about 20 s");
    }
}
