//! A simulated drive under the lab's kernel: the machine's clock is its own.

use std::fs;

use serde_json::Value;

use crate::shared::{Room, holds, iostack, refused, said};
use crate::turn::turn_or_skip;

const JOB: [&str; 7] = ["run", "--json", "--pattern", "random", "--size", "16m", "--quiet"];

fn outcome(more: &[&str]) -> Value {
    super::outcome(&[&JOB[..], more].concat())
}

fn number(outcome: &Value, path: &str) -> f64 {
    outcome.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {outcome}"))
}

const MIXED: [&str; 14] = [
    "--on",
    "lab:sim:x25e",
    "--file-system",
    "ext4",
    "--scheduler",
    "mq-deadline",
    "--runtime",
    "100ms",
    "--mix",
    "50",
    "--engine",
    "io_uring",
    "--queue-depth",
    "8",
];

#[test]
fn a_file_system_keeps_what_is_written() {
    let _turn = turn_or_skip!("a_file_system_keeps_what_is_written", "6.1");
    let told = outcome(&[&MIXED[..], &["--verify", "write_then_read"]].concat());
    assert!(number(&told, "/verified") > 100.0, "{}", told["verified"]);
    assert_eq!(told["failures"], Value::Array(Vec::new()));
    assert!(number(&told, "/inside/flash/pages_host") > 100.0);
    late(&told);
}

#[test]
#[ignore = "slow: six runs"]
fn every_run_from_the_snapshot_gives_the_same() {
    let _turn = turn_or_skip!("every_run_from_the_snapshot_gives_the_same", "6.1");
    let first = outcome(&MIXED);
    for _ in 0..5 {
        let next = outcome(&MIXED);
        let named = |key: &&String| first[key.as_str()] != next[key.as_str()];
        let parts: Vec<&String> =
            first.as_object().into_iter().flat_map(|all| all.keys()).filter(named).collect();
        assert!(parts.is_empty() && first == next, "two runs differ in {parts:?}");
    }
}

/// Holds that the driver hears each answer of the model after little more than its interrupt.
fn late(outcome: &Value) {
    assert_eq!(outcome.pointer("/inside/late/count"), outcome.pointer("/inside/requests"));
    let (mean, most) = (number(outcome, "/inside/late/sum_ns"), number(outcome, "/inside/late/max_ns"));
    let mean = mean / number(outcome, "/inside/late/count");
    assert!(mean < 400.0 && most < 20_000.0, "{mean} ns after the model, at worst {most}");
}

#[test]
#[ignore = "slow: half a minute"]
fn the_kernel_adds_its_own_time_to_the_drives_and_no_more() {
    let _turn = turn_or_skip!("the_kernel_adds_its_own_time_to_the_drives_and_no_more", "6.1");
    let with = outcome(&["--on", "lab:sim:x25e", "--runtime", "200ms"]);
    let without = outcome(&["--on", "sim:x25e", "--runtime", "200ms"]);
    let mean = |of: &Value| number(of, "/read/latency/sum_ns") / number(of, "/read/latency/count");
    let added = mean(&with) - mean(&without);
    // A system call, the block layer and two context switches, at 2.5 instructions a nanosecond.
    assert!((2_000.0..10_000.0).contains(&added), "the kernel adds {added} ns");
    late(&with);
    // Busy is a share of the job's time, and not of what came before.
    let link = |name: &str| number(&with, &format!("/inside/resources/0/{name}"));
    let share = link("visits") * link("service_ns") / number(&with, "/elapsed");
    assert!((link("busy") / share - 1.0).abs() < 0.02, "{} busy, {share} used", link("busy"));
}

