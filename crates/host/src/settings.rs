//! How would it be with another scheduler? A setting is changed for a while and put back, whatever happens.
//!
//! ```text
//!   journal entry written ──► setting changed ──► ... ──► setting put back ──► journal entry removed
//! ```
//!
//! The entry is on disk before the change, so a run that is killed with -9 leaves it behind, and the next one puts the
//! setting back: [`restore_leftovers`]. The entry also tells other runs that the setting is taken. It appears whole or
//! not at all, and who looks at entries and acts on them has the journal for itself meanwhile.
//! Start reading at [`set_scheduler`].

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::device::schedulers;
use crate::emergency::{self, EmergencyAct, Ticket};
use crate::process::Process;
use crate::roots::{Root, text};
use crate::{HostError, own_name, sys};

const ENTRY_PREFIX: &str = "scheduler-";

/// Journal in which changed settings are written down.
#[derive(Clone, Debug)]
pub struct Journal {
    directory: PathBuf,
    root: Root,
}

impl Journal {
    /// The journal of this user: `$XDG_STATE_HOME/iostack`, `/run/iostack`, `~/.local/state/iostack` or
    /// `/tmp/iostack-UID`, the first that can be made and that nobody else can write to.
    pub fn open() -> Result<Journal, HostError> {
        let mut last = None;
        for directory in places() {
            match Journal::at(&directory) {
                Ok(journal) => return Ok(journal),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or(HostError::Empty))
    }

    /// A journal in `directory`, which is made if need be.
    pub fn at(directory: &Path) -> Result<Journal, HostError> {
        let made =
            DirBuilder::new().recursive(true).mode(0o700).create(directory).and_then(|()| trust(directory));
        made.map_err(|error| HostError::refused(directory, "keep a journal in", error))?;
        Ok(Journal { directory: directory.to_owned(), root: Root::live() })
    }

    fn entry(&self, device: &str) -> PathBuf {
        self.directory.join(format!("{ENTRY_PREFIX}{device}"))
    }

    /// Keeps other processes from looking at entries, and from changing them, until it is dropped.
    fn lock(&self) -> Option<File> {
        // Where directories cannot be locked, entries that appear whole must do.
        let directory = File::open(&self.directory).ok()?;
        directory.lock().ok().map(|()| directory)
    }
}

fn places() -> Vec<PathBuf> {
    let from = |name: &str, below: &str| {
        let base = std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())?;
        Some(base.join(below))
    };
    let fallback = format!("/tmp/iostack-{}", sys::effective_user());
    let places = [
        from("XDG_STATE_HOME", "iostack"),
        Some(PathBuf::from("/run/iostack")),
        from("HOME", ".local/state/iostack"),
        Some(PathBuf::from(fallback)),
    ];
    places.into_iter().flatten().collect()
}

/// Root writes to sysfs what the journal says, so nobody else may have written it.
fn trust(directory: &Path) -> io::Result<()> {
    let data = fs::symlink_metadata(directory)?;
    let ours = data.is_dir() && data.uid() == sys::effective_user() && data.mode() & 0o022 == 0;
    if ours { Ok(()) } else { Err(io::Error::new(io::ErrorKind::PermissionDenied, "others can write to it")) }
}

/// A changed setting; dropping it puts the setting back.
#[derive(Debug)]
pub struct SettingGuard {
    setting: PathBuf,
    before: String,
    entry: PathBuf,
    _ticket: Option<Ticket>,
}

impl SettingGuard {
    /// Value that the setting had, and will have again.
    pub fn before(&self) -> &str {
        &self.before
    }
}

impl Drop for SettingGuard {
    fn drop(&mut self) {
        // What cannot be put back stays in the journal, and the next run tries and says so.
        let _ = put_back(&self.setting, &self.before, &self.entry);
    }
}

fn put_back(setting: &Path, before: &str, entry: &Path) -> io::Result<()> {
    fs::write(setting, before)?;
    fs::remove_file(entry)
}

/// Gives `device` (`nvme0n1`, not a partition) the scheduler `name` until the guard is dropped.
pub fn set_scheduler(device: &str, name: &str, journal: &Journal) -> Result<SettingGuard, HostError> {
    let setting =
        scheduler_file(&journal.root, device).ok_or_else(|| HostError::NoDevice(device.to_owned()))?;
    let _lock = journal.lock();
    // First what a dead run left, or its choice would be taken for the user's.
    restore(journal, device);
    let (before, choices) = schedulers(&text(&setting).unwrap_or_default());
    if !choices.iter().any(|choice| choice == name) {
        let (device, name) = (device.to_owned(), name.to_owned());
        return Err(HostError::NoScheduler { device, name, choices: choices.join(", ") });
    }
    let entry = journal.entry(device);
    write_entry(journal, device, &entry, &before)?;
    let ticket = arm(&setting, &before, &entry);
    let guard = SettingGuard { setting, before, entry, _ticket: ticket };
    // From here on the guard puts back, also when the change itself fails.
    fs::write(&guard.setting, name)
        .map_err(|error| HostError::refused(&guard.setting, "write the scheduler to", error))?;
    Ok(guard)
}

