//! What does the tool of 2008 say of this path today: which layer takes the time, and what did a change move?
//!
//! The tests, the clocks of an I/O by layer, the comparison, and for each test its functions and stacks. Start reading
//! at [`iolat`].

mod against;
mod layers;
#[cfg(test)]
mod tests;

use std::mem::discriminant;

use iostack_model::answers::{Iolat, IolatTest, Moved};
use iostack_model::{Caveat, Direction, Interval, Layers};

use super::{ladder, typed};
use crate::document::{Bar, Block, Cell, Column, Document, Doubts, Marks, Row, Section, Table, To};
use crate::html::numbers::Quantity;
use crate::lists::Joined;
use crate::text::format::{brief, change, count, or_dash, percent, plus_minus, time};

/// Document of `iostack iolat`, also of a run that was cut short.
pub fn iolat(iolat: &Iolat) -> Document {
    let mut all = Document::new(format!("iostack iolat {}", iolat.target));
    all.beside = vec![iolat.elapsed.to_string(), format!("seed {}", iolat.seed)];
    all.origin = vec![format!("iostack {}, schema {}", iolat.iostack, iolat.schema)];
    all.interrupted = iolat.interrupted.then_some("the rounds");
    (all.answers, all.answer) = ("ANSWER", answer(iolat));
    all.of_all = of_all(&iolat.tests, &mut all.doubts);
    let everything = layers::everything(iolat);
    // But for the stacks, of which there may be thousands.
    if let Some(layers) = &everything {
        all.data(&Layers { stacks: Vec::new(), ..layers.clone() });
    }
    all.sections.push(tests(iolat, &mut all.doubts));
    all.sections.extend(iolat.comparison.as_ref().map(against::section));
    all.sections.extend(layers::sections(iolat, everything.as_ref()));
    all.measured_on(iolat.started_unix_ms, &iolat.machine, &[(&iolat.storage, &iolat.target)]);
    if let Some(system) = &iolat.storage.file_system {
        let scratch = iolat.scratch.as_ref();
        let scratch = scratch.map_or_else(String::new, |scratch| format!("; scratch file {}", scratch.size));
        let words = format!("{} on {}{scratch}", system.kind, system.mount_point.display());
        all.head.screen(Block::Fact("system".to_owned(), words));
    }
    let mut foot = Section::default();
    ladder::line(&iolat.ladder, &mut foot);
    let mut rungs = ladder::section(&iolat.ladder).on_page();
    rungs.blocks.extend(foot.blocks.into_iter().map(|(_, block)| (To::Screen, block)));
    all.sections.push(rungs);
    all.sections.push(method(iolat));
    let path = typed(&iolat.target);
    all.next = Some(match &iolat.comparison {
        None => (format!("iostack iolat {path} --save-reference before.json"), "then change something"),
        Some(against) if against.published => {
            (format!("iostack iolat {path} --save-reference before.json"), "")
        }
        Some(against) => (format!("iostack iolat {path} --against {}", against.name), "does it repeat?"),
    });
    all
}

/// Answer in a sentence or two.
fn answer(iolat: &Iolat) -> String {
    let Some(first) = iolat.tests.first() else { return "No test was made.".to_owned() };
    let mut text = format!("{}: {} IOPS", plain(&first.name), Quantity::Count.say(first.iops.mean));
    if let Some((layer, share)) = iolat.profiles.first().and_then(|profile| profile.shares.first()) {
        text = format!("{text}; most clocks go into {layer}: {} %", percent(share.mean));
    }
    let Some(against) = iolat.comparison.as_ref().filter(|against| !against.another_machine) else {
        return text + ".";
    };
    match against.tests.iter().find(|test| test.moved == Moved::Worse) {
        Some(worst) => {
            let by = change(worst.change_percent.mean);
            format!("Slower than {}: {} {by}.", against.name, plain(&worst.name))
        }
        None => format!("{text}. Not slower than {} beyond the intervals.", against.name),
    }
}

/// `Small direct read`.
fn plain(name: &str) -> String {
    name.replace('_', " ")
}

/// Clocks with their interval.
fn clocks(figure: Interval) -> Cell {
    Cell::from(brief(figure.mean.round())).small(plus_minus(figure).trim_start_matches('-'))
}

/// `28.35 ±0.51`, in percent.
fn share(share: Interval) -> Cell {
    let around = format!("±{:.2}", (share.high - share.low) / 2.0 * 100.0);
    Cell::from(format!("{:.2}", share.mean * 100.0)).small(if share.samples < 3 {
        String::new()
    } else {
        around
    })
}

/// A doubt of a kind that every test has: told once, not in every row.
fn everywhere(tests: &[IolatTest], doubt: &Caveat) -> bool {
    let has = |test: &IolatTest| test.caveats.iter().any(|other| discriminant(other) == discriminant(doubt));
    tests.len() > 1 && tests.iter().all(has)
}

fn of_all(tests: &[IolatTest], doubts: &mut Doubts) -> Marks {
    let mut marks = Marks::default();
    for test in tests {
        marks = doubts.note(test.caveats.iter().filter(|doubt| everywhere(tests, doubt)), &test.name);
    }
    marks
}

