//! Is a figure kept, missed or unclear, and is the drive that of the sheet?

use super::*;
use iostack_model::answers::{Axis, Series};
use iostack_model::{Bins, BlockDevice, BlockSizes, Caveat, Engine, Job, Mix, Order};
use iostack_sim::targets::Simulations;

/// A point of random or sequential reads that made `rate` a second, give or take a hundredth.
fn point(random: bool, size: Bytes, queue_depth: u32, rate: f64) -> Point {
    let access = if random {
        Access::Random { order: Order::Independent, distribution: iostack_model::Distribution::Uniform }
    } else {
        Access::Sequential
    };
    let block_sizes = BlockSizes::all(size);
    let job =
        Job { mix: Mix::READ, access, block_sizes, queue_depth, engine: Engine::IO_URING, ..Job::default() };
    let mut outcome = Outcome { job, elapsed: Nanos::secs(1), ..Outcome::default() };
    outcome.read.latency = Bins {
        counts: vec![(100, 1000)],
        count: 1000,
        sum_ns: 100_000,
        min_ns: 100,
        max_ns: 100,
        ..Bins::default()
    };
    outcome.read.bytes = Bytes(1000 * size.0);
    outcome.iops = Interval { mean: rate, low: rate * 0.99, high: rate * 1.01, samples: 9 };
    Point { series: Series::RandomRead, x: 0.0, label: String::new(), outcome }
}

fn verdict(typed: &str, points: Vec<Point>) -> AgainstFigure {
    let step = Step {
        id: StepKind::Depth,
        title: String::new(),
        note: None,
        axis: Axis::default(),
        points,
        elapsed: Nanos(0),
    };
    let against = DataSheet::read(typed, &Simulations).expect("a sheet").beside(&[step], &Storage::default());
    against.figures.into_iter().next().expect("it rates one")
}

fn deep(rate: f64) -> Vec<Point> {
    vec![point(true, Bytes(4096), 1, 1.0), point(true, Bytes(4096), 128, rate)]
}

#[test]
fn a_rated_figure_is_kept_from_five_percent_below_it_at_the_rated_conditions_alone() {
    let sheet = || {
        let mut sheet = DataSheet::read("970pro", &Simulations).expect("built in");
        sheet.rated.retain(|rated| rated.depth == Some(128));
        sheet
    };
    let of = |points: Vec<Point>| {
        let points: Vec<&Point> = points.iter().collect();
        sheet().rated[0].beside(&points, &Storage::default())
    };
    // 370,000 a second; 0.99 of the first is 0.95 of it.
    for (rate, expected) in [
        (370_000.0 * 0.951 / 0.99, Kept::Kept),
        (370_000.0 * 0.949 / 0.99, Kept::Unclear),
        (370_000.0 * 0.951 / 1.01, Kept::Unclear),
        (370_000.0 * 0.949 / 1.01, Kept::Missed),
    ] {
        let found = of(deep(rate));
        assert_eq!((found.verdict, found.notes.len()), (expected, 0), "{rate}: {found:?}");
        assert_eq!(found.measured_at, "4 KiB, 128 in flight");
    }
    let shallow = of(vec![point(true, Bytes(4096), 32, 100_000.0)]);
    assert_eq!(shallow.verdict, Kept::Unclear, "another depth misses nothing");
    assert_eq!(shallow.notes, ["rated at 128 in flight, which was not measured"]);
    assert_eq!(of(vec![point(true, Bytes(4096), 32, 400_000.0)]).verdict, Kept::Kept, "though it was harder");
    assert_eq!(of(vec![point(true, Bytes(4096), 256, 400_000.0)]).verdict, Kept::Unclear, "it was easier");
    assert_eq!(of(vec![point(false, Bytes(4096), 128, 1.0)]).verdict, Kept::NotMeasured);
}

