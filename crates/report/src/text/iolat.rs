//! The screen of `iostack iolat`: what the tool of 2008 showed, and what it could not.

use std::mem::discriminant;

use iostack_model::{
    Caveat, Interval, Iolat, IolatComparison, IolatProfile, IolatTest, LayerChange, Moved, TestChange,
};

use super::WIDTH;
use super::format::{
    both_ends, brief, change, clean, cut, paragraph, percent, plus_minus, rate_of_any, significant,
};
use super::ladder::rung_line;
use super::notes::Notes;
use super::screen::{devices, host};

/// Functions told, as many as in 2008.
const FUNCTIONS: usize = 16;
/// Changed layers told; JSON and HTML have all.
const CHANGES: usize = 20;

/// The screen, also of a run that was cut short.
pub fn iolat(iolat: &Iolat) -> String {
    let mut notes = Notes::default();
    let parts = [
        head(iolat),
        tests(iolat, &mut notes),
        profile(iolat),
        by_test(iolat),
        iolat.comparison.as_ref().map_or_else(String::new, comparison),
        foot(iolat, &notes),
        next(iolat),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    clean(&parts.join("\n"))
}

fn head(iolat: &Iolat) -> String {
    let cut_short = if iolat.interrupted { ", INTERRUPTED" } else { "" };
    let mut text = both_ends(
        &format!("iostack iolat {}", iolat.target),
        &format!("{}, seed {}{cut_short}", iolat.elapsed, iolat.seed),
    );
    text += &paragraph("device     ", &devices(&iolat.storage));
    if let Some(system) = &iolat.storage.file_system {
        let scratch = iolat.scratch.as_ref();
        let scratch = scratch.map_or_else(String::new, |scratch| format!("; scratch file {}", scratch.size));
        text += &paragraph(
            "system     ",
            &format!("{} on {}{scratch}", system.kind, system.mount_point.display()),
        );
    }
    text + &paragraph("host       ", &host(&iolat.machine))
}

fn tests(iolat: &Iolat, notes: &mut Notes) -> String {
    if iolat.tests.is_empty() {
        return "no test was made\n".to_owned();
    }
    let against = iolat.comparison.as_ref();
    let mut text = format!(
        "{:<20}{:>6}{:>8}{:>7}{:>7}{:>9}{:>8}{:>7}\n",
        "TEST", "BYTES", "IOPS", "95 %", "spread", "request", "clocks", "+/-"
    );
    let foreign = if against.is_some_and(|against| against.another_machine) { "*" } else { "" };
    text += &format!("{:<48}{:>9}{:>8}{foreign:>7}\n", "", "ms", "per I/O");
    let common = common(&iolat.tests);
    let mark = notes.mark(common.iter().copied());
    for test in &iolat.tests {
        let change = against.and_then(|against| against.tests.iter().find(|change| change.name == test.name));
        let own = test.caveats.iter().filter(|caveat| !common.iter().any(|other| same_kind(other, caveat)));
        text += &test_row(test, change, &notes.mark(own));
    }
    if !mark.is_empty() {
        text += &format!("doubts     {mark} concern every test\n");
    }
    if let Some(against) = against {
        text += &plus_minus_line(against);
    }
    text + &syncs(iolat)
}

/// A caveat of each kind that every test has: told once, not in every row.
fn common(tests: &[IolatTest]) -> Vec<&Caveat> {
    let Some((first, others)) = tests.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Vec::new();
    };
    let everywhere = |caveat: &&Caveat| {
        others.iter().all(|test| test.caveats.iter().any(|other| same_kind(other, caveat)))
    };
    first.caveats.iter().filter(everywhere).collect()
}

fn same_kind(a: &Caveat, b: &Caveat) -> bool {
    discriminant(a) == discriminant(b)
}

