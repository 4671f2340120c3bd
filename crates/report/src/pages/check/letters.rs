//! The first picture of a check on a terminal: IOPS, and latency from p50 to p99, over queue depth.
//!
//! ```text
//! IOPS OVER DEPTH                         LATENCY p50 (foot) to p99 (letter)
//!  498.9k │                        R   r  1.04 ms │                             wm
//!         │                    r   │   │          │                         wm r││
//!         │             W   wm │wM │wm │wm        │r   r   r   r   r   rwM R││ │
//!       0 │rwm r│m r││ │││ │││ │││ │││ │││        │ w   w  │││ │││ ││  │││ ││
//!   depth  1   2   4   8   16  32  64  128  depth  1   2   4   8   16  32  64  128
//! ```

use iostack_model::answers::{Check, Step};

use super::picture::{knee, rated};
use super::summary::{depths, same};
use crate::html::figures::{StepCurve, iops, quantile};
use crate::lists::Joined;
use crate::text::format::{brief, paragraph, rate, time};

/// Letters of the curves by their colour: reads, writes, mixed.
const LETTERS: [char; 8] = ['r', 'w', 'm', 'a', 'b', 'c', 'd', 'e'];
/// Curves beside each other at one depth.
const CURVES: usize = 3;
const HEIGHT: usize = 7;
const LABEL: usize = 7;
/// Columns between the axis and the next panel.
const WIDTH: usize = 32;

/// Stroke at one depth from a value up to its letter, and the figure that a data sheet rates there.
struct Column {
    from: f64,
    to: f64,
    letter: char,
    rated: Option<f64>,
}

/// Both panels side by side, and what the letters mean; nothing where there is no room for all depths.
pub(super) fn picture(check: &Check, step: &Step, curves: &[StepCurve<'_>]) -> String {
    let curves = &curves[..curves.len().min(CURVES)];
    let depths = depths(step);
    let each = (WIDTH / depths.len().max(1)).min(CURVES + 1);
    if each < curves.len() || depths.len() < 2 {
        return String::new();
    }
    let letter = |curve: &StepCurve<'_>| LETTERS[curve.slot.min(LETTERS.len() - 1)];
    let column = |curve: &StepCurve<'_>, depth: f64, of_rate: bool| {
        let outcome = &curve.points.iter().find(|point| same(point.x, depth))?.outcome;
        let latency = outcome.latency();
        let (from, to) = if of_rate {
            (0.0, iops(outcome).mean)
        } else {
            (quantile(&latency, 0.5).mean, quantile(&latency, 0.99).mean)
        };
        let bends = knee(check, curve).is_some_and(|knee| same(knee, depth));
        let letter = if bends { letter(curve).to_ascii_uppercase() } else { letter(curve) };
        let figure = if of_rate { "iops" } else { "latency_p99" };
        let rated = rated(check, step, figure).find(|one| one.curve == curve.name && same(one.depth, depth));
        Some(Column { from, to, letter, rated: rated.map(|one| one.value) })
    };
    let places = |of_rate: bool| -> Vec<Vec<Option<Column>>> {
        let at = |&depth| curves.iter().map(|curve| column(curve, depth, of_rate)).collect();
        depths.iter().map(at).collect()
    };
    let (left, right) = (panel(&places(true), each, false, rate), panel(&places(false), each, true, time));
    let mut text = format!("{:<40}LATENCY p50 (foot) to p99 (letter)\n", "IOPS OVER DEPTH");
    for (left, right) in left.iter().zip(&right) {
        text += format!("{left:<40}{right}").trim_end();
        text.push('\n');
    }
    let below = depths.iter().map(|depth| format!("{:<each$}", brief(*depth))).joined("");
    let below = format!("{:>LABEL$}  {}", "depth", below.trim_end());
    text.extend([format!("{below:<40}"), below, "\n".to_owned()]);
    let names = curves.iter().map(|curve| format!("{} {}", letter(curve), curve.name));
    let rated = check.against.as_ref().map(|_| "-: rated".to_owned());
    let names = names.chain(["capital: knee".to_owned()]).chain(rated).joined(", ");
    text + &paragraph(&" ".repeat(LABEL + 2), &names)
}

/// The rows of one panel, each with its label.
fn panel(places: &[Vec<Option<Column>>], each: usize, log: bool, say: impl Fn(f64) -> String) -> Vec<String> {
    let columns = || places.iter().flatten().flatten();
    let ends = columns().flat_map(|one| [Some(one.from), Some(one.to), one.rated]).flatten();
    let ends: Vec<f64> = ends.filter(|value| value.is_finite() && (!log || *value > 0.0)).collect();
    let high = ends.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let low = if log { ends.iter().copied().fold(high, f64::min) / 1.1 } else { 0.0 };
    let share = |value: f64| if log { (value / low).ln() / (high / low).ln() } else { value / high };
    let row = |value: f64| ((share(value) * HEIGHT as f64).ceil().clamp(1.0, HEIGHT as f64)) as usize - 1;
    let mut cells = vec![vec![' '; places.len() * each]; HEIGHT];
    for (place, columns) in places.iter().enumerate() {
        for (at, one) in columns.iter().enumerate() {
            let Some(one) = one.as_ref().filter(|one| one.to.is_finite()) else { continue };
            let x = place * each + at;
            for line in &mut cells[row(one.from)..row(one.to)] {
                line[x] = '\u{2502}';
            }
            cells[row(one.to)][x] = one.letter;
            if let Some(rated) = one.rated {
                cells[row(rated)][x] = '-';
            }
        }
    }
    let edge = |at: usize| {
        let share = at as f64 / HEIGHT as f64;
        say(if log { low * (high / low).powf(share) } else { high * share })
    };
    let label = |row: usize| match row {
        _ if row + 1 == HEIGHT => edge(HEIGHT),
        _ if row + 1 == HEIGHT / 2 => edge(HEIGHT / 2),
        0 if !log => "0".to_owned(),
        _ => String::new(),
    };
    let line = |row: usize| {
        let line: String = cells[row].iter().collect();
        format!("{:>LABEL$} \u{2502}{}", label(row), line.trim_end())
    };
    (0..HEIGHT).rev().map(line).collect()
}
