//! A fresh file system, made by its own program in a file of the host.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

use super::cache::Cache;
use super::command::output;
use super::packages::Say;
use super::tool::Tool;
use crate::LabError;

/// A file system that the lab can put on a device.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSystem {
    /// Name, as `mount` and people call it.
    pub name: String,
    program: String,
    package: String,
    arguments: Vec<String>,
    /// Modules that it takes.
    pub modules: Vec<String>,
    /// MiB below which its program refuses.
    pub capacity_mib: u64,
}

#[derive(Deserialize)]
struct FileSystems {
    file_system: Vec<FileSystem>,
}

/// All file systems.
pub fn all() -> &'static [FileSystem] {
    static ALL: LazyLock<FileSystems> =
        LazyLock::new(|| toml::from_str(include_str!("filesystems.toml")).expect("a test has read it"));
    &ALL.file_system
}

/// Moment at which the guest's clock begins.
const TIME: &str = "1577836800";

/// Zeroes are left out of an image by pieces of this size.
const PIECE: usize = 64 << 10;

impl FileSystem {
    /// The one of that name.
    pub fn named(name: &str) -> Result<&'static FileSystem, LabError> {
        let known: Vec<&str> = all().iter().map(|one| one.name.as_str()).collect();
        all().iter().find(|one| one.name == name).ok_or_else(|| {
            LabError::Asked(format!(
                "`{name}` is no file system of the lab; choose from {}",
                known.join(", ")
            ))
        })
    }

    /// Makes it in `file`, which then has this size.
    pub fn make(&self, cache: &Cache, file: &Path, capacity_mib: u64, say: Say<'_>) -> Result<(), LabError> {
        let tool = Tool::find(cache, &self.program, &self.package, say)?;
        let made = File::create(file).map_err(LabError::file("make", file))?;
        made.set_len(capacity_mib << 20).map_err(LabError::file("size", file))?;
        let act = format!("make a file system of kind {}", self.name);
        let mut command = tool.command();
        command.env("E2FSPROGS_FAKE_TIME", TIME).env("SOURCE_DATE_EPOCH", TIME);
        output(command.args(&self.arguments).arg(file), &act, "").map(|_| ())
    }
}

/// Content for the guest's device: pairs of offset and length, each followed by the bytes.
pub fn pieces(file: &Path) -> Result<Vec<u8>, LabError> {
    let input = File::open(file).map_err(LabError::file("open", file))?;
    let read = |source| LabError::file("read", file)(source);
    let mut out = Vec::new();
    let mut piece = vec![0; PIECE];
    let stretches = iostack_host::stretches(&input).map_err(read)?;
    let pieces = stretches.into_iter().flat_map(|(from, length)| {
        (from..from + length).step_by(PIECE).map(move |at| (at, (from + length - at).min(PIECE as u64)))
    });
    for (offset, length) in pieces {
        let bytes = &mut piece[..length as usize];
        input.read_exact_at(bytes, offset).map_err(read)?;
        if bytes.iter().any(|&byte| byte != 0) {
            out.extend(offset.to_le_bytes());
            out.extend((bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(bytes);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_file_system_is_answered_with_the_known_ones() {
        let error = FileSystem::named("ntfs").err().expect("there is none").to_string();
        let expected =
            "`ntfs` is no file system of the lab; choose from ext2, ext3, ext4, xfs, btrfs, reiserfs";
        assert_eq!(error, expected);
    }
}
