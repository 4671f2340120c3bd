//! Files beside the answer: written whole or not at all, and never over an existing one.
//!
//!   refuse ──► the run ──► a file without a name that matters ──► sync, close ──► publish: the name, if it is free
//!
//! What can be refused is refused before the run; what cannot be known then (a full disk) is an error with the name
//! of what was lost. Start reading at [`new_file`].

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, bail};

use crate::Held;

/// An output that was asked for.
pub struct Output<'a> {
    /// The option that asks for it, as it was typed.
    pub option: &'a str,
    /// Path of the output.
    pub path: &'a Path,
    /// Rule for a file that has the name already.
    pub taken: Taken,
}

/// Rule for a file that has the name of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is kept, and the output refused.
    Kept,
    /// Likewise, unless `--destroy-data` is given.
    KeptUnlessAllowed,
    /// It is replaced or written over.
    Replaced,
}

impl<'a> Output<'a> {
    /// A new file, where one is wanted.
    pub fn new(option: &'a str, path: Option<&'a PathBuf>) -> Option<Output<'a>> {
        path.map(|path| Output { option, path, taken: Taken::Kept })
    }
}

/// Writes `content` to a new file `path`; an existing file is refused, and a character device or a FIFO is written to.
pub fn new_file(path: &Path, content: &(impl AsRef<[u8]> + ?Sized)) -> anyhow::Result<()> {
    if is_sink(path) {
        return poured(path, content.as_ref());
    }
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
    if is_sink(path) {
        return poured(path, content.as_ref());
    }
    let partial = written(path, content.as_ref())?;
    let lost = || format!("cannot write `{}`; its content is in `{}`", path.display(), partial.display());
    let _nobody_takes_it_meanwhile = replaceable(path).with_context(lost)?;
    std::fs::rename(&partial, path).with_context(lost)
}

/// File of this name that may go, claimed; `None` where nothing has it, or a link, which goes alone.
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
    if is_sink(path) {
        return opened(path).with_context(|| format!("cannot write `{}`", path.display()));
    }
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

