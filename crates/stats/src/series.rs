//! How long may a series become? As long as people read, however long the run is.
//!
//! A series that is full becomes half as long: neighbours are put together, and from then on an element covers twice the
//! time. Counts, sums and the largest latency stay exact; a percentile of two elements lies between theirs, and their mean,
//! weighted by I/Os, is taken for it.

use iostack_model::{IntervalFlow, Nanos};

/// A series has fewer elements than this.
pub const SERIES_MOST: usize = 4096;

const _: () = assert!(SERIES_MOST.is_multiple_of(2), "the last element would have no neighbour");

/// Puts neighbours together.
pub fn halve_series(series: &mut Vec<IntervalFlow>) {
    let pairs = series.chunks(2).map(|pair| match *pair {
        [first, second] => together(first, second),
        _ => pair[0],
    });
    *series = pairs.collect();
}

/// Two elements that follow each other, as one.
fn together(first: IntervalFlow, second: IntervalFlow) -> IntervalFlow {
    let sum = |a: [u64; 3], b: [u64; 3]| std::array::from_fn(|direction| a[direction] + b[direction]);
    let weight = |element: &IntervalFlow| u128::from(element.ios.iter().sum::<u64>());
    let (one, two) = (weight(&first), weight(&second));
    let between = |a: Nanos, b: Nanos| {
        let mean = (u128::from(a.0) * one + u128::from(b.0) * two) / (one + two).max(1);
        Nanos(u64::try_from(mean).unwrap_or(u64::MAX))
    };
    IntervalFlow {
        start: first.start,
        length: first.length + second.length,
        ios: sum(first.ios, second.ios),
        bytes: sum(first.bytes, second.bytes),
        latency_sum_ns: std::array::from_fn(|direction| {
            first.latency_sum_ns[direction].wrapping_add(second.latency_sum_ns[direction])
        }),
        p50: between(first.p50, second.p50),
        p99: between(first.p99, second.p99),
        max: first.max.max(second.max),
        waiting: first.waiting + second.waiting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(index: u64, ios: u64, p50: u64) -> IntervalFlow {
        IntervalFlow {
            start: Nanos::secs(index),
            length: Nanos::secs(1),
            ios: [ios, 0, 1],
            waiting: Nanos(ios),
            bytes: [ios * 512, 0, 0],
            latency_sum_ns: [ios * p50, 0, 5],
            p50: Nanos(p50),
            p99: Nanos(p50 * 2),
            max: Nanos(p50 * 3),
        }
    }

    #[test]
    fn neighbours_become_one_and_the_last_without_a_neighbour_stays() {
        let mut series = vec![element(0, 2, 100), element(1, 0, 400), element(2, 7, 10)];
        halve_series(&mut series);
        assert_eq!(series.len(), 2);
        let first = series[0];
        assert_eq!((first.start, first.length), (Nanos(0), Nanos::secs(2)));
        assert_eq!((first.ios, first.bytes), ([2, 0, 2], [1024, 0, 0]));
        assert_eq!(first.latency_sum_ns, [200, 0, 10]);
        // Three I/Os of 100 and one of 400 (each element has a trim).
        assert_eq!((first.p50, first.p99, first.max), (Nanos(175), Nanos(350), Nanos(1200)));
        assert_eq!(first.waiting, Nanos(2));
        assert_eq!(series[1], element(2, 7, 10));
    }

    #[test]
    fn two_elements_without_io_have_no_percentile() {
        let empty = IntervalFlow { length: Nanos::secs(1), ..IntervalFlow::default() };
        let mut series = vec![empty, empty];
        halve_series(&mut series);
        assert_eq!(series, [IntervalFlow { length: Nanos::secs(2), ..empty }]);
    }
}
