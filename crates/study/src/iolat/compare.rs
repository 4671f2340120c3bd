//! What changed against the reference, by test and by layer, and is it more than chance?
//!
//! A saved run has clocks per I/O with intervals, so that a change of a kernel or a driver shows in the layer it was
//! made in. A machine that runs slower today slows all layers alike: the median of them is its pace, and what is said to
//! have moved has moved with the pace and without it. A published table has only shares, of all its direct tests
//! together, and it is of another machine.

use iostack_model::answers::{
    Iolat, IolatComparison, IolatTest, LayerChange, LayerMapping, Moved, PublishedRun, PublishedTable,
    TestChange,
};
use iostack_model::{Interval, Storage};
use iostack_stats::{ComparisonRow, Judgement, Unit, compare_figure, difference, stands_out};

use super::gather;

/// Layers that cost less than this share, here and there, are not compared.
const SMALLEST_SHARE: f64 = 0.002;

/// This run against one that was saved.
pub(crate) fn with_saved(here: &Iolat, there: &Iolat, name: &str) -> IolatComparison {
    let pairs: Vec<(&IolatTest, &IolatTest)> =
        here.tests.iter().filter_map(|test| there.test(&test.name).map(|other| (test, other))).collect();
    let (layers, pace) = saved_layers(&pairs);
    let rates: Vec<[ComparisonRow; 2]> = pairs
        .iter()
        .map(|(test, other)| both(&test.name, Unit::PerSecond, other.iops, test.iops, 1.0 / pace))
        .collect();
    let change = |((test, other), rows): (&(&IolatTest, &IolatTest), &[ComparisonRow; 2])| TestChange {
        name: test.name.clone(),
        reference: other.iops,
        reference_request_ns: other.request.mean,
        change_percent: Interval {
            mean: rows[0].change_percent,
            low: rows[0].change_percent_low,
            high: rows[0].change_percent_high,
            samples: test.iops.samples.min(other.iops.samples),
        },
        moved: moved(rows, rates.len()),
    };
    let tests: Vec<TestChange> = pairs.iter().zip(&rates).map(change).collect();
    let another_machine = here.machine.cpu.model != there.machine.cpu.model
        || here.machine.cpu.cores_online != there.machine.cpu.cores_online
        || devices(&here.storage) != devices(&there.storage);
    IolatComparison {
        name: name.to_owned(),
        source: format!("a saved run of {} by iostack {}", there.target, there.iostack),
        published: false,
        another_machine,
        conditions: conditions(here, there).into_iter().chain(pace_told(pace)).collect(),
        slower: tests.iter().any(|test| test.moved == Moved::Worse),
        layers,
        tests,
        mapping: Vec::new(),
    }
}

/// The figure here against the one there, and against what the one there would be at today's pace. Rates are better
/// when higher, clocks when lower.
fn both(name: &str, unit: Unit, there: Interval, here: Interval, pace: f64) -> [ComparisonRow; 2] {
    let paced = Interval { mean: there.mean * pace, low: there.low * pace, high: there.high * pace, ..there };
    [there, paced].map(|there| compare_figure(name, unit, there, here, unit == Unit::PerSecond))
}

/// Beyond the interval of the change, beyond what so many figures would show by chance, and so with the machine's pace
/// taken out, too.
fn moved(both: &[ComparisonRow; 2], rows: usize) -> Moved {
    let [plain, paced] = both.each_ref().map(|row| match row.verdict {
        Judgement::Better if stands_out(row, rows) => Moved::Better,
        Judgement::Worse if stands_out(row, rows) => Moved::Worse,
        Judgement::Same => Moved::Same,
        _ => Moved::Unclear,
    });
    match (plain, paced) {
        (plain, paced) if plain == paced => plain,
        (Moved::Same, _) | (_, Moved::Same) => Moved::Same,
        _ => Moved::Unclear,
    }
}

/// The median layer's clocks here over those of then; 1 where no layer has clocks on both sides.
fn pace(changes: &[LayerChange]) -> f64 {
    let ratio = |change: &LayerChange| {
        let (there, here) = (change.reference_clocks?.mean, change.clocks?.mean);
        (there > 0.0 && here > 0.0).then(|| here / there)
    };
    let mut ratios: Vec<f64> = changes.iter().filter_map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    if ratios.is_empty() { 1.0 } else { (ratios[(ratios.len() - 1) / 2] * ratios[ratios.len() / 2]).sqrt() }
}

