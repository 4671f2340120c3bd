//! Where does a machine that begins with a snapshot find the files of its run?
//!
//! ```text
//!   once:     take memory, tell where it lies, stop ──► the near side keeps memory and devices
//!   each run: the near side puts the files there ──► the machine goes on behind its stop, and takes them
//! ```

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;

use super::Message;
use super::near_side::{failed, tell};
use crate::run_files::unpacked;
use crate::sys::guest as sys;

/// Most bytes of a run's files.
const BYTES: usize = 16 << 20;
const PAGE: u64 = 4096;

/// Stops here for the snapshot, and takes the files of the run that goes on.
pub(super) fn take() -> Result<(), String> {
    let memory = sys::Resident::new(BYTES).map_err(failed("take", "memory for files"))?;
    tell(&Message::Stops(places(memory.address())?));
    sys::stop_machine().map_err(failed("open", "the port that stops the machine"))?;
    let mut rest = memory.bytes();
    while let Some((path, bytes, more)) = unpacked(rest) {
        let folder = Path::new(path).parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(failed("make", folder))?;
        fs::write(path, bytes).map_err(failed("write", path))?;
        // Some are programs of the user's.
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(failed("set", path))?;
        rest = more;
    }
    // The emulator's disks were not there when the kernel looked. A machine without PCI has no such file.
    let _ = fs::write("/sys/bus/pci/rescan", "1");
    Ok(())
}

/// Stretches of physical memory behind these addresses, in their order: address and bytes.
fn places(address: u64) -> Result<Vec<(u64, u64)>, String> {
    let path = "/proc/self/pagemap";
    let map = File::open(path).map_err(failed("open", path))?;
    let mut entries = vec![0; BYTES / PAGE as usize * 8];
    map.read_exact_at(&mut entries, address / PAGE * 8).map_err(failed("read", path))?;
    let mut places: Vec<(u64, u64)> = Vec::new();
    for entry in entries.chunks_exact(8) {
        // Bits 0 to 54 are the page's number (Documentation/admin-guide/mm/pagemap.rst).
        let entry = u64::from_le_bytes(entry.try_into().expect("eight bytes"));
        let at = (entry & ((1 << 55) - 1)) * PAGE;
        match places.last_mut() {
            Some((from, bytes)) if *from + *bytes == at => *bytes += PAGE,
            _ => places.push((at, PAGE)),
        }
    }
    Ok(places)
}
