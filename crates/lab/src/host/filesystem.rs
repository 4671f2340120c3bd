//! A fresh file system, made by its own program in a file of the host.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::cache::Cache;
use super::command::output;
use super::packages::Say;
use super::tool::Tool;
use crate::LabError;

/// A file system that the lab can put on a device.
pub struct FileSystem {
    /// Name, as `mount` and people call it.
    pub name: &'static str,
    program: &'static str,
    package: &'static str,
    arguments: &'static [&'static str],
    /// Modules that it takes.
    pub modules: &'static [&'static str],
    /// MiB below which its program refuses.
    pub capacity_mib: u64,
}

/// All of them. ext2 and ext3 are served by ext4's driver, as in every distribution's kernel.
pub const FILE_SYSTEMS: [FileSystem; 6] = [
    FileSystem::ext("ext2"),
    FileSystem::ext("ext3"),
    FileSystem::ext("ext4"),
    FileSystem {
        name: "xfs",
        program: "mkfs.xfs",
        package: "xfsprogs",
        arguments: &["-q", "-f", "-m", XFS_UUID],
        modules: &["xfs"],
        capacity_mib: 320,
    },
    FileSystem {
        name: "btrfs",
        program: "mkfs.btrfs",
        package: "btrfs-progs",
        arguments: &["-q", "-f", "-U", UUID],
        modules: &["btrfs"],
        capacity_mib: 160,
    },
    FileSystem {
        name: "reiserfs",
        program: "mkreiserfs",
        package: "reiserfsprogs",
        arguments: &["-q", "-f", "-f"],
        modules: &["reiserfs"],
        capacity_mib: 64,
    },
];

/// Identity that its program would draw by lot: the same in every boot, so that what is done on it is.
const UUID: &str = "10a57ac0-10a5-4ac0-8ac0-10a57ac010a5";
const HASH_SEED: &str = "hash_seed=10a57ac0-10a5-4ac0-8ac0-10a57ac010a5";
const XFS_UUID: &str = "uuid=10a57ac0-10a5-4ac0-8ac0-10a57ac010a5";
/// Moment at which the guest's clock begins.
const TIME: &str = "1577836800";

/// Zeroes are left out of an image by pieces of this size.
const PIECE: usize = 64 << 10;

impl FileSystem {
    const fn ext(name: &'static str) -> FileSystem {
        let arguments: &'static [&'static str] = match name.as_bytes() {
            b"ext2" => &["-q", "-F", "-U", UUID, "-E", HASH_SEED, "-t", "ext2"],
            b"ext3" => &["-q", "-F", "-U", UUID, "-E", HASH_SEED, "-t", "ext3"],
            _ => &["-q", "-F", "-U", UUID, "-E", HASH_SEED, "-t", "ext4"],
        };
        FileSystem {
            name,
            program: "mke2fs",
            package: "e2fsprogs",
            arguments,
            modules: &["ext4"],
            capacity_mib: 64,
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Result<&'static FileSystem, LabError> {
        let known: Vec<&str> = FILE_SYSTEMS.iter().map(|one| one.name).collect();
        FILE_SYSTEMS.iter().find(|one| one.name == name).ok_or_else(|| {
            LabError::Asked(format!(
                "`{name}` is no file system of the lab; choose from {}",
                known.join(", ")
            ))
        })
    }

    /// Makes it in `file`, which then has this size.
    pub fn make(&self, cache: &Cache, file: &Path, capacity_mib: u64, say: Say<'_>) -> Result<(), LabError> {
        let tool = Tool::find(cache, self.program, self.package, say)?;
        let made = File::create(file).map_err(LabError::file("make", file))?;
        made.set_len(capacity_mib << 20).map_err(LabError::file("size", file))?;
        let act = format!("make a file system of kind {}", self.name);
        let mut command = tool.command();
        command.env("E2FSPROGS_FAKE_TIME", TIME).env("SOURCE_DATE_EPOCH", TIME);
        output(command.args(self.arguments).arg(file), &act, "").map(|_| ())
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
