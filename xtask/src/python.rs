//! What does a user of Python install? The wheel, built as packages are, tried in an environment where nothing else is.
//!
//!   crates/py, python/ ──► maturin ──► target/python/wheels ──► pip, a fresh environment ──► its import, its tests

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::package::notices;
use crate::process::must;
use crate::{process, setup, tree};

/// Folder of wheels, from the root.
const WHEELS: &str = "target/python/wheels";

/// Folder where a wheel is tried.
const FRESH: &str = "target/python/fresh";

/// Licences of the crates that are linked, which go with it. Git takes no notice of the file.
const NOTICES: &str = "python/iostack/third-party.txt";

/// A wheel above this has taken something in that it should not.
const BYTES_MAX: u64 = 15_000_000;

/// Prints how long an import takes, with nothing but the package there.
const IMPORT: &str = "import time; began = time.perf_counter(); import iostack; \
                      print(f'{(time.perf_counter() - began) * 1e3:.0f} ms to import {iostack.__version__}')";

/// `cargo xtask python [PYTHON]`: builds the wheel, and tries it with that Python.
pub(crate) fn chore(arguments: &[String]) -> Result<bool> {
    let python = match arguments {
        [] => "python3",
        [python] => python.as_str(),
        _ => anyhow::bail!("`cargo xtask python` takes one word, the Python to try the wheel with"),
    };
    let root = tree::root();
    let wheel = build(&root)?;
    let bytes = wheel.metadata().context("it was just built")?.len();
    println!("python    {} ({} KiB)", wheel.strip_prefix(&root).unwrap_or(&wheel).display(), bytes / 1024);
    ensure!(bytes <= BYTES_MAX, "{} has {bytes} bytes, more than {BYTES_MAX}", wheel.display());
    try_it(&root, python, &wheel)
}

/// The wheel, alone in its folder.
fn build(root: &Path) -> Result<PathBuf> {
    let venv = root.join(setup::VENV);
    setup::from_pip(&venv, "maturin", "bin/maturin")?;
    let told = process::text(Command::new("rustc").args(["--print", "host-tuple"]))?;
    let notices = notices::of(root, "iostack-py", told.trim())?;
    fs::write(root.join(NOTICES), notices).with_context(|| format!("cannot write {NOTICES}"))?;
    let wheels = root.join(WHEELS);
    if wheels.exists() {
        fs::remove_dir_all(&wheels).with_context(|| format!("cannot empty {}", wheels.display()))?;
    }
    let mut maturin = Command::new(venv.join("bin/maturin"));
    must(maturin.args(["build", "--quiet", "--out"]).arg(&wheels).current_dir(root.join("python")))?;
    let mut files = fs::read_dir(&wheels).with_context(|| format!("cannot read {}", wheels.display()))?;
    Ok(files.next().context("maturin built no wheel")?.context("cannot read its name")?.path())
}

/// Installs it where nothing else is, imports it, then runs its tests with what they need.
fn try_it(root: &Path, python: &str, wheel: &Path) -> Result<bool> {
    let fresh = root.join(FRESH);
    process::text(Command::new(python).args(["-m", "venv", "--clear"]).arg(&fresh))?;
    let pip = |what: &[&OsStr]| {
        let words = ["install", "--quiet", "--disable-pip-version-check"];
        process::text(Command::new(fresh.join("bin/pip")).args(words).args(what)).map(drop)
    };
    let own = fresh.join("bin/python3");
    pip(&[wheel.as_os_str()])?;
    // The first import compiles our modules.
    for run in ["first", "second"] {
        let said = process::text(Command::new(&own).args(["-c", IMPORT]).current_dir(&fresh))?;
        println!("python    {run}: {}", said.trim());
    }
    let mut all = wheel.as_os_str().to_owned();
    all.push("[all]");
    pip(&[&all, OsStr::new("pytest")])?;
    let mut tests = Command::new(own);
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "python/tests"]).current_dir(root);
    let status = tests.env("PYTHONDONTWRITEBYTECODE", "1").status().context("pytest was just installed")?;
    Ok(status.success())
}
