//! Where are outcomes kept, so that nothing is lost?
//!
//! ```text
//!   DIR/answers/[MACHINE/]HASH.json    each answer as it was given, named by its content: written whole, never over another
//!   DIR/index-1.ndjson                 a line an answer: its checksum, then its figures; made anew from the answers
//!   DIR/lock                           held while the index is written
//! ```
//!
//! The answers are the store; the index only saves reading them. A line that is damaged or missing costs its answer to be read
//! again. A later layout of the index has another name, so that two versions of iostack can use one store. Start reading
//! at [`HistoryStore::add`], then [`HistoryStore::read`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail, ensure};
use iostack_host::save;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::found::{FoundOutcomes, Noted, found};
use crate::exit;
use crate::stored::{self, Stored};

/// The layout of the lines of the index.
const INDEX: &str = "index-1.ndjson";
/// Bytes of a content's sum that are its name.
const NAME_BYTES: usize = 16;
/// Pause between two tries to get the lock.
const PAUSE: Duration = Duration::from_millis(20);

/// A folder of answers.
pub(super) struct HistoryStore {
    pub(super) folder: PathBuf,
}

/// An answer as the index has it.
#[derive(Deserialize, Serialize)]
pub(super) struct IndexEntry {
    answer: String,
    pub(super) outcomes: Vec<Noted>,
}

/// Entries by their answers, each with its place in the index.
type Indexed = BTreeMap<String, (usize, IndexEntry)>;

/// Content of a store.
#[derive(Default)]
pub(super) struct StoreContent {
    pub(super) entries: Vec<IndexEntry>,
    /// Answers that could not be read, in whole sentences.
    pub(super) problems: Vec<String>,
    /// The index had to be made anew: why.
    pub(super) mended: Option<String>,
}

impl HistoryStore {
    /// The folder that was named, or that of this user.
    pub(super) fn find(typed: Option<&PathBuf>) -> anyhow::Result<HistoryStore> {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let data = || variable("XDG_DATA_HOME").or_else(|| Some(variable("HOME")?.join(".local/share")));
        let folder = typed.cloned().or_else(|| variable("IOSTACK_HISTORY"));
        let folder = folder.or_else(|| Some(data()?.join("iostack/history")));
        let folder =
            folder.context("there is no home folder to keep a history in; name one with --store DIR")?;
        Ok(HistoryStore { folder })
    }

    pub(super) fn path(&self, answer: &str) -> PathBuf {
        self.folder.join("answers").join(format!("{answer}.json"))
    }

    /// Keeps an answer of `machine`, and tells its outcomes; `None` when it is there already.
    pub(super) fn add(&self, stored: &Stored, machine: Option<&str>) -> anyhow::Result<Option<usize>> {
        let found = found(stored)?;
        let content = content_name(&stored.text);
        let answer = machine.map_or_else(|| content.clone(), |machine| format!("{machine}/{content}"));
        let path = self.path(&answer);
        if let Ok(there) = fs::read_to_string(&path) {
            ensure!(
                there == stored.text,
                "`{}` is damaged; remove it, and add `{}` again",
                path.display(),
                stored.path
            );
            return Ok(None);
        }
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
        let lock = self.lock()?;
        save::new_file(&path, &stored.text)?;
        let outcomes = found.noted(&answer, machine, modified(&path));
        let count = outcomes.len();
        self.append(&IndexEntry { answer, outcomes }).with_context(|| {
            format!("`{}` is kept, and will be found; but the index could not be written", path.display())
        })?;
        drop(lock);
        Ok(Some(count))
    }

    /// Everything that is kept, in the order in which it came.
    pub(super) fn read(&self) -> anyhow::Result<StoreContent> {
        ensure!(
            self.folder.join("answers").is_dir(),
            "there is no history in `{}` yet; begin it with `iostack history add FILE`",
            self.folder.display()
        );
        let (entries, damaged) = self.indexed()?;
        let names = self.names()?;
        if damaged == 0 && entries.len() == names.len() && names.iter().all(|name| entries.contains_key(name))
        {
            return Ok(StoreContent { entries: in_order(entries), ..StoreContent::default() });
        }
        self.mended()
    }

    /// One answer, whole.
    pub(super) fn answer(&self, answer: &str) -> anyhow::Result<FoundOutcomes> {
        let path = self.path(answer);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let content = answer.rsplit('/').next().unwrap_or(answer);
        let is_whole = content_name(&text) == content;
        ensure!(
            is_whole,
            "`{}` is damaged: it is not what its name says; remove it, and add the original again",
            path.display()
        );
        found(&stored::of_text(text, path.display().to_string())?)
    }

