//! A file that is there again, and nobody else's.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::AtomicBool;

use iostack_host::{Held, permit_write};
use iostack_model::Bytes;
use iostack_serve::nbd::Place;
use iostack_serve::{Door, Route, Store, Wanted};
use iostack_testkit::folder;

use crate::fuse::mounted;
use crate::{MIB, done, flush, memory, read, serve, write, zero};

const SIZE: Bytes = Bytes(16 * MIB);

#[test]
fn what_was_flushed_is_there_after_a_restart_and_takes_no_more_room_than_it_needs() {
    let folder = folder!("served-store");
    let path = folder.join("store");
    for turn in 0..2 {
        let store = Store::file(&path, SIZE, false).expect("it is ours");
        let server = serve(&zero("0us"), store, "zero");
        let disk = server.disk();
        if turn == 0 {
            write(&disk, MIB, &[7; 4096]).expect("it is written");
            flush(&disk).expect("it is flushed");
        }
        assert_eq!(read(&disk, MIB, 4096), Ok(vec![7; 4096]));
        server.end().expect("no layer lost anything");
    }
    let about = fs::metadata(&path).expect("it is there");
    assert_eq!(about.len(), SIZE.0);
    assert!(about.blocks() * 512 < MIB, "it is sparse");
}

#[test]
fn what_a_store_holds_is_written_to_a_drive_before_it_is_served() {
    let folder = folder!("served-fill");
    let store = Store::file(&folder.join("store"), Bytes::gib(1), false).expect("it is made");
    store.write(MIB, &vec![1; 3 * MIB as usize], false).expect("it is written");
    let held = store.held().expect("it can be asked");
    assert_eq!(held, [(MIB, 3 * MIB)]);
    let sheet = iostack_sim::sheet::Sheet::load("cmu-b", &[]).expect("built in");
    let mut drive = iostack_serve::Drive::open(&sheet, 1).expect("a drive");
    assert!(drive.fill(&held, || false));
    assert!(drive.world().now() > 0);
    // What that took of flash is not counted.
    assert_eq!(drive.world().flash()[0].bytes_host, Bytes(0));
}

#[test]
fn the_filling_of_a_drive_ends_when_it_is_told_to() {
    static STOP: AtomicBool = AtomicBool::new(true);
    let sheet = || iostack_sim::sheet::Sheet::load("cmu-b", &[]).expect("built in");
    let mut drive = iostack_serve::Drive::open(&sheet(), 1).expect("a drive");
    let (capacity, mut asked) = (drive.shape().capacity, 0);
    let filled = drive.fill(&[(0, 100 * MIB)], || {
        asked += 1;
        asked > 2
    });
    assert!(!filled && asked == 3, "asked {asked} times, before each MiB");
    let folder = folder!("served-stopped");
    let path = folder.join("store");
    let store = Store::file(&path, capacity, false).expect("it is made");
    store.write(MIB, &vec![1; 3 * MIB as usize], false).expect("it is written");
    drop(store);
    let wanted = Wanted {
        typed: "cmu-b".to_owned(),
        sheet: sheet(),
        stack: iostack_serve::layers::parse("cmu-b").expect("a drive"),
        seed: 1,
        store: Some(path),
        destroy_data: false,
        volatile: false,
        route: Route::Nbd,
        mount: None,
        listen: Some(Place::Unix(folder.join("socket"))),
        stop: &STOP,
    };
    let said = Door::open(wanted, iostack_host::machine(), |_| {}).err().expect("it is stopped").to_string();
    assert!(said.contains("the 3 MiB that the store holds; nothing was served"), "{said}");
}

#[test]
fn a_file_of_somebody_is_left_alone() {
    let folder = folder!("served-precious");
    let precious = folder.join("precious");
    fs::write(&precious, "mine").expect("it is written");
    let link = folder.join("link");
    std::os::unix::fs::symlink(&precious, &link).expect("it is linked");
    for path in [&precious, &link] {
        let error = Store::file(path, SIZE, false).expect_err("it is somebody's");
        assert!(error.is::<iostack_host::HostError>(), "{error:#}");
    }
    assert_eq!(fs::read_to_string(&precious).expect("it is there"), "mine");
    let said = Store::file(&folder, SIZE, false).expect_err("a folder").to_string();
    assert!(said.contains("is no file"), "{said}");
}

