//! Does the package do in Python what its tests say? They run on the library that cargo built beside this program.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use iostack_testkit::{or_skip, tool};

/// Imports of the tests and of the tutorial.
const NEEDED: &str = "import matplotlib, pandas, pyarrow, pytest";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The Python that `cargo xtask setup` furnishes, or the system's, where it has all that is needed.
fn python() -> Result<PathBuf, String> {
    let own = root().join("target/venv/bin/python3");
    let tried = [own, PathBuf::from("python3")]
        .map(|python| tool(&python.to_string_lossy(), &["-c", NEEDED]).map(|_| python));
    let [own, other] = tried;
    own.or(other)
}

/// The program that cargo built beside this one.
fn program() -> PathBuf {
    let own = std::env::current_exe().expect("a running test has a program");
    own.ancestors().nth(2).expect("target/PROFILE/deps").join("iostack")
}

/// A folder with the package: its sources as they are, and the library.
fn package() -> PathBuf {
    let program = std::env::current_exe().expect("a running test has a program");
    let built = program.parent().expect("it lies in a folder");
    let folder = built.ancestors().nth(2).expect("target/PROFILE/deps").join("python");
    let inside = folder.join("iostack");
    let _ = fs::remove_dir_all(&inside);
    fs::create_dir_all(&inside).expect("a folder below target/");
    let sources = fs::read_dir(root().join("python/iostack")).expect("python/iostack is there");
    for source in sources.map(|entry| entry.expect("read")) {
        let from = source.path().canonicalize().expect("it is there");
        symlink(from, inside.join(source.file_name())).expect("a link of our own");
    }
    symlink(built.join("lib_native.so"), inside.join("_native.abi3.so")).expect("a link of our own");
    folder
}

#[test]
fn the_tests_of_the_package_pass() {
    pass("the_tests_of_the_package_pass", "not slow");
}

#[test]
#[ignore = "slow: minutes of worker processes that are killed, and of fleets"]
fn the_slow_tests_of_the_package_pass() {
    pass("the_slow_tests_of_the_package_pass", "slow");
}

/// The tests with these marks pass.
fn pass(name: &str, marks: &str) {
    let Some(python) = or_skip(name, python()) else { return };
    let (package, mut command) = (package(), Command::new(python));
    command.args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-m", marks, "python/tests"]);
    command.env("PYTHONPATH", &package).env("PYTHONDONTWRITEBYTECODE", "1").current_dir(root());
    command.env("IOSTACK_PROGRAM", program());
    let output = command.output().expect("it ran a moment ago");
    let said = String::from_utf8_lossy(&output.stdout);
    // One of them that skips is told, and is not this test.
    print!("{}", said.replace("SKIPPED [", "in Python, skipped ["));
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
