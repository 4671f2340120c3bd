//! Names change; what is held does not.

use super::*;
use crate::testing::Tree;

fn text(held: &Held) -> String {
    let file = held.reopen(OpenOptions::new().read(true)).expect("it is readable");
    io::read_to_string(file).expect("it is text")
}

#[test]
fn what_is_held_stays_whatever_its_name_becomes() {
    let tree = Tree::new(&[("ours", "ours"), ("precious", "precious"), ("link", "-> ours")]);
    let held = Held::open(&tree.at("link")).expect("it leads to a file");
    assert!(held.is_same(&Held::open(&tree.at("ours")).expect("it is there")));
    fs::remove_file(tree.at("link")).expect("ours");
    tree.write("link", "-> precious");
    fs::rename(tree.at("precious"), tree.at("ours")).expect("ours");
    assert_eq!(text(&held), "ours");
    assert!(!held.is_same(&Held::open(&tree.at("link").with_file_name("ours")).expect("it is there")));
}

#[test]
fn a_new_file_takes_no_name_that_is_there() {
    let tree = Tree::new(&[("theirs", "theirs"), ("dangling", "-> elsewhere"), ("link", "-> theirs")]);
    for name in ["theirs", "dangling", "link"] {
        let error = Held::make(&tree.at(name)).expect_err(name);
        assert!(matches!(error, HostError::Appeared(_)), "{error}");
    }
    assert!(!tree.at("elsewhere").exists());
    assert!(Held::find(&tree.at("dangling")).expect("it can be asked").is_none());
    assert_eq!(Held::make(&tree.at("new")).expect("it is new").kind(), TargetKind::File);
}

#[test]
fn a_name_is_removed_only_while_it_is_the_files() {
    let tree = Tree::new(&[("ours", "ours"), ("precious", "precious")]);
    let held = Held::open(&tree.at("ours")).expect("it is there");
    fs::rename(tree.at("precious"), tree.at("ours")).expect("ours");
    held.remove().expect("there is nothing to remove");
    assert_eq!(fs::read_to_string(tree.at("ours")).expect("it has its name back"), "precious");
    assert_eq!(crate::roots::names(tree.path()), ["ours"]);
    Held::open(&tree.at("ours")).expect("it is there").remove().expect("it is ours");
    assert!(crate::roots::names(tree.path()).is_empty());
}

#[test]
fn what_is_no_storage_is_not_held_and_does_not_block() {
    let tree = Tree::new(&[]);
    let _socket = std::os::unix::net::UnixListener::bind(tree.at("socket")).expect("ours");
    for (path, kind) in [(tree.at("socket"), "a socket"), ("/dev/null".into(), "a character device")] {
        let error = Held::open(&path).expect_err(kind).to_string();
        assert!(error.contains(kind) && error.contains(&path.display().to_string()), "{error}");
    }
}

#[test]
fn a_file_is_among_devices_by_its_file_system() {
    let (dev, shm, disk) = (5, 6, 7);
    let file = |path: &str, own, dev| among_devices(Path::new(path), own, dev, disk);
    assert!(file("/dev/nvme9n1", dev, dev));
    assert!(file("/mnt/second/nvme9n1", dev, dev), "the same file system, mounted again");
    assert!(!file("/dev/shm/data", shm, dev));
    assert!(!file("/home/data", disk, dev));
    assert!(file("/dev/data", disk, disk), "a root without a file system for /dev");
    assert!(!file("/home/data", disk, disk));
    assert!(!file("/devices/data", disk, disk));
}

#[test]
fn no_file_is_made_in_dev() {
    for path in ["/dev/iostack-typo", "/dev/../dev/iostack-typo", "/dev/pts/../iostack-typo"] {
        let error = permit_new(Path::new(path)).expect_err(path).to_string();
        assert!(error.contains("is no device") && error.contains("lsblk"), "{error}");
        Held::make(Path::new(path)).expect_err(path);
    }
    let error = permit_files_in(Path::new("/dev")).expect_err("not there").to_string();
    assert!(error.contains("`/dev` is no device"), "{error}");
}

#[test]
fn a_place_is_a_name_that_nothing_has_and_what_is_aside_comes_back() {
    let tree = Tree::new(&[("ours", "ours"), ("dangling", "-> elsewhere")]);
    for name in ["ours", "dangling"] {
        let error = Held::place(&tree.at(name)).expect_err(name);
        assert!(matches!(error, HostError::Appeared(_)), "{error}");
        Held::make_directory(&tree.at(name)).expect_err(name);
    }
    let place = Held::place(&tree.at("new")).expect("nothing has it");
    assert_eq!((place.path(), place.kind()), (tree.at("new").as_path(), TargetKind::Directory));
    assert!(!tree.at("new").exists() && place.is_same(&Held::open(tree.path()).expect("it is there")));
    assert_eq!(Held::make_directory(&tree.at("new")).expect("nothing has it").kind(), TargetKind::Directory);
    let held = Held::open(&tree.at("ours")).expect("it is there");
    let aside = held.aside().expect("it can be moved").expect("it is ours");
    assert!(!tree.at("ours").exists());
    tree.write("ours", "another's");
    held.put_back(&aside).expect_err("the name is taken");
    fs::remove_file(tree.at("ours")).expect("ours");
    held.put_back(&aside).expect("the name is free");
    assert_eq!(text(&Held::open(&tree.at("ours")).expect("it is back")), "ours");
}
