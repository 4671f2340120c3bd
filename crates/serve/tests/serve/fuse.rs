//! A disk for mkfs and mount.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use iostack_model::Bytes;
use iostack_serve::fuse::{Fuse, missing, sweep};
use iostack_serve::{Server, Store};
use iostack_testkit::{folder, or_skip, tool};

use crate::{serve, zero_of};

const SIZE: u64 = 64 << 20;

fn server(bytes: u64) -> Server {
    serve(&zero_of("10us", bytes), Store::memory(Bytes(bytes)).expect("there is memory"), "zero")
}

pub(crate) fn mounted(test: &str, server: &Server, place: &Path) -> Option<Fuse> {
    or_skip(test, missing().map_or(Ok(()), Err))?;
    or_skip(test, Fuse::start(server.disk(), place))
}

#[test]
fn the_file_is_the_disk_and_keeps_its_size() {
    let folder = folder!("fuse-file");
    let (server, place) = (server(SIZE), folder.join("place"));
    let Some(fuse) = mounted("the_file_is_the_disk_and_keeps_its_size", &server, &place) else { return };
    assert_eq!(fs::metadata(&fuse.file).expect("it is there").len(), SIZE);
    let file = OpenOptions::new().read(true).write(true).open(&fuse.file).expect("it opens");
    file.write_all_at(&[3; 10_000], 12_345).expect("it is written");
    let mut back = [0; 10_002];
    file.read_exact_at(&mut back, 12_344).expect("it is read");
    assert_eq!((back[0], back[10_001]), (0, 0));
    assert!(back[1..10_001].iter().all(|byte| *byte == 3));
    file.sync_all().expect("it is flushed");
    // To the end, and not beyond.
    assert_eq!(file.read_at(&mut back, SIZE - 100).expect("it is read"), 100);
    assert_eq!(file.read_at(&mut back, SIZE).expect("it is read"), 0);
    assert_eq!(file.write_at(&[1; 200], SIZE - 100).expect("a part is written"), 100);
    assert_eq!(file.write_at(&[1; 200], SIZE).expect_err("it is full").raw_os_error(), Some(libc::ENOSPC));
    assert!(file.set_len(SIZE / 2).is_err() && fs::remove_file(&fuse.file).is_err());
    assert!(fs::write(place.join("other"), "x").is_err());
    let seen = server.disk().look().expect("it serves");
    assert_eq!((seen.ios[3], seen.failed), (1, 0));
    drop((file, fuse));
    assert!(!place.exists(), "what was made for it is gone");
}

#[test]
fn a_directory_with_something_in_it_is_no_place() {
    let folder = folder!("fuse-full");
    fs::write(folder.join("something"), "mine").expect("it is written");
    let server = server(SIZE);
    let why = missing().map_or(Ok(()), Err);
    if or_skip("a_directory_with_something_in_it_is_no_place", why).is_none() {
        return;
    }
    assert!(Fuse::start(server.disk(), &folder).is_err());
    assert_eq!(fs::read_to_string(folder.join("something")).expect("it is there"), "mine");
}

/// Mounted, and taken away at the end.
struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        let _gone_already = tool("umount", &[self.0.as_os_str()]);
    }
}

#[test]
fn file_systems_are_made_mounted_filled_trimmed_and_found_sound() {
    const TEST: &str = "file_systems_are_made_mounted_filled_trimmed_and_found_sound";
    let folder = folder!("fuse-loop");
    for (kind, check) in [("ext4", vec!["fsck.ext4", "-fn"]), ("btrfs", vec!["btrfs", "check"])] {
        let server = server(256 << 20);
        let Some(mut fuse) = mounted(TEST, &server, &folder.join(kind)) else { return };
        let Some(device) = or_skip(TEST, fuse.block_device(512)) else { return };
        let place = folder.join(format!("{kind}-mounted"));
        fs::create_dir(&place).expect("it is made");
        if or_skip(TEST, tool(&format!("mkfs.{kind}"), &["-q".as_ref(), device.as_os_str()])).is_none() {
            continue;
        }
        tool("mount", &[device.as_os_str(), place.as_os_str()]).expect("it is mounted");
        let mount = Mount(place.clone());
        let content = vec![0x5a; 8 << 20];
        fs::write(place.join("file"), &content).expect("it is written");
        fs::write(place.join("gone"), &content).expect("it is written");
        fs::remove_file(place.join("gone")).expect("it is removed");
        tool("sync", &["-f".as_ref(), place.as_os_str()]).expect("it is written back");
        tool("fstrim", &[place.as_os_str()]).expect("it is trimmed");
        fs::write("/proc/sys/vm/drop_caches", "1").expect("root may");
        assert!(fs::read(place.join("file")).expect("it is read") == content);
        drop(mount);
        let [program, rest @ ..] = &check[..] else { unreachable!("each has a program") };
        let arguments = rest.iter().map(AsRef::as_ref).chain([device.as_os_str()]).collect::<Vec<_>>();
        tool(program, &arguments).expect("it is sound");
        let seen = server.disk().look().expect("it serves");
        assert!(seen.bytes[1] >= 8 << 20 && seen.ios[2] > 0 && seen.ios[3] > 0, "{kind}: {seen:?}");
        assert_eq!(seen.failed, 0);
        drop(fuse);
        assert!(!Path::new("/sys/block").join(device.file_name().expect("a name")).join("loop").exists());
    }
}

#[test]
fn what_lives_is_not_swept() {
    let folder = folder!("fuse-lives");
    let server = server(SIZE);
    let Some(fuse) = mounted("what_lives_is_not_swept", &server, &folder.join("place")) else { return };
    let swept = sweep();
    assert!(!swept.contains(&folder.join("place")), "{swept:?}");
    assert!(fuse.file.exists());
}
