//! Which layer takes the time, and what did a change move?
//!
//! The page of `iostack iolat`: the tests as bars, the clocks of an I/O split by layer for each test, the comparison, and
//! for each test its functions and stacks. Start reading at [`page`].

use std::fmt::Write as _;

use iostack_model::{
    Interval, Iolat, IolatComparison, IolatTest, LayerChange, LayerCost, Layers, Moved, TestChange,
};

use super::bars::{Bar, Bars, Column, Row};
use super::flame;
use super::inventory;
use super::layers::Colours;
use super::numbers::{NOTHING, Quantity, date, grouped, significant};
use super::page::{Section, document};
use super::sheet::{Sheet, span};
use super::stages::{notes, percent};
use super::table::{pairs, table, with_interval};
use super::{escape, ladder, raw};

/// Functions shown for each test.
const FUNCTIONS: usize = 16;

/// The page.
pub(super) fn page(iolat: &Iolat) -> String {
    let mut sheet = Sheet::new(&iolat.machine);
    let everything = everything(iolat);
    let mut sections = vec![Section::new("tests", "Tests", "The tests", tests(iolat, &mut sheet))];
    if let Some(everything) = &everything {
        let colours = Colours::of(everything);
        let body = stacked(iolat, everything, &colours, &sheet) + &shares(iolat);
        sections.push(Section::new("layers", "Layers", "Where the clocks went", body));
        let body = profiles(iolat, &colours, &sheet);
        sections.push(Section::new("profiles", "Profiles", "Functions and stacks of each test", body));
    } else {
        let why = iolat.layers_missing.as_deref().unwrap_or("no test was made");
        let body = format!("<p class=\"note\">No layers: {}</p>", escape::text(why));
        sections.push(Section::new("layers", "Layers", "Where the clocks went", body));
    }
    if let Some(against) = &iolat.comparison {
        let title = format!("Against {}", against.name);
        sections.insert(1, Section::new("against", "Against", &title, comparison(against)));
    }
    let inventory = inventory::section(&iolat.machine, &iolat.storage, &iolat.target);
    sections.push(Section::new("inventory", "Inventory", "What was measured on", inventory));
    sections.push(Section::new("ladder", "Ladder", "What may be measured here", ladder::body(&iolat.ladder)));
    sections.push(Section::new("doubts", "Doubts", "Why to doubt it, and what to do", sheet.doubts.list()));
    sections.push(Section::new("method", "Method", "How it was measured", method(iolat)));
    let title = format!("iostack iolat of {}", iolat.target);
    document(&title, &header(iolat), &sections, &sheet, &raw::attribution(None, everything.as_ref()))
}

