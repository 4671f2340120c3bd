//! A plot of letters, for a terminal.
//!
//! ```text
//!   102k ┤                      a     a     a
//!        │           a
//!        │     a
//!      0 ┼b────b────b────b─────b─────b───────
//!         1                                32   queue_depth
//! ```
//!
//! Each curve is a letter; where two meet, the later one is on top. Zero-based, so that level looks level.

use iostack_model::Bytes;
use iostack_model::answers::ReproPlot;

use super::format::{cut, rate};

const HEIGHT: usize = 9;
const WIDTH: usize = 62;
const LABEL: usize = 7;

/// The plot, its axes, and which letter is what. With `linear` steps along the bottom are equal, so that a line looks like
/// one.
pub(crate) fn chart(plot: &ReproPlot, linear: bool, show: impl Fn(f64) -> String) -> String {
    let points = || plot.lines.iter().flat_map(|line| &line.points);
    let finite = |&&(x, y): &&(f64, f64)| x.is_finite() && y.is_finite();
    if points().filter(finite).count() == 0 {
        return String::new();
    }
    let xs: Vec<f64> = points().filter(finite).map(|&(x, _)| x).collect();
    let mut place = ChartAxis::over(&xs);
    place.log &= !linear;
    let most = points().filter(finite).map(|&(_, y)| y).fold(0.0, f64::max);
    let most_said = show(most);
    let label = LABEL.max(most_said.chars().count());
    let mut cells = vec![[' '; WIDTH]; HEIGHT];
    for (index, line) in plot.lines.iter().enumerate() {
        let letter = char::from(b'a' + (index % 26) as u8);
        for &(x, y) in line.points.iter().filter(|point| finite(point)) {
            let up = if most > 0.0 { (y / most * (HEIGHT - 1) as f64).round() as usize } else { 0 };
            cells[HEIGHT - 1 - up.min(HEIGHT - 1)][place.column(x)] = letter;
        }
    }
    let mut text = format!("  {}: {}\n", plot.heading, plot.figure);
    for (row, line) in cells.iter().enumerate() {
        let said = match row {
            0 => most_said.as_str(),
            row if row == HEIGHT - 1 => "0",
            _ => "",
        };
        let line: String = line.iter().collect();
        text += &format!("  {said:>label$} |{}\n", line.trim_end());
    }
    let over = plot.over.as_str();
    let shown = |x: f64| if over.ends_with("block_size") { Bytes(x as u64).to_string() } else { short(x) };
    let (first, last) = (shown(place.low), shown(place.high));
    let room = WIDTH.saturating_sub(first.chars().count() + last.chars().count());
    text += &format!("  {:>label$} +{}\n", "", "-".repeat(WIDTH));
    text += &format!("  {:>label$}  {first}{}{last}\n", "", middle(over, room));
    let names = plot.lines.iter().enumerate().map(|(index, line)| {
        format!("  {:>label$}  {} {}\n", "", char::from(b'a' + (index % 26) as u8), cut(&line.name, 60))
    });
    if plot.lines.len() > 1 { text + &names.collect::<String>() } else { text }
}

/// A number without decimals that say nothing.
fn short(x: f64) -> String {
    if x.fract() == 0.0 && x.abs() < 1e6 { format!("{x}") } else { rate(x) }
}

fn middle(text: &str, room: usize) -> String {
    let text = cut(text, room.saturating_sub(2).max(1));
    format!("{text:^room$}")
}

/// Axis of x: by doublings where the values are spread by factors.
struct ChartAxis {
    low: f64,
    high: f64,
    log: bool,
}

impl ChartAxis {
    fn over(xs: &[f64]) -> ChartAxis {
        let low = xs.iter().copied().fold(f64::INFINITY, f64::min);
        let high = xs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        ChartAxis { low, high, log: low > 0.0 && high / low >= 8.0 }
    }

    fn column(&self, x: f64) -> usize {
        let share = if self.log {
            (x / self.low).ln() / (self.high / self.low).ln()
        } else {
            (x - self.low) / (self.high - self.low)
        };
        if share.is_finite() { (share * (WIDTH - 1) as f64).round() as usize } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::answers::ReproLine;

    fn plot(points: &[(f64, f64)]) -> ReproPlot {
        let line = |name: &str, factor: f64| ReproLine {
            name: name.into(),
            points: points.iter().map(|&(x, y)| (x, y * factor)).collect(),
        };
        ReproPlot {
            heading: "H".into(),
            over: "queue_depth".into(),
            figure: "I/Os per second".into(),
            lines: vec![line("read", 1.0), line("write", 0.5)],
        }
    }

    #[test]
    fn the_highest_stands_on_top_and_every_line_fits() {
        let text = chart(&plot(&[(1.0, 10.0), (2.0, 20.0), (32.0, 40.0)]), false, rate);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains("40") && lines[1].ends_with('a'), "{text}");
        assert!(lines[5].ends_with('b'), "half as high: {text}");
        assert!(lines.iter().all(|line| line.chars().count() <= super::super::WIDTH), "{text}");
    }

    #[test]
    fn a_line_is_straight_over_equal_steps() {
        let text = chart(&plot(&[(1.0, 1.0), (32.0, 32.0), (64.0, 64.0)]), true, rate);
        let at = |row: usize| text.lines().nth(row).and_then(|line| line.find('a'));
        assert!(
            at(1) == Some(10 + WIDTH) && at(5).is_some_and(|at| at.abs_diff(10 + WIDTH / 2) <= 1),
            "{text}"
        );
    }

    #[test]
    fn one_point_or_none_is_no_reason_to_panic() {
        assert_eq!(chart(&plot(&[]), false, rate), "");
        assert_eq!(chart(&plot(&[(f64::NAN, 1.0)]), false, rate), "");
        assert!(chart(&plot(&[(4.0, 0.0)]), false, rate).contains('b'));
    }
}
