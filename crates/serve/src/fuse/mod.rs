//! FUSE: a file that is the disk, and as root a loop device over it, so that mkfs and mount work on any machine.
//!
//! ```text
//!   mount ──► DIRECTORY/disk ──► /dev/loopN          file.rs answers
//! ```
//!
//! The loop device goes with its last user. What a server that was killed leaves is taken away by its keeper (`keeper.rs`), which
//! alone touches the mount and the device, or by the next server ([`sweep`]).

mod file;
mod keeper;

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use iostack_host::{fuse_mounts, has_ended, own_mark};
use iostack_model::Nanos;

use crate::{Disk, sys};
use keeper::{END, FORGET, Keeper, MOUNTED, PROBE};

/// Beginning of the source of our mounts, in the list of mounts; their server's mark follows.
const SOURCE: &str = "iostack-";

/// Subtype of our mounts, in the list of mounts.
const SUBTYPE: &str = "iostack";

/// Name of the file that is the disk.
const NAME: &str = "disk";

/// The file, and what is over it.
pub struct Fuse {
    /// The file that is the disk.
    pub file: PathBuf,
    keeper: Keeper,
    session: Option<BackgroundSession>,
    directory: PathBuf,
    made: bool,
}

/// Reason why this machine has no FUSE; `None` when it has.
pub fn missing() -> Option<String> {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/fuse");
    opened.err().map(|error| format!("/dev/fuse: {error}"))
}

impl Fuse {
    /// Mounts on `directory`, which is made if need be, and is empty.
    pub fn start(disk: Disk, directory: &Path) -> anyhow::Result<Fuse> {
        Fuse::mounted(disk, directory).with_context(|| format!("cannot mount on `{}`", directory.display()))
    }

    fn mounted(disk: Disk, directory: &Path) -> io::Result<Fuse> {
        // Its server may be stopped, and whoever looks into it would wait.
        let place = std::path::absolute(directory)?;
        if ours().any(|(_, _, point)| place.starts_with(point)) {
            return Err(io::Error::other("a served disk is mounted there; name another place"));
        }
        let made = match fs::create_dir(directory) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        if fs::read_dir(directory)?.next().is_some() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        let keeper = Keeper::start(directory, made)?;
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName(SOURCE.to_owned() + &own_mark()),
            MountOption::Subtype(SUBTYPE.to_owned()),
            MountOption::DefaultPermissions,
            MountOption::NoSuid,
            MountOption::NoDev,
        ];
        config.acl = SessionACL::Owner;
        config.n_threads = Some(2);
        config.clone_fd = true;
        let session = Session::new(file::TheFile::new(disk), directory, &config).and_then(Session::spawn);
        let session = session.inspect_err(|_| {
            if made {
                let _it_is_empty = fs::remove_dir(directory);
            }
        });
        let session = Some(session?);
        Ok(Fuse { file: directory.join(NAME), keeper, session, directory: directory.to_owned(), made })
    }

    /// Makes a block device of the file: root's. Gives its path.
    pub fn block_device(&mut self, block: u32) -> anyhow::Result<PathBuf> {
        let number = self.keeper.ask(block);
        let number = number
            .context("cannot make a loop device of it; `--as fuse` without root gives the file alone")?;
        Ok(Path::new("/dev").join(format!("loop{number}")))
    }

    /// Median time of a read, the route and all.
    pub(crate) fn probe(&self) -> io::Result<Nanos> {
        self.keeper.ask(PROBE).map(Nanos)
    }

    /// A file system is mounted on it, which would lose what it has not written yet.
    pub fn is_mounted(&self) -> bool {
        self.keeper.ask(MOUNTED).is_ok_and(|mounted| mounted != 0)
    }

    /// Makes the kernel forget what it has read of the disk.
    pub(crate) fn forget(&self) -> io::Result<()> {
        self.keeper.ask(FORGET).map(drop)
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        let _it_may_have_been_killed = self.keeper.ask(END);
        drop(self.session.take());
        unmount(&self.directory);
        if self.made {
            let _someone_uses_it = fs::remove_dir(&self.directory);
        }
    }
}

fn unmount(directory: &Path) {
    let Ok(path) = CString::new(directory.as_os_str().as_bytes()) else { return };
    let taken = sys::unmount(&path);
    if taken.is_err_and(|error| error.raw_os_error() == Some(libc::EPERM)) {
        let mut helper = Command::new("fusermount3");
        helper.args(["-u", "-z", "-q", "--"]).arg(directory).stdout(Stdio::null()).stderr(Stdio::null());
        let _it_is_not_mounted = helper.stdin(Stdio::null()).status();
    }
}

/// Mounts of ours: number, the mark of the server, place.
fn ours() -> impl Iterator<Item = (u32, String, PathBuf)> {
    fuse_mounts().into_iter().filter_map(|mount| {
        let mark = mount.source.strip_prefix(SOURCE)?.to_owned();
        Some((mount.number, mark, mount.point))
    })
}

/// Takes away mounts whose server was killed; gives where they were. None is touched: its server may be stopped, or dead and its
/// connection open, and who looks into it would wait for an answer.
pub fn sweep() -> Vec<PathBuf> {
    let dead: Vec<(u32, String, PathBuf)> = ours().filter(|(_, mark, _)| has_ended(mark)).collect();
    for (number, _, place) in &dead {
        let _where_it_can_be_told = fs::write(format!("/sys/fs/fuse/connections/{number}/abort"), "1");
        unmount(place);
        let _others_may_use_it = fs::remove_dir(place);
    }
    dead.into_iter().map(|(_, _, place)| place).collect()
}