#[test]
fn a_store_is_of_one_server_and_of_one_drive() {
    let folder = folder!("served-twice");
    let path = folder.join("store");
    let first = Store::file(&path, SIZE, false).expect("it is made");
    for destroy_data in [false, true] {
        let said = Store::file(&path, SIZE, destroy_data).expect_err("it is served").to_string();
        let server = format!("`iostack serve`, process {},", std::process::id());
        assert!(said.contains(&server), "{said}");
    }
    drop(first);
    let other = Store::file(&path, Bytes(8 * MIB), false);
    let said = other.expect_err("it is of another drive").to_string();
    assert!(said.contains("has 16 MiB and the drive has 8 MiB"), "{said}");
}

#[test]
fn what_is_through_is_on_the_medium_of_the_file_when_it_is_answered() {
    const TEST: &str = "what_is_through_is_on_the_medium_of_the_file_when_it_is_answered";
    let folder = folder!("served-medium");
    // The file lies on a drive whose power is cut.
    let below = serve(&zero("0us"), memory().volatile(), "zero");
    let Some(fuse) = mounted(TEST, &below, &folder.join("place")) else { return };
    let server = serve(&zero("0us"), Store::file(&fuse.file, SIZE, true).expect("it may be lost"), "zero");
    let (disk, flushes) = (server.disk(), || below.disk().look().expect("it serves").ios[3]);
    write(&disk, 0, &[9; 8192]).expect("it is written");
    assert_eq!(flushes(), 0, "a write is no flush");
    done(|reply| disk.write(0, &[1; 512], true, reply)).expect("it is written");
    assert_eq!(flushes(), 1);
    below.disk().cut(1).expect("it is brought back");
    below.disk().power_on();
    assert_eq!(read(&disk, 0, 512), Ok(vec![1; 512]));
    done(|reply| disk.trim(0, 4096, true, reply)).expect("it is trimmed");
    assert_eq!(flushes(), 2);
    done(|reply| disk.write_zeros(0, 4096, true, reply)).expect("they are written");
    assert_eq!(flushes(), 3);
    flush(&disk).expect("it is flushed");
    assert_eq!(flushes(), 4);
    drop((server, fuse));
}

/// A process that another test starts holds each lock of ours until it is a program of its own: asks again while one is held.
fn once_free<T, E: std::fmt::Display>(ask: impl Fn() -> Result<T, E>) -> Result<T, E> {
    let answers = std::iter::repeat_with(|| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        ask()
    });
    let is_free =
        |said: &Result<T, E>| said.as_ref().err().is_none_or(|why| !why.to_string().contains("is in use"));
    answers.take(2000).find(is_free).unwrap_or_else(ask)
}

#[test]
fn a_store_is_overwritten_only_when_it_is_named_and_never_while_it_is_served() {
    let folder = folder!("served-kept");
    let (path, link, hard) = (folder.join("store"), folder.join("link"), folder.join("hard"));
    let store = Store::file(&path, SIZE, false).expect("it is made");
    std::os::unix::fs::symlink(&path, &link).expect("a new name");
    fs::hard_link(&path, &hard).expect("a new name");
    let open = fs::File::open(&path).expect("it is there");
    let number = std::os::fd::AsRawFd::as_raw_fd(&open);
    let names = [path.clone(), link, hard, format!("/proc/self/fd/{number}").into()];
    let asked = |name, destroy_data| permit_write(&Held::open(name).expect("it is there"), destroy_data);
    for name in &names {
        for destroy_data in [false, true] {
            let said = asked(name, destroy_data).expect_err("it is served").to_string();
            assert!(said.contains("is in use") && said.contains("iostack serve"), "{said}");
        }
    }
    drop(store);
    for name in &names {
        let said = once_free(|| asked(name, false)).expect_err("somebody keeps data there").to_string();
        assert!(said.contains("iostack serve --store"), "{said}");
        once_free(|| asked(name, true)).expect("it is named");
    }
    let run = Held::open(&path).expect("it is there");
    once_free(|| permit_write(&run, true)).expect("it is named");
    let said = Store::file(&path, SIZE, true).expect_err("a run writes to it").to_string();
    assert!(said.contains("another run"), "{said}");
    drop(run);
    once_free(|| Store::file(&path, SIZE, false)).expect("it is served again");
}
