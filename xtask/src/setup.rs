//! What can the tests use that this machine lacks? Installs it where allowed, and says what it cannot.
//!
//! Nothing here is needed to build or to run iostack. A test whose program is missing skips aloud, so a machine where
//! nothing may be installed still passes; it only proves less.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::{package, process, tree};

/// A program, the Debian package that has it, and what the tests do with it.
struct Tool {
    program: &'static str,
    package: &'static str,
    purpose: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool { program: "fio", package: "fio", purpose: "conformance with fio" },
    Tool { program: "valgrind", package: "valgrind", purpose: "instruction counts of the simulator" },
    Tool { program: "codespell", package: "codespell", purpose: "spelling" },
    Tool { program: "mkfs.ext4", package: "e2fsprogs", purpose: "tests on ext4" },
    Tool { program: "mkfs.xfs", package: "xfsprogs", purpose: "tests on XFS" },
    Tool { program: "mkfs.btrfs", package: "btrfs-progs", purpose: "tests on Btrfs" },
    Tool { program: "losetup", package: "mount", purpose: "tests on loop devices" },
    Tool { program: "dmsetup", package: "dmsetup", purpose: "tests on device-mapper stacks" },
    Tool { program: "chromium", package: "chromium", purpose: "the scripts of our pages in a browser" },
    Tool { program: "clang", package: "clang", purpose: "making the BPF objects again" },
    Tool { program: "sqlite3", package: "sqlite3", purpose: "layers of a database" },
    Tool { program: "git", package: "git", purpose: "layers of a program with many small files" },
    Tool { program: "python3", package: "python3", purpose: "the scripts of fio and fio-plot" },
    Tool { program: "blkparse", package: "blktrace", purpose: "reading binary traces" },
    Tool { program: "groff", package: "groff-base", purpose: "reading the man pages" },
    Tool { program: "man", package: "man-db", purpose: "reading a page as it is installed" },
    Tool { program: "strace", package: "strace", purpose: "keeping system calls back, as containers do" },
    Tool { program: "zsh", package: "zsh", purpose: "reading zsh's completions" },
    Tool { program: "fish", package: "fish", purpose: "reading fish's completions" },
    Tool { program: "pkg-config", package: "pkg-config", purpose: "linking with the library's package" },
    Tool { program: "dpkg-shlibdeps", package: "dpkg-dev", purpose: "making Debian packages" },
    Tool { program: "lintian", package: "lintian", purpose: "judging our packages" },
    Tool {
        program: "nbdinfo",
        package: "libnbd-bin",
        purpose: "served drives against the clients of others",
    },
    Tool { program: "qemu-io", package: "qemu-utils", purpose: "served drives against QEMU's client" },
    Tool {
        program: "qemu-aarch64-static",
        package: "qemu-user-static",
        purpose: "running the program for Arm",
    },
];

/// Programs from pip that must be able to read our output: what proves that it is there, and what it does.
const READERS: [(&str, &str, &str); 7] = [
    ("fio-plot", "bin/fio-plot", "drawing from our output"),
    ("duckdb", "lib/python3*/site-packages/duckdb", "reading our Parquet"),
    ("pytest", "bin/pytest", TESTS),
    ("pandas", "lib/python3*/site-packages/pandas", TESTS),
    ("pyarrow", "lib/python3*/site-packages/pyarrow", TESTS),
    ("matplotlib", "lib/python3*/site-packages/matplotlib", TESTS),
    ("distributed", "lib/python3*/site-packages/distributed", TESTS),
];

const TESTS: &str = "testing the Python package";

/// The virtual environment, from the root of the repository.
pub(crate) const VENV: &str = "target/venv";

/// `cargo xtask setup`.
pub(crate) fn chore(_arguments: &[String]) -> Result<bool> {
    all()?;
    Ok(true)
}

