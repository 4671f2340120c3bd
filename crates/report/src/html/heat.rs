//! Latency over time in shades of one colour: up is slow, dark (on paper) is many.
//!
//! Each shade is one path. The picture is as wide as the page and its axes stand beside it, so that they can be read on a
//! telephone and on paper without a script; `heat.js` tells the count under the pointer.

use serde_json::{Value, json};

use super::escape::{self, within};
use super::line::ruler;
use super::numbers::Quantity;
use super::scale::Scale;
use crate::heat::{Grid, HeatMap, Shades};
use crate::lists::Joined;

/// Colours in `heat.css`.
const SHADES: u32 = 6;
/// Columns and rows at most.
const MOST: (usize, usize) = (256, 64);

/// The figure and the same for `heat.js`; the caption is HTML.
pub(crate) fn figure(map: &HeatMap, id: &str, heading: &str, caption: &str) -> (String, Value) {
    let grid = map.grid(MOST.0, MOST.1);
    let shades = grid.shades(SHADES);
    let (columns, rows, length) = (grid.columns.len(), grid.rows(), grid.length);
    let labels = latencies(&grid, |share, said| {
        format!("<text x=\"100%\" y=\"{:.2}%\" dy=\"4\">{said}</text>", share * 100.0)
    });
    let lines = latencies(&grid, |share, _| {
        format!("<path class=\"grid\" d=\"M0 {:.2}H{columns}\"/>", share * rows as f64)
    });
    let (heading, legend, cells) = (escape::text(heading), legend(&shades), cells(&grid, &shades));
    let ruler = ruler(grid.seconds(), |seconds| Quantity::Seconds.show(seconds));
    let figure = format!(
        "<figure class=\"wide heat\" data-heat=\"{id}\"><h4>{heading}</h4>\
         <div class=\"swatches\"><span>I/Os in {length}:</span>{legend}</div>\
         <p class=\"axis\">latency (time per I/O) · log scale</p>\
         <div class=\"frame\"><svg class=\"latencies\" aria-hidden=\"true\">{labels}</svg>\
         <svg class=\"cells\" viewBox=\"0 0 {columns} {rows}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"I/Os by latency over time; the table below has their numbers\">{lines}{cells}</svg>{ruler}</div>\
         <p class=\"axis end\">time since the start of measuring (s)</p><figcaption>{caption}</figcaption></figure>\n"
    );
    (figure, json(&grid))
}

/// A swatch for each shade; drawn, because paper has no backgrounds.
fn legend(shades: &Shades) -> String {
    let key = |(shade, told): (usize, String)| {
        format!(
            "<span><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect class=\"h{shade}\" width=\"12\" height=\"12\"/>\
             </svg>{}</span>",
            escape::text(&told)
        )
    };
    shades.told().into_iter().enumerate().map(key).joined("")
}

/// Ticks of the latency, each by its distance from the top as a share of the height.
fn latencies(grid: &Grid, draw: impl Fn(f64, String) -> String) -> String {
    let rows = grid.rows();
    let (low, high) = (grid.edges(0).0.max(1), grid.edges(rows - 1).1);
    let ticks = Scale::Log10.ticks(low as f64, high as f64, 7);
    let share = |ns: f64| 1.0 - grid.place(ns.round() as u64) / rows as f64;
    ticks.into_iter().map(|ns| draw(share(ns), Quantity::Nanos.show(ns))).joined("")
}

/// Rectangles of one shade, the largest that a walk through the columns finds: `(column, row from the top, width, height)`.
fn rectangles(grid: &Grid, shades: &Shades) -> Vec<Vec<[usize; 4]>> {
    let mut drawn = vec![Vec::new(); SHADES as usize];
    let mut open: Vec<(usize, [usize; 4])> = Vec::new();
    for (column, counts) in grid.columns.iter().enumerate() {
        let from_top: Vec<Option<usize>> = counts.iter().rev().map(|&ios| shades.of(ios)).collect();
        let mut row = 0;
        let mut next = Vec::new();
        for run in from_top.chunk_by(|a, b| a == b) {
            if let Some(shade) = run[0] {
                let same = |(other, [_, top, _, height]): &(usize, [usize; 4])| {
                    (*other, *top, *height) == (shade, row, run.len())
                };
                let known = open.iter().position(same).map(|at| open.swap_remove(at).1);
                let [start, _, width, _] = known.unwrap_or([column, row, 0, 0]);
                next.push((shade, [start, row, width + 1, run.len()]));
            }
            row += run.len();
        }
        for (shade, ended) in std::mem::replace(&mut open, next) {
            drawn[shade].push(ended);
        }
    }
    for (shade, ended) in open {
        drawn[shade].push(ended);
    }
    drawn
}

