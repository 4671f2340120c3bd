//! A machine as it was once booted: kept in the cache, and begun with instead of a boot.
//!
//! ```text
//!   first:   boot ──► the guest stops itself ──► memory, devices ──► cache: snapshot/KEY
//!   then:    memory, devices, this run's files ──► the machine goes on behind its stop
//! ```
//!
//! The key names all that shapes the machine up to its stop. Start reading at [`kept`].

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::build::hashed;
use super::cache::Cache;
use super::machine::{Boot, boot_to_stop, key_words};
use super::monitor::Monitor;
use crate::LabError;

/// Folder of the snapshots in the cache.
const FOLDER: &str = "snapshot";
/// Most bytes of all snapshots; the one that was used longest ago goes first.
const ALL_MOST: u64 = 3 << 30;
/// Room that one may need.
const ROOM_MIB: u64 = 700;
/// Largest memory of a machine that is kept: up to here addresses are places in the file, whichever machine it is.
const MEMORY_MOST_MIB: u32 = 2048;
/// Bytes that are left out together where all are zero.
const PIECE: usize = 16 << 10;

/// Set once a snapshot was of no use: it was said, and all that follow boot.
static GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// Description of a snapshot.
#[derive(Serialize, Deserialize)]
struct About {
    /// Places in which the guest looks for files: physical address and bytes.
    places: Vec<(u64, u64)>,
    /// Stretches of memory that are in the file, one behind the other: offset and bytes.
    stretches: Vec<(u64, u64)>,
    /// Bytes of the devices' state.
    state_bytes: u64,
}

/// A snapshot that can be begun with.
pub(super) struct Kept {
    folder: PathBuf,
    about: About,
    memory: File,
    state: File,
}

/// The snapshot for this machine, made when there is none; `None` where it has to boot.
pub(super) fn kept(boot: &Boot<'_>) -> Result<Option<Kept>, LabError> {
    let Some(cache) = boot.kept_in.filter(|_| boot.memory_mib <= MEMORY_MOST_MIB) else { return Ok(None) };
    if GIVEN_UP.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let name = format!("{FOLDER}/{}", hashed(&key(boot)?));
    let made = cache.place(&name, ROOM_MIB, |folder| {
        forget_oldest(cache);
        make(boot, folder)
    });
    match made.and_then(|folder| Kept::open(&folder)) {
        Ok(kept) => Ok(Some(kept).filter(|kept| kept.has_room(boot))),
        Err(LabError::Interrupted) => Err(LabError::Interrupted),
        Err(error) => {
            give_up(boot, &cache.root().join(name), &error.to_string());
            Ok(None)
        }
    }
}

/// Says why there is no snapshot, and removes what there may be.
pub(super) fn give_up(boot: &Boot<'_>, folder: &Path, why: &str) {
    let _ = fs::remove_dir_all(folder);
    if !GIVEN_UP.swap(true, Ordering::Relaxed) {
        (boot.say)(&format!("no snapshot of the machine can be used, so that it boots: {why}"));
    }
}

/// All that shapes the machine up to its stop. This program is in it: the guest's first process.
fn key(boot: &Boot<'_>) -> Result<Vec<String>, LabError> {
    let mut key = key_words(boot);
    key.push(boot.base_name.clone());
    key.push(boot.qemu.version.clone());
    let own = Path::new("/proc/self/exe");
    let files = [own, boot.qemu.program(), &boot.kernel.image];
    for path in files.into_iter().chain(boot.kernel.memory.as_ref().map(|(file, _)| file.as_path())) {
        key.push(identity(path)?);
    }
    Ok(key)
}

/// Words that another build of a program, or another file in its place, has not.
pub(crate) fn identity(path: &Path) -> Result<String, LabError> {
    let data = fs::metadata(path).map_err(LabError::file("read", path))?;
    Ok(format!("{} {} {} {}", data.ino(), data.len(), data.mtime(), data.mtime_nsec()))
}

