//! Which of two did better, and how do we know?
//!
//! The page of `iostack ab`: the answer, every figure of both, every run. Start reading at [`page`].

use iostack_stats::{AbReport, AbRow, AbSide};

use super::escape;
use super::inventory;
use super::numbers::{NOTHING, Quantity, date, grouped, significant};
use super::page::{Section, document};
use super::plot::{Axis, Look, Plot, Series, Spot};
use super::scale::Scale;
use super::sheet::Sheet;
use super::table::table;
use crate::ab::{METHOD, answer, percent, plain, signed};

/// The page.
pub(super) fn page(report: &AbReport) -> String {
    let mut sheet = if report.is_simulated() { Sheet::bare() } else { Sheet::new(&report.machine) };
    let caveats: Vec<_> = report.doubts.iter().map(|doubt| doubt.caveat.clone()).collect();
    let doubts = sheet.doubts.note(&caveats, "every figure");
    let mut sections = vec![
        Section::new("figures", "Figures", "Every figure of both", rows(report, &doubts)),
        Section::new("runs", "Runs", "Every run", runs(report, &mut sheet)),
    ];
    if !report.is_simulated() {
        let [a, b] = &report.arms;
        let mut list = inventory::section(&report.machine, &a.storage, &a.target);
        if a.target != b.target {
            list += &format!("<h3>B</h3>{}", inventory::section(&report.machine, &b.storage, &b.target));
        }
        sections.push(Section::new("inventory", "Inventory", "What was measured on", list));
    }
    sections.push(Section::new(
        "doubts",
        "Doubts",
        "Why to doubt it, and what to do",
        counted(report) + &sheet.doubts.list(),
    ));
    sections.push(Section::new("method", "Method", "How it was measured", method(report)));
    document("iostack ab", &header(report), &sections, &sheet, "null")
}

fn header(report: &AbReport) -> String {
    let when =
        if report.is_simulated() { "<b>SIMULATED</b>".to_owned() } else { date(report.started_unix_ms) };
    let arms: String = [AbSide::A, AbSide::B]
        .into_iter()
        .zip(&report.arms)
        .map(|(side, arm)| {
            format!(
                "<p><b>{}</b> {}, on {}</p>",
                side.letter(),
                escape::text(&arm.name),
                escape::text(&arm.target.to_string())
            )
        })
        .collect();
    let cut_short = if report.interrupted {
        "<p class=\"note\">Interrupted: the figures are of the blocks until then.</p>"
    } else {
        ""
    };
    format!(
        "<p class=\"kicker\"><b>iostack ab</b> · {when} · iostack {}</p><h1>{}</h1>{arms}{cut_short}",
        escape::text(&report.iostack),
        escape::text(&answer(report)),
    )
}

fn rows(report: &AbReport, doubts: &str) -> String {
    let heads = ["figure", "A", "B", "B against A", "95 % interval", "B is", "run to run"];
    let rows: Vec<Vec<String>> = report.rows.iter().map(row).collect();
    let doubts = if doubts.is_empty() {
        String::new()
    } else {
        format!("<p class=\"note\">Doubts of every figure: {doubts}</p>")
    };
    format!("{}<p>{}</p>{doubts}", table(&heads, &rows), escape::text(METHOD))
}

fn quantity(unit: &str) -> Quantity {
    match unit {
        "ns" => Quantity::Nanos,
        "B/s" => Quantity::Bandwidth,
        _ => Quantity::Count,
    }
}

fn row(row: &AbRow) -> Vec<String> {
    let show = |value| quantity(&row.figure.unit).show(value);
    let change = row.change_percent;
    let ends = if change.samples == 0 {
        NOTHING.to_owned()
    } else {
        format!("{} to {} %", signed(change.low), signed(change.high))
    };
    vec![
        escape::text(&row.figure.name),
        show(row.a),
        show(row.b),
        format!("{} %", signed(change.mean)),
        ends,
        row.verdict.name().to_owned(),
        format!("±{} %", percent(row.noise_percent)),
    ]
}

fn runs(report: &AbReport, sheet: &mut Sheet) -> String {
    let plots: Vec<Plot> = (0..report.design.figures.len())
        .filter(|&at| report.rows.iter().any(|row| row.figure == report.design.figures[at]))
        .map(|at| plot(report, at, &sheet.note("one point a run")))
        .collect();
    let drawn: String = plots.iter().map(|plot| sheet.figure(plot)).collect();
    format!("<div class=\"figures\">{drawn}</div>{}", numbers(report))
}

fn plot(report: &AbReport, at: usize, caption: &str) -> Plot {
    let figure = &report.design.figures[at];
    let series = [AbSide::A, AbSide::B].into_iter().enumerate().map(|(slot, side)| Series {
        name: side.letter().to_string(),
        slot,
        look: Look::Line,
        spots: spots(report, at, side),
    });
    let unit =
        if figure.unit == "/s" { format!("{} (per second)", figure.name) } else { figure.name.clone() };
    Plot {
        heading: format!("{}, run by run", figure.name),
        x: Axis::new("run", Quantity::Count, Scale::Linear),
        y: Axis::new(unit, quantity(&figure.unit), Scale::Linear),
        series: series.collect(),
        marks: Vec::new(),
        caption: caption.to_owned(),
        label_spots: false,
        wide: at == 0,
    }
}

