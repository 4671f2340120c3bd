//! A setting comes back, whatever ends the run.

use super::*;
use crate::testing::Tree;

const SCHEDULER: &str = "sys/class/block/sda/queue/scheduler";
const BOOT: (&str, &str) = ("proc/sys/kernel/random/boot_id", "this-boot");

/// A stored machine. Its scheduler file only keeps what is written to it, so after a change it shows one bare word.
fn machine() -> (Tree, Journal) {
    let tree = Tree::new(&[(SCHEDULER, "none [mq-deadline] kyber\n"), BOOT]);
    let journal = Journal::at(&tree.at("state")).expect("it can be made");
    let journal = Journal { root: tree.root(), ..journal };
    (tree, journal)
}

fn shown(tree: &Tree) -> String {
    fs::read_to_string(tree.at(SCHEDULER)).expect("it is there")
}

/// An entry as a process that is dead now would have left it.
fn leave_entry(tree: &Tree, boot: &str) {
    tree.write("state/scheduler-sda", &format!("before mq-deadline\npid 4194400\nstart 1\nboot {boot}\n"));
}

#[test]
fn a_guard_puts_the_scheduler_back_and_clears_the_journal() {
    let (tree, journal) = machine();
    let guard = set_scheduler("sda", "kyber", &journal).expect("kyber is there");
    assert_eq!((shown(&tree).as_str(), guard.before()), ("kyber", "mq-deadline"));
    assert!(tree.at("state/scheduler-sda").exists());
    drop(guard);
    assert_eq!(shown(&tree), "mq-deadline");
    assert!(!tree.at("state/scheduler-sda").exists());
}

#[test]
fn an_unknown_scheduler_or_device_is_refused_and_nothing_is_changed() {
    let (tree, journal) = machine();
    let error = set_scheduler("sda", "cfq", &journal).expect_err("there is no cfq").to_string();
    assert_eq!(error, "sda has no scheduler `cfq`; it has none, mq-deadline, kyber");
    for device in ["sdz", "", "../sda", "."] {
        let error = set_scheduler(device, "none", &journal).expect_err(device);
        assert!(matches!(error, HostError::NoDevice(_)), "{error}");
    }
    assert!(shown(&tree).contains("[mq-deadline]"));
    assert!(crate::roots::names(&tree.at("state")).is_empty());
}

#[test]
fn a_setting_that_is_changed_already_is_not_changed_again() {
    let (_tree, journal) = machine();
    let _guard = set_scheduler("sda", "mq-deadline", &journal).expect("it is there");
    let error = set_scheduler("sda", "mq-deadline", &journal).expect_err("changed already").to_string();
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
}

#[test]
fn what_a_killed_run_left_is_put_back_and_said() {
    let (tree, journal) = machine();
    tree.write(SCHEDULER, "none mq-deadline [kyber]");
    leave_entry(&tree, "this-boot");
    let said = restore_all(&journal);
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("put the scheduler of sda back to mq-deadline: process 4194400"), "{said:?}");
    assert_eq!(shown(&tree), "mq-deadline");
    assert!(restore_all(&journal).is_empty());
}

#[test]
fn a_new_change_puts_an_old_one_back_first() {
    let (tree, journal) = machine();
    tree.write(SCHEDULER, "none mq-deadline [kyber]");
    leave_entry(&tree, "this-boot");
    let guard = set_scheduler("sda", "mq-deadline", &journal).expect("the owner is dead");
    assert_eq!(guard.before(), "mq-deadline", "not what the dead run had chosen");
}

#[test]
fn an_entry_of_an_earlier_boot_is_void() {
    let (tree, journal) = machine();
    tree.write(SCHEDULER, "none mq-deadline [kyber]");
    leave_entry(&tree, "another-boot");
    assert!(restore_all(&journal).is_empty());
    assert!(shown(&tree).contains("[kyber]"));
    assert!(!tree.at("state/scheduler-sda").exists());
}

#[test]
fn an_entry_of_a_living_run_and_a_torn_one_are_handled() {
    let (tree, journal) = machine();
    tree.write("state/scheduler-sdb", "before mq-dead");
    let guard = set_scheduler("sda", "kyber", &journal).expect("kyber is there");
    assert!(restore_all(&journal).is_empty());
    assert_eq!(shown(&tree), "kyber");
    assert!(!tree.at("state/scheduler-sdb").exists());
    drop(guard);
}

#[test]
fn of_two_runs_at_once_one_changes_the_setting() {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    let (tree, journal) = machine();
    let (taken, twice, changes) = (AtomicBool::new(false), AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..2000 {
                    let Ok(guard) = set_scheduler("sda", "mq-deadline", &journal) else { continue };
                    twice.fetch_add(u32::from(taken.swap(true, Ordering::SeqCst)), Ordering::SeqCst);
                    changes.fetch_add(1, Ordering::SeqCst);
                    std::thread::yield_now();
                    taken.store(false, Ordering::SeqCst);
                    drop(guard);
                }
            });
        }
    });
    assert_eq!(twice.into_inner(), 0, "of {changes:?} changes");
    assert!(crate::roots::names(&tree.at("state")).is_empty());
}

#[test]
fn an_entry_that_was_never_whole_is_removed_and_not_read() {
    let (tree, journal) = machine();
    tree.write("state/.iostack-scratch-4194400-1-0", "before mq-dead");
    let alive = own_name::new_name();
    tree.write(&format!("state/{alive}"), "before mq-dead");
    assert!(restore_all(&journal).is_empty());
    assert_eq!(crate::roots::names(&tree.at("state")), [alive]);
}

#[test]
fn a_journal_that_others_can_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new(&[("open/", "")]);
    fs::set_permissions(tree.at("open"), fs::Permissions::from_mode(0o777)).expect("it is ours");
    let error = Journal::at(&tree.at("open")).expect_err("anybody can write there").to_string();
    assert!(error.contains("cannot keep a journal in"), "{error}");
}