/// A path for each shade.
fn cells(grid: &Grid, shades: &Shades) -> String {
    let rectangle = |[x, y, width, height]: &[usize; 4]| format!("M{x} {y}h{width}v{height}h-{width}z");
    let paths = rectangles(grid, shades).into_iter().enumerate().map(|(shade, all)| {
        let path = all.iter().map(rectangle).joined("");
        within(&format!("<path class=\"h{shade}\" d=\""), path, "\"/>")
    });
    paths.joined("")
}

/// `{"length":s,"edges":[ns..],"columns":[[row,ios,ios,..]..]}`: the fastest row with I/Os, then the counts from there.
fn json(grid: &Grid) -> Value {
    let edges = (0..grid.rows()).map(|row| grid.edges(row).0).chain([grid.edges(grid.rows() - 1).1]);
    let column = |counts: &Vec<u64>| {
        let first = counts.iter().position(|&ios| ios > 0).unwrap_or(counts.len());
        let last = counts.iter().rposition(|&ios| ios > 0).map_or(first, |last| last + 1);
        std::iter::once(first as u64).chain(counts[first..last].iter().copied()).collect::<Value>()
    };
    let columns: Value = grid.columns.iter().map(column).collect();
    let length = escape::precise(grid.length.as_secs_f64());
    json!({"length": length, "edges": edges.collect::<Value>(), "columns": columns})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heat::tests::outcome;
    use iostack_model::Nanos;

    fn grid(columns: Vec<Vec<(u32, u64)>>) -> Grid {
        let made = outcome(Nanos::secs(columns.len() as u64), columns);
        HeatMap::of(&made).expect("it is long enough").grid(MOST.0, MOST.1)
    }

    #[test]
    fn rectangles_cover_each_cell_once_in_its_shade() {
        let columns = (0..90u32)
            .map(|at| (0..at % 11).map(|row| (30 + row * (1 + at % 3), u64::from(1 + at * row))).collect());
        let grid = grid(columns.collect());
        let shades = grid.shades(SHADES);
        let mut painted = vec![vec![None; grid.rows()]; grid.columns.len()];
        for (shade, rectangles) in rectangles(&grid, &shades).into_iter().enumerate() {
            for [x, top, width, height] in rectangles {
                for (column, from_top) in
                    (x..x + width).flat_map(|x| (top..top + height).map(move |y| (x, y)))
                {
                    let cell = &mut painted[column][grid.rows() - 1 - from_top];
                    assert_eq!(cell.replace(shade), None, "painted twice");
                }
            }
        }
        for (counts, painted) in grid.columns.iter().zip(&painted) {
            let wanted: Vec<Option<usize>> = counts.iter().map(|&ios| shades.of(ios)).collect();
            assert_eq!(*painted, wanted);
        }
    }

    #[test]
    fn a_steady_run_is_few_rectangles() {
        let grid = grid(vec![vec![(40, 9_000), (41, 800), (42, 70)]; 256]);
        let all = rectangles(&grid, &grid.shades(SHADES)).concat();
        assert_eq!(all.len(), 3, "{all:?}");
    }

    #[test]
    fn a_map_in_which_no_neighbours_are_alike_is_below_300_kilobytes() {
        let ios = |column: u32, cell: u32| 1 + (u64::from(column * 7 + cell * 13) % 6).pow(7);
        let columns = (0..512).map(|column| (40..104).map(|cell| (cell, ios(column, cell))).collect());
        let made = outcome(Nanos::secs(512), columns.collect());
        let (figure, json) = figure(&HeatMap::of(&made).expect("hundreds of columns"), "heat-1", "", "");
        let bytes = figure.len() + json.to_string().len();
        assert!((100_000..300_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn the_numbers_of_every_cell_are_beside_the_picture() {
        let made = outcome(Nanos::secs(3), vec![vec![(8, 2), (9, 1)], vec![], vec![(9, 5)]]);
        let (figure, json) = figure(&HeatMap::of(&made).expect("three columns"), "heat-1", "<h>", "<c>");
        assert_eq!(json, json!({"length": 1, "edges": [128, 160, 192], "columns": [[0, 2, 1], [2], [1, 5]]}));
        assert!(figure.contains("</svg>2 to 3</span>") && figure.contains("</svg>4 to 5</span>"), "{figure}");
        assert!(figure.contains("<h4>&lt;h&gt;</h4>") && figure.contains("<figcaption><c></figcaption>"));
    }
}
