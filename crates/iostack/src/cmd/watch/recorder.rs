//! The flight recorder: slices of the last minutes in a folder, as lines of JSON.
//!
//! ```text
//!   FOLDER/now.jsonl    is written;  half of the time to keep in it? it becomes ──► FOLDER/before.jsonl
//! ```

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use iostack_model::Nanos;
use iostack_model::answers::{WatchSlice, labelled};

use crate::written::json;

/// Folder in which the service of the package records.
pub(crate) const USUAL: &str = "/run/iostack";

/// The files of a folder, the older first.
const FILES: [&str; 2] = ["before.jsonl", "now.jsonl"];

/// Beginning of every line.
const MARK: &str = "{\"kind\":\"watch --lines\"";

/// Slices on their way into a folder.
pub(super) struct Recorder {
    folder: PathBuf,
    file: File,
    half_ns: u64,
    kept_ns: u64,
}

impl Recorder {
    /// Makes the folder where there is none; files of an earlier recorder are replaced, others refused.
    pub(super) fn open(folder: &Path, keep: Nanos) -> anyhow::Result<Recorder> {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
        for name in FILES {
            let path = folder.join(name);
            let Ok(known) = path.symlink_metadata() else { continue };
            ensure!(
                known.is_file() && is_ours(&path)?,
                "`{}` exists and is no record of iostack's; choose another folder",
                path.display()
            );
        }
        let before = folder.join(FILES[0]);
        if before.exists() {
            fs::remove_file(&before).with_context(|| format!("cannot remove `{}`", before.display()))?;
        }
        let file = Recorder::begin(folder)?;
        Ok(Recorder { folder: folder.to_owned(), file, half_ns: keep.0 / 2, kept_ns: 0 })
    }

    fn begin(folder: &Path) -> anyhow::Result<File> {
        let path = folder.join(FILES[1]);
        File::create(&path).with_context(|| format!("cannot write `{}`", path.display()))
    }

    /// Adds a slice, and lets go of the oldest half when it is time.
    pub(super) fn keep(&mut self, slice: &WatchSlice) -> anyhow::Result<()> {
        if self.kept_ns > self.half_ns {
            let [before, now] = FILES.map(|name| self.folder.join(name));
            fs::rename(&now, &before).with_context(|| format!("cannot rename `{}`", now.display()))?;
            self.file = Recorder::begin(&self.folder)?;
            self.kept_ns = 0;
        }
        self.kept_ns += slice.elapsed.0;
        let line = json(&labelled(slice))?;
        self.file
            .write_all(line.as_bytes())
            .with_context(|| format!("cannot write to `{}`", self.folder.display()))
    }
}

/// True of an empty file, and of one that begins as ours do.
fn is_ours(path: &Path) -> anyhow::Result<bool> {
    let mut first = Vec::new();
    let file = File::open(path).with_context(|| format!("cannot open `{}`", path.display()))?;
    let mut head = std::io::Read::take(file, MARK.len() as u64);
    std::io::Read::read_to_end(&mut head, &mut first)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(first.is_empty() || first == MARK.as_bytes())
}

/// Slices of a file of lines, or of a recorder's folder. A last line that is cut, as at the moment of writing, is left out.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<WatchSlice>> {
    if !path.is_dir() {
        return read_file(path);
    }
    let mut slices = Vec::new();
    for file in FILES.map(|name| path.join(name)).iter().filter(|file| file.exists()) {
        slices.extend(read_file(file)?);
    }
    ensure!(
        !slices.is_empty(),
        "`{}` holds no record; `iostack watch --record {0}` makes one",
        path.display()
    );
    Ok(slices)
}

fn read_file(path: &Path) -> anyhow::Result<Vec<WatchSlice>> {
    let file = File::open(path).with_context(|| format!("cannot open `{}`", path.display()))?;
    let mut lines = BufReader::new(file).lines().enumerate().peekable();
    let mut slices = Vec::new();
    while let Some((index, line)) = lines.next() {
        let line = line.with_context(|| format!("cannot read `{}`", path.display()))?;
        match serde_json::from_str(&line) {
            Ok(slice) if line.starts_with(MARK) => {
                let all: serde_json::Value = serde_json::from_str(&line).context("it was just read")?;
                if let Some(key) = impossible("", &all) {
                    bail!("line {} of `{}`: {key} is too large to be true", index + 1, path.display());
                }
                slices.push(slice);
            }
            Err(error) if error.is_eof() && lines.peek().is_none() => {}
            Ok(_) => {
                bail!("line {} of `{}` is no interval of `iostack watch --lines`", index + 1, path.display())
            }
            Err(error) => bail!("line {} of `{}`: {error}", index + 1, path.display()),
        }
    }
    Ok(slices)
}

