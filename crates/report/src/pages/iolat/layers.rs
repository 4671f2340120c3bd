//! Into which layers did the clocks go, and through which calls?

use iostack_model::answers::{Iolat, IolatTest};
use iostack_model::{FunctionRow, LayerRow, Layers, Nanos};

use super::{clocks, plain, share};
use crate::document::{Bar, Block, Row, Section, Table, To};
use crate::html::colours::Colours;
use crate::html::flame;
use crate::lists::{distinct, grouped};
use crate::pages::layers::{lost, share_of_samples};
use crate::text::format::{brief, count, or_dash, percent, significant};

/// Functions told, as many as in 2008.
const FUNCTIONS: usize = 16;

/// All profiles as one, for colours and the raw data: a layer has one colour on the whole page.
pub(super) fn everything(iolat: &Iolat) -> Option<Layers> {
    let profiles = || iolat.tests.iter().filter_map(|test| test.layers.as_ref());
    let rows = grouped(profiles().flat_map(|layers| &layers.rows).map(|row| (&row.layer, row)));
    let whole = |(_, rows): (&String, Vec<&LayerRow>)| LayerRow {
        time: rows.iter().fold(Nanos(0), |sum, row| sum + row.time),
        samples: rows.iter().map(|row| row.samples).sum(),
        ..rows[0].clone()
    };
    let mut rows: Vec<LayerRow> = rows.into_iter().map(whole).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.time.0));
    Some(Layers { rows, ..profiles().next()?.clone() })
}

/// Sections on the clocks by layer, and of each test its functions and stacks; else why they are unknown.
pub(super) fn sections(iolat: &Iolat, everything: Option<&Layers>) -> Vec<Section> {
    let mut section = Section::new("layers", "Layers", "Where the clocks went");
    if let Some(why) = &iolat.layers_missing {
        section.screen(Block::Fact("no layers".to_owned(), why.clone()));
    }
    let Some(everything) = everything else {
        let why = iolat.layers_missing.as_deref().unwrap_or("no test was made");
        section.page(Block::Note(format!("No layers: {why}")));
        return vec![section];
    };
    let colours = Colours::of_profile(everything);
    let tests: Vec<&IolatTest> = iolat.tests.iter().filter(|test| !test.layer_costs.is_empty()).collect();
    section.page(Block::Table(stacked(&tests, everything, &colours)));
    if !iolat.profiles.is_empty() {
        section.table(shares(iolat));
    }
    for direct in [true, false] {
        let of_kind: Vec<&IolatTest> = tests.iter().copied().filter(|test| test.direct == direct).collect();
        if of_kind.iter().flat_map(|test| &test.layer_costs).any(|cost| cost.clocks.mean > 0.0) {
            section.table(by_test(&of_kind, direct));
        }
    }
    quality(iolat, &mut section);
    vec![section, profiles(iolat, &colours)]
}

/// One bar a test, split by layer.
fn stacked(tests: &[&IolatTest], everything: &Layers, colours: &Colours<'_>) -> Table {
    let bar = |test: &IolatTest| {
        let costs = everything.rows.iter().filter_map(|row| test.layer_cost(&row.layer));
        let costs = costs.filter(|cost| cost.share.mean > 0.0);
        let parts = costs.map(|cost| (colours.slot(&cost.layer), cost.share.mean, cost.layer.clone()));
        Bar { parts: parts.collect(), most: 1.0 }
    };
    let table = Table::over(tests.iter().copied())
        .words("test", |test| &test.name)
        .bars(bar)
        .number("clocks per I/O", |test| or_dash(Some(sum(test)).filter(|sum| *sum > 0.0), brief));
    let samples = tests.iter().filter_map(|test| test.layers.as_ref()).map(|layers| layers.samples);
    let samples = count(samples.fold(0, u64::saturating_add));
    let caption = format!("{samples} samples; each bar is the whole of one I/O's clocks.");
    Table { heading: "One I/O's clocks by layer".to_owned(), caption, ..table.done() }
}

fn sum(test: &IolatTest) -> f64 {
    test.layer_costs.iter().map(|cost| cost.clocks.mean).sum()
}

/// The shares of the direct and of the cached tests together: what the screen of 2008 showed.
fn shares(iolat: &Iolat) -> Table {
    let names = iolat.profiles.iter().flat_map(|profile| &profile.shares).map(|(name, _)| name);
    let mut table = Table::over(distinct(names)).words("layer", |name| name);
    for profile in &iolat.profiles {
        table = table.number(format!("{} %", profile.name), |name| {
            let found = profile.shares.iter().find(|(layer, _)| layer == name);
            or_dash(found, |(_, of)| share(*of))
        });
    }
    Table { heading: "Shares, as the tool of 2008 printed them".to_owned(), ..table.done() }
}