fn test_row(test: &IolatTest, change: Option<&TestChange>, mark: &str) -> String {
    let difference = change.map_or_else(String::new, |change| whole_percent(change.change_percent.mean));
    let clocks = if test.clocks.mean > 0.0 { brief(test.clocks.mean) } else { "-".to_owned() };
    let row = format!(
        "{:<20}{:>6}{:>8}{:>7}{:>7}{:>9}{clocks:>8}{difference:>7}",
        cut(&test.name, 19),
        test.bytes.0,
        rate_of_any(test.iops.mean),
        plus_minus(test.iops),
        if test.rounds.len() < 2 { "-".to_owned() } else { format!("{:.0} %", test.spread() * 100.0) },
        milliseconds(test.request.mean),
    );
    match mark.len() {
        0 => row.trim_end().to_owned() + "\n",
        1..=7 => format!("{row} {mark}\n"),
        _ => format!("{}\n{mark:>WIDTH$}\n", row.trim_end()),
    }
}

/// As in 2008, five digits after the point.
fn milliseconds(ns: f64) -> String {
    format!("{:.5}", ns / 1e6)
}

/// `-85 %`, and `0 %` without a sign.
fn whole_percent(percent: f64) -> String {
    let rounded = percent.round();
    if rounded == 0.0 { "0 %".to_owned() } else { format!("{rounded:+.0} %") }
}

/// What the last column is held against; a comparison with another machine has its mark.
fn plus_minus_line(against: &IolatComparison) -> String {
    let machine = if against.another_machine {
        ": * ANOTHER MACHINE, so this is the difference of two machines, not of a change"
    } else {
        ""
    };
    paragraph("+/-        ", &format!("IOPS against {}{machine}", against.name))
}

/// What making data durable took, which is no part of a request's time.
fn syncs(iolat: &Iolat) -> String {
    let each = iolat.tests.iter().filter(|test| test.sync.count > 0).map(|test| {
        let mean = super::format::time(test.sync.mean_ns());
        format!("{mean} after {} writes of {}", test.sync_every, test.bytes)
    });
    let each: Vec<String> = each.collect();
    if each.is_empty() {
        return String::new();
    }
    paragraph("fdatasync  ", &format!("{}; counted in IOPS, not in the request", each.join(", ")))
}

/// Functions and layers side by side, as in 2008, and the cached tests beside the direct ones.
fn profile(iolat: &Iolat) -> String {
    let Some(first) = iolat.profiles.first() else { return String::new() };
    let second = iolat.profiles.get(1);
    let left = functions(first);
    let right = shares(first, second);
    let rows = left.len().max(right.len());
    let at = |side: &[String], row: usize| side.get(row).cloned().unwrap_or_default();
    (0..rows).fold(String::new(), |text, row| text + &format!("{:<37}{}\n", at(&left, row), at(&right, row)))
}

fn functions(profile: &IolatProfile) -> Vec<String> {
    let mut lines = vec![format!("{:>7} {:<28}", "SAMPLES", format!("FUNCTION, {} tests", profile.name))];
    let rows = profile.functions.iter().take(FUNCTIONS);
    lines.extend(rows.map(|row| format!("{:>7} {}", row.samples, cut(&row.name, 28))));
    lines
}

fn shares(first: &IolatProfile, second: Option<&IolatProfile>) -> Vec<String> {
    let head = |profile: &IolatProfile| format!("{:>13}", format!("{} %", profile.name));
    let mut lines = vec![format!("{:<16}{}{}", "LAYER", head(first), second.map_or_else(String::new, head))];
    let mut names: Vec<&str> = first.shares.iter().map(|(name, _)| name.as_str()).collect();
    for (name, _) in second.iter().flat_map(|profile| &profile.shares) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for name in names {
        let cell = |profile: &IolatProfile| {
            let found = profile.shares.iter().find(|(layer, _)| layer == name);
            format!("{:>13}", found.map_or_else(|| "-".to_owned(), |(_, share)| share_text(*share)))
        };
        lines.push(format!("{:<16}{}{}", cut(name, 16), cell(first), second.map_or_else(String::new, cell)));
    }
    lines
}

/// `28.35 ±0.51`, in percent.
fn share_text(share: Interval) -> String {
    let mean = share.mean * 100.0;
    if share.samples < 3 {
        return format!("{mean:.2}");
    }
    format!("{mean:.2} ±{:.2}", (share.high - share.low) / 2.0 * 100.0)
}

