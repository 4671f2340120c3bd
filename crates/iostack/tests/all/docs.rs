//! The reference pages say what the program does: they end with what it prints, and are written anew by
//! `IOSTACK_PAGES=overwrite cargo test --package iostack --test all docs::`.

use std::path::PathBuf;

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

/// The page ends with `made`, from its first line on.
fn ends_with(name: &str, made: &str) {
    let text = page(name);
    if text.ends_with(made) {
        return;
    }
    let first = made.lines().next().expect("something was printed");
    let kept = text.split_once(first).unwrap_or_else(|| panic!("docs/{name} has no line `{first}`")).0;
    if std::env::var_os("IOSTACK_PAGES").is_some_and(|wish| wish == "overwrite") {
        std::fs::write(path(name), kept.to_owned() + made).expect("the manual can be written");
    }
    panic!("docs/{name} is not what the program says; IOSTACK_PAGES=overwrite writes it");
}

#[test]
fn the_page_of_options_ends_with_what_the_program_prints() {
    let made = printed(&["options", "--markdown"]);
    assert!(made.lines().count() > 100, "{made}");
    ends_with("options.md", &made);
}

#[test]
fn the_keys_of_sheets_are_those_of_the_book() {
    let made = printed(&["sim", "keys", "--markdown"]);
    assert!(made.lines().count() > 140, "{made}");
    crate::digests::compare(&[("sheets.md".to_owned(), made.into_bytes())].into());
}

/// Heading above the options of a job.
const OPTIONS: &str = "\nWhat is asked:\n";

/// The help of a command, and of those below it. The options of a job are told once.
fn helps(of: &[&str]) -> String {
    let help = printed(&[of, &["--help"]].concat());
    let name = [&["iostack"], of].concat().join(" ");
    let told = match help.split_once(OPTIONS) {
        Some((before, _)) if of != ["run"] => {
            format!("{before}{OPTIONS}  The options of `iostack run`, above.")
        }
        _ => help.clone(),
    };
    let below: String = listed_commands(&help).iter().map(|one| helps(&[of, &[one]].concat())).collect();
    format!("## {name}\n\n```text\n{}\n```\n\n{below}", told.trim_end())
}

#[test]
fn the_page_of_commands_is_their_help() {
    let all = helps(&[]);
    assert!(all.matches("## iostack").count() > 20, "{all}");
    ends_with("commands.md", &(all.trim_end().to_owned() + "\n"));
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
