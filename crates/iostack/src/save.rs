//! Files beside the answer: written whole or not at all, and never over an existing one.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Writes `content` to a new file `path`; an existing file is refused.
pub(crate) fn new_file(path: &Path, content: &(impl AsRef<[u8]> + ?Sized)) -> anyhow::Result<()> {
    if path.exists() {
        bail!("`{}` exists and is not overwritten; name another file or remove it", path.display());
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&partial)?;
        file.write_all(content.as_ref())?;
        std::fs::rename(&partial, path)
    };
    write().with_context(|| {
        let _ = std::fs::remove_file(&partial);
        format!("cannot write `{}`", path.display())
    })
}

/// `DIR/STEM.EXT`, or `DIR/STEM-2.EXT` and so on when that exists.
pub(crate) fn free_name(directory: &Path, stem: &str, extension: &str) -> PathBuf {
    let first = directory.join(format!("{stem}.{extension}"));
    let numbered = (2..).map(|number| directory.join(format!("{stem}-{number}.{extension}")));
    std::iter::once(first).chain(numbered).find(|path| !path.exists()).expect("the numbers do not end")
}

/// The current directory when files can be made in it, else the directory for temporary files.
pub(crate) fn output_directory() -> PathBuf {
    let here = PathBuf::from(".");
    let probe = here.join(format!(".iostack-probe-{}", std::process::id()));
    match OpenOptions::new().write(true).create_new(true).open(&probe) {
        Ok(_) => {
            let _ = std::fs::remove_file(&probe);
            here
        }
        Err(_) => std::env::temp_dir(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_is_never_overwritten() {
        let path = std::env::temp_dir().join(format!("iostack-save-{}", std::process::id()));
        new_file(&path, "first").expect("a new file");
        let error = new_file(&path, "second").expect_err("it exists").to_string();
        assert!(error.contains("not overwritten"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).expect("still there"), "first");
        std::fs::remove_file(&path).expect("ours");
    }
}