/// All profiles as one, for colours and the raw data: a layer has one colour on the whole page.
fn everything(iolat: &Iolat) -> Option<Layers> {
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

fn header(iolat: &Iolat) -> String {
    format!(
        "<p class=\"kicker\"><b>iostack iolat</b> · {} · {} · iostack {}</p><h1>{}</h1>{}",
        escape::text(&iolat.target.to_string()),
        date(iolat.started_unix_ms),
        escape::text(&iolat.iostack),
        escape::text(&answer(iolat)),
        if iolat.interrupted {
            "<p class=\"note\">Interrupted: the figures are of the rounds until then.</p>"
        } else {
            ""
        }
    )
}

/// What was found, in a sentence or two.
fn answer(iolat: &Iolat) -> String {
    let Some(first) = iolat.tests.first() else { return "No test was made".to_owned() };
    let mut text = format!("{}: {} IOPS", plain(&first.name), Quantity::Count.show(first.iops.mean));
    if let Some((layer, share)) = iolat.profiles.first().and_then(|profile| profile.shares.first()) {
        write!(text, "; most clocks go into {layer}: {}", percent(share.mean))
            .expect("a string takes everything");
    }
    let Some(against) = iolat.comparison.as_ref().filter(|against| !against.another_machine) else {
        return text;
    };
    let slower: Vec<&TestChange> = against.tests.iter().filter(|test| test.moved == Moved::Worse).collect();
    match slower.first() {
        Some(worst) => format!(
            "Slower than {}: {} {}",
            against.name,
            plain(&worst.name),
            change(worst.change_percent.mean)
        ),
        None => format!("{text}. Not slower than {} beyond the intervals", against.name),
    }
}

/// `Small direct read`.
fn plain(name: &str) -> String {
    name.replace('_', " ")
}

fn change(percent: f64) -> String {
    if percent.abs() >= 9.95 { format!("{percent:+.0}\u{202f}%") } else { format!("{percent:+.1}\u{202f}%") }
}

fn tests(iolat: &Iolat, sheet: &mut Sheet) -> String {
    let kinds = [("Direct", true), ("Through the page cache", false)];
    let mut groups = Vec::new();
    for (name, direct) in kinds {
        let rows: Vec<Row> = iolat
            .tests
            .iter()
            .filter(|test| test.direct == direct)
            .map(|test| row(iolat, test, sheet))
            .collect();
        if !rows.is_empty() {
            groups.push((name.to_owned(), rows));
        }
    }
    let rounds = iolat.tests.iter().map(|test| test.rounds.len()).max().unwrap_or(0);
    let ios: u64 = iolat.tests.iter().map(|test| test.ios).sum();
    let measured = format!(
        "{} I/Os, one in flight, in {rounds} rounds of each test; whisker and ±: 95 % interval of the mean over the \
         rounds; spread: from the slowest round to the fastest",
        grouped(ios)
    );
    let column = |label: &'static str, quantity| Column { label, quantity, parts: &[], most: None };
    Bars {
        of: "test".to_owned(),
        columns: vec![
            column("IOPS (I/Os per second)", Quantity::Count),
            column("mean time of a request", Quantity::Nanos),
        ],
        details: vec!["spread", "clocks / I/O", "fdatasync", "+/-"],
        groups,
        caption: sheet.note(&measured),
    }
    .figure()
        + &foreign(iolat)
}

fn row(iolat: &Iolat, test: &IolatTest, sheet: &mut Sheet) -> Row {
    let against = iolat.comparison.iter().flat_map(|against| &against.tests);
    let change_of = against.clone().find(|change| change.name == test.name);
    let nothing = || NOTHING.to_owned();
    Row {
        name: test.name.clone(),
        slot: usize::from(test.name.contains("write")),
        bars: vec![Bar::whole(test.iops), Bar::whole(test.request)],
        details: vec![
            format!("{:.0}\u{202f}%", test.spread() * 100.0),
            if test.clocks.mean > 0.0 { grouped(test.clocks.mean as u64) } else { nothing() },
            if test.sync.count > 0 { Quantity::Nanos.show(test.sync.mean_ns()) } else { nothing() },
            change_of.map_or_else(nothing, |one| format!("{:+.0}\u{202f}%", one.change_percent.mean)),
        ],
        doubts: sheet.doubts.note(&test.caveats, &test.name),
    }
}

/// The mark of a comparison with another machine.
fn foreign(iolat: &Iolat) -> String {
    let Some(against) = iolat.comparison.as_ref().filter(|against| against.another_machine) else {
        return String::new();
    };
    format!(
        "<p class=\"doubtline\"><b>Another machine.</b> The column +/- is against {}: the difference of two machines, \
         not of a change.</p>",
        escape::text(&against.name)
    )
}

/// One bar a test, split by layer, and the numbers below.
fn stacked(iolat: &Iolat, everything: &Layers, colours: &Colours<'_>, sheet: &Sheet) -> String {
    let tests: Vec<&IolatTest> = iolat.tests.iter().filter(|test| !test.layer_costs.is_empty()).collect();
    let whole = |test: &IolatTest| test.layer_costs.iter().map(|cost| cost.clocks.mean).sum::<f64>();
    let order: Vec<&str> = everything.rows.iter().map(|row| row.layer.as_str()).collect();
    let swatches: String = colours
        .named()
        .iter()
        .map(|layer| {
            format!("<span class=\"swatch s{}\">{}</span>", colours.slot(layer), escape::text(layer))
        })
        .collect();
    let mut rows = String::new();
    for test in &tests {
        let sum = whole(test);
        let mut from = 0.0;
        let mut parts = String::new();
        for layer in &order {
            let Some(cost) = test.layer_cost(layer).filter(|cost| cost.share.mean > 0.0) else { continue };
            write!(
                parts,
                "<g class=\"s{}\"><rect x=\"{:.2}%\" y=\"1\" width=\"{:.2}%\" height=\"18\"><title>{}: {}</title></rect></g>",
                colours.slot(layer),
                from * 100.0,
                cost.share.mean * 100.0,
                escape::text(layer),
                percent(cost.share.mean)
            )
            .expect("a string takes everything");
            from += cost.share.mean;
        }
        write!(
            rows,
            "<tr><th>{name}</th><td class=\"bar\"><svg width=\"100%\" height=\"20\" role=\"img\" \
             aria-label=\"{name} by layer\">{parts}</svg></td><td class=\"number\">{clocks}</td></tr>",
            name = escape::text(&test.name),
            clocks = if sum > 0.0 { grouped(sum.round() as u64) } else { NOTHING.to_owned() },
        )
        .expect("a string takes everything");
    }
    let samples: u64 =
        tests.iter().filter_map(|test| test.layers.as_ref()).map(|layers| layers.samples).sum();
    let caption = format!("{} samples; each bar is the whole of one I/O's clocks", grouped(samples));
    format!(
        "<figure class=\"bars\"><h4>One I/O's clocks by layer</h4><div class=\"swatches\">{swatches}</div>\
         <div class=\"scroll\"><table><thead><tr><th>test</th><th></th><th class=\"number\">clocks per I/O</th></tr></thead>\
         <tbody>{rows}</tbody></table></div><figcaption>{}</figcaption></figure>{}",
        sheet.note(&caption),
        numbers(&tests, &order)
    )
}

/// Clocks per I/O of each layer in each test, with intervals.
fn numbers(tests: &[&IolatTest], order: &[&str]) -> String {
    let names: Vec<String> = tests.iter().map(|test| escape::text(&plain(&test.name))).collect();
    let mut heads = vec!["layer"];
    heads.extend(names.iter().map(String::as_str));
    let cell = |cost: Option<&LayerCost>| {
        cost.map_or_else(|| NOTHING.to_owned(), |cost| with_interval(Quantity::Count, cost.clocks))
    };
    let rows: Vec<Vec<String>> = order
        .iter()
        .map(|layer| {
            let mut row = vec![escape::text(layer)];
            row.extend(tests.iter().map(|test| cell(test.layer_cost(layer))));
            row
        })
        .collect();
    format!("<h3>Clocks per I/O</h3>{}", table(&heads, &rows))
}

/// The shares of the direct and of the cached tests together: what the screen of 2008 showed.
fn shares(iolat: &Iolat) -> String {
    let columns: Vec<String> = iolat
        .profiles
        .iter()
        .map(|profile| {
            let rows: Vec<Vec<String>> = profile
                .shares
                .iter()
                .map(|(layer, share)| vec![escape::text(layer), share_text(*share)])
                .collect();
            let head = format!("share, {} tests", escape::text(&profile.name));
            format!("<div>{}</div>", table(&["layer", &head], &rows))
        })
        .collect();
    format!("<h3>Shares, as the tool of 2008 printed them</h3><div class=\"two\">{}</div>", columns.concat())
}

fn share_text(share: Interval) -> String {
    let mean = share.mean * 100.0;
    if share.samples < 3 {
        return format!("{mean:.2}\u{202f}%");
    }
    format!("{mean:.2} <small>±{:.2}</small>\u{202f}%", (share.high - share.low) / 2.0 * 100.0)
}

/// Behind a fold for each test but the first: functions and stacks.
fn profiles(iolat: &Iolat, colours: &Colours<'_>, sheet: &Sheet) -> String {
    let mut out = String::new();
    for (index, test) in iolat.tests.iter().enumerate() {
        let Some(layers) = &test.layers else { continue };
        let open = if index == 0 { " open=\"open\"" } else { "" };
        let rows: Vec<Vec<String>> = layers
            .functions
            .iter()
            .take(FUNCTIONS)
            .map(|row| {
                vec![
                    escape::text(&row.name),
                    grouped(row.samples),
                    escape::text(&row.layer),
                    escape::text(&row.kind),
                ]
            })
            .collect();
        write!(
            out,
            "<details{open}><summary>{}</summary>{}{}</details>",
            escape::text(&test.name),
            flame::figure(layers, colours, sheet),
            table(&["function", "samples", "layer", "kind"], &rows)
        )
        .expect("a string takes everything");
    }
    out
}

fn comparison(against: &IolatComparison) -> String {
    let rows: Vec<Vec<String>> = against
        .tests
        .iter()
        .map(|test| {
            vec![
                escape::text(&test.name),
                Quantity::Count.show(test.reference.mean),
                Quantity::Nanos.show(test.reference_request_ns),
                change(test.change_percent.mean),
                format!("{} to {}", change(test.change_percent.low), change(test.change_percent.high)),
                word(test.moved, "faster", "slower").to_owned(),
            ]
        })
        .collect();
    let heads = ["test", "IOPS there", "request there", "change", "95 %", "it is"];
    let machine = if against.another_machine {
        "<p class=\"doubtline\"><b>Another machine.</b> A difference is that of two machines, not of a change.</p>"
    } else {
        ""
    };
    let layers = if against.published { published(against) } else { saved(against) };
    format!(
        "<p>{}</p>{machine}{}{}{layers}",
        escape::text(&against.source),
        notes(&against.conditions),
        table(&heads, &rows)
    )
}

fn word(moved: Moved, better: &'static str, worse: &'static str) -> &'static str {
    match moved {
        Moved::Better => better,
        Moved::Worse => worse,
        other => other.name(),
    }
}

