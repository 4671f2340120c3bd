//! Is this platform SSD-ready, and how do we know?

mod against;
mod compared;
mod digest;
mod drawings;
mod folds;
mod letters;
mod picture;
mod summary;
mod told;

pub(crate) use told::rate_of;

use iostack_model::answers::{Advice, Check, Limit, Point, Step};
use iostack_model::{Caveat, Effort, Storage};

use super::{METHOD, layers, path_costs, predicted, stages, typed};
use crate::document::{Block, Document, Section, Table};
use crate::html::raw;
use crate::text::format::{change, count, time};

/// The document of `iostack check`, also of one that was cut short: what was not measured is said, not shown as zero.
pub fn check(check: &Check) -> Document {
    let mut all = Document::new(format!("iostack check {}", check.target));
    all.beside = vec![
        format!("{} effort", check.effort.name()),
        check.elapsed.to_string(),
        format!("seed {}", check.seed),
    ];
    all.origin = vec![format!("iostack {}", check.iostack)];
    all.interrupted = check.interrupted.then_some("the time");
    all.doubts.of_verdict = true;
    (all.answers, all.answer) = ("VERDICT", check.verdict.answer.clone());
    all.of_all =
        all.doubts.note(check.caveats.iter().filter(|caveat| !has_its_own_place(caveat)), "the whole check");
    all.head.page(Block::Tiles(summary::tiles(check)));
    let on = [(&check.storage, &check.target)];
    picture::first(check, &mut all);
    because(check, &mut all);
    summary::sections(check, &mut all);
    if let Some(sheet) = &check.against {
        against::section(sheet, &mut all);
    }
    all.sections.extend(check.prediction.as_ref().map(predicted::section));
    digest::section(check, &mut all);
    all.sections.extend(path_costs::of_check(&check.path_costs));
    looked_into(check, &mut all);
    told::section(check, &mut all);
    for step in &check.steps {
        let section = drawings::section(step, &mut all.doubts);
        all.sections.push(section);
    }
    all.measured_on(check.started_unix_ms, &check.machine, &on);
    if let Some(system) = system(&check.storage, check) {
        let place = all.head.blocks.len() - 1;
        all.head.screen(Block::Fact("system".to_owned(), system));
        // Between the device and the host.
        all.head.blocks[place..].rotate_right(1);
    }
    all.sections.push(method(check));
    folds::fold(&mut all.sections);
    all.next = next(check);
    let points = check.steps.iter().flat_map(|step| step.points.iter().map(move |point| (step, point)));
    all.raw = raw::outcomes(
        points.map(|(step, point)| (format!("{}: {}", step.id.name(), point_name(point)), &point.outcome)),
    );
    all
}

/// Caveats of the whole check that are marked beside one figure rather than above all of them.
fn has_its_own_place(caveat: &Caveat) -> bool {
    of_latency(caveat) || of_rate(caveat)
}

/// A doubt of a percentile.
fn of_latency(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::FewSamples { .. })
}

/// A doubt of the shape of a rate over time.
fn of_rate(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::RateStep { .. } | Caveat::Cliff { .. } | Caveat::Slope { .. })
}

/// The series and the place on the axis, once where they are the same.
fn point_name(point: &Point) -> String {
    if point.series.name() == point.label || point.label.is_empty() {
        return point.series.to_string();
    }
    format!("{}, {}", point.series, point.label)
}

const fn limit_words(limit: Limit) -> &'static str {
    match limit {
        Limit::Device => "the device",
        Limit::OneCore => "one processor core",
        Limit::AllCores => "all processor cores",
        Limit::OneQueue => "one queue",
        Limit::Scheduler => "the I/O scheduler",
        Limit::Engine => "the engine in use",
        Limit::Cap => "a cap",
        Limit::Generator => "the load generator",
        Limit::Unknown => "not known",
    }
}

