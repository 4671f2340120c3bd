//! How many I/Os took how long, and when?
//!
//! ```text
//!   latency │        ▒         a column is a time, a cell a range of latencies:
//!           │  ░ ▓ █ ▓ ░       16 neighbouring buckets of [`crate::Bins`], so four to the octave.
//!           └──────────── time
//! ```
//!
//! Edges of cells, in ns: 0, 16, 32, 48, then 64, 80, 96, 112 times each power of two. Only cells that counted
//! something are kept. A long run has no more than [`HEAT_COLUMNS`]: neighbours are put together, which is exact.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bins::{BIN_COUNT, Counts, bin_index, bin_range, disordered, together};
use crate::possible::{Possible, guarded};
use crate::{Bins, Nanos};

/// Buckets of [`Bins`] in a cell.
pub const BINS_PER_CELL: usize = 16;

/// Cells in all.
pub const CELL_COUNT: usize = BIN_COUNT / BINS_PER_CELL;

const _: () = assert!(BIN_COUNT.is_multiple_of(BINS_PER_CELL), "the last cell would be narrower");

/// A run has at most so many columns: as many as a wide screen can show.
pub const HEAT_COLUMNS: usize = 512;

/// First and last latency (both inclusive) of a cell, in ns.
pub const fn cell_range(cell: usize) -> (u64, u64) {
    let first = cell * BINS_PER_CELL;
    (bin_range(first).0, bin_range(first + BINS_PER_CELL - 1).1)
}

/// Place of a latency among the cells: 12.5 is in the middle of cell 12.
pub fn cell_place(ns: u64) -> f64 {
    bin_index(ns) as f64 / BINS_PER_CELL as f64
}

/// I/Os by time and latency, all directions together.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Heat {
    /// Time that a column covers, from the start of measuring: that of a slice, or of several in a long run.
    pub length: Nanos,
    /// Counts of each column: `(cell, I/Os)` in rising order of cell, without those of 0 I/Os. Cell c begins at
    /// bucket 16 c of the latency histograms: 0, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, .. ns.
    pub columns: Vec<Vec<(u32, u64)>>,
}

guarded!(Heat);

impl Possible for Heat {
    fn impossible(&self) -> Option<String> {
        if self.length.0 == 0 && !self.is_empty() {
            return Some("columns of heat cover a length of 0".to_owned());
        }
        self.columns.iter().find_map(|column| disordered("heat", "cell", column, CELL_COUNT))
    }
}

impl Heat {
    /// Map of slices of a length above 0, of which none has ended.
    pub const fn of_slices(length: Nanos) -> Heat {
        Heat { length, columns: Vec::new() }
    }

    /// True when no I/O was counted.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// I/Os of all columns.
    pub fn ios(&self) -> u64 {
        self.columns.iter().flatten().map(|&(_, count)| count).sum()
    }

    /// Adds what ended in a slice that began at `start`: the slice may cover several of the first ones, not cross the end
    /// of a column.
    pub fn add(&mut self, start: Nanos, slice: &Bins) {
        if slice.count == 0 {
            return;
        }
        while start.0 / self.length.0 >= HEAT_COLUMNS as u64 {
            *self = self.joined(2);
        }
        let column = (start.0 / self.length.0) as usize;
        if self.columns.len() <= column {
            self.columns.resize(column + 1, Vec::new());
        }
        self.columns[column] = together(&self.columns[column], &cells(slice));
    }

    /// The same from the first column with an I/O.
    #[must_use]
    pub fn begun(mut self) -> Heat {
        let first = self.columns.iter().position(|column| !column.is_empty());
        self.columns.drain(..first.unwrap_or(0));
        self
    }

    /// The same in columns of `several` times the length.
    #[must_use]
    pub fn joined(&self, several: usize) -> Heat {
        let join = |columns: &[Counts]| columns.iter().fold(Counts::new(), |all, one| together(&all, one));
        Heat {
            length: Nanos(self.length.0.saturating_mul(several as u64)),
            columns: self.columns.chunks(several.max(1)).map(join).collect(),
        }
    }
}

