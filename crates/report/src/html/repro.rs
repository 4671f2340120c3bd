//! What was claimed, what came of it, and what it looks like.
//!
//! The page of `iostack repro`, and its figures as files of their own for pages in Markdown. Start reading at [`page`].

use iostack_model::{Repro, ReproBasis, ReproCurve, ReproPlot, ReproVerdict, Reproduced};

use super::escape;
use super::numbers::Quantity;
use super::page::{Section, document};
use super::plot::{Axis, Look, Plot, Series, Spot, slots};
use super::scale::Scale;
use super::sheet::Sheet;
use super::sweep::scale;
use super::table::{pairs, table};
use super::{numbers, svg};
use crate::digest::{Digest, NO_REASON, Rows, digest, figure_name};
use crate::text;

/// The page.
pub(super) fn page(repro: &Repro) -> String {
    let mut sheet = Sheet::bare();
    let digest = digest(repro);
    let mut sections = vec![Section::new("whole", "Whole", "How much comes out", whole(repro, &digest))];
    if !digest.off.is_empty() {
        sections.push(Section::new("off", "Off", "Where it is off", off(&digest)));
    }
    if !digest.missing.is_empty() {
        sections.push(Section::new("left-out", "Left out", "What nothing judges", missing(&digest)));
    }
    if !digest.platforms.rows.is_empty() {
        sections.push(Section::new("numbers", "Numbers", "What it rests on", rests_on(&digest)));
    }
    sections.push(Section::new("verdicts", "Verdicts", "All verdicts", overview(repro)));
    for one in &repro.experiments {
        sections.push(Section::new(&one.id, &one.id, &one.title, experiment(one, &mut sheet)));
    }
    sections.push(Section::new("doubts", "Doubts", "Why to doubt it, and what to do", sheet.doubts.list()));
    document("iostack repro", &header(repro), &sections, &sheet, "null")
}

fn header(repro: &Repro) -> String {
    let tally = repro.tally(None);
    format!(
        "<p class=\"kicker\"><b>iostack repro</b> · <b>{}</b> · {} experiments · iostack {}</p>\
         <h1>{} of {} published claims hold</h1>{}",
        if repro.is_counted() { "COUNTED" } else { "SIMULATED" },
        repro.experiments.len(),
        escape::text(&repro.iostack),
        tally.hold,
        tally.claims,
        if repro.interrupted { "<p class=\"note\">Interrupted: the runs until then.</p>" } else { "" }
    )
}

const HEADS: [&str; 6] = ["claim", "claimed", "ours", "difference", "verdict", "rests on"];

/// A claim that stands in the head of a row.
fn code(text: &str) -> String {
    format!("<code>{}</code>", escape::text(text))
}

fn rows(rows: &Rows) -> String {
    let escaped: Vec<Vec<String>> =
        rows.rows.iter().map(|row| row.iter().map(|cell| escape::text(cell)).collect()).collect();
    table(&rows.heads, &escaped)
}

fn whole(repro: &Repro, digest: &Digest) -> String {
    let documents = repro.documents.iter().filter(|document| repro.tally(Some(&document.id)).claims > 0);
    let titles: String = { documents }
        .map(|one| format!("<dt>{}</dt><dd>{}</dd>", escape::text(&one.id), escape::text(&one.title)))
        .collect();
    let sentence = escape::text(&digest.sentence);
    format!("<p><b>{sentence}</b></p><dl>{titles}</dl>{}", rows(&digest.documents))
}

fn off(digest: &Digest) -> String {
    let row = |one: &crate::digest::Off| {
        let id = escape::text(&one.experiment);
        let claim = format!("<a href=\"#{id}\">{}</a>", escape::text(&one.claim));
        vec![format!("{claim}<br/><small>{}</small>", escape::text(&one.why)), escape::text(&one.figures)]
    };
    table(&["claim, and why it is off", "claimed and ours"], &digest.off.iter().map(row).collect::<Vec<_>>())
}

fn missing(digest: &Digest) -> String {
    let row = |(reason, claims): &(String, Vec<String>)| {
        let claims: Vec<String> = claims.iter().map(|claim| code(claim)).collect();
        format!("<dt>{}</dt><dd>{}</dd>", escape::text(reason), claims.join(", "))
    };
    format!("<dl>{}</dl>", digest.missing.iter().map(row).collect::<String>())
}

fn rests_on(digest: &Digest) -> String {
    let fitted: Vec<Vec<String>> =
        digest.fitted.iter().map(|(number, claim)| vec![escape::text(number), escape::text(claim)]).collect();
    format!(
        "<p>Numbers of each platform and of the sheets inside it: cited from a document, fitted so that a claim comes \
         out, or assumed. Then the claims judged on it: input, fitted, predicted.</p>{}{}",
        rows(&digest.platforms),
        table(&["fitted", "to the claim"], &fitted)
    )
}

