//! Are man pages and completions what the program says, and do their readers take them? And does it know its commit?

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use iostack_testkit::{folder, or_skip, tool};

use crate::shared::{iostack, listed_commands, refused, said};

fn printed(arguments: &[&str]) -> String {
    let output = iostack(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Writes the manual; names of the files below this folder.
fn written(share: &Path) -> BTreeSet<String> {
    let names = printed(&["manual", &share.display().to_string()]);
    let below = names.lines().map(|path| Path::new(path).strip_prefix(share).expect("below what was named"));
    below.map(|path| path.display().to_string()).collect()
}

fn commands(of: &[&str]) -> Vec<String> {
    listed_commands(&printed(&[of, &["--help"]].concat()))
}

#[test]
fn every_command_has_a_page_and_every_shell_its_completions() {
    let folder = folder!("manual-pages");
    let mut expected: BTreeSet<String> = [
        "bash-completion/completions/iostack",
        "zsh/site-functions/_iostack",
        "fish/vendor_completions.d/iostack.fish",
        "man/man1/iostack.1",
    ]
    .map(str::to_owned)
    .into();
    for command in commands(&[]) {
        for below in commands(&[&command]) {
            expected.insert(format!("man/man1/iostack-{command}-{below}.1"));
        }
        expected.insert(format!("man/man1/iostack-{command}.1"));
    }
    assert!(expected.len() > 25, "{expected:?}");
    assert_eq!(written(&folder), expected);
    let run = fs::read_to_string(folder.join("man/man1/iostack-run.1")).expect("a page");
    assert!(run.contains("\\-\\-queue\\-depth"), "the options of a job are missing");
    let fio = fs::read_to_string(folder.join("man/man1/iostack-fio.1")).expect("a page");
    for name in ["\\-\\-status\\-interval", "\\-\\-client", "iodepth", "readwrite", "lat_percentiles"] {
        assert!(fio.contains(name), "`{name}` is missing");
    }
}

#[test]
fn what_is_there_is_written_over_only_when_asked() {
    let folder = folder!("manual-replace");
    let share = folder.display().to_string();
    written(&folder);
    let page = folder.join("man/man1/iostack.1");
    fs::write(&page, "older").expect("ours");
    let again = iostack(&["manual", &share]);
    refused(&again, &["exists and is not overwritten", "--replace"]);
    assert_eq!(again.stdout, b"");
    assert_eq!(fs::read_to_string(&page).expect("kept"), "older");
    printed(&["manual", "--replace", &share]);
    assert!(fs::read_to_string(&page).expect("written").contains(".TH iostack 1"));
}

#[test]
fn the_shells_read_their_completions() {
    let folder = folder!("manual-shells");
    written(&folder);
    for (shell, flag, file) in [
        ("bash", "-n", "bash-completion/completions/iostack"),
        ("zsh", "-n", "zsh/site-functions/_iostack"),
        ("fish", "--no-execute", "fish/vendor_completions.d/iostack.fish"),
    ] {
        if tool(shell, &["-c", "true"]).is_err() {
            println!("SKIPPED the_shells_read_their_completions: {shell} is not installed");
            return;
        }
        let read = tool(shell, &[flag, &folder.join(file).display().to_string()]);
        assert_eq!(read.as_deref(), Ok(""), "{shell}");
    }
    // What bash would offer behind `iostack sim w`.
    let script = "source \"$1\"; COMP_WORDS=(iostack sim w); COMP_CWORD=2; _iostack iostack w sim; echo \"${COMPREPLY[@]}\"";
    let bash = folder.join("bash-completion/completions/iostack").display().to_string();
    assert_eq!(tool("bash", &["-c", script, "bash", &bash]).as_deref(), Ok("what-if"));
}

#[test]
fn man_reads_every_page_without_a_warning() {
    let folder = folder!("manual-man");
    let pages: Vec<String> = written(&folder).into_iter().filter(|name| name.ends_with(".1")).collect();
    for name in &pages {
        let page = folder.join(name).display().to_string();
        let asked = ["-Wall", "-z", "-man", "-Tutf8", &page];
        let output = Command::new("groff").args(asked).output().map_err(|error| format!("groff: {error}"));
        let Some(output) = or_skip("man_reads_every_page_without_a_warning", output) else { return };
        let said = said(&output);
        assert!(output.status.success() && said.is_empty(), "{name}: {said}");
    }
}

#[test]
fn the_version_names_the_commit_that_was_built() {
    let version = printed(&["--version"]);
    let told = version.strip_prefix(concat!("iostack ", env!("CARGO_PKG_VERSION"), " (commit "));
    let told = told.and_then(|rest| rest.trim_end().strip_suffix(')')).unwrap_or_else(|| panic!("{version}"));
    // What the packager said goes before what git says.
    let said = option_env!("IOSTACK_COMMIT").filter(|commit| !commit.is_empty()).map(str::to_owned);
    let here = env!("CARGO_MANIFEST_DIR");
    let git = tool("git", &["-C", here, "rev-parse", "--short=12", "HEAD"]);
    let known = said.map_or_else(|| or_skip("the_version_names_the_commit_that_was_built", git), Some);
    if let Some(commit) = known {
        assert_eq!(told, commit);
    }
}
