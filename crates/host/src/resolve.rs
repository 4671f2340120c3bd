//! What did the user mean by that target?
//!
//! `file:PATH`, `block:PATH`, `directory:PATH`, or a bare path whose kind is what is found there. Links are followed,
//! so `/dev/disk/by-id/...` becomes the device it names. Start reading at [`resolve`].

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use iostack_model::{Bytes, TargetKind, TargetName};

use crate::held::{Held, kind_of};
use crate::roots::Root;
use crate::{HostError, chain, device, sys};

/// Kind of target, its prefix, and its name with article.
const KINDS: [(TargetKind, &str, &str); 3] = [
    (TargetKind::Directory, "directory:", "a directory"),
    (TargetKind::File, "file:", "a regular file"),
    (TargetKind::Block, "block:", "a block device"),
];

/// Prefixes of targets that are not real storage.
const NOT_REAL: [(&str, &str); 2] =
    [("sim:", "a simulated platform"), ("lab:", "a driver in the lab machine")];

/// Finds out what a typed target is. Only `file:PATH` may name something that is not there yet, in a directory that
/// is: it will be made.
pub fn resolve(typed: impl AsRef<OsStr>) -> Result<TargetName, HostError> {
    let typed = typed.as_ref();
    let shown = &typed.to_string_lossy();
    if let Some((_, what)) = NOT_REAL.iter().find(|(prefix, _)| shown.starts_with(prefix)) {
        return Err(HostError::NotReal { typed: shown.to_string(), what });
    }
    let behind = |prefix: &str| typed.as_bytes().strip_prefix(prefix.as_bytes()).map(OsStr::from_bytes);
    let prefixed = KINDS.iter().find_map(|(kind, prefix, _)| Some((*kind, behind(prefix)?)));
    let (wanted, path) = prefixed.map_or((None, typed), |(kind, path)| (Some(kind), path));
    if path.is_empty() {
        return Err(HostError::Empty);
    }
    match fs::canonicalize(path) {
        Ok(path) => existing(shown, wanted, path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let new = (wanted == Some(TargetKind::File)).then(|| new_file(Path::new(path))).flatten();
            new.ok_or_else(|| HostError::Missing(shown.to_string()))
        }
        Err(error) => Err(HostError::refused(Path::new(path), "look at", error)),
    }
}

fn existing(typed: &str, wanted: Option<TargetKind>, path: PathBuf) -> Result<TargetName, HostError> {
    let data = fs::metadata(&path).map_err(|error| HostError::refused(&path, "look at", error))?;
    let found = kind_of(&data).map_err(|found| HostError::Unsuitable { typed: typed.to_owned(), found })?;
    match wanted {
        Some(wanted) if wanted != found => Err(HostError::WrongKind {
            typed: typed.to_owned(),
            wanted: article(wanted),
            found: article(found),
            right: TargetName { kind: found, path }.to_string(),
        }),
        _ => Ok(TargetName { kind: found, path }),
    }
}

fn article(kind: TargetKind) -> &'static str {
    KINDS.iter().find(|(other, ..)| *other == kind).map_or("unknown", |(.., name)| name)
}