#[test]
fn what_is_missed_beside_others_is_unclear_and_what_is_kept_is_kept() {
    let of = |rate: f64, lacking: u64, traffic: f64| {
        let mut point = point(true, Bytes(4096), 128, rate);
        point.outcome.cpu.foreign = 0.5;
        point.outcome.cpu.waiting = Nanos::millis(lacking);
        let foreign = Caveat::ForeignIo { device: "vda".into(), bytes: Bytes::gib(1), share: traffic };
        point.outcome.caveats.push(foreign);
        let mut sheet = DataSheet::read("970pro", &Simulations).expect("built in");
        sheet.rated.retain(|rated| rated.depth == Some(128));
        let found = sheet.rated[0].beside(&[&point], &Storage::default());
        (found.verdict, found.notes.len())
    };
    assert_eq!(of(100_000.0, 100, 0.2), (Kept::Missed, 0), "a tenth of the time is too little to matter");
    assert_eq!(of(100_000.0, 101, 0.2), (Kept::Unclear, 1));
    assert_eq!(of(100_000.0, 100, 0.21), (Kept::Unclear, 1));
    assert_eq!(of(400_000.0, 500, 0.5), (Kept::Kept, 1));
}

#[test]
fn a_drive_with_another_name_than_the_sheet_s_is_said_to_be_another() {
    let note = |sheet: &str, model: Option<&str>, driver: &str| {
        let drive = BlockDevice {
            name: "vda".into(),
            model: model.map(str::to_owned),
            driver: driver.into(),
            ..BlockDevice::default()
        };
        let storage = Storage { devices: vec![drive], ..Storage::default() };
        DataSheet::read(sheet, &Simulations).expect("a sheet").other_drive(&storage)
    };
    let said = note("970pro", None, "virtio_blk").expect("another");
    assert!(said.contains("vda calls itself `virtio_blk`, which says nothing of 970pro"), "{said}");
    assert!(note("970pro", Some("Samsung SSD 990 PRO 2TB"), "nvme").is_some());
    assert_eq!(note("970pro", Some("Samsung SSD 970 PRO 512GB"), "nvme"), None);
    assert_eq!(note("tlc-1t", None, "virtio_blk"), None, "of no product");
    assert_eq!(note("read_iops=5k", None, "virtio_blk"), None, "of no drive at all");
}

#[test]
fn typed_figures_are_held_against_the_best_and_never_missed() {
    let best = verdict("read_iops=500k", deep(500_000.0));
    assert_eq!((best.verdict, best.rated), (Kept::Kept, 500e3));
    assert_eq!(verdict("read_iops=500k", deep(50_000.0)).verdict, Kept::Unclear);
    let wide = || vec![point(false, Bytes::mib(1), 8, 3000.0)];
    let bandwidth = verdict("read_bandwidth=3GB/s", wide());
    assert_eq!((bandwidth.verdict, bandwidth.rated), (Kept::Kept, 3e9));
    assert_eq!(bandwidth.measured.map(|value| value.mean), Some(3000.0 * 1_048_576.0));
    let latency = verdict("read_latency=100ns", deep(1.0));
    assert_eq!(latency.ratio.map(|ratio| ratio.mean), Some(1.0));
}

#[test]
fn what_is_no_sheet_is_refused_with_what_can_be_typed() {
    for (typed, said) in [
        ("read_iops=", "is no such figure"),
        ("read_iops=-5", "is no such figure"),
        ("read_iops=1e9", "is no such figure"),
        ("read_bandwidth=3GB", "is no such figure"),
        ("iops=5", "nothing is called `iops`"),
        ("read_speed=5", "nothing is called `read_speed`"),
        ("read_iops=5k,oops", "has no value"),
        ("no-such-drive", "name a device"),
        ("zero", "rates neither"),
    ] {
        let error = format!("{:#}", DataSheet::read(typed, &Simulations).expect_err(typed));
        assert!(error.contains(said) && error.contains("read_iops=500k"), "{typed}: {error}");
    }
}
