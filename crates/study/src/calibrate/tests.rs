//! Is a machine whose truth is known found again, and is what is wrong with the input named?

use std::sync::atomic::AtomicBool;

use iostack_model::answers::Calibration;
use iostack_model::{Caveat, Effort, Engine, FileSystem, Job, Nanos, OutcomeFile};
use iostack_sim::run::{RunOptions, run};
use iostack_sim::sheet::Sheet;
use iostack_sim::targets::Simulations;
use iostack_target::{Targets, Wanted};

use super::points::{Gathered, hold_out};
use super::{PointSource, answer};
use crate::check::{self, CheckQuestion};

fn quiet() -> AtomicBool {
    AtomicBool::new(false)
}

/// A check of a simulated platform, as if it were a machine.
pub(super) fn checked(platform: &str) -> PointSource {
    let target = Simulations.open(Some(platform), &[]).expect("built in");
    let asked = CheckQuestion { effort: Effort::Default, size: None, seed: 1, against: None };
    PointSource::Check(Box::new(check::answer(&asked, &*target, &quiet()).expect("it runs")))
}

/// Random reads of a simulated server at some depths; its cores are so fast that the drive limits.
fn reads(depths: &[u32]) -> OutcomeFile {
    let fast = [("platform.ghz".to_owned(), "24".to_owned())];
    let target = Simulations.open(Some("nvme-server"), &fast).expect("built in");
    let job = |queue_depth: u32| Job {
        engine: Engine::Libaio,
        queue_depth,
        io_count: Some(3000),
        ramp: Nanos::micros(500),
        options: options(queue_depth),
        stonewall: true,
        ..Job::default()
    };
    let one = |depth: &u32| target.run(&[job(*depth)], Wanted::default(), &quiet()).expect("it runs");
    let mut all: Vec<OutcomeFile> = depths.iter().map(one).collect();
    let mut file = all.remove(0);
    file.outcomes.extend(all.into_iter().flat_map(|other| other.outcomes));
    file
}

fn run_of(run: OutcomeFile) -> PointSource {
    PointSource::Run(Box::new(run))
}

