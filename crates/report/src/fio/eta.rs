//! How far is it, in fio's words? `Jobs: 1 (f=1): [r(1)][75.0%][r=57.2MiB/s][r=14.7k IOPS][eta 00m:01s]`.
//!
//! The form is that of `display_thread_status` in fio's `eta.c`. Programs that look for `[eta` find it.

use iostack_model::{Access, Direction, Job, Nanos, Phase, Progress};

use super::normal::{BINARY, DECIMAL, number};
use crate::lists::Joined;

/// The line, which the next one overwrites; nothing while files are laid out, as fio says nothing then.
pub fn eta(progress: &Progress, jobs: &[Job]) -> String {
    if progress.phase == Phase::LayingOut {
        return String::new();
    }
    let job = jobs.iter().find(|job| job.name == progress.job);
    let threads: u32 = jobs.iter().filter(|one| one.name == progress.job).map(|one| one.threads).sum();
    let letter = job.map_or('R', letter);
    let done = progress.done.or_else(|| {
        let expected = progress.expected.filter(|expected| expected.0 > 0)?;
        Some((progress.elapsed.0 as f64 / expected.0 as f64).min(1.0))
    });
    let share = done.map_or_else(|| "-.-%".to_owned(), |done| format!("{:.1}%", done * 100.0));
    let all = [("r", progress.read_iops), ("w", progress.write_iops), ("t", progress.trim_iops)];
    let moving: Vec<_> = all.into_iter().filter(|(_, iops)| *iops > 0.0).collect();
    let mut rates = String::new();
    // The bandwidth is known of all directions together only.
    if let [(way, _)] = moving[..] {
        rates += &format!("[{way}={}]", number(progress.bandwidth as u64, 4, BINARY, "B/s"));
    }
    let iops = |(way, iops): &(&str, f64)| format!("{way}={}", number(*iops as u64, 4, DECIMAL, ""));
    if !moving.is_empty() {
        rates += &format!("[{} IOPS]", moving.iter().map(iops).joined(","));
    }
    let left = eta_of(progress, done);
    format!("Jobs: {threads} (f={threads}): [{letter}({threads})][{share}]{rates}[eta {left}]\r")
}

/// fio's letter for the job: capital for sequential, small for random.
fn letter(job: &Job) -> char {
    let random = matches!(job.access, Access::Random { .. });
    let moves = |direction| job.mix.of(direction) > 0;
    let letter = match Direction::ALL.map(moves) {
        [true, true, _] => 'M',
        [_, false, true] => 'D',
        [_, true, _] => 'W',
        _ => 'R',
    };
    if random { letter.to_ascii_lowercase() } else { letter }
}

/// Time left, where the end is known.
fn eta_of(progress: &Progress, done: Option<f64>) -> String {
    let by_time = progress.expected.map(|expected| Nanos(expected.0.saturating_sub(progress.elapsed.0)));
    let by_share = || {
        let done = done.filter(|done| *done > 0.0)?;
        Some(Nanos((progress.elapsed.0 as f64 * (1.0 - done) / done) as u64))
    };
    let Some(left) = by_time.or_else(by_share) else { return "--".to_owned() };
    let seconds = left.0.div_ceil(1_000_000_000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours:02}h:{minutes:02}m:{seconds:02}s")
    } else {
        format!("{minutes:02}m:{seconds:02}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_that_of_fio() {
        let job = Job { name: "a".to_owned(), ..Job::default() };
        let mut progress = Progress {
            job: "a".to_owned(),
            phase: Phase::Running,
            elapsed: Nanos::secs(3),
            expected: Some(Nanos::secs(4)),
            read_iops: 14_700.0,
            bandwidth: 59_978_547.0,
            ..Progress::default()
        };
        let line = "Jobs: 1 (f=1): [r(1)][75.0%][r=57.2MiB/s][r=14.7k IOPS][eta 00m:01s]\r";
        assert_eq!(eta(&progress, std::slice::from_ref(&job)), line);
        progress.expected = None;
        progress.write_iops = 10.0;
        assert_eq!(eta(&progress, &[job]), "Jobs: 1 (f=1): [r(1)][-.-%][r=14.7k,w=10 IOPS][eta --]\r");
        progress.phase = Phase::LayingOut;
        assert_eq!(eta(&progress, &[]), "");
    }
}
