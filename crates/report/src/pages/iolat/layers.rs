//! Into which layers did the clocks go, and through which calls?

use iostack_model::Layers;
use iostack_model::answers::{Iolat, IolatTest};

use super::{clocks, or_dash, plain, share};
use crate::document::{Bar, Block, Cell, Column, Row, Section, Table, To};
use crate::html::colours::Colours;
use crate::html::flame;
use crate::pages::layers::share_of_samples;
use crate::text::format::{brief, count, percent, significant};

/// Functions told, as many as in 2008.
const FUNCTIONS: usize = 16;

/// All profiles as one, for colours and the raw data: a layer has one colour on the whole page.
pub(super) fn everything(iolat: &Iolat) -> Option<Layers> {
    let profiles: Vec<&Layers> = iolat.tests.iter().filter_map(|test| test.layers.as_ref()).collect();
    let mut whole = (*profiles.first()?).clone();
    for row in profiles[1..].iter().flat_map(|layers| &layers.rows) {
        match whole.rows.iter_mut().find(|other| other.layer == row.layer) {
            Some(other) => {
                other.time += row.time;
                other.samples += row.samples;
            }
            None => whole.rows.push(row.clone()),
        }
    }
    whole.rows.sort_by_key(|row| std::cmp::Reverse(row.time.0));
    Some(whole)
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
        section.put(Block::Table(shares(iolat)));
    }
    for direct in [true, false] {
        let of_kind: Vec<&IolatTest> = tests.iter().copied().filter(|test| test.direct == direct).collect();
        if of_kind.iter().flat_map(|test| &test.layer_costs).any(|cost| cost.clocks.mean > 0.0) {
            section.put(Block::Table(by_test(&of_kind, direct)));
        }
    }
    quality(iolat, &mut section);
    vec![section, profiles(iolat, &colours)]
}

/// One bar a test, split by layer.
fn stacked(tests: &[&IolatTest], everything: &Layers, colours: &Colours<'_>) -> Table {
    let columns = vec![Column::words("test"), Column::bars(""), Column::number("clocks per I/O")];
    let mut table = Table::new(columns);
    for test in tests {
        let costs = everything.rows.iter().filter_map(|row| test.layer_cost(&row.layer));
        let costs = costs.filter(|cost| cost.share.mean > 0.0);
        let parts = costs.map(|cost| (colours.slot(&cost.layer), cost.share.mean, cost.layer.clone()));
        let bar = Bar { parts: parts.collect(), most: 1.0 };
        let sum = Some(sum(test)).filter(|sum| *sum > 0.0);
        table.row([Cell::from(&test.name), Cell::of_bar(bar), or_dash(sum, brief).into()]);
    }
    let samples = tests.iter().filter_map(|test| test.layers.as_ref()).map(|layers| layers.samples);
    let samples = samples.fold(0, u64::saturating_add);
    "One I/O's clocks by layer".clone_into(&mut table.heading);
    table.caption = format!("{} samples; each bar is the whole of one I/O's clocks.", count(samples));
    table
}

fn sum(test: &IolatTest) -> f64 {
    test.layer_costs.iter().map(|cost| cost.clocks.mean).sum()
}

/// The shares of the direct and of the cached tests together: what the screen of 2008 showed.
fn shares(iolat: &Iolat) -> Table {
    let mut table = Table::new(vec![Column::words("layer")]);
    let heads = iolat.profiles.iter().map(|profile| Column::number(format!("{} %", profile.name)));
    table.columns.extend(heads);
    "Shares, as the tool of 2008 printed them".clone_into(&mut table.heading);
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in iolat.profiles.iter().flat_map(|profile| &profile.shares) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        let cells = iolat.profiles.iter().map(|profile| {
            let found = profile.shares.iter().find(|(layer, _)| layer == name);
            found.map_or_else(|| Cell::from("-"), |(_, of)| share(*of))
        });
        table.row(std::iter::once(Cell::from(name)).chain(cells));
    }
    table
}

