//! fio's log of histograms: `time (ms), direction, block size, bin 0, bin 1, ..`, of completions since the line before.
//!
//! A line comes with the first I/O that ends when the interval is over; what comes after the last line is in none, as in fio
//! (`add_clat_sample` and `flush_hist_samples` in its `stat.c` and `iolog.c`). Its scripts take the width of a line for the
//! coarseness.

use std::fmt::Write;

use iostack_model::{BINS_PER_OCTAVE, LogEntry, LogRequest, bin_index};

/// `FIO_IO_U_PLAT_NR`; all that takes longer than 17 s is in the last one.
const BINS: usize = 29 * BINS_PER_OCTAVE;

/// The histogram of one direction since its last line.
struct Window {
    /// ms; `None` before the first I/O.
    begun: Option<u64>,
    counts: Vec<u64>,
}

/// The lines of one thread, whose I/Os these are, in the order of their ends.
pub(super) fn lines(
    entries: &[&LogEntry],
    request: &LogRequest,
    since: u64,
    latency: fn(&LogEntry) -> u64,
) -> String {
    let every = request.histogram_every.0 / 1_000_000;
    let mut text = String::new();
    if every == 0 {
        return text;
    }
    let mut windows: [Window; 3] = std::array::from_fn(|_| Window { begun: None, counts: vec![0; BINS] });
    for entry in entries {
        let (ms, window) = (entry.time.0 / 1_000_000, &mut windows[entry.direction as usize]);
        window.counts[bin_index(latency(entry)).min(BINS - 1)] += 1;
        let begun = *window.begun.get_or_insert(ms);
        if ms - begun < every {
            continue;
        }
        window.begun = Some(begun + every);
        let _ = write!(text, "{}, {}, {}", since + ms, entry.direction as u8, entry.length);
        for bins in window.counts.chunks(1 << request.histogram_coarse) {
            let _ = write!(text, ", {}", bins.iter().sum::<u64>());
        }
        text.push('\n');
        window.counts.fill(0);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::{Direction, Nanos};

    fn entry(ms: u64, direction: Direction, latency: u64) -> LogEntry {
        let time = Nanos::millis(ms);
        LogEntry { length: 4096, direction, latency: Nanos(latency), ..LogEntry::flush(time, 0, Nanos(0)) }
    }

    /// Time, direction, size, number of bins, and those that hold something.
    type HistogramLine = ([u64; 4], Vec<(usize, u64)>);

    fn read(text: &str) -> Vec<HistogramLine> {
        let line = |line: &str| {
            let numbers: Vec<u64> =
                line.split(", ").map(|number| number.parse().expect("a number")).collect();
            let (head, bins) = numbers.split_at(3);
            let some = bins.iter().copied().enumerate().filter(|&(_, count)| count > 0).collect();
            ([head[0], head[1], head[2], bins.len() as u64], some)
        };
        text.lines().map(line).collect()
    }

    #[test]
    fn a_line_comes_with_the_first_io_behind_each_interval_and_holds_what_came_since() {
        let entries = [
            entry(5, Direction::Read, 10),
            entry(14, Direction::Read, 10),
            entry(14, Direction::Write, 20),
            entry(15, Direction::Read, u64::MAX),
            entry(24, Direction::Read, 70),
            entry(31, Direction::Read, 71),
            entry(33, Direction::Read, 3),
        ];
        let entries: Vec<&LogEntry> = entries.iter().collect();
        let mut request = LogRequest { histogram_every: Nanos::millis(10), ..LogRequest::default() };
        let seen = read(&lines(&entries, &request, 100, |entry| entry.latency.0));
        let first = ([115, 0, 4096, 1856], vec![(10, 2), (1855, 1)]);
        assert_eq!(seen, [first, ([131, 0, 4096, 1856], vec![(70, 1), (71, 1)])]);
        request.histogram_coarse = 6;
        let seen = read(&lines(&entries, &request, 0, |entry| entry.latency.0));
        assert_eq!(seen[1], ([31, 0, 4096, 29], vec![(1, 2)]));
        request.histogram_every = Nanos(0);
        assert_eq!(lines(&entries, &request, 0, |entry| entry.latency.0), "", "as in fio");
    }
}
