//! What went through a file that C opened?
//!
//! Threads count in different places, so that counting does not make them wait for each other's cache line.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// `struct iostack_merge_stats`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    reads: u64,
    writes: u64,
    read_bytes: u64,
    written_bytes: u64,
    groups: u64,
    failures: u64,
}

const PLACES: usize = 16;

/// One cache line, and the one that is fetched with it.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Place {
    reads: AtomicU64,
    writes: AtomicU64,
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
    groups: AtomicU64,
    failures: AtomicU64,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    places: [Place; PLACES],
}

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static PLACE: usize = THREADS.fetch_add(1, Ordering::Relaxed) % PLACES;
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

impl Tally {
    fn place(&self) -> &Place {
        // A thread that ends may still read or write from a destructor.
        &self.places[PLACE.try_with(|place| *place).unwrap_or(0)]
    }

    pub(super) fn read(&self, result: &io::Result<usize>) {
        let place = self.place();
        count(place, &place.reads, &place.read_bytes, result.as_ref().ok().map(|bytes| *bytes as u64));
    }

    pub(super) fn write(&self, result: &io::Result<usize>) {
        let place = self.place();
        count(place, &place.writes, &place.written_bytes, result.as_ref().ok().map(|bytes| *bytes as u64));
    }

    /// Results as C sees them: bytes, or a negative error.
    pub(super) fn read_group(&self, results: impl Iterator<Item = i64>) {
        let place = self.place();
        add(&place.groups, 1);
        results.for_each(|result| count(place, &place.reads, &place.read_bytes, u64::try_from(result).ok()));
    }

    pub(super) fn write_group(&self, results: impl Iterator<Item = i64>) {
        let place = self.place();
        add(&place.groups, 1);
        results
            .for_each(|result| count(place, &place.writes, &place.written_bytes, u64::try_from(result).ok()));
    }

    pub(super) fn totals(&self) -> Totals {
        let sum = |field: fn(&Place) -> &AtomicU64| {
            self.places.iter().map(|place| field(place).load(Ordering::Relaxed)).sum()
        };
        Totals {
            reads: sum(|place| &place.reads),
            writes: sum(|place| &place.writes),
            read_bytes: sum(|place| &place.read_bytes),
            written_bytes: sum(|place| &place.written_bytes),
            groups: sum(|place| &place.groups),
            failures: sum(|place| &place.failures),
        }
    }
}

fn count(place: &Place, requests: &AtomicU64, bytes: &AtomicU64, done: Option<u64>) {
    match done {
        Some(amount) => {
            add(requests, 1);
            add(bytes, amount);
        }
        None => add(&place.failures, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ninety_seven_reads_of_many_threads_are_counted_as_ninety_seven() {
        let tally = Tally::default();
        std::thread::scope(|scope| {
            for reads in [40_usize, 57] {
                let tally = &tally;
                scope.spawn(move || (0..reads).for_each(|_| tally.read(&Ok(512))));
            }
        });
        tally.write_group([4096, -5].into_iter());
        let totals = tally.totals();
        assert_eq!((totals.reads, totals.read_bytes), (97, 97 * 512));
        assert_eq!((totals.writes, totals.written_bytes, totals.groups, totals.failures), (1, 4096, 1, 1));
    }
}
