//! Does `iostack fio` count and tell what fio does? The same command line for both; counts and keys only, no time.

use std::process::Command;

use iostack_testkit::folder;
use serde_json::Value;

/// The JSON of one program's run in a folder of its own, and what it left there.
fn run(program: &str, test: &str, words: &str) -> Value {
    let folder = folder!(&format!("{test}-{}", if program == "fio" { "fio" } else { "ours" }));
    let first = (program != "fio").then_some("fio");
    let mut command = Command::new(program);
    command.args(first).args(words.split(' ')).args(["--output-format=json", "--output=report"]);
    let output = command.current_dir(&*folder).output().expect("it starts");
    assert!(output.status.success(), "{program} {words}: {}", String::from_utf8_lossy(&output.stderr));
    let report = std::fs::read_to_string(folder.join("report")).expect("a report");
    // fio may talk before it.
    serde_json::from_str(&report[report.find('{').expect("a report")..]).expect("JSON")
}

/// Asserts that `of` gives the same for both programs, and returns ours; where fio is missing, only ours is run.
fn same<T: PartialEq + std::fmt::Debug>(test: &str, words: &str, of: impl Fn(&Value) -> T) -> T {
    let ours = of(&run(env!("CARGO_BIN_EXE_iostack"), test, words));
    if Command::new("fio").arg("--version").output().is_err() {
        println!("SKIPPED {test}: fio is not installed");
    } else {
        assert_eq!(ours, of(&run("fio", test, words)), "ours, fio: {words}");
    }
    ours
}

fn count(report: &Value, path: &str) -> u64 {
    report.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("no count at {path}: {report}"))
}

#[test]
fn a_sequence_with_gaps_ends_where_that_of_fio_ends() {
    // Sizes, gaps and I/Os: a block that does not fit, one that begins behind the end, one that ends with the file.
    for (size, gap, ios) in [("8m", "512k", 5), ("8m", "1m", 8), ("9m", "1m", 5), ("8m", "100k", 7)] {
        for way in ["read", "write"] {
            let words = format!("--name=a --size={size} --bs=1m --rw={way}:{gap}");
            let seen = same("gaps", &words, |report| count(report, &format!("/jobs/0/{way}/total_ios")));
            assert_eq!(seen, ios, "{words}");
        }
    }
}

#[test]
fn a_flush_behind_the_last_write_is_none_of_those_counted() {
    for (sync, flushes) in [("--end_fsync=1", 0), ("--fsync_on_close=1", 0), ("--fsync=5 --end_fsync=1", 3)] {
        let words = format!("--name=a --rw=write --bs=64k --size=1m {sync}");
        let seen = same("end-fsync", &words, |report| count(report, "/jobs/0/sync/total_ios"));
        assert_eq!(seen, flushes, "{sync}");
    }
}

#[test]
fn what_a_job_reads_back_is_its_reads() {
    let words = "--name=a --rw=write --bs=64k --size=1m --verify=crc32c";
    let seen = same("read-back", words, |report| {
        assert!(
            count(report, "/jobs/0/read/runtime") > 0
                && report["jobs"][0]["read"]["iops"].as_f64() > Some(0.0)
        );
        ["total_ios", "io_bytes", "clat_ns/N"].map(|key| count(report, &format!("/jobs/0/read/{key}")))
    });
    assert_eq!(seen, [16, 1 << 20, 16]);
}

#[test]
fn percentiles_are_given_of_the_latencies_that_are_asked_for() {
    for (asked, given) in [
        ("--rw=read", [false, true, false]),
        ("--lat_percentiles=1", [false, true, true]),
        ("--slat_percentiles=1 --clat_percentiles=0", [true, false, false]),
    ] {
        let words = format!("--name=a --size=1m --ioengine=libaio {asked}");
        let seen = same("percentiles", &words, |report| {
            ["slat_ns", "clat_ns", "lat_ns"]
                .map(|of| report["jobs"][0]["read"][of].get("percentile").is_some())
        });
        assert_eq!(seen, given, "{asked}");
    }
}

#[test]
fn steadiness_is_told_with_its_deviation_or_its_slope() {
    let keys = |report: &Value| {
        let object = report["jobs"][0]["steadystate"].as_object().expect("asked for").clone();
        let is_zero = |key: &str| object[key].as_f64() == Some(0.0);
        (object.keys().cloned().collect::<Vec<_>>(), is_zero("max_deviation"), is_zero("slope"))
    };
    let words =
        "--name=a --rw=randread --size=1m --time_based --runtime=3 --rate_iops=500 --ss_dur=2 --ss=iops:90%";
    let (keys_seen, (), no_slope) = same("steady-mean", words, |report| {
        let (keys, _, slope) = keys(report);
        (keys, (), slope)
    });
    assert!(no_slope && keys_seen.iter().any(|key| key == "max_deviation"), "{keys_seen:?}");
    let (_, no_deviation, ()) = same("steady-slope", &words.replace("iops:", "iops_slope:"), |report| {
        let (keys, deviation, _) = keys(report);
        (keys, deviation, ())
    });
    assert!(no_deviation);
}

