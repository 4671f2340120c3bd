//! A command that a test began: it does not outlive the test, however that ends.

use std::process::{Child, Command};

/// Killed when dropped. The lab's machine ends with it.
pub(crate) struct Started(pub(crate) Child);

impl Started {
    pub(crate) fn by(command: &mut Command) -> Started {
        Started(command.spawn().expect("the binary was built"))
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.0.id().to_string()]).status();
        assert!(sent.expect("every system has kill").success());
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
