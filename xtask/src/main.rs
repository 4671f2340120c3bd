//! Which chore? `cargo xtask NAME` runs the one in `NAME.rs`.
//!
//!   tree ──► chores (format, tidy, licences, spelling, clippy) ──► check
//!                                            check + cargo test ──► test
//!
//! Everything a machine can see about the tree is refused here rather than in review. A chore looks at a [`tree::Tree`]
//! and returns one [`chore::Finished`]; it prints nothing itself. Start reading at `CHORES`.

mod bench;
mod bpf;
mod check;
mod chore;
mod clippy;
mod deny;
mod docs;
mod finding;
mod format;
mod fuzz;
mod house;
mod licences;
mod mask;
mod mutants;
mod package;
mod process;
mod python;
mod setup;
mod spelling;
mod test;
mod tidy;
mod tree;

use std::process::ExitCode;

use anyhow::Result;

/// Name, what it does, how.
type Entry = (&'static str, &'static str, fn(&[String]) -> Result<bool>);

const CHORES: &[Entry] = &[
    ("check", "format, tidy, licences, deny, spelling and clippy, as the commit gate runs them", check::all),
    ("format", "is every file as rustfmt writes it?", |_| check::one("format")),
    ("tidy", "lengths, dead files, stray marks, dependencies without a reason", |_| check::one("tidy")),
    ("licences", "may we ship every dependency?", |_| check::one("licences")),
    ("deny", "cargo deny over all dependencies, where it is installed", |_| check::one("deny")),
    (
        "house",
        "lines, crates, arrows, circles, names: what grew is refused; --lower stores what fell",
        house::chore,
    ),
    ("spelling", "codespell over code and docs", |_| check::one("spelling")),
    ("clippy", "clippy over all targets, warnings refused", |_| check::one("clippy")),
    ("setup", "install what the tests can use and this machine lacks", setup::chore),
    (
        "test",
        "setup, check, then every test; --slow adds the slow tier, --no-setup installs nothing; --changed: a minute of what was changed",
        test::chore,
    ),
    ("bpf", "make the committed BPF objects again, all or those named", bpf::chore),
    (
        "fuzz",
        "feed every reader of strangers' files with damaged ones, a minute each, or --seconds N",
        fuzz::chore,
    ),
    (
        "mutants",
        "change the code in small ways: does a test notice? Of all crates that must, or those named",
        mutants::chore,
    ),
    ("docs", "the manual as a book, target/book/html; builds mdbook where there is none", docs::chore),
    (
        "package",
        "static programs and Debian packages in target/package, all or those named: iostack, iostack-dkms, libiostack-merge-dev",
        package::chore,
    ),
    (
        "python",
        "the Python package: a wheel in target/python/wheels, tried in a fresh environment of python3 or the one named",
        python::chore,
    ),
    ("bench", "measure, and append to bench/history.ndjson", bench::chore),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("", String::as_str);
    let Some((_, _, chore)) = CHORES.iter().find(|(known, _, _)| *known == name) else {
        eprintln!("`{name}` is not a chore; write `cargo xtask NAME` with one of:");
        for (known, purpose, _) in CHORES {
            eprintln!("  {known:<9} {purpose}");
        }
        return ExitCode::from(2);
    };
    match chore(&arguments[1..]) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("xtask {name}: {error:#}");
            ExitCode::from(2)
        }
    }
}
