//! Curves and bars in one line of text.

/// Eighths of a cell, rising.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Eighths of a cell, from the left.
const WIDTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Replacement of a character on a terminal without Unicode; the width stays the same.
const ASCII: &[(char, char)] = &[
    ('▁', '_'),
    ('▂', '.'),
    ('▃', '-'),
    ('▄', '='),
    ('▅', '+'),
    ('▆', '*'),
    ('▇', '%'),
    ('▏', '.'),
    ('▎', ':'),
    ('▍', ':'),
    ('▌', '|'),
    ('▋', '|'),
    ('▊', '|'),
    ('▉', '#'),
    ('█', '#'),
    ('░', '.'),
    ('▒', ':'),
    ('▓', '*'),
    ('│', '|'),
    ('±', '~'),
    ('…', '.'),
];

/// The screen for a terminal without Unicode. Characters that have no counterpart become `?`.
pub fn ascii(text: &str) -> String {
    let plain = |c: char| {
        let known = ASCII.iter().find(|(unicode, _)| *unicode == c).map(|&(_, plain)| plain);
        known.unwrap_or(if c.is_ascii() { c } else { '?' })
    };
    text.chars().map(plain).collect()
}

/// A curve of at most `cells` characters, each the mean of its share of `values`. It begins at 0, so that a level rate
/// looks level.
pub(crate) fn sparkline(values: &[f64], cells: usize) -> String {
    let cells = cells.min(values.len());
    let part = |cell: usize| {
        let share = &values[cell * values.len() / cells..(cell + 1) * values.len() / cells];
        share.iter().sum::<f64>() / share.len() as f64
    };
    let means: Vec<f64> = (0..cells).map(part).collect();
    let most = means.iter().copied().fold(0.0, f64::max);
    means.iter().map(|&mean| HEIGHTS[eighth(mean, most, 8) - 1]).collect()
}

/// A bar of at most `cells` characters for `value` of `most`, padded to `cells`.
pub(crate) fn bar(value: f64, most: f64, cells: usize) -> String {
    let eighths = eighth(value, most, cells * 8);
    let mut text = "█".repeat(eighths / 8);
    if let Some(rest) = (eighths % 8).checked_sub(1) {
        text.push(WIDTHS[rest]);
    }
    format!("{text:<cells$}")
}

/// `value / most` in steps of `1 / whole`, at least one step so that something is seen.
fn eighth(value: f64, most: f64, whole: usize) -> usize {
    if most <= 0.0 {
        return 1;
    }
    ((value / most * whole as f64).round() as usize).clamp(1, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cliff_is_seen_in_a_sparkline() {
        assert_eq!(sparkline(&[100.0, 100.0, 100.0, 30.0, 30.0, 30.0], 3), "█▅▂");
        assert_eq!(sparkline(&[5.0; 40], 4), "████");
        assert_eq!(sparkline(&[], 4), "");
        assert_eq!(sparkline(&[0.0, 0.0], 4), "▁▁");
    }

    #[test]
    fn a_bar_has_its_width_and_grows_with_its_value() {
        assert_eq!(bar(50.0, 100.0, 4), "██  ");
        assert_eq!(bar(100.0, 100.0, 4), "████");
        assert_eq!(bar(0.1, 100.0, 4), "▏   ");
        assert_eq!(bar(56.0, 100.0, 4), "██▎ ");
    }

    #[test]
    fn ascii_keeps_the_width_of_every_line() {
        let text = "█▅▂ ±1.0% é\n";
        assert_eq!(ascii(text), "#+. ~1.0% ?\n");
    }
}
