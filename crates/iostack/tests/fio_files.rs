//! Does a fio file mean here what it means to fio? Both run the same file, each in a directory of its own.
//!
//! What fio does follows from the file alone, and is compared: names and groups of jobs, I/Os and bytes by direction,
//! global options, names of files and logs, and the lines of logs that are not averaged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const FILES: &str = include_str!("data/fio_files.txt");

/// A directory of one test, removed at its end.
struct Room(PathBuf);

impl Room {
    fn new(name: &str) -> Room {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fio-files-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("the target directory is ours");
        Room(path)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What one of the two makes of a file.
#[derive(Debug, PartialEq)]
struct Meaning {
    /// Name, group, I/Os and bytes of reads and writes; of mixes their sums, which way each goes is drawn.
    jobs: Vec<(String, u64, Vec<u64>)>,
    global: BTreeMap<String, String>,
    /// Files that are there afterwards; lines of a log that has one for each I/O.
    files: BTreeMap<String, Option<usize>>,
}

fn run(program: &str, arguments: &[&str], text: &str, folder: &Path) -> Result<Meaning, String> {
    fs::create_dir_all(folder).expect("ours");
    fs::write(folder.join("job.fio"), text).expect("ours");
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let said: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let averaged = text.contains("log_avg_msec");
    // fio 3.33 prints an object without a name for reports that `group_reporting` saved.
    let named = said["jobs"].as_array().expect("a list").iter().filter(|job| job["jobname"].is_string());
    Ok(Meaning {
        jobs: named.map(|job| counts(job, text)).collect(),
        global: said["global options"].as_object().into_iter().flatten().map(option).collect(),
        files: files(folder, averaged),
    })
}

fn counts(job: &Value, text: &str) -> (String, u64, Vec<u64>) {
    let number = |side: &str, key: &str| job[side][key].as_u64().expect("a count");
    let mut all: Vec<u64> = ["total_ios", "io_bytes"]
        .iter()
        .flat_map(|key| ["read", "write"].map(|side| number(side, key)))
        .collect();
    if text.contains("rwmixread") {
        all = all.chunks(2).map(|both| both.iter().sum()).collect();
    }
    (job["jobname"].as_str().expect("a name").to_owned(), job["groupid"].as_u64().expect("a group"), all)
}

fn option((name, value): (&String, &Value)) -> (String, String) {
    (name.clone(), value.as_str().expect("options are text").to_owned())
}

fn files(folder: &Path, averaged: bool) -> BTreeMap<String, Option<usize>> {
    let entries = fs::read_dir(folder).expect("ours").map(|entry| entry.expect("readable").file_name());
    let names = entries.map(|name| name.into_string().expect("our names are text"));
    // Where fio keeps what it verified, for a later run of its own.
    let ours = names.filter(|name| !name.ends_with("-verify.state"));
    let lines = |name: &str| fs::read_to_string(folder.join(name)).expect("a log is text").lines().count();
    ours.map(|name| {
        let counted =
            (Path::new(&name).extension().is_some_and(|end| end == "log") && !averaged).then(|| lines(&name));
        (name, counted)
    })
    .collect()
}

#[test]
fn fio_files_mean_what_they_mean_to_fio() {
    if Command::new("fio").arg("--version").output().is_err() {
        println!("SKIPPED fio_files_mean_what_they_mean_to_fio: fio is not installed");
        return;
    }
    let room = Room::new("meaning");
    let mut wrong = Vec::new();
    let all: Vec<(&str, &str)> =
        FILES.split("### ").skip(1).map(|file| file.split_once('\n').expect("a name and a text")).collect();
    assert!(all.len() >= 30, "{} files", all.len());
    for (name, text) in &all {
        let theirs =
            run("fio", &["--output-format=json", "job.fio"], text, &room.0.join(format!("{name}-fio")));
        let ours = ["run", "job.fio", "--format", "fio-json", "--quiet"];
        let ours = run(env!("CARGO_BIN_EXE_iostack"), &ours, text, &room.0.join(name));
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) if ours == theirs => {}
            (Err(error), Err(_)) if name.contains("io-uring") => println!("SKIPPED {name}: {error}"),
            (ours, theirs) => wrong.push(format!("{name}\n  ours   {ours:?}\n  theirs {theirs:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {} files differ:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

#[test]
fn logs_that_exist_are_kept_unless_their_loss_is_allowed() {
    let room = Room::new("logs");
    let folder = room.0.join("logs");
    fs::create_dir_all(&folder).expect("ours");
    let text = "[r]\nrw=read\nsize=64k\ndirectory=.\nwrite_bw_log=old\n";
    fs::write(folder.join("job.fio"), text).expect("ours");
    fs::write(folder.join("old_bw.1.log"), "precious").expect("ours");
    let iostack = |more: &[&str]| {
        let command = ["run", "job.fio", "--quiet"].iter().chain(more);
        Command::new(env!("CARGO_BIN_EXE_iostack"))
            .args(command)
            .current_dir(&folder)
            .output()
            .expect("built")
    };
    let kept = || fs::read_to_string(folder.join("old_bw.1.log")).expect("it is there");
    let refused = iostack(&[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!((refused.status.code(), kept().as_str()), (Some(2), "precious"), "{said}");
    assert!(said.contains("the log `old_bw.1.log` exists and is not overwritten"), "{said}");
    assert!(!folder.join("r.0.0").exists(), "the run had begun");
    let allowed = iostack(&["--destroy-data"]);
    assert!(allowed.status.success(), "{}", String::from_utf8_lossy(&allowed.stderr));
    assert_eq!(kept().lines().count(), 16);
}
