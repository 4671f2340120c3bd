//! Commands and processes with all that they start: each is seen, and what they did adds up.

use std::process::{Command, Output};

use serde_json::Value;

use crate::shared::{IOSTACK, Room, Started, command, iostack, refused, said};

/// The JSON that a command printed behind whatever its own command printed.
fn answer(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with("{\"kind\""));
    let line = line.unwrap_or_else(|| panic!("no answer in `{text}`: {}", said(output)));
    serde_json::from_str(line).expect("JSON")
}

/// False, said aloud, where a rung is missing.
fn can(rung: &str, test: &str) -> bool {
    let ladder: Value = serde_json::from_slice(&iostack(&["doctor", "--json"]).stdout).expect("JSON");
    let rungs = ladder["rungs"].as_array().expect("a list of rungs");
    let found = rungs.iter().find(|one| one["rung"] == rung).expect("all are told");
    if found["reached"] == false {
        println!("SKIPPED {test}: {}", found["reason"]);
    }
    found["reached"] == true
}

/// A room with a file `data` of 4 MiB, which is on the device.
fn room(test: &str) -> Room {
    let room = Room::new(test);
    room.file("data", vec![7_u8; 4 << 20]);
    let synced = Command::new("sync").arg(room.path("data")).status();
    assert!(synced.expect("coreutils").success());
    room
}

/// Runs iostack with a shell's words behind it.
fn with_shell(room: &Room, iostack: &str, words: &str) -> Output {
    let arguments: Vec<&str> = iostack.split(' ').chain(["--", "sh", "-c", words]).collect();
    command(&arguments).current_dir(&room.0).output().expect("the binary was built")
}

fn reads(count: u32) -> String {
    format!("dd if=data of=/dev/null bs=4k count={count} iflag=direct status=none")
}

/// Direct reads: of a process the bios of its reads, since others come from the cache; else I/Os that went to the device, or
/// whose way was not seen to its end.
fn direct(stages: &Value) -> u64 {
    let number = |value: &Value| value.as_u64().expect("a number");
    if let Some(kinds) = stages["kinds"].as_array() {
        return kinds.iter().filter(|kind| kind["kind"] == "read").map(|kind| number(&kind["bios"])).sum();
    }
    let ways = stages["ways"].as_array().expect("a list");
    let wanted = ways.iter().filter(|way| way["way"] == "device" || way["way"] == "unmatched");
    wanted.map(|way| number(&way["whole"]["count"])).sum()
}

fn rows<'a>(answer: &'a Value, name: &str) -> Vec<&'a Value> {
    let all = answer["processes"].as_array().expect("a tree has processes");
    all.iter().filter(|row| row["name"] == name).collect()
}

#[test]
fn three_programs_of_a_shell_one_behind_the_other_are_each_seen_and_add_up() {
    let test = "three_programs_of_a_shell_one_behind_the_other_are_each_seen_and_add_up";
    if !can("tracing", test) {
        return;
    }
    let room = room("follow-three");
    let words = format!("{}; {}; ({} &)", reads(31), reads(37), reads(29));
    let output = with_shell(&room, "stages --quiet --json", &words);
    let stages = answer(&output);
    assert_eq!((output.status.code(), direct(&stages)), (Some(0), 97), "{stages}");
    assert_eq!(stages["lost"], 0);
    assert_eq!(stages["subject"], "command sh");
    let dds = rows(&stages, "dd");
    assert_eq!(dds.len(), 3, "{stages}");
    let ios = |rows: &[&Value]| rows.iter().map(|row| row["ios"].as_u64().expect("a number")).sum::<u64>();
    assert!(ios(&dds) >= 97, "{stages}");
    let all: Vec<&Value> = stages["processes"].as_array().expect("a list").iter().collect();
    assert_eq!(ios(&all), stages["ios"], "every I/O has a process");
}

