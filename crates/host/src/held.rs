//! What is checked is what is used: a target is opened once and held.
//!
//! A name may mean another file a moment later, a descriptor does not. [`Held`] is a descriptor that neither reads nor
//! writes (`O_PATH`), so that a pipe does not block and no device notices. Who reads or writes opens the held file
//! again ([`Held::reopen`]), with flags of its own and never by its name. Start reading at [`Held::find`].

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use iostack_model::{Storage, TargetKind, TargetName};

use crate::{HostError, marks, own_name, sys};

/// Identity of a file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// A file or directory: its file system and its number there.
    Inode { device: u64, number: u64 },
    /// A block device, whichever node leads to it.
    Device { number: u64 },
}

impl Identity {
    pub(crate) fn of_metadata(data: &Metadata) -> Identity {
        if data.file_type().is_block_device() {
            Identity::Device { number: data.rdev() }
        } else {
            Identity::Inode { device: data.dev(), number: data.ino() }
        }
    }

    /// Identity of what a name leads to now.
    pub(crate) fn of_path(path: &Path) -> Option<Identity> {
        fs::metadata(path).ok().map(|data| Identity::of_metadata(&data))
    }
}

/// A file, directory or block device that stays the same one while it is held.
#[derive(Debug)]
pub struct Held {
    file: File,
    target: TargetName,
    identity: Identity,
    /// Keeps others from mounting a block device that is written to, or from serving a file.
    claim: OnceLock<File>,
}

impl Held {
    /// File that `path` leads to, links followed; `None` when nothing is there. Refuses what is no storage.
    pub fn find(path: &Path) -> Result<Option<Held>, HostError> {
        match OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path) {
            Ok(file) => Held::hold(file, path).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(HostError::refused(path, "find", error)),
        }
    }

    /// File as by [`Held::find`], which must be there.
    pub fn open(path: &Path) -> Result<Held, HostError> {
        Held::find(path)?.ok_or_else(|| HostError::refused(path, "find", ErrorKind::NotFound.into()))
    }

    /// Makes an empty file and marks it as made by iostack. Refuses when anything has this name, a dangling link too.
    pub fn make(path: &Path) -> Result<Held, HostError> {
        let refused = |source| HostError::refused(path, "make", source);
        let folder = folder_of(path)?;
        let name = path.file_name().ok_or_else(|| refused(ErrorKind::InvalidInput.into()))?;
        let made =
            OpenOptions::new().read(true).write(true).create_new(true).open(folder.handle().join(name));
        let file = made.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => HostError::Appeared(path.to_owned()),
            _ => refused(error),
        })?;
        let held = Held::hold(file, path)?;
        // Marked before it holds anything, so that a run that is killed meanwhile leaves nothing unknown behind.
        marks::mark_made(&held);
        Ok(held)
    }

    /// The folder of a name that nothing has, which its `path` is.
    pub fn place(path: &Path) -> Result<Held, HostError> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(HostError::Appeared(path.to_owned()));
        }
        let folder = folder_of(path)?;
        crate::permit_write(&folder, false)?;
        let target = TargetName { kind: TargetKind::Directory, path: path.to_owned() };
        Ok(Held { target, ..folder })
    }

    /// Makes an empty directory and marks it as made by iostack. Refuses when anything has this name.
    pub fn make_directory(path: &Path) -> Result<Held, HostError> {
        let place = Held::place(path)?;
        let refused = |source| HostError::refused(path, "make", source);
        let name = path.file_name().ok_or_else(|| refused(ErrorKind::InvalidInput.into()))?;
        fs::create_dir(place.handle().join(name)).map_err(refused)?;
        let held = Held::open(path)?;
        marks::mark_made(&held);
        Ok(held)
    }

    pub(crate) fn hold(file: File, path: &Path) -> Result<Held, HostError> {
        let data = file.metadata().map_err(|error| HostError::refused(path, "look at", error))?;
        if !Path::new("/proc/self/fd").exists() {
            return Err(HostError::NoProc);
        }
        let kind = kind_of(&data)
            .map_err(|found| HostError::Unsuitable { typed: path.display().to_string(), found })?;
        let target = TargetName { kind, path: path.to_owned() };
        let held = Held { file, target, identity: Identity::of_metadata(&data), claim: OnceLock::new() };
        if kind == TargetKind::File && held.is_among_devices() {
            return Err(HostError::FileInDev(path.to_owned()));
        }
        Ok(held)
    }

    /// Target by the name under which it was found.
    pub fn target(&self) -> &TargetName {
        &self.target
    }

    /// The name under which it was found.
    pub fn path(&self) -> &Path {
        &self.target.path
    }

    /// Kind of the target.
    pub fn kind(&self) -> TargetKind {
        self.target.kind
    }

    /// A name for this very file, whatever becomes of the one under which it was found. It lasts while it is held.
    pub fn handle(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// Opens the held file.
    pub fn reopen(&self, options: &OpenOptions) -> io::Result<File> {
        let file = options.open(self.handle())?;
        if Identity::of_metadata(&file.metadata()?) == self.identity {
            Ok(file)
        } else {
            Err(io::Error::other("it is not the file that was looked at"))
        }
    }

    /// True when both are one file or one device.
    pub fn is_same(&self, other: &Held) -> bool {
        self.identity == other.identity
    }

    /// Marks it as a file in which somebody keeps data: it is not overwritten unasked from now on. False where the file
    /// system keeps no marks.
    pub fn keep(&self) -> bool {
        marks::mark_kept(self)
    }

    /// True when iostack made this file and nobody keeps data in it.
    pub fn is_made(&self) -> bool {
        marks::is_made(self)
    }

    /// The storage behind it.
    pub fn storage(&self) -> Result<Storage, HostError> {
        crate::storage(&self.handle())
    }

    /// Removes the file's name, if it is still this file's. Whatever else has the name meanwhile keeps it.
    pub fn remove(&self) -> Result<(), HostError> {
        let Some(aside) = self.aside()? else { return Ok(()) };
        fs::remove_file(&aside).map_err(|source| HostError::refused(self.path(), "remove", source))
    }

    /// Gives what was moved aside its name again, unless that is taken.
    pub fn put_back(&self, aside: &Path) -> Result<(), HostError> {
        sys::rename_new(aside, self.path()).map_err(|source| HostError::MovedAside {
            path: self.path().to_owned(),
            aside: aside.to_owned(),
            source,
        })
    }

    /// Gives it a name that nobody else uses, under which it is found whatever happens; `None` where its own name is
    /// another's meanwhile.
    pub fn aside(&self) -> Result<Option<PathBuf>, HostError> {
        let refused = |source| HostError::refused(self.path(), "remove", source);
        let folder = self.path().parent().unwrap_or(Path::new("."));
        // Looked at under a name that nobody else uses and nobody sweeps: under its own it might be another by the time
        // it is removed.
        let aside = folder.join(own_name::new_name() + ".removed");
        fs::rename(self.path(), &aside).map_err(refused)?;
        let is_ours =
            fs::symlink_metadata(&aside).is_ok_and(|data| Identity::of_metadata(&data) == self.identity);
        if !is_ours {
            fs::hard_link(&aside, self.path()).map_err(|source| HostError::MovedAside {
                path: self.path().to_owned(),
                aside: aside.clone(),
                source,
            })?;
            fs::remove_file(&aside).map_err(refused)?;
        }
        Ok(is_ours.then_some(aside))
    }

    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Opens a block device so that nobody else can mount it or build on it while it is held.
    pub(crate) fn claim(&self) -> io::Result<&File> {
        if let Some(file) = self.claim.get() {
            return Ok(file);
        }
        // For reading only, because closing a device that was open for writing makes udev probe it anew.
        let file = self.reopen(OpenOptions::new().read(true).custom_flags(libc::O_EXCL))?;
        Ok(self.claim.get_or_init(|| file))
    }

    /// Locks a file that is to be written, together with others that write to it, so that no server takes it while it is
    /// held. It fails when a server has it.
    pub(crate) fn share(&self) -> Result<(), TryLockError> {
        if self.claim.get().is_none() {
            let reads = self.reopen(OpenOptions::new().read(true));
            let file = reads.or_else(|_| self.reopen(OpenOptions::new().write(true)));
            let file = file.map_err(TryLockError::Error)?;
            file.try_lock_shared()?;
            self.claim.get_or_init(|| file);
        }
        Ok(())
    }

    /// True in the folder of device nodes, where a file is a mistyped device, in memory.
    fn is_among_devices(&self) -> bool {
        let device = |path: &str| fs::metadata(path).map(|data| data.dev()).unwrap_or_default();
        let own = self.metadata().map(|data| data.dev()).unwrap_or_default();
        let path = fs::read_link(self.handle()).unwrap_or_default();
        among_devices(&path, own, device("/dev"), device("/"))
    }
}

