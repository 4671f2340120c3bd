//! A block device that tests may write to.

use std::path::Path;
use std::process::Command;

/// A loop device over a file, detached at its end.
pub(crate) struct Loop(pub(crate) String);

impl Loop {
    /// None where none is to be had: no root, no module, no program.
    pub(crate) fn over(file: &Path) -> Option<Loop> {
        let made = Command::new("losetup").args(["--find", "--show"]).arg(file).output().ok()?;
        let name = String::from_utf8(made.stdout).ok()?.trim().to_owned();
        (made.status.success() && std::fs::File::open(&name).is_ok()).then_some(Loop(name))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _gone_already = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}