/// Boots to where the guest stops, and writes what is there.
fn make(boot: &Boot<'_>, folder: &Path) -> Result<(), LabError> {
    (boot.say)("booting once for a snapshot, from which the next runs begin");
    let write = |name: &str| {
        let path = folder.join(name);
        File::options().read(true).write(true).create_new(true).open(&path)
    };
    boot_to_stop(boot, &mut |monitor, memory, places| {
        monitor.stands()?;
        let state = write("state")?;
        let state_bytes = save_devices(monitor, &boot.scratch.path("devices"), &state)?;
        let file = write("memory")?;
        let stretches = save_memory(memory, &file)?;
        let about = serde_json::to_vec(&About { places, stretches, state_bytes })?;
        let file_about = write("about")?;
        file_about.write_all_at(&about, 0)?;
        // Once it is there by its name, it is whole, also after a power cut.
        [state, file, file_about].iter().try_for_each(File::sync_all)
    })
}

fn save_devices(monitor: &mut Monitor, socket: &Path, mut into: &File) -> io::Result<u64> {
    let listener = UnixListener::bind(socket)?;
    listener.set_nonblocking(true)?;
    monitor.ask("migrate", &json!({"uri": format!("unix:{}", socket.display())}))?;
    let mut from = loop {
        match listener.accept() {
            Ok((from, _)) => break from,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => drop(monitor.has_moved()?),
            Err(error) => return Err(error),
        }
    };
    from.set_nonblocking(false)?;
    let bytes = io::copy(&mut from, &mut into)?;
    while !monitor.has_moved()? {}
    Ok(bytes)
}

fn save_memory(memory: &File, into: &File) -> io::Result<Vec<(u64, u64)>> {
    let (mut stretches, mut at) = (Vec::<(u64, u64)>::new(), 0);
    let mut piece = vec![0; PIECE];
    for (from, bytes) in iostack_host::stretches(memory)? {
        for offset in (from..from + bytes).step_by(PIECE) {
            let piece = &mut piece[..(from + bytes - offset).min(PIECE as u64) as usize];
            memory.read_exact_at(piece, offset)?;
            if piece.iter().all(|&byte| byte == 0) {
                continue;
            }
            into.write_all_at(piece, at)?;
            at += piece.len() as u64;
            match stretches.last_mut() {
                Some((from, bytes)) if *from + *bytes == offset => *bytes += piece.len() as u64,
                _ => stretches.push((offset, piece.len() as u64)),
            }
        }
    }
    Ok(stretches)
}