/// True when the device numbers of the file systems of the file, of `/dev` and of `/` say so. What is mounted below
/// `/dev`, such as `/dev/shm`, has another; a second mount of `/dev` has the same.
fn among_devices(path: &Path, own: u64, dev: u64, root: u64) -> bool {
    own == dev && (dev != root || path.starts_with("/dev"))
}

/// Marks what has this name as made by iostack, if it is what was made; gives it then.
pub fn mark_made(path: &Path, made: &Metadata) -> Option<Held> {
    let held = Held::find(path).ok().flatten().filter(|held| held.identity == Identity::of_metadata(made))?;
    marks::mark_made(&held);
    Some(held)
}

/// Refuses when no file may be made under this name.
pub fn permit_new(path: &Path) -> Result<(), HostError> {
    folder_of(path).and_then(|folder| crate::permit_write(&folder, false))
}

/// Refuses a directory in which no file of ours may be made.
pub(crate) fn permit_files_in(directory: &Path) -> Result<(), HostError> {
    folder(directory, directory).and_then(|folder| crate::permit_write(&folder, false))
}

fn folder_of(path: &Path) -> Result<Held, HostError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    folder(parent.unwrap_or(Path::new(".")), path)
}

/// The folder in which `made` is to be made: none of device nodes.
fn folder(path: &Path, made: &Path) -> Result<Held, HostError> {
    let held = Held::open(path)?;
    if held.kind() != TargetKind::Directory {
        return Err(HostError::refused(path, "make a file in", ErrorKind::NotADirectory.into()));
    }
    if held.is_among_devices() {
        return Err(HostError::NewInDev(made.to_owned()));
    }
    Ok(held)
}

/// Kind of what can be measured on it, or what it is instead, with its article.
pub(crate) fn kind_of(data: &Metadata) -> Result<TargetKind, &'static str> {
    let kind = data.file_type();
    if kind.is_dir() {
        return Ok(TargetKind::Directory);
    }
    if kind.is_file() {
        return Ok(TargetKind::File);
    }
    if kind.is_block_device() {
        return Ok(TargetKind::Block);
    }
    let others = [
        (kind.is_char_device(), "a character device"),
        (kind.is_fifo(), "a pipe"),
        (kind.is_socket(), "a socket"),
    ];
    Err(others.iter().find(|(is, _)| *is).map_or("something unknown", |(_, name)| name))
}

#[cfg(test)]
#[path = "held_tests.rs"]
mod tests;
