//! Does `docs/repro.md` say what the program finds, and does a claim that fails end in exit 1?

use std::path::PathBuf;

use crate::shared::{Room, heard, iostack, printed, refused, root, said};

fn docs() -> PathBuf {
    root().join("docs")
}

const STALE: &str = "is out of date: iostack repro --markdown --svg docs/images/repro > docs/repro.md";

/// Runs experiments and compares their drawings with the manual's; the text they print.
fn compare(experiments: &[&str], room: &Room) -> String {
    let folder = room.0.display().to_string();
    let output =
        iostack(&[&["repro"], experiments, &["--markdown", "--svg", folder.as_str(), "--quiet"]].concat());
    // 1: a claim does not hold, and the page says so.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
    for file in std::fs::read_dir(&room.0).expect("ours").flatten() {
        let name = file.file_name();
        let kept = std::fs::read_to_string(docs().join("images/repro").join(&name)).unwrap_or_default();
        assert!(
            kept == std::fs::read_to_string(file.path()).expect("just written"),
            "docs/images/repro/{} {STALE}",
            name.display()
        );
    }
    printed(&output)
}

/// Those that take no second; the slow test has all.
#[test]
fn the_page_of_reproductions_says_what_the_quick_ones_give() {
    let quick = ["request-size", "iometer-raid0", "raid-caps"];
    let told = compare(&quick, &Room::new("quick"));
    let page = std::fs::read_to_string(docs().join("repro.md")).expect("the page");
    let of_one = |section: &&str| section.lines().next().is_some_and(|title| quick.contains(&title));
    let sections: Vec<&str> = told.split("\n## ").filter(of_one).collect();
    assert_eq!(sections.len(), 3);
    for section in sections {
        assert!(page.contains(section.trim_end()), "docs/repro.md {STALE}\n{section}");
    }
}

#[test]
#[ignore = "slow: minutes"]
fn the_page_of_reproductions_is_what_the_program_prints() {
    let told = compare(&[], &Room::new("all"));
    let page = std::fs::read_to_string(docs().join("repro.md")).expect("the page");
    assert!(page == told, "docs/repro.md {STALE}");
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
        let output = iostack(&["repro", &room.file("own.toml", experiment(test)), "--quiet"]);
        let text = heard(&output);
        assert_eq!(output.status.code(), Some(code), "{test}\n{text}");
        assert!(text.contains(said), "{test}\n{text}");
    }
}

#[test]
fn an_experiment_that_is_not_there_is_named_with_those_that_are() {
    refused(&iostack(&["repro", "queue-dept-a"]), &["`queue-dept-a`", "queue-depth-a, queue-depth-b"]);
}