/// Clocks per I/O of each layer in each test.
fn by_test(iolat: &Iolat) -> String {
    let tests: Vec<&IolatTest> = iolat.tests.iter().filter(|test| !test.layer_costs.is_empty()).collect();
    let clocks = tests.iter().flat_map(|test| &test.layer_costs).any(|cost| cost.clocks.mean > 0.0);
    if !clocks {
        return String::new();
    }
    let line = |first: &str, cells: Vec<String>| {
        cells.iter().fold(format!("{first:<16}"), |text, cell| text + &format!("{cell:>8}")) + "\n"
    };
    let column = |of: fn(&IolatTest) -> String| tests.iter().map(|test| of(test)).collect::<Vec<_>>();
    let mut text =
        line("CLOCKS PER I/O", column(|test| if test.direct { "direct" } else { "cached" }.to_owned()));
    text += &line("", column(|test| test.bytes.to_string().replace(' ', "")));
    text += &line("", column(|test| test.direction.name().to_owned()));
    for name in names(&tests) {
        let cell = |test: &&IolatTest| {
            test.layer_cost(name).map_or_else(|| "-".to_owned(), |cost| short(cost.clocks.mean))
        };
        text += &line(&cut(name, 16), tests.iter().map(cell).collect());
    }
    text + &line("SUM", column(|test| short(test.layer_costs.iter().map(|cost| cost.clocks.mean).sum())))
}

/// The layers of all tests, the most expensive one first.
fn names<'a>(tests: &[&'a IolatTest]) -> Vec<&'a str> {
    let mut sums: Vec<(&str, f64)> = Vec::new();
    for cost in tests.iter().flat_map(|test| &test.layer_costs) {
        match sums.iter_mut().find(|(name, _)| *name == cost.layer) {
            Some((_, sum)) => *sum += cost.clocks.mean,
            None => sums.push((&cost.layer, cost.clocks.mean)),
        }
    }
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    sums.into_iter().map(|(name, _)| name).collect()
}

/// Whole clocks in at most seven characters.
fn short(clocks: f64) -> String {
    if clocks < 99_999.5 { brief(clocks.round()) } else { rate_of_any(clocks) }
}

fn comparison(against: &IolatComparison) -> String {
    let mut text = paragraph("AGAINST    ", &format!("{}: {}", against.name, against.source));
    for condition in &against.conditions {
        text += &paragraph("         - ", condition);
    }
    if against.tests.is_empty() {
        return text + "  no test in common\n";
    }
    text +=
        &format!("\n{:<20}{:>9}{:>9}{:>9}{:>18}{:>12}\n", "TEST", "there", "here", "change", "95 %", "it is");
    for test in &against.tests {
        text += &test_change(test, against);
    }
    let layers = if against.published { published_layers(against) } else { saved_layers(against) };
    if layers.is_empty() { text } else { format!("{text}\n{layers}") }
}

fn test_change(test: &TestChange, against: &IolatComparison) -> String {
    let here = test.reference.mean * (1.0 + test.change_percent.mean / 100.0);
    let ends = if test.change_percent.samples < 3 && !against.published {
        "-".to_owned()
    } else {
        format!("{} to {}", change(test.change_percent.low), change(test.change_percent.high))
    };
    let word = match test.moved {
        Moved::Better => "faster",
        Moved::Worse if against.another_machine => "slower",
        Moved::Worse => "SLOWER",
        other => other.name(),
    };
    format!(
        "{:<20}{:>9}{:>9}{:>9}{ends:>21}{word:>9}\n",
        cut(&test.name, 19),
        rate_of_any(test.reference.mean),
        rate_of_any(here),
        change(test.change_percent.mean)
    )
}

/// Shares side by side, with the names of then and now.
fn published_layers(against: &IolatComparison) -> String {
    if against.layers.is_empty() {
        return String::new();
    }
    let mut text =
        format!("{:<20}{:>8}{:>14}  {}\n", "LAYER, direct tests", "there %", "here %", "our layers");
    for layer in &against.layers {
        let mapping = against.mapping.iter().find(|mapping| mapping.theirs == layer.layer);
        let ours = mapping.map_or_else(|| layer.layer.clone(), |mapping| mapping.ours.join(" "));
        let (theirs, there) = match layer.reference_share {
            Some(share) => (layer.layer.as_str(), format!("{:.2}", share.mean * 100.0)),
            None => ("(not printed)", "-".to_owned()),
        };
        text += &format!(
            "{:<20}{there:>8}{:>14}  {}\n",
            cut(theirs, 19),
            share_text(layer.share),
            cut(&ours, 36)
        );
    }
    text
}

