//! Does `docs/repro.md` say what the program finds, and does a claim that fails end in exit 1?

use std::collections::BTreeMap;

use crate::digests;
use crate::shared::{Room, iostack, printed, root, said};

/// Prints of these experiments: all of it, and each one's section and pictures by name.
fn prints(experiments: &[&str], room: &Room) -> (String, BTreeMap<String, Vec<u8>>) {
    let folder = room.0.display().to_string();
    let output =
        iostack(&[&["repro"], experiments, &["--markdown", "--svg", folder.as_str(), "--quiet"]].concat());
    // 1: a claim does not hold, and the page says so.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
    let page = printed(&output);
    let pictures = std::fs::read_dir(&room.0).expect("ours").flatten().map(|file| {
        let name = format!("images/repro/{}", file.file_name().display());
        (name, std::fs::read(file.path()).expect("just written"))
    });
    let sections = sections(&page).into_iter().map(|section| {
        let id = section.lines().next().expect("a title");
        (format!("repro/{id}"), section.trim_end().as_bytes().to_owned())
    });
    let prints = pictures.chain(sections).collect();
    (page, prints)
}

/// Sections of the experiments, each from its name on.
fn sections(page: &str) -> Vec<&str> {
    page.split("\n## Experiments\n")
        .nth(1)
        .expect("the table of experiments")
        .split("\n## ")
        .skip(1)
        .collect()
}

/// The page without the sections of its experiments, and without links to them.
fn summary(page: &str) -> String {
    let sections = sections(page);
    let end = page.find(&format!("\n## {}", sections[0])).expect("it is there");
    let mut text = page[..end].trim_end().to_owned();
    for id in sections.iter().filter_map(|section| section.lines().next()) {
        text = text.replace(&format!("[{id}](#{id})"), id);
    }
    text + "\n\nEach in full, with its pictures: `iostack repro NAME --html FILE`, or the book (`make docs`).\n"
}

/// Those that take no second; the slow test has all.
#[test]
fn the_quick_reproductions_are_those_of_the_book() {
    let quick = ["request-size", "iometer-raid0", "raid-caps"];
    let (page, prints) = prints(&quick, &Room::new("quick"));
    assert_eq!(sections(&page).len(), 3);
    digests::compare(&prints);
}

#[test]
#[ignore = "slow: minutes"]
fn the_page_of_reproductions_is_what_the_program_prints() {
    let (page, prints) = prints(&[], &Room::new("all"));
    let (summary, path) = (summary(&page), root().join("docs/repro.md"));
    if std::env::var_os("IOSTACK_PAGES").is_some_and(|wish| wish == "overwrite") {
        std::fs::write(&path, &summary).expect("the manual can be written");
    }
    let kept = std::fs::read_to_string(&path).expect("the page");
    assert!(kept == summary, "docs/repro.md is out of date: IOSTACK_PAGES=overwrite writes it");
    digests::compare(&prints);
}
