//! Rows and columns, whoever draws them.

use iostack_model::Interval;

use super::{Marks, To};
use crate::html::numbers::Quantity;
use crate::text::format::plus_minus;

/// A table. The first column names the row.
#[derive(Default)]
pub(crate) struct Table {
    /// Heading on a page that draws bars in the table.
    pub(crate) heading: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// Rows before the fold of a page, and on a screen; 0 for all.
    pub(crate) shown: usize,
    /// Row that a screen shows in place of the folded ones.
    pub(crate) rest: Option<Row>,
    /// Rows of sums, below all others.
    pub(crate) sums: Vec<Row>,
    /// Words below the table.
    pub(crate) caption: String,
    /// Words below the table on a page, before clock and machine.
    pub(crate) page_caption: String,
}

/// Bars say again what a number says: a narrow screen leaves them out first.
const LIGHT_BARS: u8 = 9;

/// Head of a column, and how its cells are drawn.
#[derive(Clone, Default)]
pub(crate) struct Column {
    pub(crate) head: String,
    pub(crate) draws: Draws,
    pub(crate) to: To,
    /// A screen that is too narrow leaves out the lightest first, by this order; 0 is never left out.
    pub(crate) light: u8,
}

/// Way in which the cells of a column are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Draws {
    #[default]
    Words,
    Number,
    /// Bars from a common zero.
    Bars,
    /// Bars to the left and to the right of a zero in the middle.
    Changes,
}

/// Cells side by side, and lines below them.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    /// Lines below the row.
    pub(crate) below: Vec<String>,
    /// Command about the row that can be typed.
    pub(crate) command: Option<String>,
    /// True for a heading of the rows that follow.
    pub(crate) group: bool,
    /// True for a sum of other rows.
    pub(crate) sum: bool,
}

/// Text of one row and column, or its bar.
#[derive(Clone, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Small text beside it: an interval.
    pub(crate) small: String,
    pub(crate) marks: Marks,
    pub(crate) bar: Option<Bar>,
    /// The colour of what is named.
    pub(crate) slot: Option<usize>,
    /// Levels below the top of a tree.
    pub(crate) indent: usize,
}

/// A bar: its parts with colour, length and name, and what fills the cell.
#[derive(Clone)]
pub(crate) struct Bar {
    pub(crate) parts: Vec<(usize, f64, String)>,
    pub(crate) most: f64,
}

impl Bar {
    /// A bar of one part; that of a change may be negative.
    pub(crate) fn whole(value: f64, most: f64, slot: usize) -> Bar {
        Bar { parts: vec![(slot, value, String::new())], most }
    }

    pub(super) fn length(&self) -> f64 {
        self.parts.iter().map(|(_, length, _)| length).sum()
    }
}

impl Column {
    pub(crate) fn words(head: impl Into<String>) -> Column {
        Column { head: head.into(), ..Column::default() }
    }

    pub(crate) fn number(head: impl Into<String>) -> Column {
        Column { head: head.into(), draws: Draws::Number, ..Column::default() }
    }

    pub(crate) fn bars(head: impl Into<String>) -> Column {
        Column { head: head.into(), draws: Draws::Bars, light: LIGHT_BARS, ..Column::default() }
    }

    pub(crate) fn changes() -> Column {
        Column { head: "fewer | more".to_owned(), draws: Draws::Changes, ..Column::default() }
    }

    /// The column, on the page alone.
    pub(crate) fn page(self) -> Column {
        Column { to: To::Page, ..self }
    }

    /// The column, on the screen alone.
    pub(crate) fn screen(self) -> Column {
        Column { to: To::Screen, ..self }
    }

    /// May be left out of a narrow screen; the larger `light`, the sooner.
    pub(crate) fn light(self, light: u8) -> Column {
        Column { light, ..self }
    }
}

impl Table {
    pub(crate) fn new(columns: Vec<Column>) -> Table {
        Table { columns, ..Table::default() }
    }

    /// Begins a table of a row for each, whose columns follow.
    pub(crate) fn over<Each>(each: impl IntoIterator<Item = Each>) -> Columns<Each> {
        let each: Vec<Each> = each.into_iter().collect();
        let rows = each.iter().map(|_| Row::default()).collect();
        Columns { each, table: Table { rows, ..Table::default() } }
    }