fn tests(iolat: &Iolat, doubts: &mut Doubts) -> Section {
    let mut section = Section::new("tests", "Tests", "The tests");
    if iolat.tests.is_empty() {
        section.words("no test was made");
        return section;
    }
    let mut table = table(iolat, doubts);
    let rounds = iolat.tests.iter().map(|test| test.rounds.len()).max().unwrap_or(0);
    let ios: u64 = iolat.tests.iter().map(|test| test.ios).fold(0, u64::saturating_add);
    table.caption = format!(
        "{} I/Os, one in flight, in {rounds} rounds of each test; ±: 95 % interval of the mean over the rounds; spread: \
         from the slowest round to the fastest; ms: mean time of a request; clocks: of an I/O.",
        count(ios)
    );
    section.table(table);
    if let Some(against) = &iolat.comparison {
        let machine = if against.another_machine {
            ": ANOTHER MACHINE, so this is the difference of two machines, not of a change"
        } else {
            ""
        };
        section.fact("+/-", format!("IOPS against {}{machine}", against.name));
    }
    let syncs = iolat.tests.iter().filter(|test| test.sync.count > 0).map(|test| {
        format!("{} after {} writes of {}", time(test.sync.mean_ns()), test.sync_every, test.bytes)
    });
    let syncs = syncs.joined(", ");
    if !syncs.is_empty() {
        section.fact("fdatasync", format!("{syncs}; counted in IOPS, not in the request"));
    }
    section
}

/// The direct tests, then those through the page cache; bars are as long as their share of the longest of their kind.
fn table(iolat: &Iolat, doubts: &mut Doubts) -> Table {
    let of_kind = |direct| iolat.tests.iter().filter(move |test| test.direct == direct);
    let bar = |test: &IolatTest, value: fn(&IolatTest) -> f64| {
        let (own, most) = (value(test), of_kind(test.direct).map(value).fold(0.0, f64::max));
        let slot = usize::from(test.direction == Direction::Write);
        Bar::whole(if own.is_finite() { own } else { 0.0 }, most, slot)
    };
    let name = |test: &IolatTest| {
        let own = test.caveats.iter().filter(|doubt| !everywhere(&iolat.tests, doubt));
        Cell::from(&test.name).marked(doubts.note(own, &test.name))
    };
    let number = Column::number;
    let bars = || Column::bars("").page();
    let table = Table::over(of_kind(true).chain(of_kind(false)))
        .words("test", name)
        .column(number("bytes").light(1), |test| test.bytes.0.to_string())
        .number("IOPS", |test| Cell::interval(Quantity::Count, test.iops))
        .column(bars(), |test| bar(test, |test| test.iops.mean))
        .number("spread", |test| {
            let spread = Some(test.spread()).filter(|_| test.rounds.len() > 1);
            or_dash(spread, |spread| format!("{:.0} %", spread * 100.0))
        })
        // As in 2008, five digits after the point.
        .number("ms", |test| {
            or_dash(Some(test.request.mean).filter(|ns| ns.is_finite()), |ns| format!("{:.5}", ns / 1e6))
        })
        .column(number("95 %").page(), |test| plus_minus(test.request))
        .column(bars(), |test| bar(test, |test| test.request.mean))
        .number("clocks", |test| or_dash(Some(test.clocks.mean).filter(|clocks| *clocks > 0.0), brief))
        .number("+/-", |test| difference(iolat, test));
    let mut table = table.done();
    for (at, direct, name) in [(of_kind(true).count(), false, "Through the page cache"), (0, true, "Direct")]
    {
        if of_kind(direct).next().is_some() {
            table.rows.insert(at, Row::group(name));
        }
    }
    table
}

fn difference(iolat: &Iolat, test: &IolatTest) -> String {
    let mut changes = iolat.comparison.iter().flat_map(|against| &against.tests);
    let change = changes.find(|change| change.name == test.name);
    change.map_or_else(String::new, |one| match one.change_percent.mean.round() {
        0.0 => "0 %".to_owned(),
        rounded => format!("{rounded:+.0} %"),
    })
}

fn method(iolat: &Iolat) -> Section {
    let mut section = Section::new("method", "Method", "How it was measured");
    let scratch = iolat.scratch.as_ref().map_or_else(
        || "none: the target itself was used".to_owned(),
        |scratch| format!("{}, {}", scratch.size, scratch.reason),
    );
    section.page(Block::Fact("scratch file".to_owned(), scratch));
    section.page(Block::Words(METHOD.to_owned()));
    section.list(iolat.notes.clone());
    section
}

/// Explanation of how the figures come about.
const METHOD: &str = "Random requests of 4,096 and 131,072 bytes through psync, one thread, each waits for the one before it: \
    nothing is batched or merged. Each round makes every test once, so that what drifts shows in the intervals rather than in \
    one test. Clocks are the time-stamp counter's. CPU time is bracketed where it may be, and samples only split it by layer. \
    The seed reproduces offsets and content.";
