//! Is this platform SSD-ready, and how do we know?
//!
//! The page of `iostack check`: verdict, summary, a section per step, then everything that lets a reader judge it:
//! inventory, doubts, method.

use iostack_model::Check;

use super::inventory;
use super::numbers::{date, grouped};
use super::page::{Section, document};
use super::sheet::{Sheet, span};
use super::table::{pairs, table};
use super::{attribution, escape, raw, steps, verdict};

/// The page of a check.
pub(super) fn page(check: &Check) -> String {
    let mut sheet = Sheet::new(&check.machine);
    let whole = sheet.doubts.note(&check.caveats, "The whole check");
    let mut sections =
        vec![Section::new("summary", "Summary", "Summary", verdict::summary(check, &mut sheet))];
    sections.extend(attribution::sections(check, &mut sheet));
    sections.extend(check.steps.iter().map(|step| steps::section(check, step, &mut sheet)));
    let inventory = inventory::section(&check.machine, &check.storage, &check.target);
    sections.push(Section::new("inventory", "Inventory", "What was measured on", inventory));
    sections.push(Section::new("doubts", "Doubts", "Why to doubt it, and what to do", sheet.doubts.list()));
    sections.push(Section::new("method", "Method", "How it was measured", method(check)));
    let header = verdict::header(check) + &doubts_line(&sheet, &whole);
    let named = check.steps.iter().flat_map(|step| {
        step.points
            .iter()
            .map(move |point| (format!("{}: {}", step.id.name(), steps::point_name(point)), &point.outcome))
    });
    let title = format!("iostack check of {}", check.target);
    document(&title, &header, &sections, &sheet, &raw::outcomes(named))
}

/// One line under the verdict that says how many doubts there are, of which kinds.
fn doubts_line(sheet: &Sheet, whole: &str) -> String {
    if sheet.doubts.count() == 0 {
        return "<p class=\"doubtline\">No reason to doubt these figures was found.</p>".to_owned();
    }
    let whole = if whole.is_empty() { String::new() } else { format!(" The whole check: {whole}") };
    format!(
        "<p class=\"doubtline\"><b>{} kinds of doubt:</b> {}. A number like <span class=\"doubt\">1</span> beside a \
         figure leads to the doubt that concerns it.{whole}</p>",
        sheet.doubts.count(),
        sheet.doubts.names()
    )
}

fn method(check: &Check) -> String {
    let ios: u64 = check.steps.iter().flat_map(|step| &step.points).map(|point| point.outcome.ios()).sum();
    let scratch = check.scratch.as_ref().map_or("none: the target itself was read".to_owned(), |scratch| {
        format!(
            "{}, because {}; written in {}",
            scratch.size,
            escape::text(&scratch.reason),
            span(scratch.fill)
        )
    });
    let list = pairs(&[
        ("Target", escape::text(&check.target.to_string())),
        ("Started", date(check.started_unix_ms)),
        ("Took", format!("{}, effort {}", span(check.elapsed), escape::text(&check.effort))),
        ("I/Os", grouped(ios)),
        ("Seed", format!("{} (reproduces offsets and content)", check.seed)),
        ("Scratch file", scratch),
        ("Version", format!("iostack {}, schema {}", escape::text(&check.iostack), check.schema)),
    ]);
    let rows: Vec<Vec<String>> = check
        .steps
        .iter()
        .map(|step| {
            let ios: u64 = step.points.iter().map(|point| point.outcome.ios()).sum();
            vec![
                escape::text(&step.title),
                step.points.len().to_string(),
                grouped(ios),
                span(step.elapsed),
                step.note.as_ref().map_or(String::new(), |note| escape::text(note)),
            ]
        })
        .collect();
    format!("{list}{}{METHOD}", table(&["step", "measurements", "I/Os", "time", "note"], &rows))
}

/// How each kind of figure comes about.
pub(super) const METHOD: &str = "<p>Every I/O is timed, from submission to completion, into a histogram of 64 buckets to \
the octave: a percentile is at most 1/128 off for that reason. Rates carry the 95 % interval of the mean over time \
slices, percentiles one from order statistics. A percentile is shown only when ten I/Os lie beyond it. CPU time is \
that of the generator's threads, user and system, with the kernel workers that served them. MB and GB are powers of \
1000, KiB and MiB of 1024.</p>";
