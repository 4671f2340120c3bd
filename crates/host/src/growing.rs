//! A file that grows while the command runs: what came before a failure, or a crash, is in it.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;

use crate::save;

/// Made with the first part, under its name at once; a file that exists is refused then, or replaced.
pub struct Growing {
    path: PathBuf,
    replaces: bool,
    /// `None` before the first part.
    file: Mutex<Option<anyhow::Result<File>>>,
}

impl Growing {
    /// Nothing yet. `replaces` what has the name.
    pub fn new(path: &Path, replaces: bool) -> Growing {
        Growing { path: path.to_owned(), replaces, file: Mutex::new(None) }
    }

    /// Adds a part. Behind a failure nothing is added: half a result with a hole is worse than half.
    pub fn add(&self, part: &str) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = file.take().unwrap_or_else(|| save::begun(&self.path, self.replaces));
        let added = begun.and_then(|mut file| {
            file.write_all(part.as_bytes()).with_context(|| self.refused())?;
            Ok(file)
        });
        *file = Some(added);
    }

    /// Closes it, and says why it does not hold all that was added.
    pub fn finish(&self) -> anyhow::Result<()> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(file) = file.transpose()? else { return Ok(()) };
        let closed: io::Result<()> = save::sync(&file).and_then(|()| crate::close(file));
        closed.with_context(|| self.refused())
    }

    fn refused(&self) -> String {
        format!("cannot write all of `{}`", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_one_behind_the_other_and_a_file_that_exists_is_refused_at_the_first() {
        let folder = crate::testing::Tree::new(&[]);
        let path = folder.at("report");
        let text = || std::fs::read_to_string(&path).expect("it is there");
        let growing = Growing::new(&path, false);
        assert!(!path.exists(), "a run that was refused leaves no file");
        for part in ["one\n", "two\n"] {
            growing.add(part);
        }
        assert_eq!(text(), "one\ntwo\n", "it can be read along the way");
        growing.finish().expect("there is room");
        let second = Growing::new(&path, false);
        second.add("three\n");
        let refused = second.finish().expect_err("it exists").to_string();
        assert!(refused.contains("exists and is not overwritten"), "{refused}");
        let third = Growing::new(&path, true);
        third.add("four\n");
        third.finish().expect("it was allowed");
        assert_eq!(text(), "four\n");
        assert_eq!(std::fs::read_dir(folder.path()).expect("ours").count(), 1, "nothing else is left");
    }

    #[test]
    fn a_full_disk_is_said_at_the_end() {
        let growing = Growing {
            path: "/dev/full".into(),
            replaces: true,
            file: Mutex::new(Some(File::options().write(true).open("/dev/full").context("there"))),
        };
        growing.add("lost");
        growing.add("not even tried");
        let said = format!("{:#}", growing.finish().expect_err("it is full"));
        assert!(said.starts_with("cannot write all of `/dev/full`: No space left"), "{said}");
    }
}
