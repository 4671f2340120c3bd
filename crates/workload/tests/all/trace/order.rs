//! I/Os come in the order of their times, from as little memory as that takes.

use std::io::{BufReader, Read};

use iostack_workload::trace::{TraceOptions, open};
use iostack_workload::{Rng, TraceFormat};

use super::{parsed, refused};

/// Lines without end.
struct Endless {
    line: u64,
    rest: Vec<u8>,
    given: std::rc::Rc<std::cell::Cell<u64>>,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.rest.is_empty() {
            self.line += 1;
            self.rest = format!("0,{},4096,R,{}.5\n", self.line * 8, self.line).into_bytes();
        }
        let count = self.rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        self.given.set(self.given.get() + count as u64);
        Ok(count)
    }
}

#[test]
fn a_trace_without_end_is_read_as_it_is_replayed() {
    let given = std::rc::Rc::new(std::cell::Cell::new(0));
    let endless = Endless { line: 0, rest: Vec::new(), given: given.clone() };
    let mut trace = open(Box::new(BufReader::new(endless)), TraceFormat::Spc, "endless");
    let first = trace.next().expect("endless").expect("good");
    assert_eq!((first.at.0, first.offset), (0, 4096));
    assert!(given.get() < 200_000, "{} bytes read for one I/O", given.get());
    let later = trace.nth(100_000).expect("endless").expect("good");
    assert_eq!(later.at.0, 100_001 * 1_000_000_000);
}

#[test]
fn neighbours_in_the_wrong_order_are_put_right_and_equal_times_stay_as_they_were() {
    let seed = 11;
    let mut rng = Rng::from_seed(seed);
    let mut lines: Vec<(u64, u64)> = (0..20_000).map(|number| (number / 4, number)).collect();
    // Each within 1000 lines of its place: as blkparse prints the events of several processors.
    lines.sort_by_cached_key(|&(_, number)| number + rng.below(1000));
    let written: Vec<String> =
        lines.iter().map(|(time, number)| format!("{time} 0 {} 8 1", number * 8)).collect();
    let ios = parsed(&written.join("\n"), TraceFormat::Disksim).expect("in order within the window");
    lines.sort_by_key(|&(time, _)| time);
    let (first, _) = lines[0];
    for (io, (time, number)) in ios.iter().zip(&lines) {
        assert_eq!((io.at.0, io.offset), ((time - first) * 1_000_000, number * 4096), "seed {seed}");
    }
    assert_eq!(ios.len(), lines.len());
}

#[test]
fn a_time_far_behind_is_an_error_and_no_guess() {
    let lines: Vec<String> = (1..10_000).chain([5]).map(|time| format!("{time} 0 8 8 1")).collect();
    let said = refused(&lines.join("\n"), TraceFormat::Disksim, &TraceOptions::default());
    assert!(said.starts_with("some.trace:10000: its time is "), "{said}");
    assert!(said.ends_with("sort the lines by time"), "{said}");
}

#[test]
fn a_day_without_an_io_names_its_line() {
    for (last, leap) in [("86400.9", None), ("86401", Some((4, 86_400))), ("900000", Some((4, 899_999)))] {
        let text =
            format!("0,8,4096,R,0\n0,8,4096,R,0.5\n0,8,4096,R,1\n0,8,4096,R,{last}\n0,8,4096,R,{last}\n");
        let mut trace = open(Box::new(std::io::Cursor::new(text)), TraceFormat::Spc, "leap");
        assert_eq!(trace.by_ref().flatten().count(), 5);
        let found = trace.leap().map(|(line, after)| (line, after.0 / 1_000_000_000));
        assert_eq!(found, leap, "{last}");
    }
}
