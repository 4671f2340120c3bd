//! Real programs for the guest: packages by name, unpacked as the kernel is, with nothing installed anywhere.

use std::path::{Path, PathBuf};

use super::build::hashed;
use super::cache::Cache;
use super::packages::{Packages, Say};
use crate::LabError;

/// MiB that a large one takes while it is unpacked, a database with all it needs.
const PROGRAMS_MIB: u64 = 1500;

/// Files that no program needs to run.
const WITHOUT: [&str; 6] =
    ["*/share/doc", "*/share/man", "*/share/locale", "*/share/info", "*/share/lintian", "*/share/bug"];

/// Refuses what is no name of a package.
pub fn check(names: &[String]) -> Result<(), LabError> {
    let is_name = |name: &str| {
        let mut letters = name.chars();
        letters.next().is_some_and(|first| first.is_ascii_lowercase() || first.is_ascii_digit())
            && letters.all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
    };
    match names.iter().find(|name| !is_name(name)) {
        Some(name) => Err(LabError::Asked(format!(
            "`{name}` is no name of a package; write them like --with sqlite3,fio"
        ))),
        None => Ok(()),
    }
}

/// Refuses a package that there is not, before anything else is fetched.
pub fn find(cache: &Cache, names: &[String], say: Say<'_>) -> Result<(), LabError> {
    check(names)?;
    let sorted = sorted(names);
    if cache.entry(&entry(&sorted)).is_some() {
        return Ok(());
    }
    needed(cache, &sorted, say).map(|_| ())
}

/// The folder with the programs of these packages and all they need, fetched the first time.
pub(crate) fn folder(cache: &Cache, names: &[String], say: Say<'_>) -> Result<PathBuf, LabError> {
    check(names)?;
    let sorted = sorted(names);
    cache.place(&entry(&sorted), PROGRAMS_MIB, |folder| {
        let (packages, needed) = needed(cache, &sorted, say)?;
        packages.unpack(&needed, folder, &WITHOUT, say)
    })
}

fn sorted(names: &[String]) -> Vec<String> {
    let mut sorted = names.to_vec();
    sorted.sort();
    sorted.dedup();
    sorted
}

/// The place of these packages in the cache.
fn entry(sorted: &[String]) -> String {
    format!("programs/{}-{}", sorted[0], hashed(sorted))
}

/// A way to the packages, and all that is needed.
fn needed(cache: &Cache, sorted: &[String], say: Say<'_>) -> Result<(Packages, Vec<String>), LabError> {
    // The first is asked for so that the lists of packages are there.
    let (packages, _) = Packages::find(cache, &sorted[0], say)?;
    let needed = packages.closure(sorted)?;
    Ok((packages, needed))
}

/// Folder in which programs start, and files of the user's are.
pub const HOME: &str = "/root";

/// A file of the user's for the guest: where it is, and its place there.
pub(crate) fn place_of(file: &Path) -> Result<String, LabError> {
    let name = file.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| LabError::Asked(format!("`{}` has no name", file.display())))?;
    Ok(format!("{HOME}/{name}"))
}
