//! Does a fio file, or a command line, mean here what it means to fio? Both run the same, each in a directory of its own.
//!
//! What fio does follows from the file alone, and is compared: names and groups of jobs, I/Os and bytes by direction,
//! global options, names of files and logs, and the lines of logs that are not averaged.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::shared::{IOSTACK, Room, has_fio, iostack_in, names, printed, said};

const FILES: &str = include_str!("../data/fio_files.txt");

/// Meaning that one of the two programs gives a file.
#[derive(Debug, PartialEq)]
struct Meaning {
    /// Name, group, I/Os and bytes of reads and writes; of mixes their sums, which way each goes is drawn.
    jobs: Vec<(String, u64, Vec<u64>)>,
    global: BTreeMap<String, String>,
    /// Files that are there afterwards; of a log that has one for each I/O its lines, with direction, size and offset where
    /// the order is settled.
    files: BTreeMap<String, Option<Vec<String>>>,
}

fn run(program: &str, arguments: &[&str], text: &str, folder: &Path) -> Result<Meaning, String> {
    fs::create_dir_all(folder).expect("ours");
    fs::write(folder.join("job.fio"), text).expect("ours");
    run_in(program, arguments, text, folder)
}

/// `text` is what was asked.
fn run_in(program: &str, arguments: &[&str], text: &str, folder: &Path) -> Result<Meaning, String> {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(said(&output));
    }
    // fio may talk before the report.
    let report = output.stdout.iter().position(|&letter| letter == b'{').unwrap_or_default();
    let said: Value = serde_json::from_slice(&output.stdout[report..]).map_err(|error| error.to_string())?;
    let averaged = text.contains("log_avg_msec");
    // fio 3.33 prints an object without a name for reports that `group_reporting` saved.
    let named = said["jobs"].as_array().expect("a list").iter().filter(|job| job["jobname"].is_string());
    Ok(Meaning {
        jobs: named.map(|job| counts(job, text)).collect(),
        global: said["global options"].as_object().into_iter().flatten().map(option).collect(),
        files: files(folder, averaged, !text.contains("rand") && text.contains("log_offset=1")),
    })
}

fn counts(job: &Value, text: &str) -> (String, u64, Vec<u64>) {
    let number = |side: &str, key: &str| job[side][key].as_u64().expect("a count");
    let sides: &[&str] = if job["mixed"].is_object() { &["mixed"] } else { &["read", "write"] };
    let mut all: Vec<u64> =
        ["total_ios", "io_bytes"].iter().flat_map(|key| sides.iter().map(|side| number(side, key))).collect();
    if text.contains("rwmixread") && sides.len() == 2 {
        all = all.chunks(2).map(|both| both.iter().sum()).collect();
    }
    (job["jobname"].as_str().expect("a name").to_owned(), job["groupid"].as_u64().expect("a group"), all)
}

fn option((name, value): (&String, &Value)) -> (String, String) {
    (name.clone(), value.as_str().expect("options are text").to_owned())
}

fn files(folder: &Path, averaged: bool, in_order: bool) -> BTreeMap<String, Option<Vec<String>>> {
    // Where fio keeps what it verified, for a later run of its own.
    let ours = names(folder).into_iter().filter(|name| !name.ends_with("-verify.state"));
    let part = |line: &str| line.split(", ").skip(2).take(3).collect::<Vec<_>>().join(" ");
    let kept = |line: &str| if in_order { part(line) } else { String::new() };
    let lines = |name: &str| -> Vec<String> {
        fs::read_to_string(folder.join(name)).expect("a log is text").lines().map(kept).collect()
    };
    ours.map(|name| {
        let counted =
            (Path::new(&name).extension().is_some_and(|end| end == "log") && !averaged).then(|| lines(&name));
        (name, counted)
    })
    .collect()
}

#[test]
fn fio_files_mean_what_they_mean_to_fio() {
    if !has_fio("fio_files_mean_what_they_mean_to_fio") {
        return;
    }
    let room = Room::new("meaning");
    let all: Vec<(&str, &str)> =
        FILES.split("### ").skip(1).map(|file| file.split_once('\n').expect("a name and a text")).collect();
    assert!(all.len() >= 120, "{} files", all.len());
    // Both wait more than they work: several files at a time.
    let wrong = |&(name, text): &(&str, &str)| {
        let theirs =
            run("fio", &["--output-format=json", "job.fio"], text, &room.0.join(format!("{name}-fio")));
        let ours = ["run", "job.fio", "--format", "fio-json", "--quiet"];
        let ours = run(IOSTACK, &ours, text, &room.0.join(name));
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) if ours == theirs => None,
            (Err(error), Err(_)) if name.contains("io-uring") => {
                println!("SKIPPED {name}: {error}");
                None
            }
            (ours, theirs) => Some(format!("{name}\n  ours   {ours:?}\n  theirs {theirs:?}")),
        }
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let taken = std::iter::from_fn(|| all.get(next.fetch_add(1, Ordering::Relaxed)));
        taken.filter_map(wrong).collect::<Vec<_>>()
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers = [(); 4].map(|()| scope.spawn(work));
        workers.into_iter().flat_map(|worker| worker.join().expect("it compares")).collect()
    });
    assert!(wrong.is_empty(), "{} of {} files differ:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

/// Jobs whose I/Os are written down.
const TRACED: &str = "[global]\nbs=4k\ndirectory=.\nioengine=psync\n\
    [a]\nrw=randrw\nsize=256k\nwrite_iolog=a.iolog\n\
    [b]\nstonewall\nrw=write\nsize=64k\nnrfiles=2\nfsync=4\nwrite_iolog=b.iolog\n";

/// The lines of a trace without their times, by the last part of their file's name.
fn trace_lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("it was asked for");
    assert!(text.starts_with("fio version 3 iolog\n"), "{text}");
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        format!("{} {}", words[0].rsplit('/').next().expect("a name"), words[1..].join(" "))
    };
    text.lines().skip(1).map(line).collect()
}

