//! Do the shipped references hold what was printed, and does a comparison say what it may and no more?

use iostack_model::answers::{Iolat, IolatRound, IolatTest, LayerCost, Moved};
use iostack_model::{
    Clocks, FunctionRow, Interval, LayerRow, Layers, Machine, Nanos, SCHEMA, StackRow, Storage,
};
use iostack_report::fixture;

use super::reference::{self, Reference};
use super::{compare, gather};

fn five(mean: f64, percent: f64) -> Interval {
    let half = mean * percent / 100.0;
    Interval { mean, low: mean - half, high: mean + half, samples: 5 }
}

/// A small direct read at this rate whose layers cost so many clocks.
fn run(iops: f64, percent: f64, layers: &[(&str, f64)]) -> Iolat {
    let total: f64 = layers.iter().map(|(_, clocks)| clocks).sum();
    let cost = |(layer, clocks): &(&str, f64)| LayerCost {
        layer: (*layer).to_owned(),
        clocks: five(*clocks, percent),
        share: five(clocks / total, percent),
    };
    let like: Iolat = fixture::answer("iolat");
    let tests = vec![IolatTest {
        rounds: vec![IolatRound::default(); 5],
        iops: five(iops, percent),
        request: five(1e9 / iops, percent),
        clocks: five(total, percent),
        layers: Some(profile(layers)),
        layer_costs: layers.iter().map(cost).collect(),
        ..like.test("Small_direct_read").expect("the fixture has all tests").clone()
    }];
    let (machine, storage) = (Machine::default(), Storage::default());
    Iolat { machine, storage, profiles: gather::profiles(&tests), tests, ..like }
}

/// 1000 I/Os at 1 GHz, so that a clock is a nanosecond.
fn profile(layers: &[(&str, f64)]) -> Layers {
    let row = |(layer, clocks): &(&str, f64)| LayerRow {
        layer: (*layer).to_owned(),
        meaning: String::new(),
        samples: *clocks as u64,
        time: Nanos((clocks * 1000.0) as u64),
        kinds: vec![("code".to_owned(), *clocks as u64)],
    };
    let rows: Vec<LayerRow> = layers.iter().map(row).collect();
    let words = |two: [&str; 2]| two.map(str::to_owned).to_vec();
    let [name, layer, kind] = ["submit_bio", "block", "code"].map(str::to_owned);
    Layers {
        elapsed: Nanos::secs(1),
        ios: Some(1000),
        tsc_hz: 1_000_000_000,
        clocks: Clocks {
            tasks: Nanos(rows.iter().map(|row| row.time.0).sum()),
            exact: true,
            ..Clocks::default()
        },
        samples: rows.iter().map(|row| row.samples).sum(),
        functions: vec![FunctionRow { name, layer, kind, samples: 7 }],
        stacks: vec![StackRow {
            frames: words(["read", "submit_bio"]),
            layers: words(["syscall", "block"]),
            samples: 7,
        }],
        rows,
        notes: vec!["one note".to_owned()],
        ..fixture::layers()
    }
}

const LAYERS: [(&str, f64); 4] =
    [("virtio", 6000.0), ("block", 2000.0), ("fs", 1500.0), ("scheduler", 1000.0)];

/// Sums over each printed screen: rates, request times in microseconds, and samples of functions.
const PRINTED: [(&str, &[[u64; 3]]); 2] = [
    ("scsi_ram", &[[211_817, 1_637, 14_077], [211_432, 1_328, 39_546]]),
    ("ata_ram", &[[184_686, 1_322, 6_354]]),
];

#[test]
fn the_shipped_tables_hold_what_the_screens_of_2008_printed_and_each_layer_is_mapped() {
    for (name, screens) in PRINTED {
        let table = reference::built_in(name).expect("shipped");
        let sums = table.runs.iter().map(|run| {
            let times: f64 = run.tests.iter().map(|test| test.request_ms * 1e3).sum();
            let iops: f64 = run.tests.iter().map(|test| test.iops).sum();
            [iops as u64, times.round() as u64, run.functions.iter().map(|(_, samples)| samples).sum()]
        });
        assert_eq!(sums.collect::<Vec<_>>(), screens, "{name}");
        for run in &table.runs {
            let tests: Vec<(&str, u64)> =
                run.tests.iter().map(|test| (test.name.as_str(), test.bytes)).collect();
            let direct: Vec<(&str, u64)> =
                super::plan::TESTS[..4].iter().map(|test| (test.name, test.bytes.0)).collect();
            assert!(tests == direct && run.tests.iter().all(|test| test.direct), "{tests:?}");
            let sum: f64 = run.layers.iter().map(|(_, percent)| percent).sum();
            assert!((sum - 100.0).abs() < 0.001, "{name}: {sum}");
            for (layer, _) in &run.layers {
                let mapped = table.mapping.iter().filter(|mapping| mapping.theirs == *layer).count();
                assert_eq!(mapped, 1, "{layer}");
            }
        }
        let mut ours: Vec<&String> = table.mapping.iter().flat_map(|mapping| &mapping.ours).collect();
        let count = ours.len();
        ours.sort();
        ours.dedup();
        assert_eq!(ours.len(), count, "{name}: a layer of ours is counted twice");
    }
}