    /// Numbers with these heads; the first column names the row.
    pub(crate) fn of(heads: &[&str]) -> Table {
        let (first, others) = heads.split_first().unwrap_or((&"", &[]));
        let others = others.iter().map(|head| Column::number(*head));
        Table::new(std::iter::once(Column::words(*first)).chain(others).collect())
    }

    pub(crate) fn row<Each: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = Each>) -> &mut Row {
        self.rows.push(Row::of(cells));
        self.rows.last_mut().expect("it was just put there")
    }

    /// The row as far as it is shown, and the rest.
    pub(super) fn split(&self) -> (&[Row], &[Row]) {
        let shown = if self.shown == 0 { self.rows.len() } else { self.shown.min(self.rows.len()) };
        self.rows.split_at(shown)
    }
}

/// A table that is filled column by column: a row for each of some things.
pub(crate) struct Columns<Each> {
    each: Vec<Each>,
    table: Table,
}

impl<Each: Copy> Columns<Each> {
    /// Adds a column, and to each row its cell.
    pub(crate) fn column<Said: Into<Cell>>(
        mut self,
        column: Column,
        cell: impl FnMut(Each) -> Said,
    ) -> Columns<Each> {
        self.table.columns.push(column);
        for (row, cell) in self.table.rows.iter_mut().zip(self.each.iter().copied().map(cell)) {
            row.cells.push(cell.into());
        }
        self
    }

    pub(crate) fn words<Said: Into<Cell>>(
        self,
        head: impl Into<String>,
        cell: impl FnMut(Each) -> Said,
    ) -> Columns<Each> {
        self.column(Column::words(head), cell)
    }

    pub(crate) fn number<Said: Into<Cell>>(
        self,
        head: impl Into<String>,
        cell: impl FnMut(Each) -> Said,
    ) -> Columns<Each> {
        self.column(Column::number(head), cell)
    }

    /// Adds a column of bars.
    pub(crate) fn bars(self, bar: impl FnMut(Each) -> Bar) -> Columns<Each> {
        self.column(Column::bars(""), bar)
    }

    /// Puts lines below each row.
    pub(crate) fn below(mut self, lines: impl FnMut(Each) -> Vec<String>) -> Columns<Each> {
        for (row, lines) in self.table.rows.iter_mut().zip(self.each.iter().copied().map(lines)) {
            row.below = lines;
        }
        self
    }

    pub(crate) fn done(self) -> Table {
        self.table
    }
}

impl Row {
    pub(crate) fn of<Each: Into<Cell>>(cells: impl IntoIterator<Item = Each>) -> Row {
        Row { cells: cells.into_iter().map(Into::into).collect(), ..Row::default() }
    }

    /// A heading of the rows that follow.
    pub(crate) fn group(name: impl Into<Cell>) -> Row {
        Row { group: true, ..Row::of([name]) }
    }

    /// A row that sums up others.
    pub(crate) fn sum<Each: Into<Cell>>(cells: impl IntoIterator<Item = Each>) -> Row {
        Row { sum: true, ..Row::of(cells) }
    }
}

impl<Text: Into<String>> From<Text> for Cell {
    fn from(text: Text) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }
}

impl From<Bar> for Cell {
    fn from(bar: Bar) -> Cell {
        Cell { bar: Some(bar), ..Cell::default() }
    }
}

impl Cell {
    /// `212k ±1.4%`; the interval only where there is one.
    pub(crate) fn interval(quantity: Quantity, value: Interval) -> Cell {
        let mut cell = Cell::from(quantity.say(value.mean));
        if value.samples >= 3 && value.low <= value.high && value.mean > 0.0 {
            cell.small = plus_minus(value);
        }
        cell
    }

    pub(crate) fn small(self, small: impl Into<String>) -> Cell {
        Cell { small: small.into(), ..self }
    }

    pub(crate) fn marked(self, marks: Marks) -> Cell {
        Cell { marks, ..self }
    }

    pub(crate) fn coloured(self, slot: usize) -> Cell {
        Cell { slot: Some(slot), ..self }
    }
}
