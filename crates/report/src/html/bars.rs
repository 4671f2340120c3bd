//! Which of several things is larger, and by how much?
//!
//! A table whose cells hold bars from a common zero, the number beside each. Bars are SVG with widths in percent, so
//! they fit any screen and paper without a script, and long names wrap like text. Start reading at [`Bars`].

use std::fmt::Write as _;

use iostack_model::Interval;

use super::escape;
use super::numbers::{NOTHING, Quantity};
use super::scale::Scale;

/// A table of bars.
pub(super) struct Bars {
    /// What the first column names.
    pub(super) of: String,
    /// Columns that hold bars.
    pub(super) columns: Vec<Column>,
    /// Names of the columns that hold text.
    pub(super) details: Vec<&'static str>,
    /// Groups of rows with a common zero and scale; a group has a heading unless it is the only one.
    pub(super) groups: Vec<(String, Vec<Row>)>,
    /// HTML.
    pub(super) caption: String,
}

/// One column of bars.
pub(super) struct Column {
    /// With the unit, where the numbers do not carry it.
    pub(super) label: &'static str,
    /// How numbers are written.
    pub(super) quantity: Quantity,
    /// Names of the parts of a stacked bar; empty when it is whole.
    pub(super) parts: &'static [&'static str],
    /// What fills the cell; `None` for the longest bar.
    pub(super) most: Option<f64>,
}

/// One row.
pub(super) struct Row {
    /// What it is about.
    pub(super) name: String,
    /// Colour.
    pub(super) slot: usize,
    /// One per column.
    pub(super) bars: Vec<Bar>,
    /// One text per detail.
    pub(super) details: Vec<String>,
    /// Links to caveats; HTML.
    pub(super) doubts: String,
}

/// One bar.
pub(super) struct Bar {
    /// Its length.
    pub(super) value: Interval,
    /// What it is made of; empty when it is whole.
    pub(super) parts: Vec<f64>,
}

impl Bar {
    /// A bar in one piece.
    pub(super) fn whole(value: Interval) -> Bar {
        Bar { value, parts: Vec::new() }
    }
}

impl Bars {
    /// The figure as HTML.
    pub(super) fn figure(&self) -> String {
        let heads: String = self
            .columns
            .iter()
            .map(|column| {
                format!("<th class=\"axis\" colspan=\"2\">{}{}</th>", column.label, parts_key(column.parts))
            })
            .chain(self.details.iter().map(|name| format!("<th class=\"number\">{name}</th>")))
            .collect();
        let bodies: String = self.groups.iter().map(|(name, rows)| self.group(name, rows)).collect();
        format!(
            "<figure class=\"bars\"><div class=\"scroll\"><table><thead><tr><th>{}</th>{heads}</tr></thead>{bodies}\
             </table></div><figcaption>{}</figcaption></figure>\n",
            escape::text(&self.of),
            self.caption
        )
    }

    fn group(&self, name: &str, rows: &[Row]) -> String {
        let columns = self.columns.iter().enumerate();
        let longest: Vec<f64> =
            columns.map(|(index, column)| column.most.unwrap_or_else(|| longest(rows, index))).collect();
        let mut out = String::from("<tbody>");
        if self.groups.len() > 1 {
            let width = 1 + 2 * self.columns.len() + self.details.len();
            put(
                &mut out,
                format_args!("<tr class=\"group\"><th colspan=\"{width}\">{}</th></tr>", escape::text(name)),
            );
        }
        for row in rows {
            let bars: String = self
                .columns
                .iter()
                .zip(&row.bars)
                .zip(&longest)
                .map(|((column, bar), &longest)| cell(column, bar, row, longest))
                .collect();
            let details: String = row
                .details
                .iter()
                .map(|text| format!("<td class=\"number\">{}</td>", escape::text(text)))
                .collect();
            put(
                &mut out,
                format_args!("<tr><th>{}{}</th>{bars}{details}</tr>", escape::text(&row.name), row.doubts),
            );
        }
        let axes: String =
            self.columns.iter().zip(&longest).map(|(column, &longest)| axis(column, longest)).collect();
        let rest: String = self.details.iter().map(|_| "<td></td>").collect();
        put(&mut out, format_args!("<tr class=\"ruler\"><td></td>{axes}{rest}</tr></tbody>"));
        out
    }
}

fn put(out: &mut String, what: std::fmt::Arguments<'_>) {
    out.write_fmt(what).expect("a string takes everything");
}