#[test]
fn equal_runs_are_the_same_and_nothing_is_slower() {
    let here = run(13_000.0, 1.0, &LAYERS);
    let told = compare::with_saved(&here, &here, "before.json");
    assert!(!told.slower && !told.another_machine && !told.published);
    assert!(told.tests.iter().all(|test| test.moved == Moved::Same), "{:?}", told.tests);
    assert!(told.layers.iter().all(|layer| layer.moved == Moved::Same), "{:?}", told.layers);
    assert!(told.conditions.is_empty(), "{:?}", told.conditions);
}

#[test]
fn a_driver_that_costs_more_shows_in_its_layer_and_no_other() {
    let before = run(13_000.0, 0.5, &LAYERS);
    let after =
        run(11_500.0, 0.5, &[("virtio", 9000.0), ("block", 2000.0), ("fs", 1500.0), ("scheduler", 1000.0)]);
    let told = compare::with_saved(&after, &before, "before.json");
    assert!(told.slower && told.tests[0].moved == Moved::Worse, "{:?}", told.tests);
    assert_eq!(told.layers[0].layer, "virtio", "the largest change comes first");
    assert_eq!(told.layers[0].moved, Moved::Worse);
    let by = told.layers[0].clocks_change.expect("both have clocks");
    assert!((by.mean - 3000.0).abs() < 1e-6 && by.low > 2900.0 && by.high < 3100.0, "{by:?}");
    assert!(told.layers[1..].iter().all(|layer| layer.moved == Moved::Same), "{:?}", told.layers);
}

#[test]
fn a_machine_that_runs_slower_today_slows_all_layers_and_only_what_grows_beyond_is_told() {
    let at = |pace: f64, virtio: f64| {
        let layers = LAYERS.map(|(name, clocks)| (name, clocks * pace));
        let layers: Vec<_> =
            layers.map(|(name, clocks)| (name, clocks + if name == "virtio" { virtio } else { 0.0 })).into();
        run(13_000.0 / pace / (1.0 + virtio / 12_000.0), 0.5, &layers)
    };
    let told = compare::with_saved(&at(1.25, 0.0), &at(1.0, 0.0), "before.json");
    assert!(!told.slower && told.tests[0].moved == Moved::Same, "{:?}", told.tests);
    assert!(told.layers.iter().all(|layer| layer.moved == Moved::Same), "{:?}", told.layers);
    assert!(told.conditions[0].contains("25 % more clocks"), "{:?}", told.conditions);
    let told = compare::with_saved(&at(1.25, 3000.0), &at(1.0, 0.0), "before.json");
    assert!(told.slower && told.tests[0].moved == Moved::Worse, "{:?}", told.tests);
    let worse = told.layers.iter().filter(|layer| layer.moved == Moved::Worse);
    assert_eq!(worse.map(|layer| layer.layer.as_str()).collect::<Vec<_>>(), ["virtio"]);
    // A faster machine hides no layer that grew as much as the others shrank: it is where it was, and nothing is said.
    let told = compare::with_saved(&at(0.8, 1200.0), &at(1.0, 0.0), "before.json");
    assert!(!told.slower, "{:?}", told.tests);
    assert!(told.conditions[0].contains("20 % fewer clocks"), "{:?}", told.conditions);
}

#[test]
fn noise_is_not_a_change() {
    let before = run(13_000.0, 20.0, &LAYERS);
    let after = run(12_000.0, 20.0, &LAYERS);
    let told = compare::with_saved(&after, &before, "before.json");
    assert!(!told.slower && told.tests[0].moved == Moved::Unclear, "{:?}", told.tests);
}

#[test]
fn another_processor_is_another_machine_and_is_named() {
    let here = run(13_000.0, 1.0, &LAYERS);
    let mut there = here.clone();
    "Other".clone_into(&mut there.machine.cpu.model);
    "6.1".clone_into(&mut there.machine.kernel.release);
    let told = compare::with_saved(&here, &there, "x");
    assert!(told.another_machine);
    assert_eq!(told.conditions, ["processor: Other there, none here", "kernel: 6.1 there, none here"]);
}

