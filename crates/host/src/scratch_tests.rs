//! The scratch file is there while it must be, and nowhere afterwards.

use super::*;
use crate::own_name::PREFIX;
use crate::process::Process;
use crate::testing::Tree;

#[test]
fn a_scratch_file_is_marked_reserved_and_gone_after_drop() {
    use std::os::unix::fs::MetadataExt;
    let tree = Tree::new(&[]);
    let scratch = Scratch::create(tree.path(), Bytes::mib(1)).expect("1 MiB is free");
    let path = scratch.path().to_owned();
    let data = fs::metadata(&path).expect("it is there");
    assert_eq!(data.len(), 0);
    assert!(data.blocks() * 512 >= 1 << 20, "{} blocks", data.blocks());
    assert!(scratch.held().is_made());
    drop(scratch);
    assert!(!path.exists());
}

#[test]
fn more_than_is_free_is_refused_with_both_figures() {
    let tree = Tree::new(&[]);
    let error = Scratch::create(tree.path(), Bytes(1 << 60)).expect_err("no disk has 1 EiB");
    assert!(matches!(error, HostError::NoSpace { needed: Bytes(n), .. } if n == 1 << 60), "{error}");
    assert!(fs::read_dir(tree.path()).expect("there").next().is_none(), "nothing is left behind");
}

#[test]
fn a_missing_directory_is_refused_by_name() {
    let error = Scratch::create(Path::new("/no/such/place"), Bytes::mib(1)).expect_err("it is missing");
    assert!(error.to_string().contains("/no/such/place"), "{error}");
}

fn mark(tree: &Tree, name: &str) -> bool {
    marks::mark_made(&Held::open(&tree.at(name)).expect("just written"))
}

#[test]
fn leftovers_of_dead_processes_are_swept_and_nothing_else() {
    let this = Process::current();
    let alive = format!("{PREFIX}{}-{}-77", this.pid, this.start_ticks);
    let reused = format!("{PREFIX}{}-{}-77", this.pid, this.start_ticks + 1);
    let dead = format!("{PREFIX}4194400-1-0");
    let strange = format!("{PREFIX}notes");
    let other = "precious".to_owned();
    let tree = Tree::new(&[]);
    for name in [&alive, &reused, &dead, &strange, &other] {
        tree.write(name, "x");
        assert!(mark(&tree, name), "the build's file system keeps marks");
    }
    let unmarked = format!("{PREFIX}4194400-1-1");
    tree.write(&unmarked, "not ours, whatever it is called");
    let link = format!("{PREFIX}4194400-1-2");
    tree.write(&link, "-> precious");
    let mut expected = [tree.at(&reused), tree.at(&dead)];
    expected.sort();
    assert_eq!(sweep(tree.path()), expected);
    assert_eq!(sweep(tree.path()), Vec::<PathBuf>::new());
    for name in [&alive, &strange, &other, &unmarked, &link] {
        assert!(tree.at(name).exists(), "{name}");
    }
}

#[test]
fn a_locked_leftover_belongs_to_someone_in_another_container() {
    let tree = Tree::new(&[]);
    let name = format!("{PREFIX}4194400-1-0");
    tree.write(&name, "x");
    assert!(mark(&tree, &name));
    let owner = File::open(tree.at(&name)).expect("just written");
    owner.lock().expect("nobody else has it");
    assert!(sweep(tree.path()).is_empty());
    drop(owner);
    assert_eq!(sweep(tree.path()), [tree.at(&name)]);
}

#[test]
fn the_size_follows_space_memory_and_effort() {
    let memory = Memory { total: Bytes::gib(24), available: Bytes::gib(20) };
    let size = |free, effort| scratch_size(free, &memory, effort);
    let cases = [
        (Bytes::gib(80), Effort::Quick, Bytes::gib(1), "1 GiB"),
        (Bytes::gib(80), Effort::Default, Bytes::gib(4), "4 GiB"),
        (Bytes::gib(20), Effort::Default, Bytes::gib(2), "one tenth of the 20 GiB free"),
        (Bytes::gib(1), Effort::Default, Bytes::mib(256), "the least"),
        (Bytes::gib(80), Effort::Full, Bytes::gib(20), "one quarter of the 80 GiB free"),
        (Bytes::gib(800), Effort::Full, Bytes::gib(48), "twice the memory (48 GiB)"),
        (Bytes::gib(2), Effort::Quick, Bytes::mib(512), "one quarter"),
    ];
    for (free, effort, wanted, why) in cases {
        let (got, reason) = size(free, effort).expect("there is room");
        assert_eq!(got, wanted, "{free} {effort:?}: {reason}");
        assert!(reason.starts_with(why), "{reason}");
        assert_eq!(reason.contains("24 GiB of memory"), got < memory.total, "{reason}");
    }
    let error = size(Bytes::mib(511), Effort::Quick).expect_err("too full").to_string();
    assert!(error.starts_with("511 MiB are free and a scratch file needs 512 MiB"), "{error}");
}