fn spots(report: &AbReport, at: usize, side: AbSide) -> Vec<Spot> {
    let runs = report.blocks.iter().flat_map(|block| block.order.iter().zip(&block.runs)).zip(1_u32..);
    let of_side = runs.filter(|((of, _), _)| **of == side);
    let spot = |((_, run), number): ((&AbSide, &iostack_stats::AbRun), u32)| {
        let value = run.figures.get(at).copied().flatten()?;
        Some(Spot { low: value, high: value, count: run.ios, ..Spot::at(f64::from(number), value) })
    };
    of_side.filter_map(spot).collect()
}

fn numbers(report: &AbReport) -> String {
    let mut heads = vec!["block", "side", "seed", "I/Os"];
    heads.extend(report.design.figures.iter().map(|figure| figure.name.as_str()));
    let mut rows = Vec::new();
    for (number, block) in (1..).zip(&report.blocks) {
        for (side, run) in block.order.iter().zip(&block.runs) {
            let mut row: Vec<String> =
                vec![number.to_string(), side.letter().to_string(), run.seed.to_string(), grouped(run.ios)];
            row.extend(run.figures.iter().zip(&report.design.figures).map(|(value, figure)| {
                value.map_or(NOTHING.to_owned(), |value| quantity(&figure.unit).show(value))
            }));
            rows.push(row);
        }
    }
    let heads: Vec<String> = heads.into_iter().map(escape::text).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    format!(
        "<details class=\"raw\"><summary>All runs ({})</summary>{}</details>",
        rows.len(),
        table(&heads, &rows)
    )
}

/// Doubts, and of how many runs.
fn counted(report: &AbReport) -> String {
    let runs = report.blocks.len() * 2;
    let items: String = report
        .doubts
        .iter()
        .map(|doubt| {
            let [a, b] = doubt.runs;
            let what = escape::text(&iostack_doubt::says(&doubt.caveat));
            format!("<li>In {a} of {runs} runs of A and {b} of {runs} of B: {what}</li>")
        })
        .collect();
    if items.is_empty() { String::new() } else { format!("<ul>{items}</ul>") }
}

fn method(report: &AbReport) -> String {
    let design = &report.design;
    let looks: Vec<String> = design.looks.iter().map(u32::to_string).collect();
    let mut items = vec![
        format!(
            "Blocks of four runs of {}, in the order A B B A or B A A B: a coin decides for each block, and a drift within a \
             block cancels. Seed {}.",
            design.run, design.seed
        ),
        format!("Each run has a seed of its own. {} blocks were complete.", report.blocks.len()),
        "A block's value is the logarithm of B over A; signed ranks of these values are held against those that other coins \
         would have given, the largest of all figures together."
            .to_owned(),
        format!(
            "It looked after {} blocks; each look may spend a part of the 5 %, so that looking often finds no more that is not \
             there.",
            looks.join(", ")
        ),
        format!("The difference that matters was said to be {} %.", plain(design.difference_percent)),
    ];
    items.extend(report.rows.iter().map(|row| {
        format!(
            "{}: two runs of one side in a block lie ±{} % apart.",
            row.figure.name,
            significant(row.noise_percent)
        )
    }));
    items.extend(report.notes.iter().cloned());
    let items: String = items.iter().map(|item| format!("<li>{}</li>", escape::text(item))).collect();
    format!("<ul>{items}</ul>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_page_is_one_file_with_the_answer_every_row_and_every_run() {
        let made =
            [fixture::ab(), fixture::ab_interrupted(), fixture::ab_undecided(), fixture::ab_simulated()];
        for report in made {
            let page = page(&report);
            assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
            assert!(!page.contains("src=\"") && !page.contains("href=\"http"), "it fetches nothing");
            assert!(!page.contains("NaN") && !page.contains(">inf"));
            assert!(page.contains(&escape::text(&answer(&report))));
            assert!(report.rows.iter().all(|row| page.contains(&row.figure.name)));
            let last = report.blocks.last().expect("it has some").runs[3].seed;
            assert!(page.contains(&last.to_string()));
            assert_eq!(page.contains("SIMULATED"), report.is_simulated());
        }
    }

    #[test]
    fn text_from_outside_cannot_become_markup() {
        let mut report = fixture::ab();
        report.notes.push("<script>1</script>".to_owned());
        "<i>name".clone_into(&mut report.arms[0].name);
        "<u>figure".clone_into(&mut report.design.figures[0].name);
        "<u>figure".clone_into(&mut report.rows[0].figure.name);
        let page = page(&report);
        assert!(!page.contains("<script>1") && !page.contains("<i>name") && !page.contains("<u>figure"));
    }
}
