//! Files beside the answer: written whole or not at all, and never over an existing one.
//!
//!   refuse ──► the run ──► a file without a name that matters ──► sync, close ──► publish: the name, if it is free
//!
//! What can be refused is refused before the run; what cannot be known then (a full disk) is an error with the name
//! of what was lost. Start reading at [`new_file`].

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, bail};

use crate::Held;

/// Writes `content` to a new file `path`; an existing file is refused.
pub fn new_file(path: &Path, content: &(impl AsRef<[u8]> + ?Sized)) -> anyhow::Result<()> {
    if is_taken(path) {
        bail!("{}", taken(path));
    }
    let partial = written(path, content.as_ref())?;
    crate::publish(&partial, path).with_context(|| {
        format!("cannot write `{}`; its content is in `{}`", path.display(), partial.display())
    })
}

/// Writes `content` to `path`, in place of a file or a link that has this name, unless that may not be written to even
/// with `--destroy-data`.
pub fn replace(path: &Path, content: &(impl AsRef<[u8]> + ?Sized)) -> anyhow::Result<()> {
    let partial = written(path, content.as_ref())?;
    let lost = || format!("cannot write `{}`; its content is in `{}`", path.display(), partial.display());
    let _nobody_takes_it_meanwhile = replaceable(path).with_context(lost)?;
    std::fs::rename(&partial, path).with_context(lost)
}

/// Refuses what [`replace`] would refuse: before the run.
pub fn refuse_irreplaceable(path: &Path) -> anyhow::Result<()> {
    replaceable(path).with_context(|| format!("cannot write `{}`", path.display()))?;
    refuse_unwritable(path)
}

/// What has this name and may go, claimed; `None` where nothing has it, or a link, which goes alone.
fn replaceable(path: &Path) -> anyhow::Result<Option<Held>> {
    let Ok(about) = path.symlink_metadata() else { return Ok(None) };
    if !about.is_file() && !about.is_symlink() {
        bail!("`{}` is no file, and none takes its place; name a file", path.display());
    }
    crate::permit_new(path)?;
    let held = if about.is_symlink() { None } else { Held::find(path)? };
    held.iter().try_for_each(|held| crate::permit_write(held, true))?;
    Ok(held)
}

/// An empty file that has the name already, in place of another one where `replaces`.
pub(crate) fn begun(path: &Path, replaces: bool) -> anyhow::Result<File> {
    if !replaces && is_taken(path) {
        bail!("{}", taken(path));
    }
    let refused = || format!("cannot write `{}`", path.display());
    let _nobody_takes_it_meanwhile = if replaces { replaceable(path).with_context(refused)? } else { None };
    let (partial, file) = partial(&folder(path)).with_context(refused)?;
    let named = if replaces { std::fs::rename(&partial, path) } else { crate::publish(&partial, path) };
    named.with_context(refused)?;
    Ok(file)
}

/// Refuses what `new_file` would refuse: before the run, so that no minute is lost.
pub fn refuse<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> anyhow::Result<()> {
    let mut seen: Vec<PathBuf> = Vec::new();
    for path in paths {
        if is_taken(path) {
            bail!("{}", taken(path));
        }
        refuse_unwritable(path)?;
        let absolute = std::path::absolute(path).with_context(|| format!("`{}`", path.display()))?;
        if seen.contains(&absolute) {
            bail!("`{}` is named for two outputs; give each a file of its own", path.display());
        }
        seen.push(absolute);
    }
    Ok(())
}

/// Refuses a path at which no file can be made.
pub fn refuse_unwritable(path: &Path) -> anyhow::Result<()> {
    let folder = folder(path);
    if !folder.is_dir() {
        bail!(
            "cannot write `{}`: `{}` is no directory; make it first, or name another file",
            path.display(),
            folder.display()
        );
    }
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        bail!("cannot write `{}`: it names a directory; name a file in it", path.display());
    }
    let probed = partial(&folder).and_then(|(probe, _)| std::fs::remove_file(probe));
    probed.with_context(|| {
        format!("cannot write `{}`: no file can be made in `{}`", path.display(), folder.display())
    })
}

/// `DIR/STEM.EXT`, or `DIR/STEM-2.EXT` and so on when that exists.
pub fn free_name(directory: &Path, stem: &str, extension: &str) -> PathBuf {
    let first = directory.join(format!("{stem}.{extension}"));
    let numbered = (2..).map(|number| directory.join(format!("{stem}-{number}.{extension}")));
    std::iter::once(first).chain(numbered).find(|path| !is_taken(path)).expect("the numbers do not end")
}

/// The current directory when files can be made in it, else the directory for temporary files.
pub fn output_directory() -> PathBuf {
    let here = PathBuf::from(".");
    match partial(&here).and_then(|(probe, _)| std::fs::remove_file(probe)) {
        Ok(()) => here,
        Err(_) => std::env::temp_dir(),
    }
}

