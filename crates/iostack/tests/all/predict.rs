//! Are predictions shown, scored and refused, and are exports what their readers take?

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::shared::{Room, has_fio, holds, iostack_in, printed, refused, said};

const ASKED: &str = "--pattern random --engine libaio --queue-depth 4";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A list of changes in `list.json`, whose job is [`ASKED`].
fn listed(name: &str) -> Room {
    let room = Room::new(name);
    let typed = format!(
        "sim what-if tlc-1t {ASKED} --drives optane-class --draws 20 --quiet --json --output list.json"
    );
    let made = iostack_in(&room.0, &typed);
    assert!(made.status.success(), "{}", said(&made));
    room
}

#[test]
fn what_was_predicted_stands_beside_what_ran_and_the_score_is_no_exit_code() {
    let room = listed("prediction-run");
    let list = json(&fs::read_to_string(room.0.join("list.json")).expect("it was written"));
    holds("sim what-if PLATFORM", &list, "sim what-if tlc-1t");
    assert_eq!(list["gains"][0]["title"], "another drive, optane-class");
    // Another drive than was predicted: far off, and still all was done.
    let run = format!("run --on sim:optane-class {ASKED} --io-count 2000 --quiet --prediction list.json");
    let ran = iostack_in(&room.0, &format!("{run} --json --html page.html"));
    assert_eq!(ran.status.code(), Some(0), "{}", said(&ran));
    let told = json(&printed(&ran));
    holds("run", &told, "run --prediction");
    let point = &told["prediction"]["points"][0]["iops"];
    assert!(point["error_percent"].as_f64().is_some_and(|error| error < -50.0), "{point}");
    assert_eq!((&point["within"], &told["prediction"]["draws"]), (&Value::from(false), &Value::from(20)));
    let page = fs::read_to_string(room.0.join("page.html")).expect("a page");
    assert!(page.contains("How near was the prediction?"));
    // The drive that was predicted, on a screen.
    let run = format!("run --on sim:tlc-1t {ASKED} --io-count 2000 --quiet --prediction list.json");
    let ran = iostack_in(&room.0, &run);
    let text = printed(&ran).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("PREDICTED AND MEASURED") && text.contains("1 of 1 in the band"), "{text}");
}

#[test]
fn a_prediction_of_another_job_or_of_nothing_is_refused_before_anything_runs() {
    let room = listed("prediction-refused");
    let run = |flags: &str| iostack_in(&room.0, &format!("run --on sim:zero --io-count 1 --quiet {flags}"));
    refused(
        &run("--prediction list.json --queue-depth 8 --engine libaio --pattern random"),
        &["`list.json` predicts another job", "depth 4", "depth 8", "what-if SHEET"],
    );
    refused(&run("--prediction none.json"), &["none.json"]);
    room.file("empty.json", "");
    refused(&run("--prediction empty.json"), &["empty.json"]);
    let shown = iostack_in(&room.0, "sim show zero --json");
    room.file("show.json", printed(&shown));
    refused(&run("--prediction show.json"), &["`show.json` is of `iostack sim show`", "predicts nothing"]);
    let check =
        |flags: &str| iostack_in(&room.0, &format!("check sim:x25e --quick --no-files --quiet {flags}"));
    refused(&check("--predict x25f"), &["x25f", "did you mean `x25e`?"]);
    refused(&check("--predict x25e --prediction list.json"), &["--predict"]);
}

#[test]
#[ignore = "slow: two checks of a simulated drive, and its bands"]
fn a_check_is_predicted_step_by_step_and_by_a_check_of_earlier() {
    let room = Room::new("prediction-check");
    let checked = iostack_in(&room.0, "check sim:x25e --quick --quiet --json --output . --predict x25e");
    assert_eq!(checked.status.code(), Some(0), "{}", said(&checked));
    let told = json(&printed(&checked));
    holds("check", &told, "check --predict");
    let points = told["prediction"]["points"].as_array().expect("points");
    assert!(points.len() > 10, "{}", points.len());
    // The same sheet, in a short window: near, not the same.
    let median = told["prediction"]["iops"]["median_percent"].as_f64().expect("scored");
    assert!(median < 10.0, "{median}");
    let again = iostack_in(
        &room.0,
        "check sim:x25e --quick --quiet --no-files --json --prediction iostack-check.json",
    );
    let told = json(&printed(&again));
    let worst = told["prediction"]["iops"]["worst_percent"].as_f64().expect("scored");
    assert!(worst < 1e-6, "the same seed gives the same check: {worst}");
}

