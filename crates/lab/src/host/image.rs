//! The guest's files: a cpio archive that the kernel unpacks into memory at boot.
//!
//! The guest runs this very program as its first process. What the program needs is what it has mapped: its libraries,
//! at the paths where the loader found them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cache::Cache;
use crate::LabError;
use crate::guest::LAB;

/// An archive in the `newc` format (`Documentation/driver-api/early-userspace/buffer-format.rst` of the kernel).
#[derive(Default)]
pub struct Image {
    bytes: Vec<u8>,
    folders: BTreeSet<PathBuf>,
    entries: u32,
}

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const LINK: u32 = 0o120_777;

impl Image {
    /// An image with this program at `/init`, its libraries, and the folders that the guest mounts on.
    pub fn with_this_program(cache: &Cache) -> Result<Image, LabError> {
        let mut image = Image::default();
        for folder in ["/proc", "/sys", "/dev", "/tmp", "/mnt", LAB] {
            image.folder(Path::new(folder));
        }
        let maps = Path::new("/proc/self/maps");
        let text = fs::read_to_string(maps).map_err(LabError::file("read", maps))?;
        let program =
            fs::read_link("/proc/self/exe").map_err(LabError::file("read", Path::new("/proc/self/exe")))?;
        for file in libraries(&text, &program) {
            let bytes = fs::read(&file).map_err(LabError::file("read", &file))?;
            image.add(&file, PROGRAM, &bytes);
        }
        if let Some(loader) = loader_link() {
            let bytes = fs::read(&loader).map_err(LabError::file("read", &loader))?;
            image.add(&loader, PROGRAM, &bytes);
        }
        image.add(Path::new("/init"), PROGRAM, &this_program(cache)?);
        Ok(image)
    }

    /// Adds a program.
    pub fn program(&mut self, path: &str, bytes: &[u8]) {
        self.add(Path::new(path), PROGRAM, bytes);
    }

    /// Adds all that lies below `root`, at the same places.
    pub fn tree(&mut self, root: &Path) -> Result<(), LabError> {
        self.below(root, root)
    }

    fn below(&mut self, root: &Path, folder: &Path) -> Result<(), LabError> {
        let entries = fs::read_dir(folder).map_err(LabError::file("read", folder))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        // In an order that does not change from machine to machine.
        paths.sort();
        for path in paths {
            let about = fs::symlink_metadata(&path).map_err(LabError::file("read", &path))?;
            let place = Path::new("/").join(path.strip_prefix(root).expect("it lies below"));
            if about.is_dir() {
                self.folder(&place);
                self.below(root, &path)?;
            } else if about.is_symlink() {
                let to = fs::read_link(&path).map_err(LabError::file("read", &path))?;
                self.add(&place, LINK, to.as_os_str().as_bytes());
            } else if about.is_file() {
                let mode = if about.mode() & 0o111 == 0 { FILE } else { PROGRAM };
                self.add(&place, mode, &fs::read(&path).map_err(LabError::file("read", &path))?);
            }
        }
        Ok(())
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The archive, ended.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn add(&mut self, path: &Path, mode: u32, bytes: &[u8]) {
        if let Some(parent) = path.parent() {
            self.folder(parent);
        }
        self.entry(&below_root(path), mode, bytes);
    }

    fn folder(&mut self, path: &Path) {
        if path == Path::new("/") || self.folders.contains(path) {
            return;
        }
        if let Some(parent) = path.parent() {
            self.folder(parent);
        }
        self.entry(&below_root(path), FOLDER, &[]);
        self.folders.insert(path.to_owned());
    }

    fn entry(&mut self, name: &str, mode: u32, bytes: &[u8]) {
        self.entries += 1;
        let links = if mode & 0o170_000 == 0o040_000 { 2 } else { 1 };
        let length = u32::try_from(bytes.len()).expect("a file of the image is below 4 GiB");
        let name_length = name.len() as u32 + 1;
        self.bytes.extend(b"070701");
        // inode, mode, uid, gid, links, time, size, device (2), special device (2), length of the name, no checksum
        for field in [self.entries, mode, 0, 0, links, 0, length, 0, 0, 0, 0, name_length, 0] {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend(bytes);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// This program, without what only a debugger reads where the tool for that is installed: less for the guest to unpack.
fn this_program(cache: &Cache) -> Result<Vec<u8>, LabError> {
    // Not `self`: that would be the tool's own.
    let running = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    let path = cache.root().join(format!(".partial-program-{}", std::process::id()));
    let stripped = Command::new("strip").arg("-o").arg(&path).arg(&running).output();
    let stripped = stripped.ok().filter(|told| told.status.success()).and_then(|_| fs::read(&path).ok());
    let _ = fs::remove_file(&path);
    stripped.map_or_else(|| fs::read(&running).map_err(LabError::file("read", &running)), Ok)
}

/// The files mapped as code, without the program itself.
fn libraries(maps: &str, program: &Path) -> BTreeSet<PathBuf> {
    let code =
        maps.lines().filter(|line| line.split_whitespace().nth(1).is_some_and(|rights| rights.contains('x')));
    let paths = code.filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..])));
    paths.filter(|path| path != program && path.is_file()).collect()
}

/// Path at which programs expect the loader; it is mapped under its real name, often another.
fn loader_link() -> Option<PathBuf> {
    let path = PathBuf::from("/lib64/ld-linux-x86-64.so.2");
    path.is_file().then_some(path)
}

fn below_root(path: &Path) -> String {
    path.to_string_lossy().trim_start_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_stands_once_and_before_its_files() {
        let mut image = Image::default();
        image.program("/lab/modules/a.ko", b"12345");
        image.program("/lab/modules/b.ko", b"");
        let bytes = image.finish();
        let text = String::from_utf8_lossy(&bytes);
        let at = |name: &str| text.find(name).expect("it is in the archive");
        assert!(at("lab\0") < at("lab/modules\0") && at("lab/modules\0") < at("lab/modules/a.ko\0"));
        assert_eq!(text.matches("lab/modules\0").count(), 1);
        assert_eq!(bytes.len() % 4, 0);
    }

    #[test]
    fn libraries_are_what_is_mapped_as_code() {
        let maps = "55d0-55d1 r-xp 00000000 fe:01 11 /proc/self/exe\n\
                    7f00-7f01 r--p 00000000 fe:01 12 /proc/version\n\
                    7f01-7f02 r-xp 00001000 fe:01 12 /proc/version\n7ffd-7ffe r-xp 00000000 00:00 0 [vdso]";
        let found = libraries(maps, Path::new("/proc/self/exe"));
        assert_eq!(found, BTreeSet::from([PathBuf::from("/proc/version")]));
    }
}
