//! Latency over time in shades: up is slow, dark is many.
//!
//! ```text
//!     1.05 ms |                ▒▒▒▒
//!      524 us |
//!      262 us |                ░░░░
//!      131 us |████████████████▓▓▓▓████████████████
//!             +------------------------------------
//!              0 s                              9 s
//! ```

use super::format::{paragraph, time};
use crate::heat::HeatMap;

/// Shades of ever more I/Os.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];
const WIDTH: usize = 60;
const HEIGHT: usize = 12;
/// Columns of the latency at which a row begins.
const LABEL: usize = 10;

/// Rows of a map beside other blocks.
const LOW: usize = 6;

/// The map, its axes, and how many I/Os a shade is.
pub(crate) fn map(map: &HeatMap) -> String {
    drawn(map, HEIGHT)
}

/// The map for a live view: lower, without the words below it.
pub(crate) fn low(map: &HeatMap) -> String {
    let drawn = drawn(map, LOW);
    drawn.lines().take_while(|line| !line.starts_with('(')).flat_map(|line| [line, "\n"]).collect()
}

fn drawn(map: &HeatMap, height: usize) -> String {
    let grid = map.grid(WIDTH, height);
    let shades = grid.shades(SHADES.len() as u32);
    // A short run is drawn wide.
    let wide = WIDTH / grid.columns.len();
    let width = wide * grid.columns.len();
    let mut text = format!("{:<LABEL$}   up is slow, dark is many I/Os\n", "latency");
    for row in (0..grid.rows()).rev() {
        let shade = |counts: &Vec<u64>| shades.of(counts[row]).map_or(' ', |shade| SHADES[shade]);
        let line: String = grid.columns.iter().flat_map(|counts| [shade(counts)].repeat(wide)).collect();
        let from = time(grid.edges(row).0 as f64);
        text += format!("{from:>LABEL$} |{line}").trim_end();
        text.push('\n');
    }
    let end = time(grid.seconds() * 1e9);
    text += &format!("{:>LABEL$} +{}\n", "", "-".repeat(width));
    text += &format!("{:>LABEL$}  0 s{end:>1$}\n", "", width - 3);
    let each: Vec<String> =
        SHADES.iter().zip(shades.told()).map(|(shade, told)| format!("{shade} {told}")).collect();
    let length = grid.length;
    text + &paragraph("", &format!("(I/Os of a row in {length}: {})", each.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heat::tests::outcome;
    use crate::pages::tests::sound::assert_fits;
    use iostack_model::Nanos;

    fn drawn(columns: Vec<Vec<(u32, u64)>>) -> String {
        let elapsed = Nanos::secs(columns.len() as u64);
        map(&HeatMap::of(&outcome(elapsed, columns)).expect("it is long enough"))
    }

    #[test]
    fn a_pause_stands_above_the_others_and_a_silence_is_empty() {
        let usual = vec![(46, 900), (47, 12)];
        let text = drawn(vec![usual.clone(), vec![(46, 40), (60, 3)], vec![], usual]);
        assert_fits(&text);
        let rows: Vec<&str> = text.lines().filter_map(|line| line.split_once('|')).map(|row| row.1).collect();
        assert_eq!(rows.len(), 8, "half octaves: {text}");
        assert_eq!(rows[0], format!("{}{}", " ".repeat(15), "░".repeat(15)));
        assert_eq!(rows[7], ["█", "▓", " ", "█"].map(|one| one.repeat(15)).concat());
    }

    #[test]
    fn one_io_one_cell_and_the_longest_time_fit() {
        for columns in [
            vec![vec![], vec![], vec![(30, 1)]],
            vec![vec![(30, 7)]; 3],
            vec![vec![(0, 1), (235, u64::MAX / 1_000)]; 500],
        ] {
            assert_fits(&drawn(columns));
        }
    }

    #[test]
    fn a_terminal_without_unicode_tells_the_shades_apart() {
        let plain: Vec<String> = SHADES.iter().map(|shade| super::super::ascii(&shade.to_string())).collect();
        assert!(plain.iter().all(|one| one != "?"), "{plain:?}");
        let mut unlike = plain.clone();
        unlike.dedup();
        assert_eq!(unlike.len(), SHADES.len(), "{plain:?}");
    }
}
