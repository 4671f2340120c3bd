//! What does varying it show?
//!
//! The page of `iostack sim sweep`: each figure over the axis with the most numbers, one curve for each combination of the
//! others, then every number and the command of every point. Start reading at [`page`].

use iostack_model::{Caveat, Interval, Nanos, Outcome, Sweep, SweepPoint};

use super::escape;
use super::figures::{iops, latency_axis, quantile};
use super::numbers::{NOTHING, Quantity, significant};
use super::page::{Section, document};
use super::plot::{Axis, Look, Plot, SLOTS, Series, Spot};
use super::scale::Scale;
use super::sheet::Sheet;
use super::table::{table, with_interval};
use crate::table::{Measure, measure};

/// More curves than this cannot be told apart.
const CURVES: usize = 3 * SLOTS;

/// The page.
pub(super) fn page(sweep: &Sweep) -> String {
    let mut sheet = Sheet::bare();
    let figures = figures(sweep, &mut sheet);
    let mut sections = vec![Section::new("figures", "Figures", "What varying it shows", figures)];
    if sweep.failed().next().is_some() || sweep.interrupted {
        sections.push(Section::new("failed", "Failed", "What failed or was not run", failures(sweep)));
    }
    let whole = whole(sweep, &mut sheet);
    let points = whole + &points(sweep, &mut sheet);
    sections.push(Section::new("points", "Points", "Every point", points));
    sections.push(Section::new("doubts", "Doubts", "Why to doubt it, and what to do", sheet.doubts.list()));
    let title = format!("iostack sim sweep {}", sweep.device);
    document(&title, &header(sweep), &sections, &sheet, "null")
}

fn header(sweep: &Sweep) -> String {
    let axes: Vec<String> =
        sweep.axes.iter().map(|axis| format!("{} ({})", axis.key, axis.values.len())).collect();
    let varied = if axes.is_empty() { "nothing varied".to_owned() } else { axes.join(" × ") };
    format!(
        "<p class=\"kicker\"><b>iostack sim sweep</b> · <b>SIMULATED</b> · sim:{} · {} points · iostack {}</p>\
         <h1>{}</h1>{}",
        escape::text(&sweep.device),
        sweep.points.len(),
        escape::text(&sweep.iostack),
        escape::text(&varied),
        if sweep.interrupted { "<p class=\"note\">Interrupted: the points until then.</p>" } else { "" }
    )
}

/// The axis that is drawn along: most numbers first.
fn along(sweep: &Sweep) -> Option<(usize, Axis, Vec<f64>)> {
    let axes = sweep.axes.iter().enumerate().filter(|(_, axis)| axis.values.len() > 1);
    let numbered = axes.filter_map(|(index, axis)| {
        let values: Vec<&str> = axis.values.iter().map(String::as_str).collect();
        measure(&values).map(|(kind, numbers)| (index, kind, numbers))
    });
    let (index, kind, numbers) =
        numbered.max_by_key(|(index, _, numbers)| (numbers.len(), usize::MAX - index))?;
    let scale = scale(&numbers);
    let unit = if kind == Measure::Percent { " (%)" } else { "" };
    let label = format!("{}{unit}", sweep.axes[index].key);
    Some((index, Axis::new(label, quantity(kind), scale), numbers))
}

fn quantity(kind: Measure) -> Quantity {
    match kind {
        Measure::Plain | Measure::PerSecond => Quantity::Count,
        Measure::Bytes => Quantity::Bytes,
        Measure::Nanos => Quantity::Nanos,
        Measure::Percent => Quantity::Percent,
        Measure::BytesPerSecond => Quantity::Bandwidth,
    }
}

/// Doublings where the values are spread by factors.
pub(super) fn scale(numbers: &[f64]) -> Scale {
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    for &number in numbers {
        (low, high) = (low.min(number), high.max(number));
    }
    if low > 0.0 && high / low >= 8.0 { Scale::Log2 } else { Scale::Linear }
}

/// One curve: its name, and its points in order of x.
struct Curve<'a> {
    name: String,
    points: Vec<(f64, &'a SweepPoint, &'a Outcome)>,
}