#[test]
fn what_either_writes_down_both_replay() {
    let test = "what_either_writes_down_both_replay";
    if !has_fio(test) {
        return;
    }
    let room = Room::new("traced");
    let [ours, theirs] = ["ours", "theirs"].map(|name| room.0.join(name));
    let own = IOSTACK;
    run("fio", &["--output-format=json", "job.fio"], TRACED, &theirs).expect("fio runs it");
    run(own, &["run", "job.fio", "--format", "fio-json", "--quiet"], TRACED, &ours).expect("we run it");
    // What is not drawn is the same, line by line but for their order: fsync, as fio does it, is of one file.
    let sorted = |folder: &Path| {
        let mut lines = trace_lines(&folder.join("b.iolog"));
        lines.retain(|line| !line.contains("sync"));
        lines.sort();
        lines
    };
    assert_eq!(sorted(&ours), sorted(&theirs));
    for written in [&ours, &theirs] {
        for (trace, files) in [("a.iolog", 1), ("b.iolog", 2)] {
            let job = format!("[r]\nread_iolog={trace}\nreplay_no_stall=1\n");
            let [by_us, by_fio] = [
                run(
                    own,
                    &["run", "job.fio", "--format", "fio-json", "--quiet", "--destroy-data"],
                    &job,
                    written,
                ),
                run("fio", &["--output-format=json", "job.fio"], &job, written),
            ];
            let (by_us, by_fio) = (by_us.expect("we replay it"), by_fio.expect("fio replays it"));
            assert_eq!(by_us.jobs, by_fio.jobs, "{trace} in {}", written.display());
            let lines = trace_lines(&written.join(trace));
            let moved = lines.iter().filter(|line| line.contains(" read ") || line.contains(" write "));
            let (_, _, counts) = &by_us.jobs[0];
            assert_eq!(counts[0] + counts[1], moved.count() as u64, "{trace}");
            assert_eq!(lines.iter().filter(|line| line.ends_with(" open")).count(), files, "{trace}");
        }
    }
}

/// Command lines beside `a.fio` and `b.fio`.
const LINES: &[&str] = &[
    "--name=a --rw=read --bs=4k --size=64k",
    "--name a --rw write --bs 8k --size 64k --numjobs 2",
    "-name=a -rw=randread -bs=4k -size=64k",
    "--rw=read --size=64k --name=a --bs=8k --name=b --rw=write",
    "--name=global --rw=write --size=32k --name=a --name=b --stonewall",
    "--bs=8k a.fio",
    "a.fio --bs=8k",
    "a.fio --bs=8k b.fio",
    "a.fio b.fio --name=c --rw=write --size=16k",
    "a.fio --section=y",
    "--name=a --rw=read --size=64k --thread --group_reporting --numjobs=3",
    "--name=a --rw=randrw --rwmixread=70 --size=128k --eta=never --terse-version=3 --max-jobs=8",
    "--name=a --filename=f --rw=write --size=64k --ioengine=libaio --iodepth 4 --direct 1",
    "--name=a --rw=write --size=64k --verify=crc32c --number_ios 4",
    "--idle-prof=percpu --name=a --rw=write --size=64k",
    "--zonemode=zbd --name=a --rw=write",
    "--zonemode=zbd --name=a --rw=write --zonecapacity=48k",
    "--zonemode=zbd --name=a --rw=write --io_size=3m",
    "--zonemode=zbd --name=a --rw=write --offset=100k --size=512k",
    "--zonemode=zbd --name=a --rw=write --zoneskip=64k",
    "--zonemode=zbd --name=a --rw=write --verify=crc32c",
    "--zonemode=zbd --name=a --rw=read",
    "--zonemode=zbd --name=a --rw=randread --read_beyond_wp=1",
    "--zonemode=zbd --name=a --rw=randwrite --max_open_zones=2 --ioengine=libaio --iodepth=8",
    "--zonemode=zbd --name=a --rw=randwrite --zonecapacity=48k --verify=crc32c --io_size=512k",
    "--zonemode=zbd --name=a --rw=randrw --rwmixread=50",
];

