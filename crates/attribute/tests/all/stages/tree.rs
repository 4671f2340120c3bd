//! A process with all that it starts.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use iostack_attribute::stages::Subject;
use iostack_model::{CallKind, Storage};
use iostack_testkit::folder;

use super::common::{attach, show};
use crate::common::random;

/// A shell that forks a subshell that starts programs, and ends before some of them do.
#[test]
fn ninety_seven_reads_of_children_and_theirs_are_counted_as_97() {
    let test = "ninety_seven_reads_of_children_and_theirs_are_counted_as_97";
    let folder = folder!("stages-tree");
    let path = random(&folder, "data", 1 << 20);
    let reads = |count: u32| {
        format!("dd if={} of=/dev/null bs=4k count={count} iflag=direct status=none", path.display())
    };
    // The last one outlives its parents; the pipe's end is that of all.
    let words = format!("read -r _; {}; ({}; {}; true) & sleep 0.01", reads(31), reads(37), reads(29));
    let mut shell = Command::new("sh");
    shell.args(["-c", &words]).stdin(Stdio::piped()).stdout(Stdio::piped());
    // Once untraced: on a machine that has just booted, the programs are themselves read from the disk.
    shell.spawn().and_then(Child::wait_with_output).expect("there is a shell");
    let mut child = shell.spawn().expect("there is a shell");
    let Some(trace) = attach(test, &Subject::Tree { pid: child.id() }, &Storage::default()) else {
        child.kill().and_then(|()| child.wait()).expect("it only waits");
        return;
    };
    child.stdin.take().expect("a pipe").write_all(b"\n").expect("the shell waits");
    child.wait_with_output().expect("all of them end");
    let stages = trace.finish();
    show(test, &stages, None);
    // Whatever else it reads lies in the cache.
    let bios = stages.kinds.iter().filter(|row| row.kind == CallKind::Read).map(|row| row.bios);
    assert_eq!(bios.sum::<u64>(), 97);
    assert_eq!(stages.lost, 0);
    let dds: Vec<u64> = stages.processes.iter().filter(|row| row.name == "dd").map(|row| row.ios).collect();
    assert_eq!((dds.len(), stages.processes.iter().map(|row| row.ios).sum::<u64>()), (3, stages.ios));
    assert!(stages.subject.ends_with("(sh) and its children"), "{}", stages.subject);
    assert!(
        !stages.notes.iter().any(|note| note.contains("children are not followed")),
        "{:?}",
        stages.notes
    );
}
