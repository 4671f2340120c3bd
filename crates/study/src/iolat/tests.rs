//! Do the shipped references hold what was printed, and does a comparison say what it may and no more?

use iostack_model::answers::{Iolat, IolatRound, IolatTest, LayerCost, Moved};
use iostack_model::{
    Bins, Bytes, Clocks, Direction, FunctionRow, Interval, Ladder, LayerRow, Layers, Machine, Nanos, Quality,
    SCHEMA, StackRow, Storage, TargetKind, TargetName,
};

use super::reference::{self, Reference};
use super::{compare, gather};

fn five(mean: f64, percent: f64) -> Interval {
    let half = mean * percent / 100.0;
    Interval { mean, low: mean - half, high: mean + half, samples: 5 }
}

/// A small direct read at this rate whose layers cost so many clocks.
fn run(iops: f64, percent: f64, layers: &[(&str, f64)]) -> Iolat {
    let total: f64 = layers.iter().map(|(_, clocks)| clocks).sum();
    let costs: Vec<LayerCost> = layers
        .iter()
        .map(|(layer, clocks)| LayerCost {
            layer: (*layer).to_owned(),
            clocks: five(*clocks, percent),
            share: five(clocks / total, percent),
        })
        .collect();
    let test = IolatTest {
        name: "Small_direct_read".to_owned(),
        direction: Direction::Read,
        bytes: Bytes(4096),
        direct: true,
        sync_every: 0,
        ios: 10_000,
        elapsed: Nanos::secs(3),
        rounds: vec![IolatRound::default(); 5],
        iops: five(iops, percent),
        request: five(1e9 / iops, percent),
        clocks: five(total, percent),
        latency: Bins::default(),
        sync: Bins::default(),
        layers: Some(profile(layers)),
        layer_costs: costs,
        caveats: Vec::new(),
    };
    let tests = vec![test];
    Iolat {
        schema: SCHEMA,
        iostack: "0.1.0".to_owned(),
        started_unix_ms: 0,
        elapsed: Nanos::secs(3),
        seed: 1,
        target: TargetName { kind: TargetKind::File, path: "/somewhere".into() },
        machine: Machine::default(),
        storage: Storage::default(),
        scratch: None,
        profiles: gather::profiles(&tests),
        tests,
        ladder: Ladder::default(),
        layers_missing: None,
        comparison: None,
        notes: Vec::new(),
        interrupted: false,
    }
}

/// 1000 I/Os at 1 GHz, so that a clock is a nanosecond.
fn profile(layers: &[(&str, f64)]) -> Layers {
    let rows: Vec<LayerRow> = layers
        .iter()
        .map(|(layer, clocks)| LayerRow {
            layer: (*layer).to_owned(),
            meaning: String::new(),
            samples: *clocks as u64,
            time: Nanos((clocks * 1000.0) as u64),
            kinds: vec![("code".to_owned(), *clocks as u64)],
        })
        .collect();
    Layers {
        subject: "this load".to_owned(),
        elapsed: Nanos::secs(1),
        ios: Some(1000),
        ios_meaning: "I/Os of the load".to_owned(),
        tsc_hz: 1_000_000_000,
        clocks: Clocks {
            tasks: Nanos(rows.iter().map(|row| row.time.0).sum()),
            exact: true,
            ..Clocks::default()
        },
        rate_hz: 997,
        event: "cpu-clock".to_owned(),
        samples: rows.iter().map(|row| row.samples).sum(),
        lost: 0,
        sampling_cost: 0.02,
        functions: vec![FunctionRow {
            name: "submit_bio".to_owned(),
            layer: "block".to_owned(),
            kind: "code".to_owned(),
            samples: 7,
        }],
        stacks: vec![StackRow {
            frames: vec!["read".to_owned(), "submit_bio".to_owned()],
            layers: vec!["syscall".to_owned(), "block".to_owned()],
            samples: 7,
        }],
        rows,
        quality: Quality::default(),
        hardware: None,
        ladder: Ladder::default(),
        notes: vec!["one note".to_owned()],
    }
}

const LAYERS: [(&str, f64); 4] =
    [("virtio", 6000.0), ("block", 2000.0), ("fs", 1500.0), ("scheduler", 1000.0)];