/// True when something has this name, be it a link that leads nowhere.
fn is_taken(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn taken(path: &Path) -> String {
    format!("`{}` exists and is not overwritten; name another file or remove it", path.display())
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// `content` in a new file beside `path`, on the medium and closed; nothing is left behind when that fails.
fn written(path: &Path, content: &[u8]) -> anyhow::Result<PathBuf> {
    let write = || {
        let (partial, mut file) = partial(&folder(path))?;
        let whole = file.write_all(content).and_then(|()| file.sync_all()).and_then(|()| crate::close(file));
        if whole.is_err() {
            let _ = std::fs::remove_file(&partial);
        }
        whole.map(|()| partial)
    };
    write().with_context(|| format!("cannot write `{}`", path.display()))
}

/// A new file that no other program has, whoever makes files in `folder` at the same time.
fn partial(folder: &Path) -> io::Result<(PathBuf, File)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".iostack-{}-{number}.partial", std::process::id()));
        // `create_new` follows no link and opens nothing that is there.
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (path, file)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of one test, removed at its end.
    struct Room(PathBuf);

    impl Room {
        fn new(name: &str) -> Room {
            let path = std::env::temp_dir().join(format!("iostack-save-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("a directory of ours");
            Room(path)
        }
    }

    impl Drop for Room {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn an_existing_file_or_link_is_never_overwritten() {
        let room = Room::new("exists");
        let (path, link) = (room.0.join("out"), room.0.join("link"));
        std::os::unix::fs::symlink(room.0.join("nowhere"), &link).expect("a link of ours");
        new_file(&path, "first").expect("a new file");
        for taken in [&path, &link] {
            let error = new_file(taken, "second").expect_err("it exists").to_string();
            assert!(error.contains("not overwritten"), "{error}");
            let error = refuse([taken]).expect_err("it exists").to_string();
            assert!(error.contains("not overwritten"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&path).expect("still there"), "first");
        assert!(!room.0.join("nowhere").exists(), "the link was followed");
    }

    #[test]
    fn a_users_own_partial_file_and_what_a_link_of_that_name_leads_to_are_kept() {
        let room = Room::new("partial");
        let mine = room.0.join("out.partial");
        std::fs::write(&mine, "mine").expect("a file of ours");
        let next = room.0.join("precious");
        std::fs::write(&next, "precious").expect("a file of ours");
        for number in 0..50 {
            let name = format!(".iostack-{}-{number}.partial", std::process::id());
            let _ = std::os::unix::fs::symlink(&next, room.0.join(name));
        }
        new_file(&room.0.join("out"), "whole").expect("a new file");
        replace(&room.0.join("out"), "anew").expect("ours");
        assert_eq!(std::fs::read_to_string(room.0.join("out")).expect("written"), "anew");
        assert_eq!(std::fs::read_to_string(&mine).expect("kept"), "mine");
        assert_eq!(std::fs::read_to_string(&next).expect("kept"), "precious");
    }

    #[test]
    fn what_a_server_has_and_what_is_no_file_is_never_replaced() {
        let room = Room::new("served");
        let (store, link, fifo) = (room.0.join("store"), room.0.join("link"), room.0.join("fifo"));
        std::fs::write(&store, "data").expect("a file of ours");
        std::os::unix::fs::symlink(&store, &link).expect("a link of ours");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().is_ok_and(|told| told.success()));
        let served = crate::permit_store(&Held::open(&store).expect("ours"), true).expect("it is named");
        for (path, why) in [(&store, "iostack serve"), (&fifo, "is no file")] {
            let refusals = [refuse_irreplaceable(path), replace(path, "log"), begun(path, true).map(drop)];
            for refusal in refusals {
                let said = format!("{:#}", refusal.expect_err("it is no log"));
                assert!(said.contains(why), "{said}");
            }
        }
        assert!(refuse_irreplaceable(Path::new("/dev/null")).is_err());
        replace(&link, "log").expect("only the link goes");
        assert_eq!(std::fs::read_to_string(&store).expect("kept"), "data");
        drop(served);
        replace(&store, "log").expect("nobody has it");
        assert_eq!(std::fs::read_to_string(&store).expect("written"), "log");
    }

    #[test]
    fn what_cannot_be_written_is_refused_before_the_run() {
        let room = Room::new("refuse");
        let out = room.0.join("out");
        let refused = |paths: &[PathBuf]| refuse(paths).expect_err("it cannot be written").to_string();
        assert!(refused(&[room.0.join("missing/out")]).contains("is no directory"));
        assert!(refused(&[room.0.join("out/")]).contains("names a directory"));
        assert!(refused(&[out.clone(), room.0.join("./out")]).contains("two outputs"));
        assert!(refused(&[PathBuf::from("/proc/self/out")]).contains("no file can be made"));
        refuse([&out]).expect("it can be written");
        assert_eq!(std::fs::read_dir(&room.0).expect("ours").count(), 0, "a probe was left behind");
    }
}
