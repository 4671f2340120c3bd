//! Does `docs/repro.md` say what the program finds, and does a claim that fails end in exit 1?

#[path = "lab/room.rs"]
mod room;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use room::Room;

fn iostack(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iostack"))
        .args(arguments)
        .arg("--quiet")
        .output()
        .expect("the binary was built")
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

const STALE: &str = "is out of date: iostack repro --markdown --svg docs/images/repro > docs/repro.md";

/// What the program prints of these experiments, and their figures, all of which must be in the manual.
fn compare(experiments: &[&str], room: &Room) -> String {
    let folder = room.0.display().to_string();
    let output = iostack(&[&["repro"], experiments, &["--markdown", "--svg", folder.as_str()]].concat());
    // 1: a claim does not hold, and the page says so.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    for file in std::fs::read_dir(&room.0).expect("ours").flatten() {
        let name = file.file_name();
        let kept = std::fs::read_to_string(docs().join("images/repro").join(&name)).unwrap_or_default();
        assert!(
            kept == std::fs::read_to_string(file.path()).expect("just written"),
            "docs/images/repro/{} {STALE}",
            name.display()
        );
    }
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Those that take no second; the slow test has all.
#[test]
fn the_page_of_reproductions_says_what_the_quick_ones_give() {
    let quick = ["request-size", "iometer-raid0", "raid-caps"];
    let printed = compare(&quick, &Room::new("quick"));
    let page = std::fs::read_to_string(docs().join("repro.md")).expect("the page");
    let of_one = |section: &&str| section.lines().next().is_some_and(|title| quick.contains(&title));
    let sections: Vec<&str> = printed.split("\n## ").filter(of_one).collect();
    assert_eq!(sections.len(), 3);
    for section in sections {
        assert!(page.contains(section.trim_end()), "docs/repro.md {STALE}\n{section}");
    }
}

#[test]
#[ignore = "slow: minutes"]
fn the_page_of_reproductions_is_what_the_program_prints() {
    let printed = compare(&[], &Room::new("all"));
    let page = std::fs::read_to_string(docs().join("repro.md")).expect("the page");
    assert!(page == printed, "docs/repro.md {STALE}");
}

/// An experiment of one point on a device that answers after 10 us, that is 100,000 a second.
fn experiment(test: &str) -> String {
    format!(
        "title = \"T\"\nsource = \"S\"\nmeasured = \"M\"\nsimulated = \"I\"\n\
         [[curve]]\nname = \"one\"\ndevice = \"zero\"\njob = {{ io_count = 1000 }}\n\
         set = {{ \"zero.latency\" = \"10us\" }}\n[[plot]]\nheading = \"H\"\nfigure = \"iops\"\n\
         [[verdict]]\nclaim = \"cmu.device_a\"\nfield = \"read_iops\"\nsays = \"a tenth of a million\"\n\
         curve = \"one\"\n{test}\n"
    )
}

#[test]
fn a_claim_that_does_not_hold_ends_in_exit_1() {
    let room = Room::new("own");
    for (test, code, said) in [
        ("test = \"value\"\nwithin = \"3%\"", 0, "HOLDS      a tenth of a million"),
        ("test = \"value\"\nwithin = \"1%\"", 1, "claimed 102k, ours 100k, -2.0 %"),
        ("test = \"rises\"\nby = 2", 1, "FAILS"),
        ("test = \"value\"\nwithin = \"3%\"\nat = \"7\"", 1, "UNKNOWN"),
        ("test = \"valeu\"", 2, ""),
    ] {
        let path = room.0.join("own.toml");
        std::fs::write(&path, experiment(test)).expect("ours");
        let output = iostack(&["repro", &path.display().to_string()]);
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{test}\n{text}");
        assert!(text.contains(said), "{test}\n{text}");
    }
}

#[test]
fn an_experiment_that_is_not_there_is_named_with_those_that_are() {
    let output = iostack(&["repro", "queue-dept-a"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("`queue-dept-a`") && error.contains("queue-depth-a, queue-depth-b"), "{error}");
}
