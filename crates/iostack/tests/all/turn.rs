//! Whose turn is it to boot? What the lab fetches stays in the user's cache; where it cannot be had, tests skip aloud.

use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;

use crate::shared::{iostack, said};

/// The right to boot: held by one test at a time, also of other runs of the tests in the same folder.
pub(crate) struct LabTurn {
    _lock: File,
}

impl LabTurn {
    fn wait() -> LabTurn {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab.lock");
        let lock =
            File::options().create(true).append(true).open(path).expect("the target directory is ours");
        lock.lock().expect("a lock on a file of ours");
        LabTurn { _lock: lock }
    }
}

/// A turn on this kernel, or why the lab cannot be had here. A fault of the lab's own is no reason to skip.
pub(crate) fn turn(kernel: &'static str) -> Result<LabTurn, String> {
    static FIRST: OnceLock<Result<(), String>> = OnceLock::new();
    static SECOND: OnceLock<Result<(), String>> = OnceLock::new();
    let turn = LabTurn::wait();
    let known = if kernel == "6.1" { &FIRST } else { &SECOND };
    known.get_or_init(|| had(kernel)).clone().map(|()| turn)
}

fn had(kernel: &str) -> Result<(), String> {
    let output = iostack(&["lab", "up", "--quiet", "--kernel", kernel]);
    if output.status.success() {
        return Ok(());
    }
    let talk = said(&output);
    let excuses = ["is not installed here", "no package `", "apt-get", "MiB free"];
    let forgiven = excuses.iter().any(|excuse| talk.contains(excuse));
    assert!(forgiven, "`lab up` failed: {talk}");
    Err(talk.lines().next().unwrap_or_default().to_owned())
}

/// A turn, or the end of the test with the reason.
macro_rules! turn_or_skip {
    ($test:literal, $kernel:literal) => {
        match crate::turn::turn($kernel) {
            Ok(turn) => turn,
            Err(why) => return println!("SKIPPED {}: {why}", $test),
        }
    };
}
pub(crate) use turn_or_skip;
