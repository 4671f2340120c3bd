//! Where the kernel's files are: `/` on the live machine, a stored tree in tests.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The directory that holds `sys`, `proc`, `dev` and `etc`.
#[derive(Clone, Debug)]
pub(crate) struct Root(PathBuf);

impl Root {
    pub(crate) fn live() -> Self {
        Root(PathBuf::from("/"))
    }

    /// A stored tree.
    #[cfg(test)]
    pub(crate) fn stored(path: &Path) -> Self {
        Root(path.to_owned())
    }

    /// True when this is the running machine, where system calls mean the same as the files.
    pub(crate) fn is_live(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// `path`, absolute or not, below this root.
    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The directory of a block device in sysfs, partition or whole.
    pub(crate) fn block(&self, name: &str) -> PathBuf {
        self.at("sys/class/block").join(name)
    }

    /// The trimmed text of a file; `None` when it is absent or unreadable.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        text(&self.at(path))
    }
}

/// The trimmed text of a file; `None` when it is absent or unreadable.
pub(crate) fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// The first bytes of a file, for files that the kernel makes line by line and that may be long.
pub(crate) fn head(path: &Path, at_most: usize) -> Option<String> {
    let mut bytes = vec![0; at_most];
    let length = fs::File::open(path).ok()?.read(&mut bytes).ok()?;
    bytes.truncate(length);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A file that holds one number.
pub(crate) fn number(path: &Path) -> Option<u64> {
    text(path)?.parse().ok()
}

/// Names in a directory, sorted; empty when it is absent.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The last part of where a link points to.
pub(crate) fn link_name(path: &Path) -> Option<String> {
    let target = fs::read_link(path).ok()?;
    Some(target.file_name()?.to_string_lossy().into_owned())
}

/// CPUs or nodes in a list like `0-3,8`.
pub(crate) fn list_len(cpus: &str) -> u32 {
    let span = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    cpus.split(',').filter_map(span).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_counted() {
        for (list, count) in [("0", 1), ("0-1", 2), ("0-3,8,10-11", 7), ("", 0), ("3-1", 0)] {
            assert_eq!(list_len(list), count, "{list}");
        }
    }

    #[test]
    fn paths_stay_below_a_stored_root() {
        let root = Root::stored(Path::new("/stored"));
        assert_eq!(root.at("/sys/block"), Path::new("/stored/sys/block"));
        assert_eq!(root.block("sda"), Path::new("/stored/sys/class/block/sda"));
    }
}
