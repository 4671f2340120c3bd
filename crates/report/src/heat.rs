//! How many I/Os took how long, and when? What a screen and a page draw of it.
//!
//! ```text
//!   Heat ──► HeatMap ──► Grid ──┬─► text::heat   shades of blocks
//!   (every cell that counted)   ├─► html::heat   shades of colour
//!                               └─► numbers      a table, so that no count is in colour alone
//! ```
//!
//! A grid is as coarse as its reader's room demands: neighbouring times and latencies are put together, and no I/O is left
//! out. Start reading at [`HeatMap::grid`].

use iostack_model::{Heat, Nanos, Outcome, cell_place, cell_range};

use crate::document::{Cell, Column, Row, Table};
use crate::html::numbers::Quantity;
use crate::text::format::count;

/// Fewer columns are no time to speak of.
const COLUMNS_LEAST: usize = 3;
/// Columns and rows of the table at most.
const NUMBERS: (usize, usize) = (8, 12);

/// The I/Os of an outcome by time and latency.
#[derive(Clone)]
pub(crate) struct HeatMap {
    heat: Heat,
    /// Columns of the whole time. What ended within half a column after them is in the last one.
    columns: usize,
}

/// Counts by time and latency.
pub(crate) struct Grid {
    /// Time that a column covers.
    pub(crate) length: Nanos,
    /// I/Os of each column, of the fastest row first.
    pub(crate) columns: Vec<Vec<u64>>,
    /// Cells of a row.
    per_row: usize,
    /// The lowest row, counted in rows from cell 0.
    first: usize,
}

impl HeatMap {
    /// The map of an outcome; `None` where there is nothing to see.
    pub(crate) fn of(outcome: &Outcome) -> Option<HeatMap> {
        let heat = &outcome.heat;
        let length = (!heat.is_empty() && heat.length.0 > 0).then_some(heat.length.0)?;
        let whole = (outcome.elapsed.0 as f64 / length as f64).round() as usize;
        let columns = whole.max(heat.columns.len() - 1);
        (columns >= COLUMNS_LEAST).then(|| HeatMap { heat: heat.clone(), columns })
    }

    /// The map of a heat whose last column is whole; `None` where there is nothing to see.
    pub(crate) fn of_heat(heat: &Heat) -> Option<HeatMap> {
        let columns = heat.columns.len();
        let is_seen = heat.length.0 > 0 && columns >= COLUMNS_LEAST && !heat.is_empty();
        is_seen.then(|| HeatMap { heat: heat.clone(), columns })
    }

    /// The counts in at most so many columns and rows.
    pub(crate) fn grid(&self, columns_most: usize, rows_most: usize) -> Grid {
        let joined = self.columns.div_ceil(columns_most);
        let columns = self.columns.div_ceil(joined);
        let cells = || self.heat.columns.iter().flatten().map(|&(cell, _)| cell as usize);
        let (low, high) = (cells().min().unwrap_or(0), cells().max().unwrap_or(0));
        let fits = |&per_row: &usize| high / per_row - low / per_row < rows_most;
        let per_row = (0..usize::BITS).map(|power| 1 << power).find(fits).unwrap_or(1);
        let (first, rows) = (low / per_row, high / per_row - low / per_row + 1);
        let mut counts = vec![vec![0; rows]; columns];
        for (index, column) in self.heat.columns.iter().enumerate() {
            for &(cell, ios) in column {
                counts[(index / joined).min(columns - 1)][cell as usize / per_row - first] += ios;
            }
        }
        let length = Nanos(self.heat.length.0.saturating_mul(joined as u64));
        Grid { length, columns: counts, per_row, first }
    }

