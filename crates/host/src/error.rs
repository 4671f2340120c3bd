//! What the host refuses or cannot do: what was typed, what is wrong, what to do.

use std::io;
use std::path::{Path, PathBuf};

use iostack_model::Bytes;

/// Refusals of the host.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Nothing is there.
    #[error(
        "`{0}` does not exist; name a directory, file or block device that does, or write `file:PATH` \
         to have a file made"
    )]
    Missing(String),
    /// There is no `/proc`, where what is held is named by its descriptor.
    #[error("`/proc` is not mounted here, and files are held by it; mount it: mount -t proc proc /proc")]
    NoProc,
    /// The path is empty.
    #[error("the target is empty; name a directory, a file or a block device")]
    Empty,
    /// The prefix asks for something that is not real storage.
    #[error(
        "`{typed}` names {what}; only real storage can be measured here: name a directory, a file or a \
         block device"
    )]
    NotReal {
        /// Target as it was typed.
        typed: String,
        /// Kind that the prefix stands for.
        what: &'static str,
    },
    /// The prefix says one thing, the path is another.
    #[error("`{typed}` is {found}, not {wanted}; write `{right}`")]
    WrongKind {
        /// Target as it was typed.
        typed: String,
        /// Kind that the prefix says, with its article.
        wanted: &'static str,
        /// Kind that is there, with its article.
        found: &'static str,
        /// The spelling that names what is there.
        right: String,
    },
    /// The path is something nothing can be measured on.
    #[error("`{typed}` is {found}; name a directory, a file or a block device")]
    Unsuitable {
        /// Target as it was typed.
        typed: String,
        /// Kind that is there, with its article.
        found: &'static str,
    },
    /// A file would be made among the device nodes.
    #[error(
        "`{0}` is no device, and no file is made in /dev: it would be in memory; is the name mistyped? \
         `lsblk` lists the devices there are"
    )]
    NewInDev(PathBuf),
    /// A file lies among the device nodes.
    #[error(
        "`{0}` is a file in /dev, which is in memory, and no device; remove it, `lsblk` lists the devices \
         there are"
    )]
    FileInDev(PathBuf),
    /// A file was to be made, and its name is taken.
    #[error(
        "`{0}` was not there and is now, or is a link to what is not there; nothing was written: try \
         again, or name the file itself"
    )]
    Appeared(PathBuf),
    /// Somebody else's file was found under the name of ours, and could not be given its name back.
    #[error("`{path}` was replaced meanwhile; what replaced it is now `{aside}`, rename it back")]
    MovedAside {
        /// The name that was asked for.
        path: PathBuf,
        /// Path of the file that was put aside.
        aside: PathBuf,
        /// Error that kept it from being put back.
        source: io::Error,
    },
    /// The world refused an act.
    #[error("cannot {intent} `{path}`")]
    Refused {
        /// The file or device it happened on.
        path: PathBuf,
        /// Act that failed, as a verb.
        intent: &'static str,
        /// The error the operating system gave.
        source: io::Error,
    },
    /// Somebody uses the target, or something that is built on it.
    #[error("`{path}` is in use: {why}, --destroy-data does not lift this")]
    InUse {
        /// The target, links resolved.
        path: PathBuf,
        /// Use, and how to end it.
        why: String,
    },
    /// There is a partition table on it.
    #[error(
        "`{path}` is partitioned ({what}), its data would be lost; name one partition, or pass \
         --destroy-data to overwrite it all"
    )]
    Partitioned {
        /// The target, links resolved.
        path: PathBuf,
        /// The table or the partitions.
        what: String,
    },
    /// There is a file system or a member of something on it.
    #[error(
        "`{path}` holds {what}, its data would be lost; pass --destroy-data to overwrite it, or choose \
         another target"
    )]
    Signature {
        /// The target, links resolved.
        path: PathBuf,
        /// Content that was recognised, with its article.
        what: &'static str,
    },
    /// Nothing is recognised on it, which does not mean that nothing is there.
    #[error("`{0}` is a block device; pass --destroy-data to overwrite whatever it holds")]
    Device(PathBuf),
    /// It takes no writes.
    #[error("`{path}` is read-only ({why}); choose another target, or read only")]
    ReadOnly {
        /// The target, links resolved.
        path: PathBuf,
        /// The device or the file system.
        why: String,
    },
    /// The file was there before us.
    #[error(
        "`{0}` exists and was not made by iostack; pass --destroy-data to overwrite it, or name a file \
         that does not exist"
    )]
    NotOurs(PathBuf),
    /// Somebody keeps data in it.
    #[error(
        "`{0}` keeps the data of a drive (`iostack serve --store`); pass --destroy-data to overwrite it, or \
         name another file"
    )]
    Kept(PathBuf),
    /// A run writes to what is to be served.
    #[error("`{0}` is in use: another run of iostack writes to it; wait until it ends, or name another file")]
    Written(PathBuf),
    /// This user may not write there.
    #[error("`{0}` cannot be written by this user; choose another target, or run as a user who may")]
    NotWritable(PathBuf),
    /// The file system is too full.
    #[error("`{path}` has {free} free and {needed} are needed; free some space, or ask for less with --size")]
    NoSpace {
        /// The directory concerned.
        path: PathBuf,
        /// Bytes that are needed.
        needed: Bytes,
        /// Bytes that are free.
        free: Bytes,
    },
    /// The file may not become that long.
    #[error(
        "`{path}` may not become {needed} long: a limit on file sizes forbids it (`ulimit -f`, or the file \
         system's own); raise it, or ask for less with --size"
    )]
    FileLimit {
        /// The file concerned.
        path: PathBuf,
        /// The length that the file needs.
        needed: Bytes,
    },
    /// Too little is free for any scratch file that means something.
    #[error(
        "{free} are free and a scratch file needs {needed}; free some space, or name a directory on \
         another file system"
    )]
    TooFull {
        /// Bytes that are needed, the room to leave free included.
        needed: Bytes,
        /// Bytes that are free.
        free: Bytes,
    },
    /// The kernel does not know this device.
    #[error("there is no block device `{0}`; `lsblk` lists those there are")]
    NoDevice(String),
    /// The device does not have this scheduler.
    #[error("{device} has no scheduler `{name}`; it has {choices}")]
    NoScheduler {
        /// The device's name.
        device: String,
        /// Scheduler that was asked for.
        name: String,
        /// Schedulers that there are.
        choices: String,
    },
    /// Another process has changed the setting and not yet put it back.
    #[error("process {pid} has changed the scheduler of {device}; wait until it ends, or stop it")]
    SettingBusy {
        /// The device's name.
        device: String,
        /// The process that holds it.
        pid: u32,
    },
}

impl HostError {
    /// A mounted file system is on the device, a part of it, or something built on it.
    pub(crate) fn mounted(path: &Path, device: &str, mount: &Path) -> Self {
        let mount = mount.display();
        let why = format!("{device} is mounted at `{mount}`; unmount it first (umount {mount})");
        HostError::InUse { path: path.to_owned(), why }
    }

    /// Swap space is on it.
    pub(crate) fn swap(path: &Path, swap: &Path) -> Self {
        let swap = swap.display();
        let why = format!("{swap} is swap space; turn it off first (swapoff {swap})");
        HostError::InUse { path: path.to_owned(), why }
    }

    /// Another device is built on it.
    pub(crate) fn built_on(path: &Path, device: &str, holder: &str) -> Self {
        let why = format!("{holder} is built on {device}; take {holder} apart first");
        HostError::InUse { path: path.to_owned(), why }
    }

    /// Wraps the error of an act on a path.
    pub(crate) fn refused(path: &Path, intent: &'static str, source: io::Error) -> Self {
        HostError::Refused { path: path.to_owned(), intent, source }
    }
}