/// Shares beside those printed, and how the layers of then are read.
fn published(against: &IolatComparison) -> String {
    let rows: Vec<Vec<String>> = against
        .layers
        .iter()
        .map(|layer| {
            let mapping = against.mapping.iter().find(|mapping| mapping.theirs == layer.layer);
            let ours = mapping.map_or_else(|| layer.layer.clone(), |mapping| mapping.ours.join(", "));
            let (theirs, there) = match layer.reference_share {
                Some(share) => (layer.layer.clone(), format!("{:.2}\u{202f}%", share.mean * 100.0)),
                None => ("(not printed)".to_owned(), NOTHING.to_owned()),
            };
            let why = mapping.map_or_else(String::new, |mapping| format!(": {}", mapping.why));
            vec![
                format!(
                    "{}<br/><small>{}{}</small>",
                    escape::text(&theirs),
                    escape::text(&ours),
                    escape::text(&why)
                ),
                there,
                share_text(layer.share),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let heads = [
        "layer of then<br/><small>our layers that hold the same work, and why</small>",
        "share there",
        "share here, direct tests",
    ];
    format!("<h3>By layer</h3>{}", table(&heads, &rows))
}

/// Every layer that was compared, the largest change first.
fn saved(against: &IolatComparison) -> String {
    if against.layers.is_empty() {
        return "<p class=\"note\">Layers were not measured in both.</p>".to_owned();
    }
    let clocks = |figure: Option<Interval>| {
        figure.map_or_else(|| NOTHING.to_owned(), |one| with_interval(Quantity::Count, one))
    };
    let by = |layer: &LayerChange| {
        layer.clocks_change.map_or_else(
            || NOTHING.to_owned(),
            |one| {
                let sign = if one.mean > 0.0 { "+" } else { "" };
                let reach = (one.high - one.low) / 2.0;
                let reach = if one.samples < 3 {
                    String::new()
                } else {
                    format!(" <small>±{}</small>", significant(reach))
                };
                format!("{sign}{}{reach}", significant(one.mean))
            },
        )
    };
    let rows: Vec<Vec<String>> = against
        .layers
        .iter()
        .map(|layer| {
            vec![
                format!(
                    "{} <small>{}</small>",
                    escape::text(&layer.layer),
                    escape::text(&plain(&layer.test))
                ),
                clocks(layer.reference_clocks),
                clocks(layer.clocks),
                by(layer),
                layer.reference_share.map_or_else(|| NOTHING.to_owned(), |share| percent(share.mean)),
                percent(layer.share.mean),
                word(layer.moved, "fewer", "more").to_owned(),
            ]
        })
        .collect();
    let heads = ["layer", "clocks per I/O there", "here", "change", "share there", "here", "beyond chance"];
    format!("<h3>By layer</h3>{}", table(&heads, &rows))
}

fn method(iolat: &Iolat) -> String {
    let scratch = iolat.scratch.as_ref().map_or("none: the target itself was used".to_owned(), |scratch| {
        format!("{}, {}", scratch.size, escape::text(&scratch.reason))
    });
    let list = pairs(&[
        ("Target", escape::text(&iolat.target.to_string())),
        ("Started", date(iolat.started_unix_ms)),
        ("Took", span(iolat.elapsed)),
        ("Seed", format!("{} (reproduces offsets and content)", iolat.seed)),
        ("Scratch file", scratch),
        ("Version", format!("iostack {}, schema {}", escape::text(&iolat.iostack), iolat.schema)),
    ]);
    let told = quality(iolat);
    format!("{list}{}{told}{METHOD}", notes(&iolat.notes))
}

/// What the profiles themselves say of their worth.
fn quality(iolat: &Iolat) -> String {
    let layers: Vec<&Layers> = iolat.tests.iter().filter_map(|test| test.layers.as_ref()).collect();
    let Some(first) = layers.first() else { return String::new() };
    let samples: u64 = layers.iter().map(|layers| layers.samples).sum();
    let mean = |of: fn(&Layers) -> f64| {
        let sum: f64 = layers.iter().map(|layers| of(layers) * layers.samples as f64).sum();
        if samples == 0 { 0.0 } else { sum / samples as f64 * 100.0 }
    };
    pairs(&[
        ("Totals", escape::text(&first.clocks.how)),
        (
            "Samples",
            format!("{}, {} lost", grouped(samples), layers.iter().map(|layers| layers.lost).sum::<u64>()),
        ),
        (
            "Unclassified",
            format!("{:.2}\u{202f}% (14 to 15 % in 2008)", mean(|layers| layers.quality.unclassified)),
        ),
        ("Inferred", format!("{:.2}\u{202f}%, from a caller", mean(|layers| layers.quality.inferred))),
        ("Sampling cost", format!("{:.1}\u{202f}% of the CPU time", mean(|layers| layers.sampling_cost))),
    ])
}

/// How the figures come about.
const METHOD: &str = "<p>Random requests of 4 096 and 131 072 bytes through psync, one thread, each waits for the one \
before it: nothing is batched or merged. Each round makes every test once, so that what drifts shows in the intervals \
rather than in one test. Clocks are the time-stamp counter's. CPU time is bracketed where it may be, and samples only \
split it by layer.</p>";