/// Installs what is missing; one line for each thing that could not be had. Fails only when nothing can be run at all.
pub(crate) fn all() -> Result<()> {
    let missing: Vec<&Tool> = TOOLS.iter().filter(|tool| process::find(tool.program).is_none()).collect();
    if !missing.is_empty() {
        install(&missing)?;
    }
    for tool in TOOLS.iter().filter(|tool| process::find(tool.program).is_none()) {
        println!("setup     no `{}` (package {}): {} will skip", tool.program, tool.package, tool.purpose);
    }
    for triple in package::triples() {
        if let Err(error) = target(&triple) {
            println!("setup     no Rust for {triple}: tests and packages of it will skip ({error:#})");
        }
    }
    for (package, proof, purpose) in READERS {
        if let Err(error) = from_pip(&tree::root().join(VENV), package, proof) {
            println!("setup     no {package}: {purpose} will skip ({error:#})");
        }
    }
    Ok(())
}

/// Adds what Rust needs to build for another machine, where rustup can have it.
fn target(triple: &str) -> Result<()> {
    let words = ["--print", "target-libdir", "--target", triple];
    if Path::new(process::text(Command::new("rustc").args(words))?.trim()).is_dir() {
        return Ok(());
    }
    println!("setup     rustup target add {triple}");
    process::text(Command::new("rustup").args(["target", "add", triple])).map(drop)
}

/// All packages at once; one by one when apt refuses the lot because of one of them.
fn install(missing: &[&Tool]) -> Result<()> {
    let Some(apt) = apt()? else {
        println!(
            "setup     nothing can be installed here: that takes apt-get, and root or a sudo without password"
        );
        return Ok(());
    };
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    println!("setup     installing {}", packages.join(" "));
    // A list that is old or absent is no reason to stop: the install says whether it was good enough.
    process::output(command(&apt).args(["update", "-qq"]))?;
    if !add(&apt, &packages)? && packages.len() > 1 {
        for package in packages {
            add(&apt, &[package])?;
        }
    }
    Ok(())
}

/// True when apt installed them.
fn add(apt: &[&str], packages: &[&str]) -> Result<bool> {
    let output = process::output(
        command(apt).args(["install", "-y", "-qq", "--no-install-recommends"]).args(packages),
    )?;
    Ok(output.status.success())
}

/// `apt-get`, with what it takes to become root; `None` when that is not to be had.
fn apt() -> Result<Option<Vec<&'static str>>> {
    if process::find("apt-get").is_none() {
        return Ok(None);
    }
    let noninteractive = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    if process::text(Command::new("id").arg("-u"))?.trim() == "0" {
        return Ok(Some(noninteractive.to_vec()));
    }
    let may_sudo = process::find("sudo").is_some()
        && process::output(Command::new("sudo").args(["-n", "true"]))?.status.success();
    Ok(may_sudo.then(|| ["sudo", "-n"].into_iter().chain(noninteractive).collect()))
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

/// A package of pip's in an environment under `target/`, so that nothing else on the machine changes.
pub(crate) fn from_pip(venv: &Path, package: &str, proof: &str) -> Result<()> {
    if is_there(venv, proof) {
        return Ok(());
    }
    println!("setup     installing {package} under {VENV}");
    if !venv.join("bin/pip").is_file() {
        let made = process::output(Command::new("python3").args(["-m", "venv"]).arg(venv))?;
        if !made.status.success() {
            // Debian's own python3 keeps the installer in another package.
            if let Some(apt) = apt()? {
                add(&apt, &["python3-venv"])?;
            }
            process::text(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv))?;
        }
    }
    let pip = venv.join("bin/pip");
    process::text(Command::new(pip).args(["install", "--quiet", "--disable-pip-version-check", package]))?;
    Ok(())
}

/// A file or folder of `venv`; `*` stands for the rest of a folder's name, which is Python's version.
fn is_there(venv: &Path, proof: &str) -> bool {
    let Some((before, after)) = proof.split_once('*') else { return venv.join(proof).exists() };
    let (folder, start) = before.rsplit_once('/').unwrap_or(("", before));
    let entries = std::fs::read_dir(venv.join(folder)).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .any(|entry| entry.path().join(after.trim_start_matches('/')).exists())
}
