//! FUSE: a file that is the disk, and as root a loop device over it, so that mkfs and mount work on any machine.
//!
//! ```text
//!   mount ──► DIRECTORY/disk ──► /dev/loopN          file.rs answers
//! ```
//!
//! The loop device goes with its last user; a mount whose server was killed is taken away by the next one ([`sweep`]).

mod file;

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};

use crate::sys::{self, Loop};
use crate::{Disk, ServeError};

/// What mounts of ours are of, in the list of mounts.
const SOURCE: &str = "iostack";

/// The file.
const NAME: &str = "disk";

/// The file, and what is over it.
pub struct Fuse {
    /// The file that is the disk.
    pub file: PathBuf,
    over: Option<Loop>,
    session: Option<BackgroundSession>,
    directory: PathBuf,
    made: bool,
}

/// Why this machine has none; `None` when it has.
pub fn missing() -> Option<String> {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/fuse");
    opened.err().map(|error| format!("/dev/fuse: {error}"))
}

impl Fuse {
    /// Mounts on `directory`, which is made if need be, and is empty.
    pub fn start(disk: Disk, directory: &Path) -> Result<Fuse, ServeError> {
        let refused = |source| ServeError::Mount { place: directory.to_owned(), source };
        let made = match fs::create_dir(directory) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(refused(error)),
        };
        if fs::read_dir(directory).map_err(refused)?.next().is_some() {
            return Err(refused(io::ErrorKind::DirectoryNotEmpty.into()));
        }
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName(SOURCE.to_owned()),
            MountOption::Subtype(SOURCE.to_owned()),
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
        let session = Some(session.map_err(refused)?);
        Ok(Fuse { file: directory.join(NAME), over: None, session, directory: directory.to_owned(), made })
    }

    /// Makes a block device of the file: root's. Gives its path.
    pub fn block_device(&mut self, block: u32) -> Result<PathBuf, ServeError> {
        let file = self.open().map_err(ServeError::Loop)?;
        let over = Loop::over(&file, block).map_err(ServeError::Loop)?;
        Ok(self.over.insert(over).path.clone())
    }

    /// A file system is mounted on it, which would lose what it has not written yet.
    pub fn is_mounted(&self) -> bool {
        self.over.as_ref().is_some_and(Loop::is_mounted)
    }

    /// What the kernel has read of the disk is read again.
    pub(crate) fn forget(&self) -> io::Result<()> {
        self.over.as_ref().map_or(Ok(()), Loop::forget)
    }

    fn open(&self) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(&self.file)
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        self.over = None;
        drop(self.session.take());
        unmount(&self.directory);
        if self.made {
            let _someone_uses_it = fs::remove_dir(&self.directory);
        }
    }
}

fn unmount(directory: &Path) {
    if let Ok(path) = CString::new(directory.as_os_str().as_bytes()) {
        let _it_is_not_mounted = sys::unmount(&path);
    }
}

/// Takes away mounts whose server was killed; gives where they were.
pub fn sweep() -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let ours = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (source, place, kind) = (words.next()?, words.next()?, words.next()?);
        // fusermount3 adds the name of ours to the kind.
        (source == SOURCE && kind.starts_with("fuse")).then(|| PathBuf::from(place.replace("\\040", " ")))
    });
    // Its list is never cached, as its attributes are.
    let dead = |place: &PathBuf| {
        fs::read_dir(place).is_err_and(|error| error.raw_os_error() == Some(libc::ENOTCONN))
    };
    let dead: Vec<PathBuf> = ours.filter(dead).collect();
    for place in &dead {
        unmount(place);
        let _others_may_use_it = fs::remove_dir(place);
    }
    dead
}