/// A histogram in cells.
fn cells(bins: &Bins) -> Counts {
    let in_cells = bins.counts.iter().map(|&(bucket, count)| (bucket / BINS_PER_CELL as u32, count));
    let mut cells = Counts::new();
    for (cell, count) in in_cells {
        match cells.last_mut() {
            Some((last, sum)) if *last == cell => *sum += count,
            _ => cells.push((cell, count)),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slice in which I/Os took these times.
    fn slice(latencies: &[u64]) -> Bins {
        let mut all = Bins::default();
        for &ns in latencies {
            all.merge(&Bins {
                counts: vec![(bin_index(ns) as u32, 1)],
                count: 1,
                sum_ns: ns,
                sum_squares_ns2: 0.0,
                min_ns: ns,
                max_ns: ns,
            });
        }
        all
    }

    #[test]
    fn cells_follow_each_other_and_hold_every_latency() {
        for cell in 1..CELL_COUNT {
            assert_eq!(cell_range(cell).0, cell_range(cell - 1).1 + 1);
        }
        let edges: Vec<u64> = (0..14).map(|cell| cell_range(cell).0).collect();
        assert_eq!(edges, [0, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320], "as the docs say");
        assert_eq!(cell_range(CELL_COUNT - 1).1, u64::MAX);
        for ns in [0, 1, 15, 16, 127, 128, 159, 160, 1_000_000, u64::MAX] {
            let (first, last) = cell_range(cell_place(ns) as usize);
            assert!((first..=last).contains(&ns), "{ns} in {first}..={last}");
        }
    }

    #[test]
    fn a_cell_counts_what_fell_between_its_edges() {
        let mut heat = Heat::of_slices(Nanos::secs(1));
        heat.add(Nanos(0), &slice(&[0, 1, 15, 16, 159, 160]));
        heat.add(Nanos::secs(1), &slice(&[]));
        heat.add(Nanos::secs(2), &slice(&[100_000]));
        let one = cell_place(100_000) as u32;
        assert_eq!(heat.columns, [vec![(0, 3), (1, 1), (8, 1), (9, 1)], vec![], vec![(one, 1)]]);
        assert_eq!(heat.ios(), 7);
        heat.add(Nanos::secs(3), &slice(&[]));
        assert_eq!(heat.columns.len(), 3, "silence at the end takes no room");
        let mut extreme = Heat::of_slices(Nanos(1));
        extreme.add(Nanos(0), &slice(&[u64::MAX]));
        assert_eq!(extreme.columns, [[(CELL_COUNT as u32 - 1, 1)]]);
    }

    #[test]
    fn columns_put_together_count_what_each_counted() {
        let each = [vec![10, 100], vec![], vec![100, 200], vec![7], vec![5_000]];
        let mut heat = Heat::of_slices(Nanos::secs(1));
        for (second, latencies) in (0..).zip(&each) {
            heat.add(Nanos::secs(second), &slice(latencies));
        }
        for several in 1..7 {
            let joined = heat.joined(several);
            let mut fresh = Heat::of_slices(Nanos::secs(several as u64));
            for (index, latencies) in (0..).zip(each.chunks(several)) {
                fresh.add(Nanos::secs(index * several as u64), &slice(&latencies.concat()));
            }
            assert_eq!(joined, fresh, "{several} at a time");
        }
    }

    #[test]
    fn a_year_of_seconds_has_a_bounded_number_of_columns_and_every_io() {
        const YEAR: u64 = 365 * 86_400;
        let mut heat = Heat::of_slices(Nanos::secs(1));
        for hour in 0..YEAR / 3600 {
            heat.add(Nanos::secs(hour * 3600), &slice(&[hour]));
            assert!(heat.columns.len() <= HEAT_COLUMNS);
        }
        assert_eq!(heat.ios(), YEAR / 3600);
        assert_eq!(heat.length, Nanos::secs(65_536), "a power of two of seconds");
        assert_eq!(heat.columns.len(), 482);
        heat.add(Nanos(u64::MAX), &slice(&[1]));
        assert_eq!(heat.ios(), YEAR / 3600 + 1);
    }

    #[test]
    fn the_slice_after_the_last_column_puts_neighbours_together() {
        let mut heat = Heat::of_slices(Nanos::secs(1));
        for second in 0..HEAT_COLUMNS as u64 {
            heat.add(Nanos::secs(second), &slice(&[100]));
        }
        assert_eq!((heat.length, heat.columns.len()), (Nanos::secs(1), 512));
        heat.add(Nanos::secs(512), &slice(&[100]));
        assert_eq!((heat.length, heat.columns.len()), (Nanos::secs(2), 257));
        assert_eq!((&heat.columns[255], &heat.columns[256]), (&vec![(6, 2)], &vec![(6, 1)]));
    }

    #[test]
    fn impossible_cells_are_refused() {
        let read = |columns: &str| {
            serde_json::from_str::<Heat>(&format!("{{\"length\":1000,\"columns\":{columns}}}"))
        };
        assert_eq!(read("[[[3,1],[4,2]],[]]").expect("it is possible").ios(), 3);
        for (columns, why) in [
            ("[[[4,1],[4,2]]]", "heat: cell 4 stands behind cell 4"),
            ("[[],[[236,1]]]", "heat: there is no cell 236, the last is 235"),
        ] {
            assert!(read(columns).expect_err("it is not").to_string().starts_with(why), "{columns}");
        }
        let timeless = serde_json::from_str::<Heat>("{\"length\":0,\"columns\":[[[3,1]]]}");
        assert!(timeless.expect_err("no time").to_string().contains("length of 0"));
    }
}
