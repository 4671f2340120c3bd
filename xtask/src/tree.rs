//! Which files are ours? Everything git tracks or would track, with its text.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::finding::Finding;
use crate::process;

/// The files of the repository.
pub(crate) struct Tree {
    /// Folder of the repository.
    pub(crate) root: PathBuf,
    /// Text files in order of path; what is not UTF-8 is nobody's to tidy.
    pub(crate) files: Vec<File>,
}

/// One text file.
pub(crate) struct File {
    /// Relative to the root.
    pub(crate) path: PathBuf,
    /// All of it.
    pub(crate) text: String,
}

impl File {
    /// Its extension, or nothing.
    pub(crate) fn extension(&self) -> &str {
        self.path.extension().and_then(|extension| extension.to_str()).unwrap_or("")
    }

    /// Its name without folders.
    pub(crate) fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or("")
    }

    /// `wrong` in a line of it; `remedy` puts it right.
    pub(crate) fn finding(
        &self,
        line: usize,
        wrong: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding::new(&self.path, line, wrong, remedy)
    }

    /// True inside a folder of this name.
    pub(crate) fn is_in(&self, folder: &str) -> bool {
        self.path.parent().is_some_and(|parent| parent.iter().any(|part| part == folder))
    }

    /// True for what other programs wrote and tests only read; it is kept byte for byte.
    pub(crate) fn is_data(&self) -> bool {
        ["data", "testdata", "fixtures", "corpus"].iter().any(|folder| self.is_in(folder))
    }
}

impl Tree {
    /// Reads the repository this xtask was built from.
    pub(crate) fn read() -> Result<Tree> {
        let root = root();
        let list = process::text(
            Command::new("git")
                .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
                .current_dir(&root),
        )
        .context("the list of files comes from git; run this inside a clone")?;
        let mut paths: Vec<PathBuf> =
            list.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
        paths.sort();
        paths.dedup();
        let files = paths
            .into_iter()
            .filter(|path| root.join(path).is_file() && !root.join(path).is_symlink())
            .filter_map(|path| Some(File { text: std::fs::read_to_string(root.join(&path)).ok()?, path }))
            .collect();
        Ok(Tree { root, files })
    }

    /// The Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.extension() == "rs" && !file.is_data())
    }

    /// One file by its path from the root.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == Path::new(path))
    }

    /// Files made up for a test.
    #[cfg(test)]
    pub(crate) fn made_up(files: &[(&str, &str)]) -> Tree {
        let files =
            files.iter().map(|&(path, text)| File { path: path.into(), text: text.to_owned() }).collect();
        Tree { root: PathBuf::new(), files }
    }
}

/// The folder that holds the workspace.
pub(crate) fn root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let own = PathBuf::from(manifest);
    own.parent().map_or(own.clone(), Path::to_owned)
}
