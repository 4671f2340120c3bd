//! A sweep as a table: one line a point, as many columns as fit.

use iostack_model::{Caveat, Nanos, Outcome, Sweep, SweepPoint};

use super::WIDTH;
use super::format::{both_ends, clean, cut, latency, megabytes, paragraph, rate, significant};
use super::glyphs::bar;

/// The table of `iostack sim sweep`.
pub fn sweep(sweep: &Sweep) -> String {
    let count = sweep.points.len();
    let cut_short = if sweep.interrupted { ", INTERRUPTED" } else { "" };
    let plural = if count == 1 { "point" } else { "points" };
    let title = both_ends(
        &format!("iostack sim sweep {}", sweep.device),
        &format!("SIMULATED, {count} {plural}{cut_short}"),
    );
    let parts = [title + &doubts(sweep), table(sweep), failures(sweep), next(sweep)];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    clean(&parts.join("\n"))
}

/// What concerns the whole sweep: whose numbers these are, and what is left out.
fn doubts(sweep: &Sweep) -> String {
    let mut seen: Vec<&Caveat> = Vec::new();
    for caveat in outcomes(sweep).flat_map(|outcome| &outcome.caveats) {
        let whole = matches!(
            caveat,
            Caveat::Simulated { .. } | Caveat::NotSimulated { .. } | Caveat::StateByFormula { .. }
        );
        if whole && !seen.contains(&caveat) {
            seen.push(caveat);
        }
    }
    // One line a device: points that each change a number would say the same again and again.
    let mut told = Vec::new();
    seen.retain(|caveat| {
        let what = match caveat {
            Caveat::Simulated { device, .. } => device.clone(),
            other => iostack_doubt::says(other),
        };
        let first = !told.contains(&what);
        told.push(what);
        first
    });
    seen.into_iter().map(|caveat| paragraph("  - ", &iostack_doubt::says(caveat))).collect()
}

fn outcomes(sweep: &Sweep) -> impl Iterator<Item = &Outcome> {
    sweep.points.iter().flat_map(|point| &point.outcomes)
}

/// What a row has in a column.
type Cell<'a> = Box<dyn Fn(&SweepPoint, &Outcome) -> String + 'a>;

/// A column of the table: heading, width, what a row has there.
struct Column<'a> {
    head: String,
    width: usize,
    cell: Cell<'a>,
}

fn column<'a>(head: &str, width: usize, cell: impl Fn(&SweepPoint, &Outcome) -> String + 'a) -> Column<'a> {
    Column { head: head.to_owned(), width, cell: Box::new(cell) }
}

fn table(sweep: &Sweep) -> String {
    if outcomes(sweep).next().is_none() {
        return String::new();
    }
    let columns = columns(sweep);
    let head: String = columns.iter().map(|column| aligned(&column.head, column.width)).collect();
    let mut text = head.trim_end().to_owned() + "\n";
    for point in &sweep.points {
        for outcome in &point.outcomes {
            let row: String =
                columns.iter().map(|column| aligned(&(column.cell)(point, outcome), column.width)).collect();
            text += row.trim_end();
            text += if outcome.interrupted { " (interrupted)\n" } else { "\n" };
        }
    }
    text
}

fn aligned(text: &str, width: usize) -> String {
    format!("{:<width$}", cut(text, width - 1))
}

/// What was varied, then the figures, the weightiest first, until the line is full.
fn columns(sweep: &Sweep) -> Vec<Column<'_>> {
    let mut columns: Vec<Column<'_>> = Vec::new();
    for (index, axis) in sweep.axes.iter().enumerate() {
        // Of a long key the last word is enough: the command below has the whole.
        let short = axis.key.chars().count() <= 14;
        let head = if short { &axis.key } else { axis.key.rsplit('.').next().unwrap_or(&axis.key) };
        let head = head.to_uppercase();
        let widest = axis.values.iter().map(|value| value.chars().count()).max().unwrap_or(0);
        let width = widest.max(head.chars().count()).min(20) + 2;
        columns.push(column(&head, width, move |point, _| point.settings[index].1.clone()));
    }
    if sweep.points.iter().any(|point| point.outcomes.len() > 1) {
        columns.push(column("JOB", 14, |_, outcome| outcome.job.name.clone()));
    }
    let most = outcomes(sweep).map(Outcome::rate).fold(0.0, f64::max);
    let quantile = |outcome: &Outcome, fraction| latency(outcome.latency().quantile_ns(fraction).map(Nanos));
    let mut figures = vec![
        column("IOPS", 9, |_, outcome| rate(outcome.rate())),
        column("p99", 9, move |_, outcome| quantile(outcome, 0.99)),
        column("LIMIT", 17, |_, outcome| limit(outcome)),
        column("", 7, move |_, outcome| bar(outcome.rate(), most, 6)),
        column("MB/s", 8, |_, outcome| megabytes(outcome.bandwidth())),
        column("p50", 9, move |_, outcome| quantile(outcome, 0.5)),
    ];
    if outcomes(sweep).any(|outcome| amplification(outcome) > 0.0) {
        figures.insert(2, column("WA", 6, |_, outcome| significant(amplification(outcome), 3)));
    }
    // In the order in which they read best, as far as there is room for them.
    let order = ["IOPS", "", "MB/s", "p50", "p99", "WA", "LIMIT"];
    let mut room = WIDTH.saturating_sub(columns.iter().map(|column| column.width).sum());
    figures.retain(|figure| {
        let fits = figure.width <= room || figure.head == "IOPS";
        room = if fits { room.saturating_sub(figure.width) } else { room };
        fits
    });
    figures.sort_by_key(|figure| order.iter().position(|head| *head == figure.head));
    columns.extend(figures);
    columns
}