fn room_of_a_line(folder: &Path) {
    fs::create_dir_all(folder).expect("ours");
    fs::write(folder.join("a.fio"), "[global]\niodepth=3\nsize=32k\n[x]\nrw=write\n[y]\nrw=read\n")
        .expect("ours");
    fs::write(folder.join("b.fio"), "[z]\nrw=read\nsize=16k\n").expect("ours");
}

#[test]
fn command_lines_mean_what_they_mean_to_fio() {
    if !has_fio("command_lines_mean_what_they_mean_to_fio") {
        return;
    }
    let room = Room::new("lines");
    let mut wrong = Vec::new();
    for (number, line) in LINES.iter().enumerate() {
        // fio makes no file of zones.
        let zoned = line.contains("zbd").then_some("--filename=zoned --zonesize=64k --bs=4k ");
        let line = format!("{}{line}", zoned.unwrap_or_default());
        let words = || line.split(' ').chain(["--output-format=json"]);
        let meaning = |program: &str, words: Vec<&str>, name: &str| {
            let folder = room.0.join(format!("{number}-{name}"));
            room_of_a_line(&folder);
            if zoned.is_some() {
                fs::write(folder.join("zoned"), vec![1; 1 << 20]).expect("ours");
            }
            run_in(program, &words, &line, &folder)
        };
        let ours = meaning(IOSTACK, ["fio", "--destroy-data"].into_iter().chain(words()).collect(), "ours");
        let theirs = meaning("fio", words().collect(), "theirs");
        if ours.is_err() || ours != theirs {
            wrong.push(format!("{line}\n  ours   {ours:?}\n  theirs {theirs:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} lines differ:\n{}", wrong.len(), LINES.len(), wrong.join("\n"));
}

/// Runs a command line by iostack and by fio, each in a folder of its own.
fn both(room: &Room, line: &str) -> [Output; 2] {
    let theirs =
        Command::new("fio").args(line.split_whitespace()).current_dir(room.folder("theirs")).output();
    [iostack_in(&room.folder("ours"), &format!("fio {line}")), theirs.expect("it is installed")]
}

/// Lines of a report without figures, which change from run to run.
fn form(report: &str) -> Vec<String> {
    // How many of these there are depends on the figures.
    let counted = ["     |", "  lat (", "   bw (", "   iops", "    slat", "fio-", "Starting"];
    let fixed = |line: &&str| !line.is_empty() && !counted.iter().any(|begin| line.starts_with(begin));
    report.lines().filter(fixed).map(without_figures).collect()
}

fn without_figures(line: &str) -> String {
    // A pid and a date follow.
    let line = line.split(": pid=").next().unwrap_or_default();
    let mut text = String::new();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        if !letter.is_ascii_digit() {
            text.push(letter);
            continue;
        }
        let mut figure = |more: fn(&char) -> bool| while letters.next_if(more).is_some() {};
        figure(|letter| letter.is_ascii_digit() || *letter == '.');
        figure(|letter| "kKMGTi".contains(*letter));
        text.push('N');
    }
    ["usec", "nsec"].iter().fold(text, |text, unit| text.replace(unit, "msec")).replace("= ", "=")
}

#[test]
fn the_report_for_people_has_fios_form() {
    if !has_fio("the_report_for_people_has_fios_form") {
        return;
    }
    let room = Room::new("form");
    let line = "--size=1m --bs=4k --fsync=16 --name=a --rw=randrw --numjobs=2 --group_reporting --name=b --rw=write --stonewall";
    let form_of = |output: &Output| {
        assert!(output.status.success(), "{}", said(output));
        let text = printed(output);
        // What fio says of files that it makes; devices below, which others use too; what we doubt.
        let skip =
            |line: &String| ["Laying out", ": ios=N/N", "  caveat "].iter().any(|words| line.contains(words));
        form(&text).into_iter().filter(|line| !skip(line)).collect::<Vec<_>>()
    };
    let [ours, theirs] = both(&room, line).map(|output| form_of(&output));
    assert_eq!(ours, theirs);
    for words in ["  read: IOPS=N", "  write: IOPS=N", "Run status group N (all jobs):", "   READ: bw=NB/s"] {
        assert!(ours.iter().any(|line| line.starts_with(words)), "{words} is not in {ours:#?}");
    }
}

#[test]
fn a_search_finds_the_depth_that_fio_finds() {
    if !has_fio("a_search_finds_the_depth_that_fio_finds") {
        return;
    }
    let room = Room::new("search");
    let line = "--name=a --rw=randread --size=1m --runtime=30 --time_based --ioengine=libaio --iodepth=12 \
                --latency_target=10s --latency_window=50ms --latency_percentile=99.5 --output-format=json";
    let found = |output: &Output| {
        let said = printed(output);
        let report: Value = serde_json::from_str(&said[said.find('{').expect("JSON")..]).expect("JSON");
        let job = &report["jobs"][0];
        ["depth", "target", "percentile", "window"].map(|key| job[format!("latency_{key}")].clone())
    };
    let [ours, theirs] = both(&room, line).map(|output| found(&output));
    assert_eq!(ours, theirs);
    assert_eq!(ours[0], 12);
}