#[test]
fn a_job_file_is_taken_by_fio_and_moves_what_it_says() {
    if !has_fio("a_job_file_is_taken_by_fio_and_moves_what_it_says") {
        return;
    }
    let room = Room::new("export-fio");
    let run = "run --on sim:zero --set zero.latency=10us --pattern random --read-percent 50 --engine libaio \
               --queue-depth 4 --block-size 8k --size 1m --io-count 64 --quiet --json --output run.json";
    assert!(iostack_in(&room.0, run).status.success());
    let exported = iostack_in(&room.0, "report run.json --export fio --output load.fio");
    assert!(said(&exported).contains("not said: `sim:zero` is no file"), "{}", said(&exported));
    let fio = |words: &[&str]| {
        Command::new("fio").args(words).current_dir(&room.0).output().expect("it is installed")
    };
    let parsed = fio(&["--parse-only", "load.fio"]);
    assert!(parsed.status.success(), "{}", said(&parsed));
    let ran = fio(&["--output-format=json", "load.fio", "--filename=data", "--direct=0"]);
    assert!(ran.status.success(), "{}", said(&ran));
    let told = json(&printed(&ran));
    let moved = |direction: &str| told["jobs"][0][direction]["total_ios"].as_u64().unwrap_or(0);
    assert_eq!(moved("read") + moved("write"), 64, "{told}");
}

#[test]
fn the_kernel_takes_the_lines_of_its_controller() {
    const TEST: &str = "the_kernel_takes_the_lines_of_its_controller";
    let model = Path::new("/sys/fs/cgroup/io.cost.model");
    if !model.exists() {
        println!("SKIPPED {TEST}: this kernel has no /sys/fs/cgroup/io.cost.model");
        return;
    }
    let room = Room::new("export-iocost");
    let file = room.file("disk", vec![0; 1 << 20]);
    let device = match iostack_testkit::Loop::over(Path::new(&file)) {
        Ok(device) => device,
        Err(why) => {
            println!("SKIPPED {TEST}: {why}");
            return;
        }
    };
    let name = device.file_name().expect("a name").to_owned();
    let number =
        fs::read_to_string(Path::new("/sys/class/block").join(name).join("dev")).expect("a loop device");
    let number = number.trim();
    let check = iostack_in(&room.0, "check sim:x25e --quick --quiet --no-files --json");
    room.file("check.json", printed(&check));
    let exported = iostack_in(&room.0, "report check.json --export iocost");
    let text = printed(&exported).replace("MAJ:MIN", number);
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    if let Err(error) = fs::write(model, lines[0]) {
        // The grammar is wrong only if the kernel says so; who may not write is told something else.
        assert_ne!(error.raw_os_error(), Some(22), "{}: {error}", lines[0]);
        println!("SKIPPED {TEST}: {error}");
        return;
    }
    let taken = fs::read_to_string(model).expect("readable");
    let own = taken.lines().find(|line| line.starts_with(number)).expect("a line of ours");
    for word in lines[0].split(' ').skip(1) {
        assert!(own.contains(word), "`{word}` is missing in: {own}");
    }
    let qos = Path::new("/sys/fs/cgroup/io.cost.qos");
    fs::write(qos, lines[1]).unwrap_or_else(|error| panic!("{}: {error}", lines[1]));
    fs::write(qos, format!("{number} enable=0")).expect("switched off again");
}

#[test]
fn what_cannot_be_exported_is_refused_as_typed() {
    let room = Room::new("export-refused");
    let run = "run --on sim:zero --set zero.latency=10us --io-count 10 --quiet --json --output run.json";
    assert!(iostack_in(&room.0, run).status.success());
    refused(
        &iostack_in(&room.0, "report run.json --export iocost"),
        &["`run.json` is of `iostack run`", "check"],
    );
    refused(&iostack_in(&room.0, "report run.json run.json --export fio"), &["one file"]);
    refused(&iostack_in(&room.0, "sim show wd5000aaks --export mqsim"), &["wd5000aaks", "kind hdd"]);
    let shown = iostack_in(&room.0, "sim show tlc-1t --export mqsim");
    assert!(printed(&shown).starts_with("<?xml"), "{}", said(&shown));
    assert!(said(&shown).contains("not said: slc.size=24GiB"), "{}", said(&shown));
}
