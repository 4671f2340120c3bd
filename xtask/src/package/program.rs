//! `iostack`: one static program a processor, stripped, with what a debugger reads in a file beside it; and its package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::deb::{Deb, compress};
use super::{PROFILE, PackageSource, notices, write};
use crate::process::{self, must};

pub(super) const NAME: &str = "iostack";

/// Names of a processor: Rust's, and Debian's.
const PROCESSORS: [(&str, &str); 2] = [("x86_64", "amd64"), ("aarch64", "arm64")];

/// A program above this has taken something in that it should not. The aim is 12 MB, which it had until the lab got simulated drives.
const BYTES_MAX: u64 = 12_500_000;

/// Flags that make it smaller than Cargo.toml can, by a sixth when they were chosen. All crates are optimised as one; Rust's own
/// linker folds functions that are the same, and packs the list of what the program's place in memory changes.
const FLAGS: [&str; 5] = [
    "-Clto=fat",
    "-Clinker=rust-lld",
    "-Clink-arg=-O2",
    "-Clink-arg=--icf=all",
    "-Clink-arg=--pack-dyn-relocs=relr",
];

/// Triples of the static programs: `x86_64-unknown-linux-musl`.
pub(crate) fn triples() -> impl Iterator<Item = String> {
    PROCESSORS.iter().map(|(processor, _)| format!("{processor}-unknown-linux-musl"))
}

/// The program and its package, for each processor that Rust can build for here.
pub(super) fn packages(source: &PackageSource) -> Result<Vec<PathBuf>> {
    let (sysroot, mut programs, mut made) = (sysroot()?, Vec::new(), Vec::new());
    for ((processor, debian), triple) in PROCESSORS.into_iter().zip(triples()) {
        if !sysroot.join("lib/rustlib").join(&triple).is_dir() {
            println!("package   no {NAME} for {processor}: `rustup target add {triple}`, then try again");
            continue;
        }
        let program = build(source, &sysroot, &triple, processor)?;
        programs.push((processor, debian, triple, program));
    }
    let own = programs.iter().find(|(processor, ..)| *processor == std::env::consts::ARCH);
    let (.., own) =
        own.context("its man pages are made by the program itself, and none that runs here was built")?;
    for (processor, debian, triple, program) in &programs {
        let root = source.fresh(&format!("{NAME}-{processor}"))?;
        super::place(program, &root.join("usr/bin").join(NAME))?;
        manual(own, &root.join("usr/share"))?;
        let service = source.root.join("xtask/debian/iostack-watch.service");
        super::place(&service, &root.join("usr/lib/systemd/system/iostack-watch.service"))?;
        let notices = root.join("usr/share/doc").join(NAME).join("third-party");
        write(&notices, notices::of(&source.root, NAME, triple)?.as_bytes())?;
        compress(&[notices])?;
        made.extend([program.clone(), Deb::new(source, NAME, &[])?.build(debian, &root)?]);
    }
    Ok(made)
}

/// The stripped program; what was stripped lies beside it, and names it.
fn build(source: &PackageSource, sysroot: &Path, triple: &str, processor: &str) -> Result<PathBuf> {
    let words = ["rustc", "--package", NAME, "--bin", NAME, "--target", triple];
    must(source.cargo(&words).arg("--").args(FLAGS))?;
    let built = source.root.join("target").join(triple).join(PROFILE).join(NAME);
    let program = source.out.join(format!("{NAME}-{processor}"));
    let debug = program.with_extension("debug");
    fs::create_dir_all(&source.out).with_context(|| format!("cannot make {}", source.out.display()))?;
    let objcopy = |words: &[&Path]| process::text(objcopy(sysroot)?.args(words)).map(drop);
    objcopy(&[Path::new("--only-keep-debug"), &built, &debug])?;
    objcopy(&[Path::new("--strip-all"), &built, &program])?;
    objcopy(&[Path::new(&format!("--add-gnu-debuglink={}", debug.display())), &program])?;
    let bytes = program.metadata().context("it was just written")?.len();
    ensure!(bytes < BYTES_MAX, "{} has {bytes} bytes, more than {BYTES_MAX}", program.display());
    Ok(program)
}

/// Man pages and completions, compressed and where Debian has them.
fn manual(program: &Path, share: &Path) -> Result<()> {
    let written = process::text(Command::new(program).arg("manual").arg(share))?;
    let pages = written.lines().filter(|line| line.ends_with(".1")).map(PathBuf::from);
    compress(&pages.collect::<Vec<_>>())?;
    let (from, to) = (share.join("zsh/site-functions"), share.join("zsh/vendor-completions"));
    fs::rename(&from, &to).with_context(|| format!("cannot rename {}", from.display()))
}

fn sysroot() -> Result<PathBuf> {
    let told = process::text(Command::new("rustc").args(["--print", "sysroot"]))?;
    Ok(PathBuf::from(told.trim()))
}

/// Rust's own, which knows every processor that Rust builds for.
fn objcopy(sysroot: &Path) -> Result<Command> {
    let version = process::text(Command::new("rustc").arg("-vV"))?;
    let host =
        version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names its host")?;
    let mut command = Command::new(sysroot.join("lib/rustlib").join(host).join("bin/rust-objcopy"));
    command.env("LD_LIBRARY_PATH", sysroot.join("lib"));
    Ok(command)
}