    /// The counts of few times and latencies as a table, the slowest first.
    pub(crate) fn numbers(&self) -> Table {
        let grid = self.grid(NUMBERS.0, NUMBERS.1);
        let whole = self.heat.length.as_secs_f64() * self.columns as f64;
        let mut table = Table::new(vec![Column::words("latency")]);
        for index in 0..grid.columns.len() {
            let [from, to] = [index, index + 1].map(|at| grid.length.as_secs_f64() * at as f64);
            let [from, to] = [from, to.min(whole)].map(|seconds| Quantity::Seconds.show(seconds));
            table.columns.push(Column::number(format!("{from} to {to} s")));
        }
        table.columns.push(Column::number("all"));
        for row in (0..grid.rows()).rev() {
            let (from, to) = grid.edges(row);
            let [from, to] = [from, to].map(|ns| Quantity::Nanos.show(ns as f64));
            table.row(told(&format!("{from} to {to}"), &grid, |all| all[row]));
        }
        table.sums.push(Row::of(told("all", &grid, |all| all.iter().sum())));
        table
    }
}

/// A row of the table: of each time, and of all.
fn told(name: &str, grid: &Grid, ios: impl Fn(&Vec<u64>) -> u64) -> Vec<Cell> {
    let each: Vec<u64> = grid.columns.iter().map(ios).collect();
    let said = |ios: u64| if ios == 0 { Cell::from("-") } else { Cell::from(count(ios)) };
    let mut cells = vec![Cell::from(name)];
    cells.extend(each.iter().map(|&ios| said(ios)));
    cells.push(said(each.iter().sum()));
    cells
}

impl Grid {
    /// Rows of each column.
    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// Lower and upper edge of a row, ns.
    pub(crate) fn edges(&self, row: usize) -> (u64, u64) {
        let cell = (self.first + row) * self.per_row;
        (cell_range(cell).0, cell_range(cell + self.per_row - 1).1.saturating_add(1))
    }

    /// Height of a latency above the lowest edge, in rows.
    pub(crate) fn place(&self, ns: u64) -> f64 {
        cell_place(ns) / self.per_row as f64 - self.first as f64
    }

    /// The time of all columns, s.
    pub(crate) fn seconds(&self) -> f64 {
        self.length.as_secs_f64() * self.columns.len() as f64
    }

    /// The counts in so many shades.
    pub(crate) fn shades(&self, shades: u32) -> Shades {
        let most = self.columns.iter().flatten().copied().max().unwrap_or(0);
        let enough = |factor: &u64| factor.checked_pow(shades).is_none_or(|beyond| beyond > most);
        let factor = (2..u64::MAX).find(enough).expect("the largest factor has no such power");
        Shades { factor, most }
    }
}

/// Ranges of counts that look alike: each shade begins at a multiple of the one before, so that a single slow I/O is seen beside
/// a hundred thousand quick ones.
pub(crate) struct Shades {
    factor: u64,
    most: u64,
}

impl Shades {
    /// The shade of a count, from 0; none of no I/O.
    pub(crate) fn of(&self, ios: u64) -> Option<usize> {
        ios.checked_ilog(self.factor).map(|shade| shade as usize)
    }

