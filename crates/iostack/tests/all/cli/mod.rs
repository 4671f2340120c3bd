//! Do the commands do what the pages in `tests/cli/` show? Each page is a test; `tests/cli/pages.md` explains their form.
//!
//!   page.md ──► files and commands ──► run in an empty folder ──► compare with what the page shows
//!
//! A page that was right yesterday and is meant to differ today is rewritten by
//! `IOSTACK_PAGES=overwrite cargo test --package iostack --test all cli::`; read the diff before you commit it.

mod expected;
mod page;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shared::{IOSTACK, Room, names, root};
use page::{Page, Shown};

/// One test for each page; a new page adds its name here.
macro_rules! pages {
    ($($name:ident)*) => {
        const LISTED: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { hold(stringify!($name)); })*
    };
}

pages! {
    ab absent attribution calibrate check compare devices fio fleet history iolat jobfile lab merge pages probe refused repro run safety serve
    simulate sweep unmounted what_if
}

/// Longer than any command on a page may take on the slowest machine; a hang must not eat the night.
const PATIENCE_SECONDS: &str = "300";

fn folder() -> PathBuf {
    root().join("tests/cli")
}

#[test]
fn every_page_is_a_test() {
    let files = names(&folder());
    let found: Vec<&str> = files.iter().filter_map(|name| name.strip_suffix(".md")).collect();
    let mut listed = LISTED.to_vec();
    listed.sort_unstable();
    assert_eq!(found, listed, "add the page to `pages!` in crates/iostack/tests/all/cli/mod.rs");
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
        place.file(file, content);
    }
    let mut corrected = Vec::new();
    let mut wrong = String::new();
    for shown in &page.commands {
        let (status, output) = in_shell(&place, &shown.command);
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
    let scratch = names(&place.0).into_iter().find(|name| name.starts_with(".iostack-"));
    assert_eq!(scratch, None, "{name}.md left a scratch file");
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
        "tracing" => format!("'{IOSTACK}' doctor | grep -q 'tracing  *yes'"),
        // A container may forbid either.
        "strace" => "strace -qq -o /dev/null true".to_owned(),
        "mounts" => "unshare --user --map-root-user --mount mount -t tmpfs none /sys".to_owned(),
        program => format!("command -v {program}"),
    };
    let answer = Command::new("sh").arg("-c").arg(question).output().expect("a POSIX system has sh");
    answer.status.success()
}

/// Exit status and both streams of a shell command, as a terminal would show them.
fn in_shell(place: &Room, command: &str) -> (i32, String) {
    let programs = Path::new(IOSTACK).parent().expect("a program lies in a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("timeout")
        .args([PATIENCE_SECONDS, "sh", "-c", &format!("exec 2>&1\n{command}")])
        .current_dir(&place.0)
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("NO_COLOR", "1")
        .env("COLUMNS", "80")
        .env("LC_ALL", "C.UTF-8")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("coreutils has timeout");
    let text = String::from_utf8_lossy(&output.stdout).replace(&*place.0.to_string_lossy(), "[CWD]");
    (output.status.code().unwrap_or(-1), text)
}