/// A file that does not exist, in a directory that does.
fn new_file(path: &Path) -> Option<TargetName> {
    let name = path.file_name()?;
    // A dangling link would make the file elsewhere than the name says.
    if fs::symlink_metadata(path).is_ok() {
        return None;
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = fs::canonicalize(directory).ok().filter(|directory| directory.is_dir())?;
    Some(TargetName { kind: TargetKind::File, path: directory.join(name) })
}

/// Size of a target in bytes: a file's length, a device's capacity, the free space around a directory.
pub fn target_size(target: &Held) -> Result<Bytes, HostError> {
    let refused = |source| HostError::refused(target.path(), "find out the size of", source);
    let handle = target.handle();
    match target.kind() {
        TargetKind::Sim | TargetKind::Lab => {
            unreachable!("a device of the simulator or the lab is not of this machine")
        }
        TargetKind::Directory => sys::space(&handle).map(|space| Bytes(space.free)).map_err(refused),
        TargetKind::File => target.metadata().map(|data| Bytes(data.len())).map_err(refused),
        TargetKind::Block => {
            let root = Root::live();
            // sysfs tells it to every user, the device itself only to those who may open it.
            let name = chain::name_of_path(&root, &handle);
            if let Some(bytes) = name.and_then(|name| device::device_size(&root, &name)) {
                return Ok(bytes);
            }
            let device = target.reopen(fs::OpenOptions::new().read(true)).map_err(refused)?;
            sys::block_device_size(&device).map(Bytes).map_err(refused)
        }
    }
}

/// Unit of the offsets and lengths of direct I/O. The kernel says so for files and devices since 6.1;
/// else it is the logical block of the device behind them, and 512 where there is no device.
pub fn logical_block(target: &Held) -> Result<Bytes, HostError> {
    let stated = sys::extended(&target.handle());
    let stated = stated.map_err(|error| HostError::refused(target.path(), "look at", error))?.direct_offset;
    if let Some(bytes) = stated.filter(|&bytes| bytes > 0) {
        return Ok(Bytes(u64::from(bytes)));
    }
    let storage = target.storage()?;
    let blocks = storage.devices.iter().map(|device| device.logical_block);
    Ok(blocks.max().unwrap_or_default().max(Bytes(512)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;

    fn refusal(typed: &str) -> String {
        resolve(typed).expect_err(typed).to_string()
    }

    #[test]
    fn a_bare_path_is_what_is_found_there() {
        let tree = Tree::new(&[("data", "abc"), ("link", "-> data")]);
        let text = |name: &str| resolve(tree.at(name)).expect(name).to_string();
        assert_eq!(text("data"), format!("file:{}", tree.at("data").display()));
        assert_eq!(text("link"), text("data"));
        assert_eq!(text(""), format!("directory:{}", tree.path().display()));
    }

    #[test]
    fn a_path_may_hold_any_bytes() {
        let tree = Tree::new(&[]);
        let path = tree.path().join(OsStr::from_bytes(b"a\xffb"));
        fs::write(&path, "abc").expect("ours");
        assert_eq!(resolve(&path).expect("it is there").path, path);
        let typed = [b"file:", path.as_os_str().as_bytes()].concat();
        assert_eq!(resolve(OsStr::from_bytes(&typed)).expect("it is there").path, path);
        assert!(resolve(path.join("x")).expect_err("it is no directory").to_string().contains("a\u{fffd}b"));
    }

    #[test]
    fn only_a_file_prefix_names_what_is_not_there_yet() {
        let tree = Tree::new(&[("dangling", "-> nowhere")]);
        let new = tree.at("new").to_string_lossy().into_owned();
        assert_eq!(resolve(format!("file:{new}")).expect("it can be made").path, tree.at("new"));
        assert!(refusal(&new).contains(&format!("`{new}` does not exist")));
        assert!(refusal(&format!("block:{new}")).contains("does not exist"));
        assert!(refusal(&format!("file:{new}/deeper")).contains("does not exist"));
        assert!(refusal(&format!("file:{}", tree.at("dangling").display())).contains("does not exist"));
    }

    #[test]
    fn a_prefix_that_lies_is_refused_with_the_right_one() {
        let tree = Tree::new(&[("data", "abc")]);
        let path = tree.at("data");
        let text = refusal(&format!("block:{}", path.display()));
        assert!(text.contains("is a regular file, not a block device"), "{text}");
        assert!(text.contains(&format!("write `file:{}`", path.display())), "{text}");
    }

    #[test]
    fn what_is_not_storage_is_refused_by_name() {
        assert!(refusal("/dev/null").contains("`/dev/null` is a character device"));
        assert!(refusal("sim:x25e").contains("a simulated platform"));
        assert!(refusal("lab:scsi_ram").contains("the lab machine"));
        assert!(refusal("").contains("empty"));
        assert!(refusal("file:").contains("empty"));
    }

    #[test]
    fn a_file_has_its_length_and_an_alignment_that_is_a_power_of_two() {
        let tree = Tree::new(&[("data", "abc")]);
        let target = Held::open(&tree.at("data")).expect("it is there");
        assert_eq!(target_size(&target).expect("it is readable"), Bytes(3));
        let block = logical_block(&target).expect("it is readable");
        assert!(block.0.is_power_of_two(), "{block}");
        let directory = Held::open(tree.path()).expect("it is there");
        assert!(target_size(&directory).expect("it is readable").0 > 0);
    }
}