/// Evidence and advice: on a screen beside the answer at its end, on a page below the first picture.
fn because(check: &Check, all: &mut Document) {
    let verdict = &check.verdict;
    let evidence = || Block::List(verdict.evidence.clone());
    let advice = || Block::Numbered(verdict.advice.iter().map(advised).collect());
    all.because.screen(evidence()).screen(advice());
    let page = |label: &str, words: String| Block::Fact(label.to_owned(), words);
    let head = all.head.page(Block::Heading("Why, and what to do".to_owned()));
    head.page(page("limit", limit_words(verdict.limit).to_owned()));
    if let Some(told) = summary::saturation(check) {
        head.page(page("saturates", told));
    }
    head.page(evidence());
    head.page(if verdict.advice.is_empty() {
        Block::Note("Nothing was found that would help.".to_owned())
    } else {
        advice()
    });
}

fn advised(advice: &Advice) -> (String, Option<String>) {
    let gain = advice.gain_percent.filter(|gain| gain.is_finite());
    let gain = gain.map_or_else(String::new, |percent| format!(": {}", change(percent)));
    let basis = if advice.basis.is_empty() { String::new() } else { format!(" ({})", advice.basis) };
    (format!("{}{gain}{basis}", advice.act.trim_end_matches('.')), advice.command.clone())
}

fn system(storage: &Storage, check: &Check) -> Option<String> {
    let system = storage.file_system.as_ref()?;
    let (kind, place) = (&system.kind, system.mount_point.display());
    let scratch = check.scratch.as_ref();
    let scratch = scratch.map_or_else(String::new, |scratch| format!("; scratch file {}", scratch.size));
    Some(format!("{kind} on {place}, {} of {} free{scratch}", system.free, system.total))
}

/// Each point that was looked into from inside, for a page; and what parts of the path cost.
fn looked_into(check: &Check, all: &mut Document) {
    let points = || check.steps.iter().flat_map(|step| &step.points);
    let traced = points().filter_map(|point| Some((point, stages::section(point.outcome.stages.as_ref()?))));
    let sampled = points().filter_map(|point| Some((point, layers::section(point.outcome.layers.as_ref()?))));
    let kinds = [
        ("stages", "Stages", "Where the latency of one I/O goes", traced.collect::<Vec<_>>()),
        ("layers", "Layers", "Where its clocks go", sampled.collect()),
    ];
    for (id, short, title, found) in kinds.into_iter().filter(|(.., found)| !found.is_empty()) {
        let mut section = Section::new(id, short, title);
        let several = found.len() > 1;
        for (point, mut one) in found {
            if several {
                section.page(Block::Heading(point_name(point)));
            }
            folds::fold_details(&mut one);
            section.blocks.extend(one.blocks);
        }
        all.sections.push(section.on_page());
    }
}

fn method(check: &Check) -> Section {
    let mut section = Section::new("method", "Method", "How it was measured");
    let ios = |step: &Step| -> u64 { step.points.iter().map(|point| point.outcome.ios()).sum() };
    let scratch = check.scratch.as_ref().map_or("none: the target itself was read".to_owned(), |scratch| {
        format!("{}, because {}; written in {}", scratch.size, scratch.reason, scratch.fill)
    });
    let facts = [
        ("I/Os", count(check.steps.iter().map(ios).sum())),
        ("seed", format!("{} (reproduces offsets and content)", check.seed)),
        ("scratch file", scratch),
        ("schema", check.schema.to_string()),
    ];
    for (label, words) in facts {
        section.page(Block::Fact(label.to_owned(), words));
    }
    let table = Table::over(&check.steps)
        .words("step", |step| &step.title)
        .number("measurements", |step| step.points.len().to_string())
        .number("I/Os", |step| count(ios(step)))
        .number("time", |step| time(step.elapsed.0 as f64))
        .below(|step| step.note.iter().cloned().collect());
    section.page(Block::Table(table.done())).page(Block::Words(METHOD.to_owned()));
    section
}

/// The next command, which depends on how much this check has asked.
fn next(check: &Check) -> Option<(String, &'static str)> {
    let path = typed(&check.target);
    if check.interrupted || check.effort == Effort::Quick {
        return Some((format!("iostack check {path}"), "every step"));
    }
    if check.effort == Effort::Full {
        let advised = check.verdict.advice.iter().filter_map(|advice| advice.command.as_deref());
        let run = advised.into_iter().find(|command| command.starts_with("iostack run"));
        return run.map(|command| (command.to_owned(), ""));
    }
    Some((format!("iostack check --full {path}"), "narrower intervals"))
}