#[test]
fn a_hundred_programs_that_begin_and_end_are_all_counted() {
    let test = "a_hundred_programs_that_begin_and_end_are_all_counted";
    if !can("tracing", test) {
        return;
    }
    let room = room("follow-hundred");
    let words = format!("i=0; while [ $i -lt 100 ]; do {}; i=$((i+1)); done", reads(1));
    let stages = answer(&with_shell(&room, "stages --quiet --json", &words));
    assert_eq!((direct(&stages), &stages["lost"]), (100, &0.into()), "{stages}");
    assert_eq!(rows(&stages, "dd").len(), 100);
}

#[test]
fn children_of_a_process_that_runs_already_are_found_and_followed() {
    let test = "children_of_a_process_that_runs_already_are_found_and_followed";
    if !can("tracing", test) {
        return;
    }
    let room = room("follow-children");
    // One child is there before, which starts others later; the shell itself does nothing.
    let words = format!(
        "(while test ! -e go; do sleep 0.01; done; {}; {}) & wait; while test ! -e over; do sleep 0.01; done",
        reads(60),
        reads(37)
    );
    let shell = Started::heard(Command::new("sh").args(["-c", &words]).current_dir(&room.0));
    let pid = shell.0.id().to_string();
    let look = |extra: &[&str]| {
        let arguments = [&["stages", "--pid", &pid, "--runtime", "60s", "--json"], extra].concat();
        Started::heard(command(&arguments).current_dir(&room.0))
    };
    let tree = look(&["--children"]);
    let alone = look(&[]);
    // Both are attached when they listen for signals.
    tree.until_it_listens();
    alone.until_it_listens();
    std::thread::sleep(std::time::Duration::from_millis(500));
    room.file("go", "");
    while rest(&shell.0.id().to_string()) > 0 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    room.file("over", "");
    let _reaped = shell.end();
    let told = [tree, alone].map(|look| {
        let (_, data, said) = look.end();
        serde_json::from_str::<Value>(&data).unwrap_or_else(|error| panic!("{error}: {said}"))
    });
    assert_eq!(direct(&told[0]), 97, "{}", told[0]);
    assert_eq!(direct(&told[1]), 0, "{}", told[1]);
    let noted = |answer: &Value| answer["notes"].to_string().contains("children are not followed");
    assert_eq!(told.each_ref().map(noted), [false, true]);
}

/// Children of a process that still read or wait to.
fn rest(pid: &str) -> usize {
    let listed = Command::new("pgrep").args(["-P", pid, "-x", "sh"]).output().expect("procps");
    String::from_utf8_lossy(&listed.stdout).lines().count()
}

#[test]
fn the_clocks_of_a_tree_are_those_that_the_shell_counts_itself() {
    let test = "the_clocks_of_a_tree_are_those_that_the_shell_counts_itself";
    if !can("tracing", test) {
        return;
    }
    let place = room("follow-clocks");
    let busy = "dd if=/dev/zero of=/dev/null bs=64k count=200000 status=none";
    let words = format!("{busy}; ({busy}); {busy} & wait; times");
    let output = with_shell(&place, "layers --quiet --json", &words);
    let layers = answer(&output);
    let printed = String::from_utf8_lossy(&output.stdout);
    // The last two figures of `times`: user and system time of its children, as in `0m0.250s`.
    let figures: Vec<f64> =
        printed.lines().take(2).flat_map(str::split_whitespace).filter_map(seconds).collect();
    assert_eq!(figures.len(), 4, "{printed}");
    let known: f64 = figures.iter().sum();
    let time = |row: &Value| row["time"].as_u64().expect("ns") as f64 / 1e9;
    let dds: f64 = rows(&layers, "dd").into_iter().map(time).sum();
    // The shell's figures are ticks, and without what the hypervisor took.
    assert!((0.9..1.3).contains(&(dds / known)), "{dds} s seen, {known} s known: {layers}");
    assert_eq!(rows(&layers, "dd").len(), 3, "{layers}");
    assert!(layers["ios"].as_u64().is_some_and(|ios| ios > 3 * 2 * 200_000), "{layers}");
    let whole = layers["clocks"]["tasks"].as_u64().expect("ns") as f64 / 1e9;
    assert!(whole >= dds && whole < dds * 1.1, "{whole}");
    let samples = layers["samples"].as_f64().expect("a number") / 997.0;
    assert!((0.7..1.3).contains(&(samples / whole)), "{samples} s by samples, {whole} s exactly");
}