    /// The whole lines of the index, and how many are damaged.
    fn indexed(&self) -> anyhow::Result<(Indexed, usize)> {
        let path = self.folder.join(INDEX);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            read => read.with_context(|| format!("cannot read `{}`", path.display()))?,
        };
        let (mut entries, mut damaged) = (BTreeMap::new(), 0);
        for (place, line) in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).enumerate() {
            match entry(line) {
                Some(entry) => _ = entries.entry(entry.answer.clone()).or_insert((place, entry)),
                None => damaged += 1,
            }
        }
        Ok((entries, damaged))
    }

    /// The answers there are.
    fn names(&self) -> anyhow::Result<BTreeSet<String>> {
        let answers = self.folder.join("answers");
        let mut names = BTreeSet::new();
        let mut folders = vec![(answers, String::new())];
        while let Some((folder, before)) = folders.pop() {
            let cannot = || format!("cannot list `{}`", folder.display());
            for each in fs::read_dir(&folder).with_context(cannot)? {
                let each = each.with_context(cannot)?;
                let name = each.file_name().to_string_lossy().into_owned();
                match name.strip_suffix(".json") {
                    Some(content) => _ = names.insert(format!("{before}{content}")),
                    None if before.is_empty() && each.path().is_dir() => {
                        folders.push((each.path(), format!("{name}/")));
                    }
                    None => {}
                }
            }
        }
        Ok(names)
    }

    /// The index made anew from what of it is whole and the answers that it lacks, and kept where that can be.
    fn mended(&self) -> anyhow::Result<StoreContent> {
        // Whoever adds an answer has the lock until its line stands; a store that cannot be written to is read as it is.
        let lock = self.lock();
        let (mut entries, damaged) = self.indexed()?;
        let names = self.names()?;
        let indexed = entries.len();
        entries.retain(|answer, _| names.contains(answer));
        let gone = indexed - entries.len();
        let lacking = names.into_iter().filter(|name| !entries.contains_key(name));
        let mut lacking: Vec<(u64, String)> =
            lacking.map(|name| (modified(&self.path(&name)), name)).collect();
        lacking.sort_unstable();
        let mut kept = StoreContent { entries: in_order(entries), ..StoreContent::default() };
        let read = lacking.len();
        for (added, name) in lacking {
            let machine = name.split_once('/').map(|(machine, _)| machine);
            match self.answer(&name) {
                Ok(found) => {
                    let outcomes = found.noted(&name, machine, added);
                    kept.entries.push(IndexEntry { answer: name, outcomes });
                }
                Err(error) => kept.problems.push(format!("{error:#}")),
            }
        }
        let fresh = read - kept.problems.len();
        let written = lock
            .and_then(|_lock| if damaged + fresh + gone > 0 { self.write(&kept.entries) } else { Ok(()) });
        let fate =
            written.err().map_or_else(String::new, |error| format!("; it could not be kept: {error:#}"));
        kept.mended = (damaged + fresh > 0)
            .then(|| format!("the index had {damaged} damaged lines; {fresh} answers were read again{fate}"));
        Ok(kept)
    }

    /// Waits for who writes the index; the lock is that of the file that is returned.
    fn lock(&self) -> anyhow::Result<File> {
        let path = self.folder.join("lock");
        let cannot = || format!("cannot lock `{}`", path.display());
        let file = File::options().create(true).append(true).open(&path).with_context(cannot)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if exit::is_interrupted() => {
                    bail!("`{}` is held by another iostack; nothing was written", path.display())
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
            }
        }
    }

    /// A line at the end of the index, or none.
    fn append(&self, entry: &IndexEntry) -> anyhow::Result<()> {
        let path = self.folder.join(INDEX);
        let mut file = File::options().create(true).read(true).append(true).open(path)?;
        let length = file.seek(SeekFrom::End(0))?;
        let mut last = [b'\n'];
        if length > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        // Behind a line that a crash cut.
        let apart = if last == *b"\n" { "" } else { "\n" };
        let appended = file.write_all((apart.to_owned() + &line(entry)?).as_bytes());
        if appended.is_err() {
            file.set_len(length)?;
        }
        Ok(appended?)
    }

    /// A whole new index, in place of what is there.
    fn write(&self, entries: &[IndexEntry]) -> anyhow::Result<()> {
        let lines = entries.iter().map(line).collect::<anyhow::Result<String>>()?;
        save::replace(&self.folder.join(INDEX), &lines)
    }
}

/// Entries in the order of the index, which is that of their arrival.
fn in_order(entries: Indexed) -> Vec<IndexEntry> {
    let mut placed: Vec<(usize, IndexEntry)> = entries.into_values().collect();
    placed.sort_unstable_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, entry)| entry).collect()
}

/// Its checksum, then itself.
fn line(entry: &IndexEntry) -> anyhow::Result<String> {
    let json = serde_json::to_string(entry).context("an entry is plain data")?;
    Ok(format!("{:08x} {json}\n", crc32c::crc32c(json.as_bytes())))
}

fn entry(line: &[u8]) -> Option<IndexEntry> {
    let (sum, json) = line.split_at_checked(8)?;
    let json = json.strip_prefix(b" ")?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    (sum == crc32c::crc32c(json)).then(|| serde_json::from_slice(json).ok())?
}

/// The name of an answer: what is in it.
fn content_name(text: &str) -> String {
    let sum = Sha256::digest(text.as_bytes());
    let mut first = [0; NAME_BYTES];
    first.copy_from_slice(&sum[..NAME_BYTES]);
    format!("{:032x}", u128::from_be_bytes(first))
}

/// Time at which a file was written, milliseconds since 1970 UTC.
fn modified(path: &Path) -> u64 {
    let time = path.metadata().and_then(|data| data.modified()).unwrap_or_else(|_| SystemTime::now());
    time.duration_since(UNIX_EPOCH).map_or(0, |span| span.as_millis() as u64)
}