/// Clocks per I/O of each layer in each test, the most expensive layer first.
fn by_test(tests: &[&IolatTest], direct: bool) -> Table {
    let costs = tests.iter().flat_map(|test| &test.layer_costs).map(|cost| (&cost.layer, cost.clocks.mean));
    let mut names = grouped(costs);
    let sum_of = |(_, clocks): &(&String, Vec<f64>)| clocks.iter().sum::<f64>();
    names.sort_by(|a, b| sum_of(b).total_cmp(&sum_of(a)));
    let mut table = Table::over(names.iter().map(|(name, _)| *name))
        .words(if direct { "direct" } else { "cached" }, |name| name);
    for test in tests {
        table = table.number(format!("{} {}", test.bytes, test.direction.name()), |name| {
            or_dash(test.layer_cost(name), |cost| clocks(cost.clocks))
        });
    }
    let sums = tests.iter().map(|test| brief(sum(test).round()));
    let sums = vec![Row::of(std::iter::once("SUM, clocks".to_owned()).chain(sums))];
    Table { heading: "Clocks per I/O".to_owned(), sums, ..table.done() }
}

/// Quality of the profile: samples, totals, what stayed unclassified, what it cost.
fn quality(iolat: &Iolat, section: &mut Section) {
    let layers: Vec<&Layers> = iolat.tests.iter().filter_map(|test| test.layers.as_ref()).collect();
    let Some(first) = layers.first() else { return };
    let samples = layers.iter().map(|layers| layers.samples).fold(0, u64::saturating_add);
    let lost = lost(layers.iter().map(|layers| layers.lost).fold(0, u64::saturating_add));
    let mean = |figure: fn(&Layers) -> f64| {
        let sum: f64 = layers.iter().map(|layers| figure(layers) * layers.samples as f64).sum();
        if samples == 0 { 0.0 } else { sum / samples as f64 }
    };
    let exact =
        if layers.iter().all(|layers| layers.clocks.exact) { "totals exact" } else { "totals NOT EXACT" };
    let clock = if first.tsc_hz == 0 {
        "no time-stamp counter: shares only".to_owned()
    } else {
        format!("clocks of the time-stamp counter, {} GHz", significant(first.tsc_hz as f64 / 1e9, 4))
    };
    let unclassified = share_of_samples(mean(|layers| layers.quality.unclassified));
    let inferred = share_of_samples(mean(|layers| layers.quality.inferred));
    let (samples, cost) = (brief(samples as f64), percent(mean(|layers| layers.sampling_cost)));
    section.fact("layers", format!(
        "{samples} samples, {lost}; {exact}, samples only split them; {unclassified} % unclassified (14 to 15 % in 2008), \
         {inferred} % inferred from a caller; sampling cost {cost} % of the CPU time; {clock}"
    ));
    section.page(Block::Fact("totals".to_owned(), first.clocks.how.clone()));
}

/// Functions of the direct tests together; on a page functions and stacks of each test, all but the first folded.
fn profiles(iolat: &Iolat, colours: &Colours<'_>) -> Section {
    let mut section = Section::new("profiles", "Profiles", "Functions and stacks");
    if let Some(first) = iolat.profiles.first() {
        section.table(functions(&format!("function, {} tests", first.name), &first.functions));
    }
    for test in &iolat.tests {
        let Some(layers) = &test.layers else { continue };
        let mut own = Section::default();
        let drawn = flame::figure(layers, colours, &crate::pages::layers::measured(layers));
        own.blocks.extend(drawn.map(|drawn| (To::All, drawn)));
        own.table(functions("function", &layers.functions));
        if std::ptr::eq(test, &raw const iolat.tests[0]) {
            section.page(Block::Heading(plain(&test.name))).blocks.extend(own.on_page().blocks);
        } else {
            section.page(Block::Fold(plain(&test.name), own));
        }
    }
    section
}

fn functions(head: &str, rows: &[FunctionRow]) -> Table {
    Table::over(rows.iter().take(FUNCTIONS))
        .words(head, |row| &row.name)
        .number("samples", |row| count(row.samples))
        .words("layer", |row| &row.layer)
        .words("kind", |row| &row.kind)
        .done()
}
