//! Which file system holds a path, and which devices are mounted?

use std::path::{Path, PathBuf};

use crate::roots::Root;

/// One line of `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) id: u64,
    /// Major and minor of the file system; major 0 when it is not a block device's (tmpfs, btrfs, overlay, NFS).
    pub(crate) number: (u32, u32),
    /// The directory of the file system that is mounted.
    pub(crate) root: PathBuf,
    pub(crate) point: PathBuf,
    pub(crate) kind: String,
    pub(crate) source: String,
    /// Options of the mount, then of the file system.
    pub(crate) options: String,
}

/// All mounts this process sees, in the order they were made.
pub(crate) fn mounts(root: &Root) -> Vec<Mount> {
    let text = root.text("proc/self/mountinfo").unwrap_or_default();
    text.lines().filter_map(parse_line).collect()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn parse_line(line: &str) -> Option<Mount> {
    // Optional fields stand before the dash, any number of them.
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ');
    let id = before.next()?.parse().ok()?;
    let (major, minor) = before.nth(1)?.split_once(':')?;
    let (root, point, mount_options) = (before.next()?, before.next()?, before.next()?);
    let mut after = after.split(' ');
    let (kind, source) = (after.next()?, after.next()?);
    let own_options = after.next().unwrap_or_default();
    Some(Mount {
        id,
        number: (major.parse().ok()?, minor.parse().ok()?),
        root: PathBuf::from(unescape(root)),
        point: PathBuf::from(unescape(point)),
        kind: kind.to_owned(),
        source: unescape(source),
        options: both_options(mount_options, own_options),
    })
}

/// A mount of a file system in user space.
pub struct FuseMount {
    /// Number of the connection to its server, as in `/sys/fs/fuse/connections`.
    pub number: u32,
    /// Source that the mount says it is of.
    pub source: String,
    /// Directory of the mount.
    pub point: PathBuf,
}

/// Mounts of file systems in user space. None is touched, for its server may not answer.
pub fn fuse_mounts() -> Vec<FuseMount> {
    let ours = mounts(&Root::live()).into_iter().filter(|mount| mount.kind.starts_with("fuse"));
    ours.map(|mount| FuseMount { number: mount.number.1, source: mount.source, point: mount.point }).collect()
}

fn both_options(mount: &str, own: &str) -> String {
    let mut options: Vec<&str> = mount.split(',').collect();
    options.extend(
        own.split(',').filter(|option| !option.is_empty() && !mount.split(',').any(|o| o == *option)),
    );
    options.join(",")
}

/// Blanks, tabs, newlines and backslashes are written as `\040` and so on.
pub(crate) fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if first == b'\\' => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The mount that holds `path` (absolute, links resolved): the one the kernel names by `id`, else the deepest that
/// contains it, and of several at one place the last, which hides the others.
pub(crate) fn holding<'a>(mounts: &'a [Mount], path: &Path, id: Option<u64>) -> Option<&'a Mount> {
    let by_id = id.and_then(|id| mounts.iter().find(|mount| mount.id == id));
    by_id.or_else(|| {
        let around = mounts.iter().filter(|mount| path.starts_with(&mount.point));
        around.max_by_key(|mount| mount.point.components().count())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
40 27 0:33 / /tmp rw - tmpfs tmpfs rw,size=1k
41 40 7:0 /a\\040b /tmp/my\\040disk ro,noatime - xfs /dev/loop0 rw
42 40 8:1 / /tmp/my\\040disk rw - vfat /dev/sda1 rw";

    fn parsed() -> Vec<Mount> {
        INFO.lines().filter_map(parse_line).collect()
    }

    #[test]
    fn a_line_is_taken_apart() {
        let mounts = parsed();
        assert_eq!(mounts.len(), 4);
        assert_eq!(mounts[0].number, (254, 0));
        assert_eq!(mounts[0].options, "rw,relatime,discard");
        assert_eq!(mounts[2].point, Path::new("/tmp/my disk"));
        assert_eq!(mounts[2].root, Path::new("/a b"));
        assert_eq!((mounts[2].kind.as_str(), mounts[2].source.as_str()), ("xfs", "/dev/loop0"));
        assert_eq!(mounts[2].options, "ro,noatime,rw");
        assert_eq!(parse_line("27 1 254:0 / / rw"), None);
    }

    #[test]
    fn the_deepest_and_last_mount_holds_a_path() {
        let mounts = parsed();
        let kind = |path: &str, id| holding(&mounts, Path::new(path), id).map(|mount| mount.kind.as_str());
        assert_eq!(kind("/tmp/my disk/x", None), Some("vfat"));
        assert_eq!(kind("/tmp/my disk/x", Some(41)), Some("xfs"));
        assert_eq!(kind("/tmp/mydisk", None), Some("tmpfs"));
        assert_eq!(kind("/home", Some(999)), Some("ext4"));
    }
}