fn curves<'a>(sweep: &'a Sweep, axis: usize, numbers: &[f64]) -> Vec<Curve<'a>> {
    let mut curves: Vec<Curve<'a>> = Vec::new();
    for point in &sweep.points {
        let place = sweep.axes[axis].values.iter().position(|value| *value == point.settings[axis].1);
        let Some(place) = place else { continue };
        for outcome in &point.outcomes {
            let name = name(sweep, axis, point, outcome);
            let spot = (numbers[place], point, outcome);
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.push(spot),
                None => curves.push(Curve { name, points: vec![spot] }),
            }
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    curves
}

/// What tells this curve from the others.
fn name(sweep: &Sweep, axis: usize, point: &SweepPoint, outcome: &Outcome) -> String {
    let others = point.settings.iter().enumerate().filter(|&(index, _)| index != axis);
    let others = others.map(|(_, (key, value))| {
        if key == "device" {
            value.clone()
        } else {
            format!("{} {value}", key.rsplit('.').next().unwrap_or(key))
        }
    });
    let job = (sweep.points.iter().any(|point| point.outcomes.len() > 1)).then(|| outcome.job.name.clone());
    let words: Vec<String> = others.chain(job).collect();
    if words.is_empty() { sweep.device.clone() } else { words.join(", ") }
}

fn figures(sweep: &Sweep, sheet: &mut Sheet) -> String {
    let Some((axis, x, numbers)) = along(sweep) else {
        return "<p class=\"note\">No axis of several numbers to draw along: see the table.</p>".to_owned();
    };
    let mut curves = curves(sweep, axis, &numbers);
    let mut note = String::new();
    if curves.len() > CURVES {
        note = format!(
            "<p class=\"note\">{CURVES} of {} curves are drawn; the table has all.</p>",
            curves.len()
        );
        curves.truncate(CURVES);
    }
    let key = &sweep.axes[axis].key;
    let rate = Axis::new("I/Os per second", Quantity::Count, Scale::Linear);
    let tail = |outcome: &Outcome| quantile(&outcome.latency(), 0.99);
    let median = |outcome: &Outcome| quantile(&outcome.latency(), 0.5);
    let mut plots = vec![
        plot(&format!("Throughput over {key}"), &x, rate, &curves, iops),
        plot(&format!("Median latency over {key}"), &x, latency_axis(), &curves, median),
        plot(&format!("99th percentile over {key}"), &x, latency_axis(), &curves, tail),
    ];
    if curves.iter().flat_map(|curve| &curve.points).any(|(.., outcome)| amplification(outcome).is_finite()) {
        let y = Axis::new("pages written per page the host wrote", Quantity::Percent, Scale::Linear);
        let wa = |outcome: &Outcome| Interval::exact(amplification(outcome));
        plots.push(plot(&format!("Write amplification over {key}"), &x, y, &curves, wa));
    }
    let drawn: String = plots.iter().map(|plot| sheet.figure(plot)).collect();
    format!("{note}<div class=\"figures\">{drawn}</div>")
}

fn plot(
    heading: &str,
    x: &Axis,
    y: Axis,
    curves: &[Curve<'_>],
    value: impl Fn(&Outcome) -> Interval,
) -> Plot {
    let series = curves.iter().enumerate().map(|(slot, curve)| Series {
        name: curve.name.clone(),
        slot: slot % SLOTS,
        look: if slot < SLOTS { Look::Line } else { Look::Dashed },
        spots: curve
            .points
            .iter()
            .map(|(x, point, outcome)| spot(*x, point, outcome, value(outcome)))
            .collect(),
    });
    Plot {
        heading: heading.to_owned(),
        x: x.clone(),
        y,
        series: series.collect(),
        marks: Vec::new(),
        caption: "Simulated; band: 95 % interval over virtual time.".to_owned(),
        label_spots: false,
        wide: false,
    }
}

fn spot(x: f64, point: &SweepPoint, outcome: &Outcome, value: Interval) -> Spot {
    Spot {
        low: value.low,
        high: value.high,
        count: outcome.ios(),
        label: point.name(),
        ..Spot::at(x, value.mean)
    }
}

/// Not a number where nothing was written.
fn amplification(outcome: &Outcome) -> f64 {
    let flash = outcome.inside.as_ref().and_then(|inside| inside.flash.as_ref());
    flash.map(|flash| flash.write_amplification).filter(|&wa| wa > 0.0).unwrap_or(f64::NAN)
}

fn failures(sweep: &Sweep) -> String {
    let failed = sweep.points.iter().filter_map(|point| {
        let why = match &point.error {
            Some(error) => error.as_str(),
            None if point.is_missing() => "not run: the sweep was cut short",
            None => return None,
        };
        Some(format!("<dt>{}</dt><dd>{}</dd>", escape::text(&point.name()), escape::text(why)))
    });
    format!("<dl>{}</dl>", failed.collect::<String>())
}

fn points(sweep: &Sweep, sheet: &mut Sheet) -> String {
    let heads = ["point", "IOPS", "bandwidth", "p50", "p99", "write amplification", "limit", "alone"];
    let mut rows = Vec::new();
    for point in &sweep.points {
        for outcome in &point.outcomes {
            rows.push(row(point, outcome, sheet));
        }
    }
    table(&heads, &rows)
}

/// Doubts of every point are said once, not at each.
fn is_of_all(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::Simulated { .. } | Caveat::NotSimulated { .. } | Caveat::StateByFormula { .. })
}