#[test]
fn the_shipped_tables_hold_every_figure_of_the_2008_screens() {
    let scsi = reference::built_in("scsi_ram").expect("shipped");
    let rows: Vec<Vec<(f64, i32, f64)>> = scsi
        .runs
        .iter()
        .map(|run| {
            run.tests.iter().map(|test| (test.iops, test.plus_minus_percent, test.request_ms)).collect()
        })
        .collect();
    let first = [
        (90_044.0, -3, 0.108_99),
        (85_578.0, -2, 0.115_36),
        (22_893.0, 0, 0.451_72),
        (13_302.0, 0, 0.961_10),
    ];
    let second = [
        (89_944.0, -3, 0.108_43),
        (85_774.0, -2, 0.114_14),
        (22_704.0, -1, 0.409_15),
        (13_010.0, -2, 0.696_13),
    ];
    assert_eq!(rows, [first.to_vec(), second.to_vec()]);
    let ata = reference::built_in("ata_ram").expect("shipped");
    let rows: Vec<_> =
        ata.runs[0].tests.iter().map(|test| (test.iops, test.plus_minus_percent, test.request_ms)).collect();
    let printed = [
        (82_022.0, -11, 0.124_20),
        (77_907.0, -11, 0.130_57),
        (12_321.0, -46, 0.535_77),
        (12_436.0, -6, 0.531_86),
    ];
    assert_eq!((rows, ata.runs.len()), (printed.to_vec(), 1));
    for run in scsi.runs.iter().chain(&ata.runs) {
        let names: Vec<&str> = run.tests.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(
            names,
            ["Small_direct_read", "Small_direct_write", "Medium_direct_read", "Medium_direct_write"]
        );
        let bytes: Vec<u64> = run.tests.iter().map(|test| test.bytes).collect();
        assert_eq!(bytes, [4096, 4096, 131_072, 131_072]);
        assert!(run.tests.iter().all(|test| test.direct));
    }
}

fn pairs(rows: &[(String, f64)]) -> Vec<(&str, f64)> {
    rows.iter().map(|(name, percent)| (name.as_str(), *percent)).collect()
}

#[test]
fn the_shipped_layers_are_those_printed_and_each_is_mapped() {
    let scsi = reference::built_in("scsi_ram").expect("shipped");
    let first = [
        ("scsi_ram_driver", 28.3545),
        ("scsi", 14.9986),
        ("block", 11.5580),
        ("scheduler", 9.4730),
        ("mm", 8.3916),
        ("fs", 8.3420),
        ("data_copy", 2.1940),
        ("primitives", 1.3418),
        ("elevator", 0.6260),
        ("Unclassified", 14.7205),
    ];
    let second = [27.7452, 14.9654, 11.1748, 10.0787, 8.5664, 8.2771, 2.1303, 1.2933, 0.5323, 15.2365];
    assert_eq!(pairs(&scsi.runs[0].layers), first);
    let percents: Vec<f64> = scsi.runs[1].layers.iter().map(|(_, percent)| *percent).collect();
    assert_eq!(percents, second);
    let ata = reference::built_in("ata_ram").expect("shipped");
    let printed = [
        ("scsi", 22.5076),
        ("ata_ram_driver", 21.0077),
        ("scheduler", 12.5522),
        ("block", 11.9045),
        ("fs", 7.4762),
        ("mm", 6.9612),
        ("data_copy", 1.5829),
        ("primitives", 1.1760),
        ("interrupt_handling", 0.4297),
        ("elevator", 0.3483),
        ("libata", 0.2869),
        ("idle", 0.1294),
        ("Unclassified", 13.6374),
    ];
    assert_eq!(pairs(&ata.runs[0].layers), printed);
    for table in [&scsi, &ata] {
        for run in &table.runs {
            let sum: f64 = run.layers.iter().map(|(_, percent)| percent).sum();
            assert!((sum - 100.0).abs() < 0.001, "{}: {sum}", table.name);
            for (layer, _) in &run.layers {
                assert_eq!(
                    table.mapping.iter().filter(|mapping| mapping.theirs == *layer).count(),
                    1,
                    "{layer}"
                );
            }
        }
        let mut ours: Vec<&String> = table.mapping.iter().flat_map(|mapping| &mapping.ours).collect();
        let count = ours.len();
        ours.sort();
        ours.dedup();
        assert_eq!(ours.len(), count, "{}: a layer of ours is counted twice", table.name);
    }
}

#[test]
fn the_shipped_functions_are_those_printed() {
    let scsi = reference::built_in("scsi_ram").expect("shipped");
    let ata = reference::built_in("ata_ram").expect("shipped");
    let samples =
        |functions: &[(String, u64)]| functions.iter().map(|(_, samples)| *samples).collect::<Vec<_>>();
    assert_eq!(
        samples(&scsi.runs[0].functions),
        [3352, 3127, 2451, 838, 748, 581, 458, 458, 370, 354, 350, 277, 206, 198, 159, 150]
    );
    assert_eq!(
        samples(&scsi.runs[1].functions),
        [9241, 8809, 7068, 2357, 2080, 1500, 1372, 1359, 1020, 998, 909, 829, 604, 531, 440, 429]
    );
    assert_eq!(
        samples(&ata.runs[0].functions),
        [1440, 1170, 1050, 892, 432, 281, 178, 160, 157, 152, 130, 110, 109, 93]
    );
    assert_eq!(scsi.runs[0].functions[3].0, "scsi_dispatch_cmd");
    assert_eq!(scsi.runs[0].functions[9].0, "*unknown*");
    assert_eq!(ata.runs[0].functions[11].0, "follow_page");
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
