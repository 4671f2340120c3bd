//! Are the committed BPF objects those of their sources?
//!
//! ```text
//!   crates/*/bpf/NAME.bpf.c + the headers it includes ──► clang ──► NAME.bpf.o + NAME.bpf.made (hashes, compiler)
//! ```
//!
//! Objects are committed, so that nobody needs clang to build iostack. `cargo xtask bpf` makes them again; a test
//! refuses an object whose sources have changed since, and makes it again where the same clang is installed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, tree};

/// Folder of the sources, from the root.
const FOLDER: &str = "crates/attribute/bpf";

/// Makes every object, or those named.
pub(crate) fn chore(arguments: &[String]) -> Result<bool> {
    let folder = tree::root().join(FOLDER);
    for source in sources(&folder)? {
        let name = name_of(&source);
        if arguments.is_empty() || arguments.contains(&name) {
            let object = compile(&source)?;
            std::fs::write(folder.join(format!("{name}.bpf.o")), &object)?;
            std::fs::write(made_path(&source), made(&source, &object)?)?;
            println!("{name}.bpf.o: {} bytes", object.len());
        }
    }
    Ok(true)
}

/// `stages` of `.../stages.bpf.c`.
fn name_of(source: &Path) -> String {
    let file = source.file_name().unwrap_or_default().to_string_lossy();
    file.trim_end_matches(".bpf.c").to_owned()
}

fn made_path(source: &Path) -> PathBuf {
    source.with_extension("made")
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let listed = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut found: Vec<PathBuf> = listed.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    found.retain(|path| path.to_string_lossy().ends_with(".bpf.c"));
    found.sort();
    Ok(found)
}

/// The object's bytes. Paths inside it are relative, so that it is the same wherever it is made.
fn compile(source: &Path) -> Result<Vec<u8>> {
    let folder = source.parent().context("a source lies in a folder")?;
    let made = std::env::temp_dir().join(format!("iostack-bpf-{}-{}.o", name_of(source), std::process::id()));
    let flags = ["-g", "-O2", "-target", "bpf", "-mcpu=v3", "-Wall", "-Wextra", "-Werror"];
    let place = "-fdebug-compilation-dir=.";
    let file = source.file_name().context("a source has a name")?;
    let clang = Command::new("clang")
        .args(flags)
        .args([place, "-c"])
        .arg(file)
        .arg("-o")
        .arg(&made)
        .current_dir(folder)
        .output()
        .context("clang is needed to make BPF objects; `apt install clang llvm`")?;
    anyhow::ensure!(clang.status.success(), "{}", process::said(&clang));
    // Debugging information goes; the type information that the loader needs stays.
    process::text(Command::new("llvm-strip").arg("-g").arg(&made))?;
    let object = std::fs::read(&made)?;
    std::fs::remove_file(&made)?;
    Ok(object)
}

/// Record beside an object.
fn made(source: &Path, object: &[u8]) -> Result<String> {
    Ok(format!(
        "sources {:016x}\nobject {:016x}\nclang {}\n",
        hash_of_sources(source)?,
        fnv(object, FNV_BASIS),
        clang_version().context("clang says no version")?
    ))
}

/// Hash over the source and every header of ours that it includes, in order of name.
fn hash_of_sources(source: &Path) -> Result<u64> {
    let mut files = BTreeSet::new();
    let mut ahead = vec![source.to_owned()];
    while let Some(path) = ahead.pop() {
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let included = text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'));
        ahead.extend(included.map(|name| path.with_file_name(name)).filter(|path| !files.contains(path)));
        files.insert(path);
    }
    files.iter().try_fold(FNV_BASIS, |hash, path| Ok(fnv(&std::fs::read(path)?, hash)))
}

const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a: it guards against forgetting, not against malice.
fn fnv(bytes: &[u8], basis: u64) -> u64 {
    bytes.iter().fold(basis, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// `Debian clang version 14.0.6`.
fn clang_version() -> Option<String> {
    process::find("clang")?;
    let said = process::text(Command::new("clang").arg("--version")).ok()?;
    Some(said.lines().next()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(source: &Path, key: &str) -> String {
        let path = made_path(source);
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|_| panic!("{} is missing; run `cargo xtask bpf`", path.display()));
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{} has no line `{key}`", path.display())).to_owned()
    }

    fn ours() -> Vec<PathBuf> {
        let found = sources(&tree::root().join(FOLDER)).unwrap();
        assert!(!found.is_empty());
        found
    }

    #[test]
    fn every_bpf_object_is_made_of_its_sources() {
        for source in ours() {
            let name = name_of(&source);
            let object = std::fs::read(source.with_extension("o")).unwrap();
            let found = format!("{:016x}", hash_of_sources(&source).unwrap());
            assert_eq!(recorded(&source, "sources"), found, "{name} is stale; run `cargo xtask bpf`");
            let found = format!("{:016x}", fnv(&object, FNV_BASIS));
            assert_eq!(recorded(&source, "object"), found, "{name}.bpf.o is not what was recorded");
        }
    }

    #[test]
    fn the_same_compiler_makes_the_same_bpf_objects() {
        for source in ours() {
            let recorded = recorded(&source, "clang");
            if clang_version().as_deref() != Some(&recorded) {
                println!(
                    "SKIPPED the_same_compiler_makes_the_same_bpf_objects: `{recorded}` is not installed"
                );
                return;
            }
            let object = std::fs::read(source.with_extension("o")).unwrap();
            assert!(compile(&source).unwrap() == object, "{} comes out differently", name_of(&source));
        }
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        // Test vectors of draft-eastlake-fnv: the empty string, "a" and "foobar".
        assert_eq!(fnv(b"", FNV_BASIS), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"a", FNV_BASIS), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv(b"foobar", FNV_BASIS), 0x8594_4171_f739_67e8);
    }
}