fn whole(sweep: &Sweep, sheet: &mut Sheet) -> String {
    let outcomes = sweep.points.iter().flat_map(|point| &point.outcomes);
    let mut caveats: Vec<Caveat> = Vec::new();
    for caveat in outcomes.flat_map(|outcome| &outcome.caveats).filter(|caveat| is_of_all(caveat)) {
        if !caveats.contains(caveat) {
            caveats.push(caveat.clone());
        }
    }
    match sheet.doubts.note(&caveats, "points") {
        links if links.is_empty() => links,
        links => format!("<p class=\"note\">Doubts of every point: {links}</p>"),
    }
}

fn row(point: &SweepPoint, outcome: &Outcome, sheet: &mut Sheet) -> Vec<String> {
    let name = if point.outcomes.len() > 1 {
        format!("{}, {}", point.name(), outcome.job.name)
    } else {
        point.name()
    };
    let own: Vec<Caveat> = outcome.caveats.iter().filter(|caveat| !is_of_all(caveat)).cloned().collect();
    let doubts = sheet.doubts.note(&own, &name);
    let time = |fraction: f64| {
        let bins = outcome.latency();
        let known =
            bins.quantile_ns(fraction).filter(|_| bins.count >= iostack_stats::samples_needed(fraction));
        known.map_or(NOTHING.to_owned(), |ns| Quantity::Nanos.show(Nanos(ns).0 as f64))
    };
    let limit = outcome.inside.as_ref().and_then(|inside| inside.limit.as_ref());
    vec![
        format!("{}{doubts}", escape::text(&name)),
        with_interval(Quantity::Count, iops(outcome)),
        Quantity::Bandwidth.show(outcome.bandwidth()),
        time(0.5),
        time(0.99),
        significant(amplification(outcome)),
        limit.map_or(NOTHING.to_owned(), |limit| {
            format!("{} {:.0}\u{202f}%", escape::text(&limit.name), limit.busy * 100.0)
        }),
        format!("<details><summary>command</summary><code>{}</code></details>", escape::text(&point.command)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use iostack_model::SweepAxis;

    fn example(values: &[&str]) -> Sweep {
        let values: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
        let point = |value: &String| SweepPoint {
            settings: vec![("k".into(), value.clone())],
            command: format!("iostack run --k '{value}'"),
            outcomes: fixture::outcome_file().outcomes[..1].to_vec(),
            error: None,
        };
        let points = values.iter().map(point).collect();
        let axes = vec![SweepAxis { key: "k".into(), values }];
        Sweep { schema: 1, iostack: "0".into(), device: "d".into(), axes, points, interrupted: false }
    }

    #[test]
    fn numbers_are_drawn_along_and_words_are_only_in_the_table() {
        let drawn = page(&example(&["4k", "8k", "64k"]));
        assert!(drawn.contains("Throughput over k") && drawn.contains("64 KiB"));
        let listed = page(&example(&["greedy", "<b>"]));
        assert!(!listed.contains("Throughput over k") && listed.contains("k=&lt;b&gt;"));
    }
}
