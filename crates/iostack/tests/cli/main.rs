//! Do the commands do what the pages in `tests/cli/` show? Each page is a test; `tests/cli/pages.md` explains their form.
//!
//!   page.md ──► files and commands ──► run in an empty folder ──► compare with what the page shows
//!
//! A page that was right yesterday and is meant to differ today is rewritten by
//! `IOSTACK_PAGES=overwrite cargo test --package iostack --test cli`; read the diff before you commit it.

mod expected;
mod page;
#[path = "../lab/room.rs"]
mod room;

use std::path::{Path, PathBuf};
use std::process::Command;

use page::{Page, Shown};
use room::Room;

/// One test for each page; a new page adds its name here.
macro_rules! pages {
    ($($name:ident)*) => {
        const LISTED: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { hold(stringify!($name)); })*
    };
}

pages! {
    ab attribution check compare devices history iolat jobfile lab merge pages repro run simulate sweep what_if
}

/// Longer than any command on a page may take on the slowest machine; a hang must not eat the night.
const PATIENCE_SECONDS: &str = "300";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli")
}

#[test]
fn every_page_is_a_test() {
    let entries = std::fs::read_dir(folder()).expect("tests/cli is part of the repository");
    let paths = entries.map(|entry| entry.expect("a folder in a checkout can be read").path());
    let mut found: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    found.sort();
    let mut listed = LISTED.to_vec();
    listed.sort_unstable();
    assert_eq!(found, listed, "add the page to `pages!` in crates/iostack/tests/cli/main.rs");
}

/// Runs a page in an empty folder of its own and fails where it does not hold.
fn hold(name: &str) {
    let path = folder().join(format!("{name}.md"));
    let text = std::fs::read_to_string(&path).expect("the page is listed, so it exists");
    let page = Page::parse(&text).unwrap_or_else(|wrong| panic!("{name}.md: {wrong}"));
    if let Some(missing) = page.requires.iter().find(|thing| !is_here(thing)) {
        println!("SKIPPED cli page {name}: it requires {missing}");
        return;
    }
    let place = Room::new(name);
    for (file, content) in &page.files {
        std::fs::write(place.0.join(file), content).expect("an empty folder takes the files of the page");
    }
    let mut corrected = Vec::new();
    let mut wrong = String::new();
    for shown in &page.commands {
        let (status, output) = place.run(&shown.command);
        if status != shown.status || !expected::matches(&shown.output, &output) {
            wrong += &difference(name, shown, status, &output);
            corrected.push((shown, status, output));
        }
    }
    if !corrected.is_empty() && std::env::var_os("IOSTACK_PAGES").is_some_and(|wish| wish == "overwrite") {
        std::fs::write(&path, page::corrected(&text, &corrected)).expect("a checkout can be written");
        return;
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(place.left_behind(), Vec::<String>::new(), "{name}.md left scratch files");
}

fn difference(name: &str, shown: &Shown, status: i32, output: &str) -> String {
    format!(
        "\ntests/cli/{name}.md:{}: $ {}\n--- the page shows (exit {})\n{}\n--- it printed (exit {status})\n{output}\n",
        shown.line + 1,
        shown.command,
        shown.status,
        shown.output,
    )
}

/// True when the machine has what a page requires: `root`, or a program.
fn is_here(thing: &str) -> bool {
    let question = match thing {
        "root" => "test $(id -u) = 0".to_owned(),
        // A rung of the ladder.
        "tracing" => format!("'{}' doctor | grep -q 'tracing  *yes'", env!("CARGO_BIN_EXE_iostack")),
        program => format!("command -v {program}"),
    };
    let answer = Command::new("sh").arg("-c").arg(question).output().expect("a POSIX system has sh");
    answer.status.success()
}

impl Room {
    /// Exit status and both streams of a shell command, as a terminal would show them.
    fn run(&self, command: &str) -> (i32, String) {
        let programs = Path::new(env!("CARGO_BIN_EXE_iostack")).parent().expect("a program lies in a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("timeout")
            .args([PATIENCE_SECONDS, "sh", "-c", &format!("exec 2>&1\n{command}")])
            .current_dir(&self.0)
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("NO_COLOR", "1")
            .env("COLUMNS", "80")
            .env("LC_ALL", "C.UTF-8")
            .stdin(std::process::Stdio::null())
            .output()
            .expect("coreutils has timeout");
        let text = String::from_utf8_lossy(&output.stdout).replace(&*self.0.to_string_lossy(), "[CWD]");
        (output.status.code().unwrap_or(-1), text)
    }

    /// Scratch files of ours that a command should have removed.
    fn left_behind(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("the folder was made above");
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(".iostack-")).collect()
    }
}