/// Paces nearer than this to 1 are not told.
const PACE_TOLD: f64 = 0.03;

fn pace_told(pace: f64) -> Option<String> {
    let percent = (pace - 1.0) * 100.0;
    let less = if percent < 0.0 { "fewer" } else { "more" };
    ((pace - 1.0).abs() >= PACE_TOLD).then(|| {
        format!(
            "pace: the median layer takes {:.0} % {less} clocks here; only what differs beyond that is told",
            percent.abs()
        )
    })
}

/// The layers, the largest change first, and the machine's pace by them.
fn saved_layers(pairs: &[(&IolatTest, &IolatTest)]) -> (Vec<LayerChange>, f64) {
    let nothing = Interval::exact(0.0);
    let mut changes: Vec<LayerChange> = Vec::new();
    for (test, other) in pairs {
        if test.layer_costs.is_empty() || other.layer_costs.is_empty() {
            continue;
        }
        let theirs = other.layer_costs.iter().filter(|cost| test.layer_cost(&cost.layer).is_none());
        for cost in test.layer_costs.iter().chain(theirs) {
            let find = |test: &IolatTest| {
                test.layer_cost(&cost.layer).map_or((nothing, nothing), |cost| (cost.clocks, cost.share))
            };
            let ((clocks, share), (before, share_before)) = (find(test), find(other));
            if share.mean.max(share_before.mean) < SMALLEST_SHARE {
                continue;
            }
            changes.push(LayerChange {
                test: test.name.clone(),
                layer: cost.layer.clone(),
                reference_clocks: Some(before),
                clocks: Some(clocks),
                reference_share: Some(share_before),
                share,
                clocks_change: Some(difference(clocks, before)),
                moved: Moved::Unclear,
            });
        }
    }
    let (rows, pace) = (changes.len(), pace(&changes));
    for change in &mut changes {
        if let (Some(there), Some(here)) = (change.reference_clocks, change.clocks) {
            change.moved = moved(&both(&change.layer, Unit::Count, there, here, pace), rows);
        }
    }
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)));
    (changes, pace)
}

fn size(change: &LayerChange) -> f64 {
    change.clocks_change.map_or(change.share.mean, |change| change.mean.abs())
}

fn devices(storage: &Storage) -> Vec<(&str, Option<&str>)> {
    storage.devices.iter().map(|device| (device.driver.as_str(), device.model.as_deref())).collect()
}

/// Conditions that differ, to know before a difference is taken for a change of the software.
fn conditions(here: &Iolat, there: &Iolat) -> Vec<String> {
    let text = |name: Option<&str>| name.filter(|name| !name.is_empty()).unwrap_or("none").to_owned();
    let of_devices = |iolat: &Iolat| {
        let names = devices(&iolat.storage).into_iter().map(|(driver, model)| model.unwrap_or(driver).trim());
        names.collect::<Vec<_>>().join(" on ")
    };
    let mitigations = |iolat: &Iolat| {
        let all = iolat.machine.kernel.mitigations.iter();
        all.map(|(name, state)| format!("{name}: {state}")).collect::<Vec<_>>().join("; ")
    };
    let of = |iolat: &Iolat| {
        let (cpu, kernel, storage) = (&iolat.machine.cpu, &iolat.machine.kernel, &iolat.storage);
        [
            ("processor", cpu.model.clone()),
            ("CPUs", cpu.cores_online.to_string()),
            ("kernel", kernel.release.clone()),
            ("clock source", kernel.clock_source.clone()),
            ("mitigations", mitigations(iolat)),
            ("storage", of_devices(iolat)),
            ("file system", text(storage.file_system.as_ref().map(|fs| fs.kind.as_str()))),
            ("scheduler", text(storage.bottom().map(|device| device.queue.scheduler.as_str()))),
            ("scratch file", iolat.scratch.as_ref().map(|one| one.size.to_string()).unwrap_or_default()),
            ("rung", text(iolat.ladder.reached().map(|state| state.rung.name()))),
            ("iostack", iolat.iostack.clone()),
        ]
    };
    let both = of(there).into_iter().zip(of(here)).filter(|(there, here)| there != here);
    both.map(|((what, there), (_, here))| {
        format!("{what}: {} there, {} here", text(Some(&there)), text(Some(&here)))
    })
    .collect()
}

