//! The reference pages say what the program does: they end with what people look up of what it prints, and are written anew by
//! `IOSTACK_PAGES=overwrite cargo test --package iostack --test all docs::`. The book has the whole, of which a digest is kept.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::digests;
use crate::shared::{command, listed_commands, names, root};

fn path(name: &str) -> PathBuf {
    root().join("docs").join(name)
}

fn page(name: &str) -> String {
    let path = path(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn printed(arguments: &[&str]) -> String {
    let output = command(arguments).env("COLUMNS", "80").output().expect("the binary was built");
    crate::shared::printed(&output).lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The page is `made`; where that has no title, it ends with it, from its first line on.
pub(crate) fn ends_with(name: &str, made: &str) {
    let (text, first) = (page(name), made.lines().next().expect("something was printed"));
    let kept = if first.starts_with("# ") { Some("") } else { text.split(first).next() };
    let whole = kept.expect("at least one").to_owned() + made;
    if std::env::var_os("IOSTACK_PAGES").is_some_and(|wish| wish == "overwrite") {
        std::fs::write(path(name), &whole).expect("the manual can be written");
    }
    let same = page(name) == whole;
    assert!(same, "docs/{name} is not what the program says; IOSTACK_PAGES=overwrite writes it");
}

/// Options as people look them up: ours with their meaning, names of fio's by what becomes of them.
fn lookup_of_options(whole: &str) -> String {
    let (ours, fios) = whole.split_once("\n## ").expect("two tables");
    let (title, rows) = fios.split_once('\n').expect("a title");
    let kinds = ["", "accepted without effect", "refused"];
    let mut names = kinds.map(|_| Vec::new());
    for row in rows.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_start_matches("| ").split(" | ").collect();
        let kind =
            kinds.iter().rposition(|kind| cells[1].starts_with(kind)).expect("each begins with nothing");
        names[kind].push(cells[0]);
    }
    let [taken, ignored, refused] = names.map(|names| names.join(", "));
    format!(
        "{ours}\n## {title}\n\n**Taken**: {taken}.\n\n**Accepted without effect**: {ignored}.\n\n**Refused**: {refused}.\n\n\
         `iostack options NAME` says what one means here, or why it has no effect or is refused and what does it instead. The book\n\
         (`make docs`) has a line for each.\n"
    )
}

#[test]
fn the_page_of_options_is_what_the_program_prints() {
    let made = printed(&["options", "--markdown"]);
    assert!(made.lines().count() > 100, "{made}");
    ends_with("options.md", &lookup_of_options(&made));
    digests::compare(&[("options.md".to_owned(), made.into_bytes())].into());
}

#[test]
fn the_keys_of_sheets_are_those_of_the_book() {
    let made = printed(&["sim", "keys", "--markdown"]);
    assert!(made.lines().count() > 140, "{made}");
    digests::compare(&[("sheets.md".to_owned(), made.into_bytes())].into());
}

/// Heading above the options of a job.
const OPTIONS: &str = "What is asked:";

/// The flags of a group in a line each, with their text but without blanks and what a value means.
fn flags(group: &str) -> Vec<String> {
    let (mut entries, mut is_text) = (Vec::<String>::new(), false);
    for line in group.lines().skip(1) {
        let text = line.trim_start();
        match entries.last_mut() {
            _ if text.is_empty() => is_text = false,
            Some(entry) if line.len() - text.len() >= 10 => {
                if is_text || text.starts_with("[default") {
                    let gap = if entry.trim_start().contains("  ") { " " } else { "  " };
                    entry.extend([gap, text]);
                } else if text == "Possible values:" {
                    entry.push(':');
                } else if let Some((value, _)) = text.trim_start_matches("- ").split_once(':') {
                    entry.extend([" ", value]);
                }
            }
            _ => {
                entries.push(line.to_owned());
                is_text = true;
            }
        }
    }
    entries.retain(|entry| !entry.trim_start().starts_with("-h,"));
    entries
}

/// Help as people look it up: a line for each flag. Flags that stand above, and what follows the flags, are left out.
fn lookup_of_help<'a>(name: &'a str, help: &str, told: &mut BTreeMap<(String, String), &'a str>) -> String {
    let (mut page, mut has_flags) = (format!("## {name}\n\n```text"), false);
    let mut groups: Vec<String> = Vec::new();
    for part in help.split("\n\n") {
        match groups.last_mut() {
            Some(group) if part.starts_with(' ') => group.extend(["\n\n", part]),
            _ => groups.push(part.to_owned()),
        }
    }
    for group in groups {
        let title = group.lines().next().unwrap_or_default();
        let is_list = title.ends_with(':') && group.contains("\n  ");
        let lines =
            if title == OPTIONS { "  options.md has them".to_owned() } else { flags(&group).join("\n") };
        if !is_list && !has_flags {
            page.extend(["\n", &group, "\n"]);
        } else if is_list && !lines.is_empty() {
            let above = *told.entry((title.to_owned(), lines.clone())).or_insert(name);
            let lines =
                if above == name || title == OPTIONS { lines } else { format!("  As for `{above}`, above") };
            page.extend(["\n", title, "\n", &lines, "\n"]);
        }
        has_flags |= is_list;
    }
    page + "```\n"
}

#[test]
fn the_page_of_commands_is_their_help() {
    let whole = printed(&["manual", "--markdown"]);
    let (mut told, mut pages) = (BTreeMap::new(), Vec::new());
    for section in whole.split("## iostack").skip(1) {
        let (words, help) = section.split_once("\n\n```text\n").expect("a command and its help");
        let help = help.trim_end().trim_end_matches("\n```");
        let asked: Vec<&str> = words.split_whitespace().chain(["--help"]).collect();
        let asked = printed(&asked);
        // The options of a job are told once.
        let same = match help.split_once("\n  The options of") {
            Some((before, _)) => asked.starts_with(before),
            None => asked.trim_end() == help,
        };
        assert!(same, "{asked}\nis not\n{help}");
        pages.push((format!("iostack{words}"), help));
    }
    let names: Vec<String> = pages.iter().map(|(name, _)| name.clone()).collect();
    for name in listed_commands(&printed(&["--help"])) {
        assert!(names.contains(&format!("iostack {name}")), "{name}: {names:?}");
    }
    assert!(pages.len() > 20, "{names:?}");
    let lookup: Vec<String> =
        pages.iter().map(|(name, help)| lookup_of_help(name, help, &mut told)).collect();
    ends_with("commands.md", &lookup.join("\n"));
    digests::compare(&[("commands.md".to_owned(), whole.into_bytes())].into());
}

#[test]
fn every_page_is_on_one_shelf() {
    let shelves = page("README.md");
    for name in names(&path("")) {
        if name.strip_suffix(".md").is_some_and(|name| name != "README") {
            let rows = shelves
                .lines()
                .filter(|line| line.starts_with("| [") && line.contains(&format!("]({name})")));
            assert_eq!(rows.count(), 1, "docs/README.md: `{name}` belongs on exactly one shelf");
        }
    }
}

#[test]
fn the_readme_fits_and_names_every_command() {
    let readme = page("../README.md");
    assert!(readme.lines().count() <= 120, "README.md: {} lines", readme.lines().count());
    for name in listed_commands(&printed(&["--help"])) {
        assert!(
            readme.contains(&format!("`iostack {name}")) || readme.contains(&format!("`sudo iostack {name}")),
            "README.md: no row of its table has `iostack {name}`"
        );
    }
}