/// Bytes that were written when the rate had fallen below half of what it was at first, and stayed there.
fn cliff(outcome: &Value) -> f64 {
    let written: Vec<f64> = outcome["series"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
        .map(|slice| number(slice, "/bytes/1"))
        .collect();
    let first = written[2..8].iter().sum::<f64>() / 6.0;
    let fallen =
        (8..written.len() - 3).find(|&at| written[at..at + 3].iter().all(|&bytes| bytes < first / 2.0));
    written[..fallen.expect("the rate falls")].iter().sum()
}

#[test]
#[ignore = "slow: a minute"]
fn a_drive_that_fills_slows_down_where_the_model_says() {
    let _turn = turn_or_skip!("a_drive_that_fills_slows_down_where_the_model_says", "6.1");
    let room = Room::new("cliff");
    let job = room.folder("job").join("cliff.fio");
    let text = "[fill]\nrw=randwrite\nbs=4k\niodepth=32\nioengine=libaio\ndirect=1\nruntime=6\ntime_based\n\
                norandommap\nsize=512m\n";
    fs::write(&job, text).expect("a new file");
    let run = |on: &str| {
        let set =
            ["--set", "flash.capacity=512MiB", "--set", "flash.state=fresh", "--slice", "50ms", "--json"];
        let run = ["run", job.to_str().expect("UTF-8"), "--on", on, "--quiet"];
        cliff(&super::outcome(&[&run, &set[..]].concat()))
    };
    let (alone, under_kernel) = (run("sim:cmu-b"), run("lab:sim:cmu-b"));
    assert!((under_kernel / alone - 1.0).abs() < 0.1, "{under_kernel} bytes, {alone} by the model alone");
}

#[test]
#[ignore = "slow: half a minute"]
fn every_sector_is_right_and_the_driver_goes_and_comes_again() {
    let _turn = turn_or_skip!("every_sector_is_right_and_the_driver_goes_and_comes_again", "6.1");
    let trial = iostack(&["lab", "test", "sim:x25e", "--bytes", "8m"]);
    assert_eq!(trial.status.code(), Some(0), "{}", said(&trial));
}

#[test]
fn a_program_runs_on_two_of_them_as_one_and_its_files_and_its_end_are_ours() {
    let _turn =
        turn_or_skip!("a_program_runs_on_two_of_them_as_one_and_its_files_and_its_end_are_ours", "6.1");
    let room = Room::new("exec");
    let (script, results) = (room.folder("files").join("try.sh"), room.folder("files").join("results"));
    let text = "echo to $IOSTACK_DISK; echo aside >&2; (cd $1; sleep 9999) &\n\
                dd if=/dev/zero of=$1/file bs=64k count=64 conv=fsync 2>&1\n\
                mkdir $IOSTACK_RESULTS/deep; cp try.sh $IOSTACK_RESULTS/deep; touch $IOSTACK_RESULTS/empty\n\
                cat /sys/block/sim?/stat > $IOSTACK_RESULTS/stat; cat /sys/block/md0/md/level; exit 7\n";
    fs::write(&script, text).expect("a new file");
    let path = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
    let lab = ["lab", "exec", "--on", "sim:x25e,x25e", "--raid", "0", "--chunk-kib", "64"];
    let more = ["--layer", "delay(1ms, write)", "--file-system", "ext4", "--json", "--copy"];
    let command = [&path(&script), "--results", &path(&results), "--", "sh", "try.sh", "{}"];
    let output = iostack(&[&lab[..], &more, &command].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    for words in ["to /mnt", "aside", "64+0 records out", "raid0", "`sh` ended with 7"] {
        assert!(said(&output).contains(words), "`{words}` is missing in: {}", said(&output));
    }
    let back = |name: &str| fs::read_to_string(results.join(name)).expect("it was brought back");
    assert_eq!((back("deep/try.sh"), back("empty")), (text.to_owned(), String::new()));
    // The seventh figure: sectors written. A chunk here, a chunk there.
    let written: Vec<u64> =
        back("stat").lines().filter_map(|line| line.split_whitespace().nth(6)?.parse().ok()).collect();
    assert!(matches!(written[..], [a, b] if a.min(b) >= 4096 && a.max(b) < a.min(b) * 2), "{written:?}");
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
    holds("serve", &told, "lab exec");
    let [_, write, _, flush] = told["served"].as_array().map(Vec::as_slice).expect("four kinds") else {
        panic!("{told}")
    };
    assert!(number(write, "/bytes") >= f64::from(4 << 20) && number(flush, "/ios") > 0.0, "{told}");
    let least = number(write, "/asked/min_ns");
    assert!((1e6..1.5e6).contains(&least), "the quickest write takes {least} ns, delayed by a millisecond");
}

/// Writes numbers to the disk, each flushed before it is told; and looks whether the last that was told is there.
const COUNTS: &str = "n=$(cat $IOSTACK_DISK/n 2>/dev/null || echo 0)\nwhile true; do n=$((n + 1)); echo $n > $IOSTACK_DISK/new; \
                      sync; mv $IOSTACK_DISK/new $IOSTACK_DISK/n; sync; echo said $n; done\n";
const HOLDS: &str = "said=$(tail -n 1 $IOSTACK_SAID | cut -d ' ' -f 2); there=$(cat $IOSTACK_DISK/n); \
                     echo cut $IOSTACK_CUTS: ${said:-none} told, $there there; [ $there -ge ${said:-0} ]";

#[test]
fn what_was_flushed_is_there_after_a_power_cut_and_a_check_that_fails_is_told() {
    let _turn =
        turn_or_skip!("what_was_flushed_is_there_after_a_power_cut_and_a_check_that_fails_is_told", "6.1");
    let lab = ["lab", "exec", "--on", "sim:x25e", "--file-system", "ext4", "--json"];
    let check = format!("{HOLDS} && [ $IOSTACK_CUTS -lt 2 ]");
    let cut = ["--power-cut", "60ms..90ms", "--cuts", "3", "--check", &check, "--", "sh", "-c", COUNTS];
    let output = iostack(&[&lab[..], &cut].concat());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
    holds("serve", &told, "lab exec");
    let cuts = told["cuts"].as_array().map(Vec::len);
    assert_eq!(cuts, Some(2), "the second check fails, and a third cut never comes: {}", said(&output));
    for words in ["cut 1: ", "cut 2: ", "after power cut 2 the check ended with 1"] {
        assert!(said(&output).contains(words), "`{words}` is missing in: {}", said(&output));
    }
    let count =
        |line: &str, word: usize| line.split_whitespace().nth(word).and_then(|text| text.parse::<u32>().ok());
    let text = said(&output);
    let each: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("cut "))
        .map(|line| (count(line, 2), count(line, 4)))
        .collect();
    assert!(each.iter().all(|(told, there)| told.is_some() && there >= told), "{each:?}: {text}");
    assert!(each.is_sorted() && each.len() == 2 && each[0] < each[1], "it goes on from there: {each:?}");
}

#[test]
#[ignore = "slow: minutes"]
fn sqlite_keeps_what_it_promised_over_power_cuts() {
    let _turn = turn_or_skip!("sqlite_keeps_what_it_promised_over_power_cuts", "6.1");
    let file = |name: &str| format!("{}/../../jobs/programs/{name}", env!("CARGO_MANIFEST_DIR"));
    let (load, check) = (file("sqlite.sh"), file("sqlite-check.sh"));
    let lab = ["lab", "exec", "--with", "sqlite3", "--on", "sim:x25e", "--file-system", "ext4"];
    let files = ["--copy", &load, "--copy", &check, "--check", "sh sqlite-check.sh"];
    let cut = ["--power-cut", "100ms..1s", "--cuts", "10", "--", "sh", "sqlite.sh"];
    let output = iostack(&[&lab[..], &files, &cut].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let checked = said(&output).lines().filter(|line| line.ends_with(" there, ok")).count();
    assert!(checked >= 9, "{}", said(&output));
}

#[test]
fn results_that_cannot_be_brought_back_are_refused() {
    let of = |folder: &str| iostack(&["lab", "exec", "--on", "sim:x25e", "--results", folder, "--", "true"]);
    refused(&of("/dev/null"), &["`--results /dev/null` cannot be made"]);
    refused(&of("/usr"), &["`--results /usr` is not empty", "new folder"]);
}