/// This run against a published table.
pub(crate) fn with_published(here: &Iolat, table: &PublishedTable) -> IolatComparison {
    let tests: Vec<TestChange> = here.tests.iter().filter_map(|test| published_test(test, table)).collect();
    IolatComparison {
        name: table.name.clone(),
        source: format!("{}; machine: {}", table.source, table.machine),
        published: true,
        another_machine: true,
        conditions: in_flight(table),
        slower: tests.iter().any(|test| test.moved == Moved::Worse),
        layers: published_layers(here, table),
        tests,
        mapping: table.mapping.clone(),
    }
}

/// The published figure is the mean of the printed screens, its ends are their extremes: no interval was printed, so
/// only ours is there to go beyond them.
fn published_test(test: &IolatTest, table: &PublishedTable) -> Option<TestChange> {
    let printed: Vec<_> = table
        .runs
        .iter()
        .flat_map(|run| &run.tests)
        .filter(|row| row.name == test.name && row.bytes == test.bytes.0 && row.direct == test.direct)
        .collect();
    let reference = extremes(printed.iter().map(|row| row.iops))?;
    let request = extremes(printed.iter().map(|row| row.request_ms * 1e6))?;
    let percent = |here: f64, there: f64| (here / there - 1.0) * 100.0;
    let change_percent = Interval {
        mean: percent(test.iops.mean, reference.mean),
        low: percent(test.iops.low, reference.high),
        high: percent(test.iops.high, reference.low),
        samples: test.iops.samples,
    };
    let moved = match change_percent {
        change if change.samples < 3 => Moved::Unclear,
        change if change.high < 0.0 => Moved::Worse,
        change if change.low > 0.0 => Moved::Better,
        _ => Moved::Same,
    };
    Some(TestChange {
        name: test.name.clone(),
        reference,
        reference_request_ns: request.mean,
        change_percent,
        moved,
    })
}

fn extremes(values: impl Iterator<Item = f64>) -> Option<Interval> {
    let values: Vec<f64> = values.collect();
    let count = values.len();
    (count > 0).then(|| Interval {
        mean: values.iter().sum::<f64>() / count as f64,
        low: values.iter().copied().fold(f64::INFINITY, f64::min),
        high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        // Below 3 whatever was printed: these ends are no interval of confidence.
        samples: count.min(2) as u32,
    })
}

/// Little's law on the printed figures: they were not made with one request in flight, as ours are.
fn in_flight(table: &PublishedTable) -> Vec<String> {
    let rows = table.runs.iter().flat_map(|run| &run.tests);
    let Some(depth) = extremes(rows.map(|row| row.iops * row.request_ms / 1e3)) else { return Vec::new() };
    if depth.low < 1.5 {
        return Vec::new();
    }
    vec![format!(
        "requests in flight: {:.0} to {:.0} there (printed IOPS times printed request time), 1 here",
        depth.low, depth.high
    )]
}

fn published_layers(here: &Iolat, table: &PublishedTable) -> Vec<LayerChange> {
    let Some(profile) = here.profile("direct") else { return Vec::new() };
    let names =
        gather::distinct(table.runs.iter().flat_map(|run| &run.layers).map(|(name, _)| name.as_str()));
    let ours_of = |theirs: &str| table.mapping.iter().find(|mapping| mapping.theirs == theirs);
    let share_of = |mapping: Option<&LayerMapping>| {
        let mine = mapping.map_or(&[][..], |mapping| &mapping.ours);
        gather::sum(
            profile.shares.iter().filter(|(name, _)| mine.contains(name)).map(|(_, share)| (*share, 1.0)),
        )
    };
    let change = |layer: &str, reference: Option<Interval>, share: Interval| LayerChange {
        test: "direct tests".to_owned(),
        layer: layer.to_owned(),
        reference_clocks: None,
        clocks: None,
        reference_share: reference,
        share,
        clocks_change: None,
        moved: Moved::Unclear,
    };
    let mut changes: Vec<LayerChange> = names
        .iter()
        .map(|name| {
            let printed = |run: &PublishedRun| {
                run.layers.iter().find(|(layer, _)| layer == name).map(|(_, p)| p / 100.0)
            };
            change(name, extremes(table.runs.iter().filter_map(printed)), share_of(ours_of(name)))
        })
        .collect();
    let mapped = |name: &String| table.mapping.iter().any(|mapping| mapping.ours.contains(name));
    let rest = profile.shares.iter().filter(|(name, share)| !mapped(name) && share.mean >= SMALLEST_SHARE);
    changes.extend(rest.map(|(name, share)| change(name, None, *share)));
    changes
}