#[test]
fn the_time_in_the_device_is_what_the_kernel_counted() {
    let words = "--name=a --rw=read --size=64m --bs=64k --direct=1 --ioengine=libaio --iodepth=8";
    let report = run(env!("CARGO_BIN_EXE_iostack"), "ticks", words);
    let Some(disk) = report["disk_util"].as_array().and_then(|disks| disks.first()) else {
        println!(
            "SKIPPED the_time_in_the_device_is_what_the_kernel_counted: no device stands behind the build folder"
        );
        return;
    };
    if disk["util"].as_f64() > Some(50.0) && count(disk, "/read_ios") > 500 {
        assert!(count(disk, "/read_ticks") > 0 && count(disk, "/in_queue") > 0, "{disk}");
    }
}

#[test]
fn readonly_makes_no_file_and_fails_as_fio_does() {
    for program in [env!("CARGO_BIN_EXE_iostack"), "fio"] {
        let folder = folder!(&format!("readonly-{}", program == "fio"));
        let first = (program != "fio").then_some("fio");
        let words = ["--readonly", "--name=a", "--rw=read", "--size=1m"];
        let Ok(output) = Command::new(program).args(first).args(words).current_dir(&*folder).output() else {
            println!(
                "SKIPPED readonly_makes_no_file_and_fails_as_fio_does, its half of fio: fio is not installed"
            );
            return;
        };
        assert_eq!(output.status.code(), Some(1), "{program}");
        assert_eq!(std::fs::read_dir(&*folder).expect("ours").count(), 0, "{program}");
    }
}

#[test]
fn a_share_in_percent_may_have_its_sign_doubled() {
    let words = "--name=a --filename=a --rw=write --filesize=1m --bs=64k --size=50%%";
    let both = |report: &Value| count(report, "/jobs/0/write/total_ios");
    let once = run(env!("CARGO_BIN_EXE_iostack"), "percent", &words.replace("%%", "%"));
    assert_eq!(both(&run(env!("CARGO_BIN_EXE_iostack"), "percents", words)), both(&once));
}

#[test]
fn each_pass_of_loops_is_read_back_before_the_next() {
    for (number, words) in [
        "--rw=randwrite --size=1m --loops=3",
        "--rw=write --size=1m --loops=2 --ioengine=libaio --iodepth=8",
        "--rw=randwrite --size=1m --loops=2 --numjobs=2 --group_reporting --bs=16k",
    ]
    .into_iter()
    .enumerate()
    {
        let words = format!("--name=a --verify=crc32c {words}");
        let counts = same(&format!("loops-{number}"), &words, |report| {
            ["read", "write"].map(|side| count(report, &format!("/jobs/0/{side}/total_ios")))
        });
        assert_eq!(counts, [[768, 768], [512, 512], [256, 256]][number], "{words}");
    }
}

/// The source of fio, of the distribution's own package, unpacked as `fio` in the folder.
const FETCH: &str = r#"
set -e
mkdir -p parts lists/partial
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    if [ -f "$list" ]; then sed -n 's/^deb /deb-src /p' "$list" >> parts/own.list; fi
done
for sources in /etc/apt/sources.list.d/*.sources; do
    if [ -f "$sources" ]; then sed 's/^Types:.*/Types: deb-src/' "$sources" > "parts/$(basename "$sources")"; fi
done
apt="timeout 300 apt-get -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$PWD/parts -o Dir::State::lists=$PWD/lists"
$apt update
$apt source --download-only fio
tar xf fio_3.33.orig.tar.?z
mv fio-*/ fio
"#;

/// Tests of fio's own, 1 to 26, that must pass; docs/fio.md says why the others do not.
const PASSES: [u32; 20] = [1, 2, 4, 5, 6, 7, 10, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 25, 26];

#[test]
#[ignore = "slow: three minutes, and fio's source from the network"]
fn fios_own_test_runner_passes_what_docs_fio_md_says() {
    const NAME: &str = "fios_own_test_runner_passes_what_docs_fio_md_says";
    let folder = folder!("fio-runner");
    let here = std::path::absolute(&*folder).expect("there is a current directory");
    let shell = |script: &str| {
        let command = format!("cd {} && {script}", here.display());
        iostack_testkit::tool("sh", &["-c", &command])
    };
    let fetched = iostack_testkit::tool("python3", &["--version"]).and_then(|_| shell(FETCH));
    if iostack_testkit::or_skip(NAME, fetched).is_none() {
        return;
    }
    let wrapper = format!("#!/bin/sh\nexec {} fio \"$@\"\n", env!("CARGO_BIN_EXE_iostack"));
    std::fs::write(here.join("wrapper"), wrapper).expect("written");
    // 11 asks for a rate in real time, which beside other work fio does not keep either.
    let ids: Vec<String> = (1..=26).filter(|id| *id != 11).map(|id: u32| id.to_string()).collect();
    let script = format!(
        "chmod +x wrapper && {{ python3 fio/t/run-fio-tests.py --skip-req -f {0}/wrapper -a {0}/made --run-only {1} || true; }}",
        here.display(),
        ids.join(" ")
    );
    let said = shell(&script).expect("it runs");
    let passed = |line: &str| line.strip_prefix("Test ")?.split_once(" PASSED")?.0.parse().ok();
    let passed: Vec<u32> = said.lines().filter_map(passed).collect();
    assert_eq!(passed, PASSES, "{said}");
}