fn overview(repro: &Repro) -> String {
    let rows: Vec<Vec<String>> = repro
        .experiments
        .iter()
        .flat_map(|one| one.verdicts.iter().map(|verdict| row(verdict, Some(&one.id))))
        .collect();
    table(&HEADS, &rows)
}

fn row(verdict: &ReproVerdict, id: Option<&str>) -> Vec<String> {
    let mut says = escape::text(&verdict.says);
    if !verdict.reading.is_empty() {
        says += &format!(" <i>Reading: {}.</i>", escape::text(&verdict.reading));
    }
    let class = match verdict.holds {
        Some(true) => "good",
        Some(false) => "held",
        None => "open",
    };
    vec![
        match id {
            Some(id) => format!("<a href=\"#{id}\">{says}</a>"),
            None => format!(
                "{says}<br/><small>{}; {}{}</small>",
                escape::text(&figure_name(&verdict.claim, &verdict.field)),
                escape::text(&verdict.test),
                why(verdict)
            ),
        },
        escape::text(&verdict.claimed),
        escape::text(&verdict.ours),
        verdict
            .difference
            .map_or(numbers::NOTHING.to_owned(), |share| format!("{:+.1}\u{202f}%", share * 100.0)),
        format!("<b class=\"{class}\">{}</b>", text::word(verdict).to_lowercase()),
        match (verdict.basis, verdict.fitted.is_empty()) {
            (ReproBasis::Predicted, true) => ReproBasis::Predicted.word().to_owned(),
            (ReproBasis::Input, _) => format!("input: {}", escape::text(&verdict.fitted.join(", "))),
            _ => format!("fitted: {}", escape::text(&verdict.fitted.join(", "))),
        },
    ]
}

/// The reason, under the verdict.
fn why(verdict: &ReproVerdict) -> String {
    match (verdict.why.is_empty(), verdict.holds) {
        (false, _) => format!("<br/>Why: {}", escape::text(&verdict.why)),
        (true, Some(false)) => format!("<br/>{NO_REASON}"),
        _ => String::new(),
    }
}

fn experiment(one: &Reproduced, sheet: &mut Sheet) -> String {
    let rows: Vec<Vec<String>> = one.verdicts.iter().map(|verdict| row(verdict, None)).collect();
    let figures: String = one.plots.iter().map(|plot| sheet.figure(&figure(plot))).collect();
    let about = pairs(&[
        ("source", escape::text(&one.source)),
        ("measured", escape::text(&one.measured)),
        (if one.is_counted() { "counted" } else { "simulated" }, escape::text(&one.simulated)),
    ]);
    format!("{about}<div class=\"figures\">{figures}</div>{}{}", table(&HEADS, &rows), runs(one, sheet))
}

fn runs(one: &Reproduced, sheet: &mut Sheet) -> String {
    let mut rows = Vec::new();
    for curve in &one.curves {
        rows.extend(curve_rows(one, curve, sheet));
    }
    let heads = if one.is_counted() {
        ["case", "instructions", "modelled clocks", "alone"]
    } else {
        ["run", "IOPS", "mean latency", "alone"]
    };
    format!(
        "<details class=\"raw\"><summary>All runs ({})</summary>{}</details>",
        rows.len(),
        table(&heads, &rows)
    )
}

fn curve_rows(one: &Reproduced, curve: &ReproCurve, sheet: &mut Sheet) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for point in &curve.points {
        let at = if point.at.is_empty() { String::new() } else { format!(", {} {}", curve.varied, point.at) };
        let name = format!("{}{at}", curve.name);
        let (mut doubts, mut figures) =
            (String::new(), [numbers::NOTHING.to_owned(), numbers::NOTHING.to_owned()]);
        if let Some(outcome) = &point.outcome {
            doubts = sheet.doubts.note(&outcome.caveats, &format!("{}: {name}", one.id));
            let mean = Quantity::Nanos.show(outcome.latency().mean_ns());
            figures = [Quantity::Count.show(outcome.rate()), mean];
        }
        if let Some(cost) = &point.cost {
            let clocks = cost.modelled_clocks().map(|clocks| Quantity::Count.show(clocks));
            figures = [cost.instructions.to_string(), clocks.unwrap_or_else(|| numbers::NOTHING.to_owned())];
        }
        let error =
            point.error.as_ref().map_or(String::new(), |error| format!("<br/>{}", escape::text(error)));
        let [iops, mean] = figures;
        let command = format!("<code>{}</code>", escape::text(&point.command));
        rows.push(vec![format!("{}{doubts}{error}", escape::text(&name)), iops, mean, command]);
    }
    rows
}