/// Refuses what could not be written, and two outputs that are one file: before the run, so that no minute is lost.
/// Each command hands all its outputs over at once.
pub fn refuse<'a>(outputs: impl IntoIterator<Item = Output<'a>>) -> anyhow::Result<()> {
    let mut seen: Vec<(SavePlace, Output<'a>)> = Vec::new();
    for output in outputs {
        let Some(place) = SavePlace::of_output(output.path) else { continue };
        if let Some((_, other)) = seen.iter().find(|(known, _)| *known == place) {
            bail!(
                "{} `{}` and {} `{}` are the same file; give each one of its own",
                other.option,
                other.path.display(),
                output.option,
                output.path.display()
            );
        }
        seen.push((place, output));
    }
    for (_, output) in &seen {
        let (path, is_taken) = (output.path, is_taken(output.path));
        match output.taken {
            Taken::Kept if is_taken => bail!("{}", taken(path)),
            Taken::KeptUnlessAllowed if is_taken => bail!(
                "{} `{}` exists and is not overwritten; remove it, name another, or pass --destroy-data",
                output.option,
                path.display()
            ),
            _ if is_sink(path) => {}
            Taken::Replaced => {
                replaceable(path).with_context(|| format!("cannot write `{}`", path.display()))?;
                refuse_unwritable(path)?;
            }
            _ => refuse_unwritable(path)?,
        }
    }
    Ok(())
}

/// Identity of a path, whatever it is called.
#[derive(PartialEq, Eq)]
enum SavePlace {
    /// The file exists: device and inode.
    There(u64, u64),
    /// The file can be made: device and inode of the directory, and the name in it.
    Free(u64, u64, OsString),
    /// The path cannot be looked up, and is refused for that.
    Unknown(PathBuf),
    /// Standard output, which holds one answer.
    Stdout,
}

impl SavePlace {
    /// `None` of a device or a FIFO that takes what is written one behind the other.
    fn of_output(path: &Path) -> Option<SavePlace> {
        const STDOUT: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
        if STDOUT.iter().any(|name| path == Path::new(name)) {
            return Some(SavePlace::Stdout);
        }
        if let Ok(data) = path.metadata() {
            return (!is_sink(path)).then(|| SavePlace::There(data.dev(), data.ino()));
        }
        let name = path.file_name().zip(folder(path).metadata().ok());
        let free = name.map(|(name, data)| SavePlace::Free(data.dev(), data.ino(), name.to_owned()));
        Some(free.unwrap_or_else(|| SavePlace::Unknown(path.to_owned())))
    }
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

/// True when something has this name that would be lost, be it a link that leads nowhere.
fn is_taken(path: &Path) -> bool {
    path.symlink_metadata().is_ok() && !is_sink(path)
}

/// True of a character device or a FIFO: it is written to, and never replaced.
fn is_sink(path: &Path) -> bool {
    let kind = path.metadata().map(|data| data.file_type());
    kind.is_ok_and(|kind| kind.is_char_device() || kind.is_fifo())
}

fn opened(sink: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(sink)
}

/// All of `content` in a sink.
fn poured(sink: &Path, content: &[u8]) -> anyhow::Result<()> {
    let poured = opened(sink).and_then(|mut file| {
        file.write_all(content)?;
        crate::close(file)
    });
    poured.with_context(|| format!("cannot write `{}`", sink.display()))
}

/// Puts it on the medium, if it is on one.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
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
    use crate::testing::Tree;

    #[test]
    fn an_existing_file_or_link_is_never_overwritten() {
        let room = Tree::new(&[]);
        let (path, link) = (room.at("out"), room.at("link"));
        std::os::unix::fs::symlink(room.at("nowhere"), &link).expect("a link of ours");
        new_file(&path, "first").expect("a new file");
        for taken in [&path, &link] {
            let error = new_file(taken, "second").expect_err("it exists").to_string();
            assert!(error.contains("not overwritten"), "{error}");
            let error = refuse(Output::new("--html", Some(taken))).expect_err("it exists").to_string();
            assert!(error.contains("not overwritten"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&path).expect("still there"), "first");
        assert!(!room.at("nowhere").exists(), "the link was followed");
    }

    #[test]
    fn a_users_own_partial_file_and_what_a_link_of_that_name_leads_to_are_kept() {
        let room = Tree::new(&[]);
        let mine = room.at("out.partial");
        std::fs::write(&mine, "mine").expect("a file of ours");
        let next = room.at("precious");
        std::fs::write(&next, "precious").expect("a file of ours");
        for number in 0..50 {
            let name = format!(".iostack-{}-{number}.partial", std::process::id());
            let _ = std::os::unix::fs::symlink(&next, room.at(&name));
        }
        new_file(&room.at("out"), "whole").expect("a new file");
        replace(&room.at("out"), "anew").expect("ours");
        assert_eq!(std::fs::read_to_string(room.at("out")).expect("written"), "anew");
        assert_eq!(std::fs::read_to_string(&mine).expect("kept"), "mine");
        assert_eq!(std::fs::read_to_string(&next).expect("kept"), "precious");
    }

    #[test]
    fn what_a_server_has_and_what_is_no_file_is_never_replaced() {
        let room = Tree::new(&[]);
        let (store, link) = (room.at("store"), room.at("link"));
        std::fs::write(&store, "data").expect("a file of ours");
        std::os::unix::fs::symlink(&store, &link).expect("a link of ours");
        let served = crate::permit_store(&Held::open(&store).expect("ours"), true).expect("it is named");
        let before = refuse([Output { option: "--output", path: &store, taken: Taken::Replaced }]);
        for refusal in [before, replace(&store, "log"), begun(&store, true).map(drop)] {
            let said = format!("{:#}", refusal.expect_err("it is no log"));
            assert!(said.contains("iostack serve"), "{said}");
        }
        let folder = replace(room.path(), "log").expect_err("a folder is no file");
        assert!(format!("{folder:#}").contains("is no file"), "{folder:#}");
        replace(&link, "log").expect("only the link goes");
        assert_eq!(std::fs::read_to_string(&store).expect("kept"), "data");
        drop(served);
        replace(&store, "log").expect("nobody has it");
        assert_eq!(std::fs::read_to_string(&store).expect("written"), "log");
    }

    #[test]
    fn what_cannot_be_written_is_refused_before_the_run() {
        let room = Tree::new(&[]);
        let out = room.at("out");
        let wanted = |path: &PathBuf| refuse(Output::new("--html", Some(path)));
        let refused = |path: PathBuf| wanted(&path).expect_err("it cannot be written").to_string();
        assert!(refused(room.at("missing/out")).contains("is no directory"));
        assert!(refused(room.at("out/")).contains("names a directory"));
        assert!(refused(PathBuf::from("/proc/self/out")).contains("no file can be made"));
        wanted(&out).expect("it can be written");
        assert_eq!(std::fs::read_dir(room.path()).expect("ours").count(), 0, "a probe was left behind");
    }

    #[test]
    fn two_outputs_that_are_one_file_are_refused_whatever_they_are_called() {
        let room = Tree::new(&[]);
        let at = |name: &str| room.at(name);
        std::fs::create_dir(at("real")).expect("ours");
        std::os::unix::fs::symlink(at("real"), at("linked")).expect("ours");
        std::fs::write(at("first"), "kept").expect("ours");
        std::fs::hard_link(at("first"), at("second")).expect("ours");
        std::os::unix::fs::symlink(at("first"), at("third")).expect("ours");
        let both = |one: PathBuf, other: PathBuf| {
            let outputs = [("--csv", &one), ("write_bw_log", &other)];
            let outputs = outputs.map(|(option, path)| Output { option, path, taken: Taken::Replaced });
            refuse(outputs).map_err(|error| error.to_string())
        };
        let same = [
            (at("new"), at("./real/../new")),
            (at("real/new"), at("linked/new")),
            (at("first"), at("second")),
            (at("first"), at("third")),
            ("/dev/stdout".into(), "/dev/fd/1".into()),
        ];
        for (one, other) in same {
            let said = both(one.clone(), other.clone()).expect_err("one file");
            let (one, other) = (one.display(), other.display());
            assert_eq!(
                said,
                format!(
                    "--csv `{one}` and write_bw_log `{other}` are the same file; give each one of its own"
                )
            );
        }
        let two = [("real/new", "new"), ("first", "new")].map(|(one, other)| (at(one), at(other)));
        for (one, other) in two.into_iter().chain([("/dev/null".into(), "/dev/null".into())]) {
            both(one, other).expect("two files, or a device that keeps nothing");
        }
    }

    #[test]
    fn a_device_is_written_to_and_never_replaced() {
        let null = Path::new("/dev/null");
        new_file(null, "gone").expect("it takes all");
        replace(null, "gone").expect("it takes all");
        sync(&begun(null, true).expect("it can be opened")).expect("nothing to be put anywhere");
        assert!(is_sink(null), "it was replaced by a file");
        let said = format!("{:#}", new_file(Path::new("/dev/full"), "lost").expect_err("it is full"));
        assert!(said.starts_with("cannot write `/dev/full`: No space left"), "{said}");
    }
}