/// The length that fills the cell; intervals count up to a quarter more than the longest bar.
fn longest(rows: &[Row], column: usize) -> f64 {
    let values = || rows.iter().filter_map(|row| row.bars.get(column)).map(|bar| bar.value);
    let mean = values().map(|value| value.mean).filter(|mean| mean.is_finite()).fold(0.0, f64::max);
    let high = values().map(|value| value.high).filter(|high| high.is_finite()).fold(mean, f64::max);
    let length = high.min(mean * 1.25);
    if length > 0.0 { length } else { 1.0 }
}

fn parts_key(parts: &[&str]) -> String {
    let key: String = parts
        .iter()
        .enumerate()
        .map(|(index, part)| format!("<span class=\"part{index}\">{part}</span>"))
        .collect();
    if key.is_empty() { key } else { format!("<small class=\"parts\">{key}</small>") }
}

fn cell(column: &Column, bar: &Bar, row: &Row, longest: f64) -> String {
    let Interval { mean, low, high, .. } = bar.value;
    if !mean.is_finite() {
        return format!("<td class=\"bar\"></td><td class=\"number\">{NOTHING}</td>");
    }
    let percent = |value: f64| (value / longest * 100.0).clamp(0.0, 100.0);
    let mut shapes = String::new();
    let mut from = 0.0;
    let whole = [mean];
    let parts = if bar.parts.is_empty() { &whole[..] } else { &bar.parts };
    for (index, &part) in parts.iter().enumerate().filter(|(_, part)| part.is_finite() && **part > 0.0) {
        put(
            &mut shapes,
            format_args!(
                "<rect class=\"part{index}\" x=\"{:.2}%\" y=\"2\" width=\"{:.2}%\" height=\"12\"/>",
                percent(from),
                percent(part)
            ),
        );
        from += part;
    }
    let interval = low.is_finite() && low < high;
    if interval {
        put(
            &mut shapes,
            format_args!(
                "<line class=\"whisker\" x1=\"{:.2}%\" x2=\"{:.2}%\" y1=\"8\" y2=\"8\"/>",
                percent(low),
                percent(high)
            ),
        );
    }
    let doubt = if interval {
        format!(" <small>±{}\u{202f}%</small>", two_digits(bar.value.relative() * 100.0))
    } else {
        String::new()
    };
    format!(
        "<td class=\"bar s{}\"><svg width=\"100%\" height=\"16\" role=\"img\" aria-label=\"{label} {text}\">{shapes}</svg>\
         </td><td class=\"number\">{text}{doubt}</td>",
        row.slot,
        label = column.label,
        text = column.quantity.show(mean),
    )
}

fn two_digits(percent: f64) -> String {
    if percent >= 9.95 { format!("{percent:.0}") } else { format!("{percent:.1}") }
}

/// Ticks below a group's bars; the last one is left out where it would leave the cell.
fn axis(column: &Column, longest: f64) -> String {
    let mut ticks = String::new();
    for tick in Scale::Linear.ticks(0.0, longest, 3) {
        let place = tick / longest * 100.0;
        let anchor = if tick == 0.0 {
            "start"
        } else if place > 88.0 {
            "end"
        } else {
            "middle"
        };
        put(
            &mut ticks,
            format_args!(
                "<line x1=\"{place:.2}%\" x2=\"{place:.2}%\" y1=\"0\" y2=\"4\"/><text x=\"{place:.2}%\" y=\"15\" \
             text-anchor=\"{anchor}\">{}</text>",
                column.quantity.show(tick)
            ),
        );
    }
    format!(
        "<td class=\"bar\"><svg width=\"100%\" height=\"18\" aria-hidden=\"true\">{ticks}</svg></td><td></td>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(values: &[f64]) -> Bars {
        let row = |&value: &f64| Row {
            name: "<engine>".to_owned(),
            slot: 0,
            bars: vec![Bar::whole(Interval::exact(value))],
            details: vec!["1".to_owned()],
            doubts: String::new(),
        };
        Bars {
            of: "engine".to_owned(),
            columns: vec![Column { label: "IOPS", quantity: Quantity::Count, parts: &[], most: None }],
            details: vec!["p99"],
            groups: vec![("all".to_owned(), values.iter().map(row).collect())],
            caption: String::new(),
        }
    }

    #[test]
    fn the_longest_bar_fills_its_cell_and_others_are_in_proportion() {
        let html = bars(&[100.0, 50.0]).figure();
        assert!(
            html.contains("width=\"100.00%\" height=\"12\"")
                && html.contains("width=\"50.00%\" height=\"12\"")
        );
        assert!(html.contains("&lt;engine&gt;") && !html.contains("<engine>"));
    }

    #[test]
    fn nothing_and_zero_are_drawn_as_such() {
        let html = bars(&[f64::NAN, 0.0]).figure();
        assert!(html.contains(NOTHING) && html.contains("<td class=\"number\">0</td>"));
        assert!(!html.contains("NaN") && !html.contains("inf"));
    }
}