#[test]
fn a_published_table_is_another_machine_with_its_layers_mapped() {
    let table = reference::built_in("scsi_ram").expect("shipped");
    let here =
        run(9_000.0, 1.0, &[("virtio", 6000.0), ("mm", 1000.0), ("pagecache", 500.0), ("user", 2500.0)]);
    let told = compare::with_published(&here, &table);
    assert!(told.another_machine && told.published && told.slower);
    let test = &told.tests[0];
    assert_eq!((test.reference.low, test.reference.high), (89_944.0, 90_044.0));
    assert!((test.change_percent.mean + 90.0).abs() < 0.1, "{test:?}");
    let share = |name: &str| told.layers.iter().find(|layer| layer.layer == name).expect("listed");
    let (driver, mm, user) = (share("scsi_ram_driver"), share("mm"), share("user"));
    assert!((driver.share.mean - 0.6).abs() < 1e-9 && (mm.share.mean - 0.15).abs() < 1e-9);
    let printed = driver.reference_share.expect("printed");
    assert!((printed.low - 0.277_452).abs() < 1e-9 && (printed.high - 0.283_545).abs() < 1e-9, "{printed:?}");
    assert!(user.reference_share.is_none() && (user.share.mean - 0.25).abs() < 1e-9);
    let sum: f64 = told.layers.iter().map(|layer| layer.share.mean).sum();
    assert!((sum - 1.0).abs() < 1e-9, "every clock is in one row: {sum}");
    assert!(told.conditions[0].contains("requests in flight: 9 to 13"), "{:?}", told.conditions);
}

#[test]
fn a_faster_run_than_the_published_one_is_not_slower() {
    let table = reference::built_in("ata_ram").expect("shipped");
    let told = compare::with_published(&run(200_000.0, 1.0, &LAYERS), &table);
    assert!(!told.slower && told.tests[0].moved == Moved::Better);
}

#[test]
fn rounds_merge_into_one_profile_without_losing_a_sample() {
    let (one, two) = (profile(&LAYERS), profile(&[("block", 4000.0), ("copy", 10.0)]));
    let whole = gather::merge(&[&one, &two]).expect("two profiles");
    assert_eq!(whole.samples, one.samples + two.samples);
    assert_eq!(whole.ios, Some(2000));
    assert_eq!(whole.clocks.total(), one.clocks.total() + two.clocks.total());
    let rows: u64 = whole.rows.iter().map(|row| row.time.0).sum();
    assert_eq!(rows, whole.clocks.total().0, "the layers add up to the total");
    let block = whole.rows.iter().find(|row| row.layer == "block").expect("in both");
    assert_eq!((block.samples, block.kinds[0].1), (6000, 6000));
    assert_eq!((whole.functions.len(), whole.functions[0].samples), (1, 14));
    assert_eq!((whole.stacks.len(), whole.stacks[0].samples), (1, 14));
    assert_eq!(whole.notes, ["one note"]);
    assert!(gather::merge(&[]).is_none());
}

#[test]
fn a_saved_reference_comes_back_and_what_is_none_is_refused() {
    let here = run(13_000.0, 1.0, &LAYERS);
    let kept = reference::to_save(&here);
    assert!(kept.tests[0].layers.as_ref().expect("kept").stacks.is_empty());
    let path = std::env::temp_dir().join(format!("iostack-reference-{}.json", std::process::id()));
    let load = |text: &str| {
        std::fs::write(&path, text).expect("a temporary file");
        reference::load(&path.display().to_string())
    };
    let json = serde_json::to_string(&kept).expect("plain data");
    let Ok(Reference::Saved(back)) = load(&json) else { panic!("a saved run") };
    // JSON keeps floats to the last digit but one, so what is compared is what a comparison says.
    let told = compare::with_saved(&here, &back, "itself");
    assert!(!told.slower && told.layers.iter().all(|layer| layer.moved == Moved::Same), "{told:?}");
    assert_eq!((back.tests.len(), back.seed, &back.target), (1, here.seed, &here.target));
    let newer = serde_json::to_string(&Iolat { schema: SCHEMA + 1, ..kept.clone() }).expect("plain data");
    let empty = serde_json::to_string(&Iolat { tests: Vec::new(), ..kept }).expect("plain data");
    for (text, said) in [
        ("{}", "--save-reference FILE"),
        (newer.as_str(), "update iostack"),
        (empty.as_str(), "holds no test"),
    ] {
        let error = format!("{:#}", load(text).expect_err("refused"));
        assert!(error.contains(said) && error.contains("cannot compare with"), "{error}");
    }
    std::fs::remove_file(&path).expect("ours");
    let error = reference::load("scsi-ram").expect_err("no such table").to_string();
    assert!(error.contains("scsi_ram, ata_ram"), "{error}");
}