    /// The counts of each shade that is used, in words.
    pub(crate) fn told(&self) -> Vec<String> {
        let last = self.of(self.most).unwrap_or(0) as u32;
        let each = (0..=last).map(|shade| {
            let from = self.factor.pow(shade);
            let to = if shade == last { self.most } else { from * self.factor - 1 };
            if from >= to { count(from) } else { format!("{} to {}", count(from), count(to)) }
        });
        each.collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An outcome of columns of a second, each of `(cell, I/Os)`.
    pub(crate) fn outcome(elapsed: Nanos, columns: Vec<Vec<(u32, u64)>>) -> Outcome {
        Outcome { elapsed, heat: Heat { length: Nanos::secs(1), columns }, ..Outcome::default() }
    }

    fn grid(columns: Vec<Vec<(u32, u64)>>, most: (usize, usize)) -> Grid {
        let elapsed = Nanos::secs(columns.len() as u64);
        HeatMap::of(&outcome(elapsed, columns)).expect("it is long enough").grid(most.0, most.1)
    }

    #[test]
    fn a_grid_counts_every_io_however_coarse_it_is() {
        let columns: Vec<_> =
            (0..101).map(|at| vec![(40 + at % 7, 3), (90 + at, u64::from(at) + 1)]).collect();
        let all: u64 = columns.iter().flatten().map(|one| one.1).sum();
        for most in [(1, 1), (7, 5), (60, 12), (100, 64), (101, 200), (500, 236)] {
            let grid = grid(columns.clone(), most);
            assert!(grid.columns.len() <= most.0 && grid.rows() <= most.1, "{most:?}");
            assert_eq!(grid.columns.iter().flatten().sum::<u64>(), all, "{most:?}");
        }
    }

    #[test]
    fn a_row_holds_the_latencies_between_its_edges() {
        // 100 us, 113 us and 1 ms.
        let cells = [100_000, 115_000, 1_000_000].map(|ns| (cell_place(ns) as u32, 1));
        let fine = grid(vec![cells.to_vec(); 3], (9, 99));
        assert_eq!(fine.edges(0), (98_304, 114_688));
        assert_eq!(fine.edges(1), (114_688, 131_072));
        assert_eq!(fine.columns[0][..2], [1, 1]);
        let coarse = grid(vec![cells.to_vec(); 3], (9, 4));
        assert_eq!((coarse.edges(0), coarse.columns[0][0]), ((65_536, 131_072), 2));
        assert!((coarse.place(131_072) - 1.0).abs() < 1e-9 && (coarse.place(98_304) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_silent_end_is_time_and_a_little_more_time_is_not_a_column() {
        let of = |elapsed: Nanos, columns: usize| {
            let made = outcome(elapsed, vec![vec![(9, 1)]; columns]);
            HeatMap::of(&made).map(|map| map.grid(99, 9).columns.concat())
        };
        assert_eq!(of(Nanos::secs(5), 3), Some(vec![1, 1, 1, 0, 0]));
        assert_eq!(of(Nanos::millis(4_003), 5), Some(vec![1, 1, 1, 2]), "what ended 3 ms late");
        assert_eq!(of(Nanos::millis(4_600), 5), Some(vec![1; 5]));
        assert_eq!(of(Nanos::millis(2_400), 2), None);
        assert_eq!(of(Nanos::secs(9), 0), None, "no I/O");
        assert_eq!(of(Nanos(u64::MAX), 1).map(|cells| cells.len()), Some(99));
    }

    #[test]
    fn shades_begin_at_powers_and_hold_the_largest_count() {
        for (most, factor) in [(1, 2), (15, 2), (16, 3), (80, 3), (81, 4), (9_999, 10), (10_000, 11)] {
            let shades = grid(vec![vec![(9, most)]; 3], (9, 9)).shades(4);
            assert_eq!(shades.factor, factor, "{most}");
            assert!(shades.of(most).is_some_and(|shade| shade < 4), "{most}");
        }
        let shades = grid(vec![vec![(9, 5_412)]; 3], (9, 9)).shades(4);
        assert_eq!(shades.told(), ["1 to 8", "9 to 80", "81 to 728", "729 to 5,412"]);
        assert_eq!(
            [0, 1, 8, 9, 728, 729].map(|ios| shades.of(ios)),
            [None, Some(0), Some(0), Some(1), Some(2), Some(3)]
        );
        let most = grid(vec![vec![(9, u64::MAX / 4)]; 3], (9, 9)).shades(6);
        assert!(most.of(u64::MAX / 4).is_some_and(|shade| shade < 6));
        assert_eq!(grid(vec![vec![(9, 1)]; 3], (9, 9)).shades(4).told(), ["1"]);
    }

    #[test]
    fn the_table_sums_up_to_all() {
        let made =
            outcome(Nanos::secs(4), vec![vec![(30, 5)], vec![], vec![(30, 1), (70, 1_000)], vec![(31, 2)]]);
        let table = HeatMap::of(&made).expect("four columns").numbers();
        let cells = |row: &Row| row.cells.iter().map(|cell| cell.text.clone()).collect::<Vec<_>>();
        assert_eq!(table.columns[1].head, "0 to 1 s");
        assert_eq!(cells(&table.sums[0]), ["all", "5", "-", "1,001", "2", "1,008"]);
        assert_eq!(cells(&table.rows[0])[1..], ["-", "-", "1,000", "-", "1,000"], "the slowest");
        assert_eq!(cells(&table.rows[table.rows.len() - 1])[1..], ["5", "-", "1", "2", "8"]);
    }
}