fn figure(plot: &ReproPlot) -> Plot {
    let xs: Vec<f64> = plot.lines.iter().flat_map(|line| &line.points).map(|&(x, _)| x).collect();
    let x = if plot.over == "time" {
        Axis::new("time (s)", Quantity::Seconds, Scale::Linear)
    } else {
        let quantity = if plot.over.ends_with("block_size") { Quantity::Bytes } else { Quantity::Count };
        Axis::new(plot.over.clone(), quantity, scale(&xs))
    };
    let bandwidth = plot.figure.starts_with("bytes per second");
    let quantity = if bandwidth { Quantity::Bandwidth } else { Quantity::Count };
    let names: Vec<&str> = plot.lines.iter().map(|line| line.name.as_str()).collect();
    let series = plot.lines.iter().zip(slots(&names)).map(|(line, slot)| Series {
        name: line.name.clone(),
        slot,
        look: Look::Line,
        spots: line.points.iter().map(|&(x, y)| Spot::at(x, y)).collect(),
    });
    Plot {
        heading: plot.heading.clone(),
        x,
        y: Axis::new(plot.figure.clone(), quantity, Scale::Linear),
        series: series.collect(),
        marks: Vec::new(),
        caption: "Simulated.".to_owned(),
        label_spots: false,
        wide: false,
    }
}

/// What a figure needs to stand alone: the colours of a light page, and the rules of its lines.
const STYLE: &str = "text{fill:#5a6773;font:11.5px sans-serif}.axes .y{text-anchor:end}.axes .x{text-anchor:middle}\
.end{text-anchor:end}.name{fill:#16202b}.grid{stroke:#e8ecf0;fill:none}.tick,.base{stroke:#5a6773;fill:none}\
.line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}.marker{fill:var(--c);stroke:#fff}\
.direct{fill:var(--c);font-weight:500}.s0{--c:#0072b2}.s1{--c:#d55e00}.s2{--c:#00895f}.s3{--c:#8a4fae}.s4{--c:#b07c00}\
.s5{--c:#2a9bd6}.s6{--c:#5f6670}.s7{--c:#a3324d}";

/// A figure as an SVG file.
pub(super) fn drawing(plot: &ReproPlot) -> String {
    let plot = figure(plot);
    let drawn = svg::draw(&plot, "plot");
    let inside = drawn.find('>').map_or(0, |end| end + 1);
    let (head, body) = drawn.split_at(inside);
    format!("{head}<style>{STYLE}</style><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>{body}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::ReproLine;

    fn plot(heading: &str) -> ReproPlot {
        let line = ReproLine { name: "a & b".into(), points: vec![(1.0, 10.0), (2.0, 20.0)] };
        let (over, figure) = ("queue_depth".to_owned(), "I/Os per second".to_owned());
        ReproPlot { heading: heading.into(), over, figure, lines: vec![line] }
    }

    #[test]
    fn a_drawing_stands_alone() {
        let text = drawing(&plot("H"));
        assert!(text.starts_with("<svg xmlns=") && text.ends_with("</svg>\n"));
        assert_eq!((text.matches("<svg").count(), text.matches("<style>").count()), (1, 1));
    }

    #[test]
    fn the_page_says_how_many_claims_hold_and_escapes_what_files_say() {
        let verdict = |holds| ReproVerdict {
            claim: "c".into(),
            says: "<b>".into(),
            test: "at most".into(),
            claimed: "1".into(),
            ours: "2".into(),
            difference: Some(1.0),
            holds,
            fitted: vec!["link.rate".into()],
            basis: ReproBasis::Fitted,
            field: String::new(),
            reading: String::new(),
            why: String::new(),
        };
        let one = Reproduced {
            id: "x".into(),
            title: "T".into(),
            source: "S".into(),
            measured: "M".into(),
            simulated: "I".into(),
            curves: Vec::new(),
            plots: vec![plot("<i>")],
            verdicts: vec![verdict(Some(true)), verdict(Some(false)), verdict(None)],
        };
        let repro = Repro {
            schema: 1,
            iostack: "0".into(),
            experiments: vec![one],
            documents: Vec::new(),
            platforms: Vec::new(),
            missing: Vec::new(),
            interrupted: false,
        };
        let text = page(&repro);
        assert!(
            text.contains("0 of 1 published claims hold")
                && text.contains("no reason known")
                && text.contains("+100.0")
        );
        assert!(!text.contains("<i>") && !text.contains("<b><") && text.contains("&lt;b&gt;"));
    }
}
