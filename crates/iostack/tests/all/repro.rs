//! Does `docs/repro.md` say what the program finds, do the pages of the lab what it found, and does a claim that fails end in exit 1?

use std::collections::BTreeMap;

use crate::digests;
use crate::docs::ends_with;
use crate::shared::{Room, iostack, iostack_in, printed, root, said};

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
    ends_with("repro.md", &summary(&page));
    digests::compare(&prints);
}

#[test]
#[ignore = "slow: a minute of fits"]
fn the_page_of_measured_curves_is_what_the_program_prints() {
    let folder = root().join("experiments/measured");
    let files = std::fs::read_dir(&folder).expect("tables").flatten();
    let mut names: Vec<String> =
        files.map(|file| format!("experiments/measured/{}", file.file_name().display())).collect();
    names.sort();
    assert!(names.len() > 2, "{names:?}");
    let line = format!("repro --validation {} --markdown --quiet", names.join(" "));
    let output = iostack_in(&root(), &line);
    assert!(output.status.success(), "{}", said(&output));
    ends_with("validation.md", &printed(&output));
}

/// A table without its columns `claim` and `asked`.
fn verdicts(table: &str) -> String {
    let short = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        format!("|{}|", [&cells[..1], &cells[2..6]].concat().join("|"))
    };
    table.lines().map(short).collect::<Vec<_>>().join("\n")
}

/// Sentence on how far predicted figures are off, from the last column of their table.
fn predicted(table: &str) -> String {
    let cells = table.lines().skip(2).filter_map(|line| line.trim_end_matches(" |").rsplit(' ').next());
    let mut off: Vec<f64> = cells.filter_map(|cell| cell.parse().ok()).map(f64::abs).collect();
    off.sort_by(f64::total_cmp);
    let (half, worst) = (off[off.len() / 2], off[off.len() - 1]);
    format!(
        "The simulation had predicted {} figures of these runs: half within {half:.0} %, the worst {worst:.0} % off.",
        off.len()
    )
}

/// Beginnings of parts of the record that only the book has.
const LEFT_OUT: [&str; 5] = ["```", "- `", "Linux ", "Measured: ", "What the simulated"];

/// Summary of the lab's record, without reasons, commands, layers and single figures.
fn summary_of_lab(name: &str, record: &str) -> String {
    let mut sections = record.split("\n## ");
    let head = sections.next().and_then(|head| head.split("\n| ").next()).expect("words before a table");
    let mut text = head.trim_end().to_owned();
    for section in sections {
        text += "\n\n##";
        let (mut before, mut is_judged) = ("", false);
        for part in section.trim_end().split("\n\n") {
            let said = if !part.starts_with('|') {
                if LEFT_OUT.iter().any(|start| part.starts_with(start)) { "" } else { part }.to_owned()
            } else if !is_judged {
                is_judged = true;
                verdicts(part)
            } else if before.starts_with("What the simulated") {
                predicted(part)
            } else if before.starts_with("Linux ") {
                part.lines().take(3).collect::<Vec<_>>().join("\n")
            } else {
                String::new()
            };
            if !said.is_empty() {
                text += if before.is_empty() { " " } else { "\n\n" };
                text += &said;
            }
            before = part;
        }
    }
    let record = format!("[the record](../experiments/lab/{name})");
    text + &format!(
        "\n\nEach in full, with reasons, commands and every figure: {record}, or the book (`make docs`).\n"
    )
}

#[test]
fn the_pages_of_the_lab_are_summaries_of_its_record() {
    for name in ["lab-results.md", "lab-experiments.md"] {
        let record = std::fs::read_to_string(root().join("experiments/lab").join(name)).expect("the record");
        assert!(record.matches("\n## ").count() > 3, "{name}");
        ends_with(name, &summary_of_lab(name, &record));
    }
}
