//! How does a finished file get its name, when nothing that has it may be lost?
//!
//! The kernel decides in one step whether the name is free, so that no other program can take it in between.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use crate::sys;

/// Gives the file `from` the name `to` in the same directory; `AlreadyExists` when anything has that name, be it a link
/// that leads nowhere.
pub fn publish(from: &Path, to: &Path) -> io::Result<()> {
    match sys::rename_new(from, to) {
        // File systems without `RENAME_NOREPLACE` (NFS, 9p) say EINVAL; link(2) never replaces anything either.
        Err(error)
            if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP)) =>
        {
            std::fs::hard_link(from, to)?;
            std::fs::remove_file(from)
        }
        renamed => renamed,
    }
}

/// Closes a file and says whether that went well, which `Drop` does not.
pub fn close(file: impl Into<OwnedFd>) -> io::Result<()> {
    sys::close(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Tree;
    use std::io::ErrorKind;

    #[test]
    fn a_name_that_is_taken_even_by_a_link_to_nowhere_is_left_alone() {
        let tree = Tree::new(&[("new", "new"), ("taken", "old"), ("link", "-> nowhere")]);
        let (new, taken, link) = (tree.at("new"), tree.at("taken"), tree.at("link"));
        for name in [&taken, &link] {
            let kind = publish(&new, name).map_err(|error| error.kind());
            assert_eq!(kind, Err(ErrorKind::AlreadyExists), "{}", name.display());
        }
        assert_eq!(std::fs::read_to_string(&taken).expect("kept"), "old");
        publish(&new, &tree.at("free")).expect("the name is free");
        assert!(!new.exists());
    }
}