fn amplification(outcome: &Outcome) -> f64 {
    let flash = outcome.inside.as_ref().and_then(|inside| inside.flash.as_ref());
    flash.map_or(0.0, |flash| flash.write_amplification)
}

/// `die 99 %`.
fn limit(outcome: &Outcome) -> String {
    let limit = outcome.inside.as_ref().and_then(|inside| inside.limit.as_ref());
    limit.map_or_else(|| "-".to_owned(), |limit| format!("{} {:.0} %", limit.name, limit.busy * 100.0))
}

fn failures(sweep: &Sweep) -> String {
    let mut text = String::new();
    let failed: Vec<&SweepPoint> = sweep.failed().collect();
    if !failed.is_empty() {
        text += &format!("FAILED     {} of {}\n", failed.len(), sweep.points.len());
    }
    for point in failed {
        text +=
            &paragraph("  - ", &format!("{}: {}", point.name(), point.error.as_deref().unwrap_or_default()));
    }
    let missing = sweep.points.iter().filter(|point| point.is_missing()).count();
    if missing > 0 {
        text += &format!("NOT RUN    {missing} of {}\n", sweep.points.len());
    }
    text
}

/// The fastest point alone: what to look at more closely.
fn next(sweep: &Sweep) -> String {
    let rate = |point: &SweepPoint| point.outcomes.iter().map(Outcome::rate).sum::<f64>();
    // A point that was cut short may only look fast.
    let whole = |point: &&SweepPoint| point.outcomes.iter().all(|outcome| !outcome.interrupted);
    let run = sweep.points.iter().filter(|point| !point.outcomes.is_empty()).filter(whole);
    let best = run.max_by(|a, b| rate(a).total_cmp(&rate(b))).or(sweep.points.first());
    best.map_or_else(String::new, |best| {
        let what = if best.outcomes.is_empty() { "the first point alone" } else { "the fastest point alone" };
        format!("next: {}    # {what}\n", best.command)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use iostack_model::SweepAxis;

    fn example() -> Sweep {
        let point = |depth: &str, error: Option<&str>| SweepPoint {
            settings: vec![("queue_depth".into(), depth.into())],
            command: format!("iostack run --on sim:tlc-1t --queue-depth {depth}"),
            outcomes: if error.is_some() {
                Vec::new()
            } else {
                fixture::outcome_file().outcomes[..1].to_vec()
            },
            error: error.map(str::to_owned),
        };
        Sweep {
            schema: 1,
            iostack: "0.1.0".into(),
            device: "tlc-1t".into(),
            axes: vec![SweepAxis { key: "queue_depth".into(), values: vec!["0".into(), "1".into()] }],
            points: vec![point("0", Some("`queue_depth=0`: give a whole number from 1")), point("1", None)],
            interrupted: false,
        }
    }

    #[test]
    fn every_line_fits_and_a_failed_point_is_named() {
        let text = sweep(&example());
        assert!(text.contains("QUEUE_DEPTH  IOPS"), "{text}");
        assert!(text.contains("FAILED     1 of 2\n  - queue_depth=0: `queue_depth=0`"), "{text}");
        assert!(
            text.ends_with(
                "next: iostack run --on sim:tlc-1t --queue-depth 1    # the fastest point alone\n"
            )
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH || line.starts_with("next:")),
            "{text}"
        );
    }

    #[test]
    fn many_axes_push_out_the_lighter_figures_only() {
        let mut wide = example();
        for index in 0..4 {
            let key = format!("flash.over_provisioning_{index}");
            wide.axes.push(SweepAxis { key: key.clone(), values: vec!["28%".into()] });
            wide.points.iter_mut().for_each(|point| point.settings.push((key.clone(), "28%".into())));
        }
        assert!(sweep(&wide).contains(" IOPS"), "{}", sweep(&wide));
    }

    #[test]
    fn a_sweep_that_was_cut_short_says_what_was_not_run() {
        let mut cut = example();
        cut.interrupted = true;
        cut.points[1].outcomes.clear();
        let text = sweep(&cut);
        assert!(text.contains("INTERRUPTED") && text.contains("NOT RUN    1 of 2"), "{text}");
    }
}