impl Kept {
    fn open(folder: &Path) -> Result<Kept, LabError> {
        let broken = |what: &str| LabError::Snapshot(format!("`{}` {what}", folder.display()));
        let open = |name: &str| {
            let path = folder.join(name);
            File::open(&path).map_err(LabError::file("open", &path))
        };
        let (memory, state, mut about_file) = (open("memory")?, open("state")?, open("about")?);
        let mut text = Vec::new();
        about_file.read_to_end(&mut text).map_err(LabError::file("read", folder))?;
        let about: About = serde_json::from_slice(&text).map_err(|_| broken("is damaged"))?;
        let length =
            |file: &File| file.metadata().map(|data| data.len()).map_err(LabError::file("read", folder));
        let memory_bytes: u64 = about.stretches.iter().map(|(_, bytes)| bytes).sum();
        if length(&memory)? != memory_bytes || length(&state)? != about.state_bytes {
            return Err(broken("is cut off"));
        }
        // The one that is used goes last. One that cannot be marked serves as well.
        let _ = File::open(folder).and_then(|folder| folder.set_modified(SystemTime::now()));
        Ok(Kept { folder: folder.to_owned(), about, memory, state })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The emulator inherits this, and reads the devices from it.
    pub(super) fn state(&self) -> &File {
        &self.state
    }

    fn has_room(&self, boot: &Boot<'_>) -> bool {
        boot.files.packed_bytes() <= self.about.places.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Puts the memory, and this run's files in it, into the machine's.
    pub(super) fn fill(&self, into: &File, files: &[u8]) -> io::Result<()> {
        let (mut at, mut piece) = (0, vec![0; 1 << 20]);
        for &(offset, bytes) in &self.about.stretches {
            for from in (0..bytes).step_by(piece.len()) {
                let piece = &mut piece[..(bytes - from).min(1 << 20) as usize];
                self.memory.read_exact_at(piece, at)?;
                into.write_all_at(piece, offset + from)?;
                at += piece.len() as u64;
            }
        }
        let mut rest = files;
        for &(address, bytes) in &self.about.places {
            let (here, more) = rest.split_at(rest.len().min(bytes as usize));
            into.write_all_at(here, address)?;
            rest = more;
        }
        Ok(())
    }

    /// Has the emulator take the devices' state, and one more device; then the machine goes on.
    pub(super) fn resume(&self, monitor: &mut Monitor, plugged: Option<Value>) -> io::Result<()> {
        let uri = format!("fd:{}", self.state.as_raw_fd());
        monitor.ask("migrate-incoming", &json!({"uri": uri}))?;
        while !monitor.has_moved()? {}
        if let Some(device) = plugged {
            monitor.ask("device_add", &device)?;
        }
        monitor.ask("cont", &json!({})).map(|_| ())
    }
}

/// Makes room for one more. Only under the cache's lock.
fn forget_oldest(cache: &Cache) {
    let entries = fs::read_dir(cache.root().join(FOLDER)).into_iter().flatten().flatten();
    let size = |folder: &Path| -> u64 {
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|data| data.len()).sum()
    };
    let used = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let mut all: Vec<_> =
        entries.map(|entry| entry.path()).map(|path| (used(&path), size(&path), path)).collect();
    all.sort();
    let mut bytes: u64 = all.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, size, path) in all {
        if bytes <= ALL_MOST - (ROOM_MIB << 20) {
            break;
        }
        let _ = fs::remove_dir_all(&path);
        bytes -= size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_host::memory_file;

    #[test]
    fn memory_comes_back_with_the_files_of_the_run_and_what_is_cut_off_is_refused() {
        let folder = std::env::temp_dir().join(format!("iostack-snapshot-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a new folder");
        let filled = |bytes: &[(u64, &[u8])]| {
            let file = memory_file(c"test").expect("memory");
            file.set_len(1 << 20).expect("it grows");
            for (at, bytes) in bytes {
                file.write_all_at(bytes, *at).expect("it takes them");
            }
            file
        };
        let memory = filled(&[(5, &[1; 10]), (PIECE as u64 * 2, &[2; 3]), (PIECE as u64 * 3, &[3])]);
        let file = |name: &str| File::create(folder.join(name)).expect("a new file");
        let stretches = save_memory(&memory, &file("memory")).expect("it is saved");
        let saved: u64 = stretches.iter().map(|(_, bytes)| bytes).sum();
        assert!((1..=PIECE as u64 * 3).contains(&saved), "zeros are left out: {stretches:?}");
        fs::write(folder.join("state"), "devices").expect("a new file");
        let places = vec![(PIECE as u64, 2), (100, 4)];
        let about = About { places, stretches, state_bytes: 7 };
        fs::write(folder.join("about"), serde_json::to_vec(&about).expect("plain data")).expect("a new file");
        let into = filled(&[]);
        Kept::open(&folder).map(|kept| kept.fill(&into, b"abc")).expect("whole").expect("it fits");
        memory.write_all_at(b"ab", PIECE as u64).expect("it takes them");
        memory.write_all_at(b"c", 100).expect("it takes them");
        let all = |file: &File| {
            let mut bytes = vec![0; 1 << 20];
            file.read_exact_at(&mut bytes, 0).expect("as long");
            bytes
        };
        assert!(all(&memory) == all(&into), "the places are filled in their order");
        let refused = || Kept::open(&folder).err().expect("broken").to_string();
        fs::write(folder.join("state"), "device").expect("ours");
        assert!(refused().ends_with("is cut off"), "{}", refused());
        fs::write(folder.join("about"), "{").expect("ours");
        assert!(refused().ends_with("is damaged"), "{}", refused());
        fs::remove_dir_all(&folder).expect("ours");
    }
}
