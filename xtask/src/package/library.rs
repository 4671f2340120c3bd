//! `libiostack-merge-dev`: the merge library for C programs, shared and static, with its header and what pkg-config asks for.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::deb::Deb;
use super::{PROFILE, PackageSource, place, write};
use crate::process::{self, must};

pub(super) const NAME: &str = "libiostack-merge-dev";

const LIBRARY: &str = "libiostack_merge";
const HEADER: &str = "crates/merge/include/iostack_merge.h";

/// Builds the library and packages it, for this machine's processor.
pub(super) fn package(source: &PackageSource) -> Result<Vec<PathBuf>> {
    let header = source.root.join(HEADER);
    let text = fs::read_to_string(&header).with_context(|| format!("cannot read {HEADER}"))?;
    let abi = abi(&text)?;
    let shared = format!("{LIBRARY}.so.{abi}");
    let built = build(source, &shared)?;
    let told = |program: &str, word: &str| -> Result<String> {
        Ok(process::text(Command::new(program).arg(word))?.trim().to_owned())
    };
    let (architecture, place_) =
        (told("dpkg", "--print-architecture")?, told("dpkg-architecture", "-qDEB_HOST_MULTIARCH")?);
    let root = source.fresh(NAME)?;
    place(&header, &root.join("usr/include/iostack_merge.h"))?;
    let folder = root.join("usr/lib").join(&place_);
    for (file, to, strip) in
        [("so", &*shared, "--strip-unneeded"), ("a", "libiostack_merge.a", "--strip-debug")]
    {
        let from = built.join(format!("{LIBRARY}.{file}"));
        place(&from, &folder.join(to))?;
        process::text(Command::new("strip").arg(strip).arg(folder.join(to)))?;
    }
    symlink(&shared, folder.join(format!("{LIBRARY}.so"))).context("cannot make a link in a fresh folder")?;
    let deb = Deb::new(source, NAME, &[("@ABI@", abi), ("@PLACE@", &place_)])?;
    write(&folder.join("pkgconfig/iostack-merge.pc"), deb.text("iostack-merge.pc")?.as_bytes())?;
    let guide = root.join("usr/share/doc").join(NAME).join("merge-library.md");
    place(&source.root.join("docs/merge-library.md"), &guide)?;
    // The packages whose libraries it needs, in the versions whose symbols it uses.
    process::text(Command::new("dpkg-shlibdeps").arg(folder.join(&shared)).current_dir(&deb.work))?;
    Ok(vec![deb.build(&architecture, &root)?])
}

/// `2` of `#define IOSTACK_MERGE_ABI 2u`: a program runs with the library it was compiled for, or not at all.
fn abi(header: &str) -> Result<&str> {
    let line = header.lines().find_map(|line| line.strip_prefix("#define IOSTACK_MERGE_ABI "));
    Ok(line.with_context(|| format!("{HEADER} defines no IOSTACK_MERGE_ABI"))?.trim_end_matches('u'))
}

/// The folder with both libraries. Not where other builds are: those beside tests have no other name inside.
fn build(source: &PackageSource, shared: &str) -> Result<PathBuf> {
    let folder = source.root.join("target/package-library");
    let words = ["rustc", "--package", "iostack-merge", "--lib", "--crate-type", "cdylib,staticlib"];
    let mut cargo = source.cargo(&words);
    cargo.arg("--target-dir").arg(&folder).arg("--").arg(format!("-Clink-arg=-Wl,-soname,{shared}"));
    must(&mut cargo)?;
    Ok(folder.join(PROFILE))
}