/// Words that a user of fio would have typed for it.
fn options(depth: u32) -> Vec<(String, String)> {
    let depth = depth.to_string();
    let typed = [
        ("rw", "randread"),
        ("bs", "4k"),
        ("ioengine", "libaio"),
        ("iodepth", depth.as_str()),
        ("direct", "1"),
    ];
    typed.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

fn fitted(source: PointSource) -> Calibration {
    let files = [("mine.json".to_owned(), source)];
    answer(&files, "mine", &Simulations, &quiet()).unwrap_or_else(|error| panic!("{error:#}"))
}

/// Width of a number's interval over its value.
fn width(found: &Calibration, key: &str) -> f64 {
    let number = found.numbers.iter().find(|number| number.key == key);
    let interval = number.and_then(|number| number.interval).unwrap_or_else(|| panic!("{key}: {number:?}"));
    (interval.high / interval.low).ln()
}

const DEPTHS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

#[test]
fn the_file_that_is_written_answers_as_was_said() {
    let found = fitted(run_of(reads(&DEPTHS)));
    assert!(found.scores[0].points >= 2 && found.scores[0].iops_worst < 0.12, "{:?}", found.scores);
    let sheet = Sheet::parse(&found.sheet, std::path::Path::new("mine.toml"), &[]);
    let sheet = sheet.unwrap_or_else(|error| panic!("{error}\n{}", found.sheet));
    let files = [("mine.json".to_owned(), run_of(reads(&DEPTHS)))];
    let gathered = gathered(&files);
    for (point, told) in gathered.points.iter().zip(&found.points) {
        let job = point.job(
            sheet
                .device("platform.drive")
                .and_then(|drive| drive.bytes(&format!("{}.capacity", found.drive)))
                .expect("it has one")
                .0,
        );
        let ran = run(&sheet, &[job], &RunOptions::seeded(1)).expect("it runs");
        let off = ran.outcomes[0].rate() / told.sheet_iops - 1.0;
        assert!(off.abs() < 0.02, "depth {}: {off}", told.queue_depth);
    }
    // No number of the built-in systems is booked a second time.
    let os = sheet.device("platform.os").expect("it has one");
    assert!(os.entries().iter().any(|number| number.key == "os.block" && number.text == "0"));
}

fn gathered(files: &[(String, PointSource)]) -> Gathered {
    let mut gathered = Gathered::default();
    for (file, source) in files {
        gathered.add(file, source).expect("it is read");
    }
    gathered.one_machine();
    gathered.together();
    gathered
}

fn doubts(source: PointSource) -> Vec<String> {
    gathered(&[("mine.json".to_owned(), source)]).doubts
}

#[test]
fn fio_s_json_alone_is_enough_and_without_its_depth_it_is_doubted() {
    let run = reads(&DEPTHS);
    let text = iostack_report::fio::json(&run, false);
    let of_fio = gathered(&[("fio.json".to_owned(), PointSource::Fio(text.clone()))]);
    let own = gathered(&[("run.json".to_owned(), run_of(run))]);
    assert_eq!(of_fio.doubts, Vec::<String>::new());
    for (fio, own) in of_fio.points.iter().zip(&own.points) {
        assert_eq!((fio.load, fio.engine), (own.load, own.engine));
        assert!((fio.iops / own.iops - 1.0).abs() < 1e-3, "{} {}", fio.iops, own.iops);
    }
    assert_eq!(of_fio.points.len(), DEPTHS.len());
    let mut blind: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    blind.as_object_mut().expect("a table").remove("global options");
    for job in blind["jobs"].as_array_mut().expect("jobs") {
        job.as_object_mut().expect("a table").remove("job options");
    }
    let blind = gathered(&[("fio.json".to_owned(), PointSource::Fio(blind.to_string()))]);
    assert!(blind.doubts[0].contains("does not say its depth"), "{:?}", blind.doubts);
    let depths: Vec<u32> = blind.points.iter().map(|point| point.load.3).collect();
    assert!(
        depths.iter().zip(DEPTHS).all(|(found, asked)| found.abs_diff(asked) <= 1 + asked / 16),
        "{depths:?}"
    );
}

/// Doubts and points of fio's JSON of [`reads`], changed.
fn of_fio(change: impl Fn(&mut serde_json::Value)) -> (Vec<String>, usize) {
    let text = iostack_report::fio::json(&reads(&[1, 4, 16]), false);
    let mut all: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    change(&mut all);
    let gathered = gathered(&[("fio.json".to_owned(), PointSource::Fio(all.to_string()))]);
    (gathered.doubts, gathered.points.len())
}

#[test]
fn what_is_wrong_with_fio_s_json_is_named() {
    let named = [
        (
            of_fio(|all| all["jobs"][0]["job options"]["filename"] = "/data/file".into()),
            "mixes two targets",
            1,
        ),
        (of_fio(|all| all["global options"]["filename"] = "/data/file".into()), "a file on a file system", 3),
        (
            of_fio(|all| all["disk_util"] = serde_json::json!([{ "name": "vda", "read_ios": 90_000 }])),
            "others used",
            3,
        ),
        (
            of_fio(|all| {
                for (key, value) in [("iops_samples", 9), ("iops_stddev", 400), ("iops_mean", 1000)] {
                    all["jobs"][1]["read"][key] = value.into();
                }
            }),
            "credits of a volume",
            3,
        ),
    ];
    for ((doubts, points), words, kept) in named {
        assert!(
            doubts.iter().any(|line| line.contains(words)) && points == kept,
            "{words}: {points} {doubts:?}"
        );
    }
    let flushing = of_fio(|all| all["jobs"][1]["job options"]["fdatasync"] = "1".into());
    assert_eq!(flushing, (Vec::new(), 2));
}

#[test]
fn what_is_wrong_with_the_input_is_named() {
    let with = |caveat: Caveat| {
        let mut run = reads(&[1, 4]);
        run.outcomes[0].caveats.push(caveat);
        doubts(run_of(run))
    };
    let (at, before, after) = (Nanos::secs(1), 3000.0, 300.0);
    let named = [
        (with(Caveat::RateStep { at, before, after }), "credits"),
        (with(Caveat::Cliff { at, before, after }), "credits"),
        (with(Caveat::Slope { per_minute: -0.2 }), "no steady state"),
        (with(Caveat::ForeignCpu { share: 0.4 }), "others took 40 %"),
        (with(Caveat::Steal { share: 0.3 }), "others took 30 %"),
        (with(Caveat::IoLimit { line: "8:0 riops=100".to_owned() }), "a cap is no drive's"),
    ];
    for (found, words) in named {
        assert!(found.len() == 1 && found[0].contains(words), "{words}: {found:?}");
    }
    let mut run = reads(&[1, 4]);
    assert_eq!(doubts(run_of(run.clone())), Vec::<String>::new());
    run.outcomes[1].storage.file_system =
        Some(FileSystem { kind: "ext4".to_owned(), ..FileSystem::default() });
    assert!(doubts(run_of(run))[0].contains("a file on ext4"));
}

#[test]
fn of_two_machines_the_one_with_more_points_is_fitted() {
    let (most, mut other) = (reads(&[1, 2, 4]), reads(&[1, 2]));
    other.machine.cpu.model = "another".to_owned();
    let files = [("a.json".to_owned(), run_of(most)), ("b.json".to_owned(), run_of(other))];
    let gathered = gathered(&files);
    assert!(gathered.points.iter().all(|point| point.file == "a.json") && gathered.points.len() == 3);
    assert!(
        gathered.doubts[0].contains("two machines") && gathered.doubts[0].contains("b.json"),
        "{:?}",
        gathered.doubts
    );
}

#[test]
fn too_few_points_are_fitted_as_a_sum_with_wide_intervals_and_none_are_refused() {
    let few = fitted(run_of(reads(&[1, 32])));
    assert!(few.scores.is_empty() && few.doubts.len() == 3, "{:?}", few.doubts);
    assert!(
        few.doubts[0].contains("too few") && few.doubts[1].contains("only their sum"),
        "{:?}",
        few.doubts
    );
    let clean = fitted(run_of(reads(&DEPTHS)));
    let mut drifting = reads(&DEPTHS);
    drifting.outcomes[0].caveats.push(Caveat::Slope { per_minute: -0.2 });
    let drifting = fitted(run_of(drifting));
    let key = "os.vfs";
    assert!(
        (width(&drifting, key) / width(&clean, key) - 2.0).abs() < 1e-6,
        "{} {}",
        width(&drifting, key),
        width(&clean, key)
    );
    let mut buffered = reads(&[1]);
    buffered.outcomes[0].job.direct = false;
    let refused = answer(&[("a".to_owned(), run_of(buffered))], "mine", &Simulations, &quiet());
    let said = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(said.contains("1 through the page cache"), "{said}");
}

#[test]
fn no_end_of_a_curve_is_held_out_and_all_interfaces_of_a_load_go_together() {
    let mut points = gathered(&[("a".to_owned(), run_of(reads(&DEPTHS)))]).points;
    let twins: Vec<_> = points
        .iter()
        .cloned()
        .map(|point| super::points::Point { engine: Engine::IO_URING, ..point })
        .collect();
    points.extend(twins);
    hold_out(&mut points);
    let held = |depth: u32| {
        points.iter().filter(|point| point.load.3 == depth).map(|point| point.held_out).collect::<Vec<_>>()
    };
    let found: Vec<u32> = DEPTHS.into_iter().filter(|&depth| held(depth) == [true, true]).collect();
    assert_eq!(found, [4, 32]);
    assert!(DEPTHS.iter().all(|&depth| held(depth)[0] == held(depth)[1]));
}

fn found_again(platform: &str, [median, worst]: [f64; 2]) -> Calibration {
    let found = fitted(checked(platform));
    let score = &found.scores[0];
    println!("{platform}: {} {score:?}\n{:?}\n{}", found.drive, found.findings, found.sheet);
    for point in &found.points {
        println!(
            "{} {} {:>5} {:>4} x {:>2}  {:>10.0} {:+.3} {:?} {:?}",
            if point.held_out { "HELD" } else { "    " },
            point.pattern,
            point.block.0 >> 10,
            point.queue_depth,
            point.threads,
            point.iops,
            point.sheet_iops / point.iops - 1.0,
            point.network_iops.map(|iops| iops / point.iops - 1.0),
            point.latency_p99.zip(point.sheet_p99).map(|(own, sheet)| sheet.0 as f64 / own.0 as f64 - 1.0),
        );
    }
    assert!(score.points >= 5 && score.iops_median <= median && score.iops_worst <= worst, "{score:?}");
    found
}

#[test]
#[ignore = "slow: a check and a fit of each platform"]
fn a_server_is_found_again_within_five_percent() {
    found_again("nvme-server", [0.05, 0.15]);
}

#[test]
#[ignore = "slow: a check and a fit of each platform"]
fn a_cloud_volume_is_found_again() {
    found_again("cloud-vm", [0.05, 0.15]);
}

#[test]
#[ignore = "slow: a check and a fit of each platform"]
fn a_laptop_is_found_again() {
    found_again("laptop", [0.05, 0.3]);
}
