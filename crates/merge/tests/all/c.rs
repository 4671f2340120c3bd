//! How do tests build C programs against the library? With `cc`, in a folder of their own.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The crate's own folder.
pub(crate) fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Shared library that cargo builds with these tests, and puts beside them.
pub(crate) fn library() -> PathBuf {
    let test = std::env::current_exe().expect("Linux tells");
    let library = test.with_file_name("libiostack_merge.so");
    assert!(library.is_file(), "cargo builds {} with the crate", library.display());
    library
}

/// Output of a program that is installed.
pub(crate) fn run(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("{} is not installed", command.get_program().display()),
        _ => panic!("cannot start {command:?}: {error}"),
    })
}

/// All that it said, standard output first.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Compiles C against header and library, warnings refused.
pub(crate) fn compile(source: &Path, words: &[&str], program: &Path) -> Result<(), String> {
    let library = library();
    let folder = library.parent().expect("a file lies in a folder");
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]);
    command.arg("-I").arg(own("include")).args(words).arg(source).arg("-o").arg(program);
    // The old tag, which counts before LD_LIBRARY_PATH: cargo sets that to a folder with a library of another day.
    let found_in = format!("-Wl,--disable-new-dtags,-rpath,{}", folder.display());
    command.arg("-L").arg(folder).arg("-liostack_merge").arg(found_in);
    let output = run(&mut command)?;
    assert!(output.status.success(), "{}", said(&output));
    Ok(())
}