/// Only the layers that moved: what a change of the kernel or the driver did.
fn saved_layers(against: &IolatComparison) -> String {
    let moved: Vec<&LayerChange> =
        against.layers.iter().filter(|layer| matches!(layer.moved, Moved::Better | Moved::Worse)).collect();
    if against.layers.is_empty() {
        return "layers were not measured in both\n".to_owned();
    }
    if moved.is_empty() {
        let all = against.layers.len();
        return paragraph("layers     ", &format!("none of {all} moved beyond the intervals"));
    }
    let mut text = format!(
        "{:<20}{:<14}{:>8}{:>9}{:>9}{:>8}{:>6}{:>6}\n",
        "CLOCKS PER I/O", "layer", "there", "here", "change", "±", "was %", "is %"
    );
    for layer in moved.iter().take(CHANGES) {
        text += &saved_layer(layer);
    }
    if moved.len() > CHANGES {
        text += &format!("... and {} more\n", moved.len() - CHANGES);
    }
    text
}

fn saved_layer(layer: &LayerChange) -> String {
    let clocks = |interval: Option<Interval>| interval.map_or_else(|| "-".to_owned(), |one| short(one.mean));
    let (by, reach) = layer.clocks_change.map_or_else(
        || ("-".to_owned(), "-".to_owned()),
        |by| (signed(by.mean), if by.samples < 3 { "-".to_owned() } else { short((by.high - by.low) / 2.0) }),
    );
    format!(
        "{:<20}{:<14}{:>8}{:>9}{by:>9}{reach:>8}{:>6}{:>6}\n",
        cut(&layer.test, 19),
        cut(&layer.layer, 13),
        clocks(layer.reference_clocks),
        clocks(layer.clocks),
        layer.reference_share.map_or_else(|| "-".to_owned(), |share| percent(share.mean)),
        percent(layer.share.mean)
    )
}

fn signed(clocks: f64) -> String {
    format!("{}{}", if clocks < 0.0 { "-" } else { "+" }, short(clocks.abs()))
}

fn foot(iolat: &Iolat, notes: &Notes) -> String {
    let mut text = match &iolat.layers_missing {
        Some(why) => paragraph("no layers  ", why),
        None => String::new(),
    };
    text += &totals(iolat);
    text += &rung_line(&iolat.ladder);
    for note in &iolat.notes {
        text += &paragraph("  - ", note);
    }
    if !notes.is_empty() {
        text += &format!("NOTES\n{}", notes.text());
    }
    text
}

/// How the profile was made, and how good it is: samples, totals, what stayed unclassified, what it cost.
fn totals(iolat: &Iolat) -> String {
    let layers: Vec<_> = iolat.tests.iter().filter_map(|test| test.layers.as_ref()).collect();
    let Some(first) = layers.first() else { return String::new() };
    let samples: u64 = layers.iter().map(|layers| layers.samples).sum();
    let lost: u64 = layers.iter().map(|layers| layers.lost).sum();
    let mean = |figure: fn(&iostack_model::Layers) -> f64| {
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
    let text = format!(
        "{} samples, {}; {exact}, samples only split them; {} % unclassified (14 to 15 % in 2008), {} % inferred from a \
         caller; sampling cost {} % of the CPU time; {clock}",
        brief(samples as f64),
        if lost == 0 { "none lost".to_owned() } else { format!("{} LOST", brief(lost as f64)) },
        super::layers::share_of_samples(mean(|layers| layers.quality.unclassified)),
        super::layers::share_of_samples(mean(|layers| layers.quality.inferred)),
        percent(mean(|layers| layers.sampling_cost)),
    );
    paragraph("layers     ", &text)
}

fn next(iolat: &Iolat) -> String {
    let path = iolat.target.path.display();
    match &iolat.comparison {
        None => {
            format!("next: iostack iolat {path} --save-reference before.json    # then change something\n")
        }
        Some(against) if against.published => {
            format!("next: iostack iolat {path} --save-reference before.json\n")
        }
        Some(against) => {
            format!("next: iostack iolat {path} --against {}    # does it repeat?\n", against.name)
        }
    }
}