/// Moments, ns since 1970, up to the year 2116; and any other number of an interval: 13 days in ns, a petabyte.
const MOMENT_MOST: u64 = 1 << 62;
const NUMBER_MOST: u64 = 1 << 50;

/// Key of a number so large that sums of such would not hold.
fn impossible(key: &str, value: &serde_json::Value) -> Option<String> {
    let most = if key == "ended_unix_ns" { MOMENT_MOST } else { NUMBER_MOST };
    match value {
        serde_json::Value::Array(values) => values.iter().find_map(|each| impossible(key, each)),
        serde_json::Value::Object(values) => values.iter().find_map(|(key, each)| impossible(key, each)),
        value => value.as_u64().filter(|number| *number >= most).map(|_| key.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use iostack_testkit::Folder;

    use super::*;

    fn folder(test: &str) -> Folder {
        Folder::below(&std::env::temp_dir().to_string_lossy(), &format!("iostack-{test}"))
    }

    fn slice(at: u64) -> WatchSlice {
        WatchSlice { ended_unix_ns: at, elapsed: Nanos::secs(1), ..WatchSlice::default() }
    }

    #[test]
    fn a_recorder_keeps_the_last_minutes_and_forgets_what_is_older() {
        let folder = folder("recorder");
        let mut recorder = Recorder::open(&folder, Nanos::secs(10)).expect("it is ours");
        for at in 1..=60 {
            recorder.keep(&slice(at)).expect("there is room");
        }
        let slices = read(&folder).expect("it was just written");
        assert_eq!(slices.last().map(|slice| slice.ended_unix_ns), Some(60));
        assert!((6..=12).contains(&slices.len()), "{}", slices.len());
        assert!(slices.windows(2).all(|pair| pair[0].ended_unix_ns + 1 == pair[1].ended_unix_ns));
        drop(Recorder::open(&folder, Nanos::secs(10)).expect("an earlier one is replaced"));
        assert!(read(&folder).is_err(), "it begins empty");
    }

    #[test]
    fn what_is_not_ours_is_neither_replaced_nor_read() {
        let folder = folder("recorder-foreign");
        fs::write(folder.join("now.jsonl"), "mine\n").expect("it is ours");
        assert!(Recorder::open(&folder, Nanos::secs(10)).is_err());
        assert!(read(&folder).is_err());
        fs::write(folder.join("now.jsonl"), "{}\n").expect("it is ours");
        assert!(read(&folder).is_err());
    }

    #[test]
    fn a_line_that_is_being_written_is_left_out_and_a_bad_one_is_named() {
        let folder = folder("recorder-cut");
        let line = json(&labelled(&slice(1))).expect("plain data");
        let path = folder.join("lines");
        fs::write(&path, format!("{line}{}", &line[..line.len() / 2])).expect("there is room");
        assert_eq!(read(&path).expect("one is whole").len(), 1);
        fs::write(&path, format!("{line}nonsense\n{line}")).expect("there is room");
        let error = read(&path).expect_err("the second is none").to_string();
        assert!(error.contains("line 2"), "{error}");
        let now = 1_800_000_000_000_000_000;
        let of =
            |slice| fs::write(&path, json(&labelled(&slice)).expect("plain data")).expect("there is room");
        of(WatchSlice { runs: NUMBER_MOST - 1, ..slice(now) });
        assert_eq!(read(&path).expect("it is possible").len(), 1);
        of(WatchSlice { runs: NUMBER_MOST, ..slice(now) });
        assert!(read(&path).expect_err("no host does that").to_string().contains("line 1"));
        of(slice(u64::MAX));
        assert!(read(&path).expect_err("no host does that").to_string().contains("ended_unix_ns"));
    }
}