/// `0m0.250s` in seconds.
pub(crate) fn seconds(text: &str) -> Option<f64> {
    let (minutes, seconds) = text.strip_suffix('s')?.split_once('m')?;
    Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
}

#[test]
fn the_exit_code_of_a_command_is_told_and_its_output_passes_through() {
    let test = "the_exit_code_of_a_command_is_told_and_its_output_passes_through";
    if !can("tracing", test) {
        return;
    }
    let room = room("follow-code");
    for (name, form) in [("stages", "stages"), ("layers", "layers")] {
        let output = with_shell(&room, form, "echo hello; echo there >&2; exit 3");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{name}: {printed}");
        assert!(printed.starts_with("hello\n"), "{printed}");
        let said = said(&output);
        assert!(said.contains("there\n") && said.contains("sh ended with exit code 3."), "{said}");
        assert!(printed.contains("sh ended with exit code 3."), "{printed}");
    }
    let killed = with_shell(&room, "stages --json", "kill -9 $$");
    assert!(said(&killed).contains("sh ended by signal: 9"), "{}", said(&killed));
}

#[test]
fn a_command_ends_at_the_runtime_and_at_a_signal_with_all_that_it_started() {
    let test = "a_command_ends_at_the_runtime_and_at_a_signal_with_all_that_it_started";
    if !can("tracing", test) {
        return;
    }
    let room = room("follow-ended");
    let words = format!("echo $$; (sleep 1000; true) & while true; do {}; done", reads(8));
    let output = with_shell(&room, "stages --runtime 300ms --json", &words);
    let shell = String::from_utf8_lossy(&output.stdout).lines().next().expect("its number").to_owned();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(answer(&output)["notes"].to_string().contains("sh was ended at --runtime."), "{}", said(&output));
    assert!(direct(&answer(&output)) > 0, "{}", said(&output));
    assert!(!is_there(&shell), "it was ended");
    for signal in ["-INT", "-TERM"] {
        let arguments = ["stages", "--json", "--", "sh", "-c", &words];
        let started = Started::heard(command(&arguments).current_dir(&room.0));
        started.until_it_listens();
        std::thread::sleep(std::time::Duration::from_millis(300));
        started.signal(signal);
        let (code, data, said) = started.end();
        let (shell, answer) = data.split_once('\n').expect("its number comes first");
        assert_eq!(code, Some(2), "{signal}: {said}");
        let answer: Value = serde_json::from_str(answer).expect("what was seen until then");
        assert!(direct(&answer) > 0, "{answer}");
        assert!(!is_there(shell), "{signal}: it was ended");
    }
}

fn is_there(pid: &str) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn what_cannot_be_followed_is_refused() {
    if can("tracing", "what_cannot_be_followed_is_refused") {
        refused(
            &iostack(&["stages", "--", "/no/such/program"]),
            &["cannot run `/no/such/program`", "No such file"],
        );
        refused(&iostack(&["layers", "--", "/"]), &["cannot run `/`", "Permission denied"]);
    }
    refused(&iostack(&["stages", "--children"]), &["--children goes with --pid"]);
    refused(&iostack(&["stages", "--on", "x", "--", "true"]), &["a job and a command were given"]);
    refused(&iostack(&["layers", "--queue-depth", "3", "--", "true"]), &["`--queue-depth` describes a job"]);
}

/// Runs a shell's words where processes are numbered anew; `None` when this user may not.
fn in_namespace(room: &Room, words: &str) -> Option<Output> {
    let run = |words: &str| {
        let mut unshare = Command::new("unshare");
        unshare
            .args(["--pid", "--fork", "--mount-proc", "sh", "-c", words])
            .current_dir(&room.0)
            .output()
            .ok()
    };
    run("true")?.status.success().then(|| run(words))?
}