/// Clocks per I/O of each layer in each test, the most expensive layer first.
fn by_test(tests: &[&IolatTest], direct: bool) -> Table {
    let mut table = Table::new(vec![Column::words(if direct { "direct" } else { "cached" })]);
    let heads = tests.iter().map(|test| Column::number(format!("{} {}", test.bytes, test.direction.name())));
    table.columns.extend(heads);
    "Clocks per I/O".clone_into(&mut table.heading);
    let mut names: Vec<(&String, f64)> = Vec::new();
    for cost in tests.iter().flat_map(|test| &test.layer_costs) {
        match names.iter_mut().find(|(name, _)| **name == cost.layer) {
            Some((_, sum)) => *sum += cost.clocks.mean,
            None => names.push((&cost.layer, cost.clocks.mean)),
        }
    }
    names.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (name, _) in names {
        let cells = tests.iter().map(|test| test.layer_cost(name));
        let cells = cells.map(|cost| cost.map_or_else(|| Cell::from("-"), |cost| clocks(cost.clocks)));
        table.row(std::iter::once(Cell::from(name)).chain(cells));
    }
    let sums = tests.iter().map(|test| brief(sum(test).round()));
    table.sums.push(Row::of(std::iter::once("SUM, clocks".to_owned()).chain(sums)));
    table
}

/// Quality of the profile: samples, totals, what stayed unclassified, what it cost.
fn quality(iolat: &Iolat, section: &mut Section) {
    let layers: Vec<&Layers> = iolat.tests.iter().filter_map(|test| test.layers.as_ref()).collect();
    let Some(first) = layers.first() else { return };
    let samples = layers.iter().map(|layers| layers.samples).fold(0, u64::saturating_add);
    let lost = layers.iter().map(|layers| layers.lost).fold(0, u64::saturating_add);
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
    section.fact("layers", format!(
        "{} samples, {}; {exact}, samples only split them; {} % unclassified (14 to 15 % in 2008), {} % inferred from a \
         caller; sampling cost {} % of the CPU time; {clock}",
        brief(samples as f64),
        if lost == 0 { "none lost".to_owned() } else { format!("{} LOST", brief(lost as f64)) },
        share_of_samples(mean(|layers| layers.quality.unclassified)),
        share_of_samples(mean(|layers| layers.quality.inferred)),
        percent(mean(|layers| layers.sampling_cost)),
    ));
    section.page(Block::Fact("totals".to_owned(), first.clocks.how.clone()));
}

/// Functions of the direct tests together; on a page functions and stacks of each test, all but the first folded.
fn profiles(iolat: &Iolat, colours: &Colours<'_>) -> Section {
    let mut section = Section::new("profiles", "Profiles", "Functions and stacks");
    if let Some(first) = iolat.profiles.first() {
        let rows = first.functions.iter().take(FUNCTIONS);
        let rows = rows.map(|row| [&row.name, &count(row.samples), &row.layer, &row.kind].map(Cell::from));
        section.put(Block::Table(functions(&format!("function, {} tests", first.name), rows)));
    }
    for test in &iolat.tests {
        let Some(layers) = &test.layers else { continue };
        let mut own = Section::default();
        own.blocks.extend(
            flame::figure(layers, colours, &crate::pages::layers::measured(layers))
                .map(|drawn| (To::All, drawn)),
        );
        let rows = layers.functions.iter().take(FUNCTIONS);
        let rows = rows.map(|row| [&row.name, &count(row.samples), &row.layer, &row.kind].map(Cell::from));
        own.put(Block::Table(functions("function", rows)));
        if std::ptr::eq(test, &raw const iolat.tests[0]) {
            section.page(Block::Heading(plain(&test.name))).blocks.extend(own.on_page().blocks);
        } else {
            section.page(Block::Fold(plain(&test.name), own));
        }
    }
    section
}

fn functions(head: &str, rows: impl Iterator<Item = [Cell; 4]>) -> Table {
    let [words, number] = [Column::words, Column::number];
    let mut table = Table::new(vec![words(head), number("samples"), words("layer"), words("kind")]);
    table.rows = rows.map(Row::of).collect();
    table
}
