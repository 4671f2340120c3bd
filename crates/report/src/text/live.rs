//! One line while a job runs.

use iostack_model::{Phase, Progress};

use super::WIDTH;
use super::format::{cut, megabytes, rate};

/// The status in one line that does not reach the last column of [`WIDTH`], where some terminals wrap.
pub fn live(now: &Progress) -> String {
    live_within(now, WIDTH - 1)
}

/// The status in one line of at most `width` characters. What matters least is left out first: the phase, then
/// bandwidth, then percentiles; the name of the job is cut last. The phase `running` goes without saying.
pub fn live_within(now: &Progress, width: usize) -> String {
    let pieces = [
        (5, if now.phase == Phase::Running { String::new() } else { now.phase.name().to_owned() }),
        (1, rates(now)),
        (4, if now.bandwidth > 0.0 { format!("{} MB/s", megabytes(now.bandwidth)) } else { String::new() }),
        (3, percentiles(now)),
        (2, time(now)),
    ];
    let mut name = cut(&now.job, 24);
    for rank_last in (1..=5).rev() {
        let line = joined(&name, &pieces, rank_last);
        if line.chars().count() <= width {
            return line;
        }
    }
    name = cut(&name, 8);
    cut(&joined(&name, &pieces, 1), width)
}

fn joined(name: &str, pieces: &[(i32, String)], rank_last: i32) -> String {
    let kept = pieces.iter().filter(|(rank, text)| *rank <= rank_last && !text.is_empty());
    let kept = std::iter::once(name).chain(kept.map(|(_, text)| text.as_str()));
    let line = kept.collect::<Vec<_>>().join("  ");
    line.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Directions that move, with their rate; without any, nothing.
fn rates(now: &Progress) -> String {
    let all = [("r", now.read_iops), ("w", now.write_iops), ("t", now.trim_iops)];
    let moving = all.iter().filter(|(_, iops)| *iops > 0.0);
    let told: Vec<String> = moving.map(|(letter, iops)| format!("{letter} {}", rate(*iops))).collect();
    if told.is_empty() { String::new() } else { told.join(" ") + " IOPS" }
}

fn percentiles(now: &Progress) -> String {
    if now.p50.0 == 0 { String::new() } else { format!("p50 {} p99 {}", now.p50, now.p99) }
}

/// `42 % 6 s left`; only the elapsed time when the end is not known.
fn time(now: &Progress) -> String {
    let by_time =
        now.expected.filter(|expected| expected.0 > 0).map(|all| now.elapsed.0 as f64 / all.0 as f64);
    let Some(done) = now.done.or(by_time).map(|done| done.clamp(0.0, 1.0)) else {
        return whole_seconds(now.elapsed.0);
    };
    let left = match now.expected {
        Some(expected) => Some(expected.0.saturating_sub(now.elapsed.0)),
        // The pace so far, once there is any.
        None if done > 0.01 => Some((now.elapsed.0 as f64 * (1.0 - done) / done) as u64),
        None => None,
    };
    let left = left.map_or_else(String::new, |ns| format!(" {} left", whole_seconds(ns)));
    format!("{:.0} %{left}", done * 100.0)
}

fn whole_seconds(ns: u64) -> String {
    let seconds = ns.div_ceil(1_000_000_000);
    if seconds < 120 { format!("{seconds} s") } else { format!("{}:{:02} min", seconds / 60, seconds % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::Nanos;

    fn running() -> Progress {
        Progress {
            job: "random-read".to_owned(),
            phase: Phase::Running,
            elapsed: Nanos::millis(4_200),
            expected: Some(Nanos::secs(10)),
            read_iops: 485_200.0,
            bandwidth: 1.987e9,
            p50: Nanos::micros(64),
            p99: Nanos::micros(110),
            ..Progress::default()
        }
    }

    #[test]
    fn the_line_says_everything_where_there_is_room() {
        assert_eq!(
            live_within(&running(), 100),
            "random-read  r 485.2k IOPS  1987 MB/s  p50 64 us p99 110 us  42 % 6 s left"
        );
    }

    #[test]
    fn a_narrow_line_keeps_the_rate_and_the_time_left() {
        assert_eq!(live_within(&running(), 50), "random-read  r 485.2k IOPS  42 % 6 s left");
        assert!(
            live_within(&Progress { phase: Phase::Ramp, ..running() }, 100)
                .starts_with("random-read  ramp  r")
        );
        for width in 1..100 {
            assert!(live_within(&running(), width).chars().count() <= width, "{width}");
        }
    }

    #[test]
    fn a_job_without_end_says_how_long_it_has_run() {
        let endless = Progress { expected: None, ..running() };
        assert!(live_within(&endless, 100).ends_with("p99 110 us  5 s"), "{}", live_within(&endless, 100));
        let half = Progress { expected: None, done: Some(0.5), elapsed: Nanos::secs(300), ..running() };
        assert!(live_within(&half, 100).ends_with("50 % 5:00 min left"), "{}", live_within(&half, 100));
    }

    #[test]
    fn a_name_cannot_drive_the_terminal() {
        let hostile = Progress { job: "\u{1b}]0;x\u{7}\r\n".to_owned(), ..Progress::default() };
        assert!(live_within(&hostile, 80).chars().all(|c| !c.is_control()));
    }
}