/// The file of a device's scheduler; `None` when there is no such device or it is not one with a queue.
fn scheduler_file(root: &Root, device: &str) -> Option<PathBuf> {
    let plain = !device.is_empty() && !device.contains('/') && !device.starts_with('.');
    let file = root.block(device).join("queue/scheduler");
    (plain && file.exists()).then_some(file)
}

fn arm(setting: &Path, before: &str, entry: &Path) -> Option<Ticket> {
    let (setting, journal) = (sys::c_path(setting).ok()?, sys::c_path(entry).ok()?);
    emergency::arm(EmergencyAct::Restore { setting, value: before.as_bytes().to_vec(), journal })
}

/// Writes the entry unless there is one: that one's owner lives, or it would have been put back.
fn write_entry(journal: &Journal, device: &str, path: &Path, before: &str) -> Result<(), HostError> {
    let refused = |error| HostError::refused(path, "write the journal entry", error);
    let owner = Process::current();
    let entry = JournalEntry { before: before.to_owned(), owner, boot: boot(&journal.root) };
    match appear(path, &entry.text()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match JournalEntry::read(path) {
            Some(other) => Err(HostError::SettingBusy { device: device.to_owned(), pid: other.owner.pid }),
            None => Err(refused(error)),
        },
        result => result.map_err(refused),
    }
}

/// Makes a file that nobody ever sees half-written; an error when there is one.
fn appear(path: &Path, text: &str) -> io::Result<()> {
    let aside = path.with_file_name(own_name::new_name());
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
    let linked = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::hard_link(&aside, path));
    fs::remove_file(&aside).and(linked)
}

/// One journal entry.
#[derive(Debug, PartialEq, Eq)]
struct JournalEntry {
    before: String,
    owner: Process,
    /// A reboot puts settings back by itself.
    boot: String,
}

impl JournalEntry {
    fn text(&self) -> String {
        let JournalEntry { before, owner, boot } = self;
        format!("before {before}\npid {}\nstart {}\nboot {boot}\n", owner.pid, owner.start_ticks)
    }

    fn read(path: &Path) -> Option<JournalEntry> {
        let text = text(path)?;
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        let owner = Process { pid: value("pid")?.parse().ok()?, start_ticks: value("start")?.parse().ok()? };
        Some(JournalEntry { before: value("before")?.to_owned(), owner, boot: value("boot")?.to_owned() })
    }
}

fn boot(root: &Root) -> String {
    root.text("proc/sys/kernel/random/boot_id").unwrap_or_else(|| "unknown".to_owned())
}

/// Puts back what runs that were killed had changed. Says what it did, or what it could not do and how to do it.
pub fn restore_leftovers() -> Vec<String> {
    let trusted = places().into_iter().filter(|place| trust(place).is_ok());
    let journals = trusted.map(|directory| Journal { directory, root: Root::live() });
    journals.flat_map(|journal| restore_all(&journal)).collect()
}

/// Restores as [`restore_leftovers`] does, by one journal.
pub fn restore_all(journal: &Journal) -> Vec<String> {
    let _lock = journal.lock();
    let names = crate::roots::names(&journal.directory);
    // What a run that was killed had not yet given its name.
    let dead = |name: &&String| own_name::owner_of(name).is_some_and(|owner| !owner.is_alive());
    for name in names.iter().filter(dead) {
        let _ = fs::remove_file(journal.directory.join(name));
    }
    names.iter().filter_map(|name| restore(journal, name.strip_prefix(ENTRY_PREFIX)?)).collect()
}

/// Puts back one setting if its owner is dead.
fn restore(journal: &Journal, device: &str) -> Option<String> {
    let path = journal.entry(device);
    let entry = JournalEntry::read(&path);
    let stale = entry.as_ref().is_none_or(|entry| entry.boot != boot(&journal.root));
    let setting = scheduler_file(&journal.root, device);
    let (Some(entry), Some(setting), false) = (entry, setting, stale) else {
        // Damaged, of an earlier boot, or of a device that is gone.
        let _ = fs::remove_file(&path);
        return None;
    };
    let JournalEntry { before, owner, .. } = entry;
    if owner.is_alive() {
        return None;
    }
    let (current, choices) = schedulers(&text(&setting).unwrap_or_default());
    if !choices.contains(&before) || current == before {
        let _ = fs::remove_file(&path);
        return None;
    }
    Some(match put_back(&setting, &before, &path) {
        Ok(()) => format!(
            "put the scheduler of {device} back to {before}: process {}, which was killed, had left {current}",
            owner.pid
        ),
        Err(error) => format!(
            "the scheduler of {device} is still {current}, left by process {} which was killed, and cannot be put \
             back ({error}); as root: echo {before} > {}",
            owner.pid,
            setting.display()
        ),
    })
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
