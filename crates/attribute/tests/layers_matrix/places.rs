//! Where loads run: file systems on loop devices of our own, a zram device of our own, the disk below.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory that goes away with the test, on a real file system.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Directory {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("the build directory is writable");
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _gone_already = fs::remove_dir_all(&self.0);
    }
}

/// Output of a command that succeeded; else what it said.
fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output =
        Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// A loop device over a new file.
pub(crate) struct Loop {
    pub(crate) device: PathBuf,
    _file: Directory,
}

impl Loop {
    pub(crate) fn new(name: &str, size: u64) -> Result<Loop, String> {
        let directory = Directory::new(name);
        let file = directory.0.join("image");
        let made = fs::File::create(&file).and_then(|file| file.set_len(size));
        made.map_err(|error| error.to_string())?;
        let device = run("losetup", &["--find", "--show", &file.to_string_lossy()])?;
        Ok(Loop { device: PathBuf::from(device), _file: directory })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _gone_already = run("losetup", &["--detach", &self.device.to_string_lossy()]);
    }
}

/// A new file system on a loop device, mounted. Parts are dropped from the first to the last.
pub(crate) struct Mounted {
    mount: Mount,
    _device: Loop,
}

struct Mount(Directory);

impl Drop for Mount {
    fn drop(&mut self) {
        let _gone_already = run("umount", &[&self.0.0.to_string_lossy()]);
    }
}

impl Mounted {
    pub(crate) fn new(kind: &str) -> Result<Mounted, String> {
        // XFS refuses less than 300 MB.
        let device = Loop::new(&format!("layers-{kind}"), 512 << 20)?;
        let path = device.device.to_string_lossy().into_owned();
        run(&format!("mkfs.{kind}"), &[if kind == "ext4" { "-F" } else { "-f" }, &path])?;
        let place = Directory::new(&format!("layers-{kind}-mounted"));
        run("mount", &["-t", kind, &path, &place.0.to_string_lossy()])?;
        Ok(Mounted { mount: Mount(place), _device: device })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.mount.0.0
    }
}

/// A compressed disk in memory.
pub(crate) struct Zram {
    number: String,
    pub(crate) device: PathBuf,
}

impl Zram {
    pub(crate) fn new(size: u64) -> Result<Zram, String> {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add")
            .map_err(|error| format!("a zram device cannot be added: {error}"))?
            .trim()
            .to_owned();
        let device = PathBuf::from(format!("/dev/zram{number}"));
        let zram = Zram { number, device };
        fs::write(format!("/sys/block/zram{}/disksize", zram.number), size.to_string())
            .map_err(|error| format!("a zram device cannot be sized: {error}"))?;
        Ok(zram)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _empty = fs::write(format!("/sys/block/zram{}/reset", self.number), "1");
        let _gone = fs::write("/sys/class/zram-control/hot_remove", &self.number);
    }
}
