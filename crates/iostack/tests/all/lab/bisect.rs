//! Which commit made a driver's I/O dearer? The repository and what lies in it stay as they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::anyones::{copied, folder};
use crate::shared::{Room, iostack, printed, said};
use crate::turn::turn_or_skip;

const BEGIN: &str = "struct bio_vec piece;\n\n";

/// A repository with a driver below its root. Commits after the first: of four nothing is dearer, `three` does not build,
/// and `five` adds instructions. `three` is the one in the middle, and so the first that is looked at.
fn repository(room: &Room) -> PathBuf {
    let driver = room.0.join("src");
    copied(Path::new(&folder("bio_ram")), &driver);
    let git = |words: &[&str]| {
        let all =
            [&["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"], words].concat();
        let done = Command::new("git").arg("-C").arg(&room.0).args(all).output().expect("git was there");
        assert!(done.status.success(), "{words:?}: {}", said(&done));
    };
    git(&["init", "--quiet"]);
    let file = driver.join("bio_ram.c");
    let plain = fs::read_to_string(&file).expect("it was copied");
    let dearer = plain.replace(BEGIN, &format!("{BEGIN}\tasm volatile(\".rept 20; nop; .endr\");\n"));
    assert_ne!(plain, dearer);
    for name in ["zero", "one", "two", "three", "four", "five", "six"] {
        let text = if ["five", "six"].contains(&name) { &dearer } else { &plain };
        let rest = if name == "three" { "no C" } else { "" };
        fs::write(&file, format!("{text}/* {name} */\n{rest}\n")).expect("our own file");
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", name]);
    }
    driver
}

#[test]
#[ignore = "slow: six boots"]
fn the_commit_that_made_a_driver_dearer_is_found() {
    let _turn = turn_or_skip!("the_commit_that_made_a_driver_dearer_is_found", "6.1");
    let room = Room::new("bisect");
    let source = repository(&room);
    let text = source.display().to_string();
    let costs = room.path("costs.toml");
    let good = folder("bio_ram");
    let written = iostack(&["lab", "cost", &good, "--driver-only", "--write", &costs, "--quiet"]);
    assert!(written.status.success(), "{}", said(&written));
    // What is not committed is neither counted nor lost.
    fs::write(source.join("bio_ram.c"), "changed\n").expect("our own file");
    let found =
        iostack(&["lab", "bisect", "HEAD~6", "HEAD", "--assert", &costs, "--source", &text, "--quiet"]);
    let told = printed(&found);
    assert_eq!(found.status.code(), Some(1), "{told}{}", said(&found));
    let line = |word: &str, title: &str| {
        let has = |line: &str| line.starts_with(word) && line.ends_with(&format!(" {title}"));
        assert!(told.lines().any(has), "{word} {title}: {told}");
    };
    line("GREW", "six");
    line("holds", "zero");
    line("skipped", "three");
    line("FIRST BAD", "five");
    assert!(told.contains("bio_ram:bio_ram_submit +2") && told.contains("bio_ram.c:"), "{told}");
    assert!(!told.contains("or skipped"), "{told}");
    assert_eq!(fs::read_to_string(source.join("bio_ram.c")).expect("our own file"), "changed\n");
}