#[test]
fn a_container_with_process_numbers_of_its_own_sees_the_same() {
    let test = "a_container_with_process_numbers_of_its_own_sees_the_same";
    if !can("tracing", test) {
        return;
    }
    let room = room("follow-namespace");
    let (reads, slow) = (
        reads(97),
        "sh -c 'read line <go; exec dd if=data of=/dev/null bs=4k count=97 iflag=direct status=none'",
    );
    let words = format!("{IOSTACK} stages --quiet --json -- {reads}");
    let Some(output) = in_namespace(&room, &words) else {
        println!("SKIPPED {test}: no name spaces here");
        return;
    };
    let stages = answer(&output);
    assert_eq!(direct(&stages), 97, "{stages}");
    let pid = rows(&stages, "dd")[0]["pid"].as_u64().expect("a number");
    assert!(pid < 100, "as it is numbered there: {pid}");

    // A process that runs already, with other numbers than the kernel's; a FIFO lets it go on when SIGTERM is heard: SIGINT is ignored behind `&`.
    let words = format!(
        "mkfifo go; {slow} & {IOSTACK} stages --pid $! --quiet --json --runtime 20s & look=$!; \
         until grep -q '^SigCgt:.*[4567cdef]...$' /proc/$look/status; do sleep 0.1; done; echo >go; wait"
    );
    let output = in_namespace(&room, &words).expect("as before");
    assert_eq!(direct(&answer(&output)), 97, "{}", said(&output));

    let words = format!("{IOSTACK} layers --quiet --json -- {reads}");
    let layers = answer(&in_namespace(&room, &words).expect("as before"));
    assert_eq!(layers["clocks"]["exact"], true, "{layers}");
    assert!(layers["clocks"]["tasks"].as_u64().is_some_and(|ns| ns > 0), "{layers}");
    assert_eq!(rows(&layers, "dd").len(), 1, "{layers}");

    let words = format!("{IOSTACK} stages --on data --pattern random --io-count 97 --quiet --json");
    let output = in_namespace(&room, &words).expect("as before");
    let file: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    assert_eq!(direct(&file["outcomes"][0]["stages"]), 97, "{file}");
}

#[test]
fn the_call_chains_of_a_command_go_to_files_that_other_programs_read() {
    let test = "the_call_chains_of_a_command_go_to_files_that_other_programs_read";
    if !can("all_samples", test) {
        return;
    }
    let room = room("follow-chains");
    let flags = "layers --quiet --json --folded a.folded --speedscope a.json --firefox b.json";
    let busy = "dd if=/dev/zero of=/dev/null bs=64k count=60000 status=none";
    let layers = answer(&with_shell(&room, flags, busy));
    let samples = layers["samples"].as_u64().expect("a number");
    let read = |name: &str| std::fs::read_to_string(room.0.join(name)).expect("written");
    let weight = |line: &str| line.rsplit(' ').next().and_then(|last| last.parse::<u64>().ok());
    let folded: u64 = read("a.folded").lines().map(|line| weight(line).expect("a number ends a line")).sum();
    assert_eq!((folded, samples > 20), (samples, true), "{layers}");
    let speedscope: Value = serde_json::from_str(&read("a.json")).expect("JSON");
    assert_eq!(speedscope["profiles"][0]["endValue"], samples);
    let firefox: Value = serde_json::from_str(&read("b.json")).expect("JSON");
    let weights = firefox["threads"][0]["samples"]["weight"].as_array().expect("a list");
    assert_eq!(weights.iter().filter_map(Value::as_u64).sum::<u64>(), samples);
    assert!(firefox["shared"]["stringArray"].to_string().contains("vfs_read"), "functions by name");
    refused(&with_shell(&room, flags, "true"), &["`a.folded` exists and is not overwritten"]);
}
