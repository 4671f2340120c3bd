//! A folder with the source of anyone's driver: what is in it, and which modules does it build?
//!
//! Nothing is written there: what is in it is copied and built elsewhere (`build.rs`).

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::modules::{files_below, name_of, normal};
use crate::{LabError, ensure};

/// Files of a folder with sources: path below it, content.
pub(super) type Sources = Vec<(String, Vec<u8>)>;

/// A driver has fewer files, and a kernel has more.
const MOST_FILES: usize = 2000;

/// Likewise its bytes.
const MOST_BYTES: u64 = 64 << 20;

/// Bytes of a Kbuild that are read, its variables, and bytes of one of them: no file keeps the reader busy for long.
const MOST_TEXT: usize = 1 << 18;
const MOST_VARIABLES: usize = 100;
const MOST_VALUE: usize = 4096;

/// Endings of the files that a build leaves beside the sources.
const BUILT: [&str; 8] = [".o", ".ko", ".mod", ".mod.c", ".a", ".cmd", ".symvers", ".order"];

/// An error of the user's, about this folder.
fn no_driver(folder: &Path, why: &str) -> LabError {
    LabError::Asked(format!("`{}` is no folder of a driver: {why}", folder.display()))
}

/// Refuses a folder that does not build this module.
pub fn require(folder: &Path, module: &str) -> Result<(), LabError> {
    let all = modules(folder)?;
    let (place, others) = (folder.display(), all.join(", "));
    let other = || LabError::Asked(format!("`{place}` is the source of {others}, and not of {module}"));
    ensure(all.is_empty() || all.iter().any(|one| one == module), other)
}

/// The modules that the folder says it builds, by the names that the kernel gives them. None, when only make understands
/// how it says so.
pub fn modules(folder: &Path) -> Result<Vec<String>, LabError> {
    let sources = read(folder)?;
    let mut found = Declared::default();
    found.add(&sources, "");
    let none = "neither Kbuild nor Makefile has a line like obj-m := scsi_ram.o";
    ensure(found.is_there, || no_driver(folder, none))?;
    found.modules.sort();
    found.modules.dedup();
    Ok(found.modules)
}

/// All files but what a build leaves, and what is hidden.
pub(super) fn read(folder: &Path) -> Result<Sources, LabError> {
    ensure(folder.is_dir(), || no_driver(folder, "there is no such folder"))?;
    let (mut sources, mut bytes) = (Sources::new(), 0);
    let mut left = vec![folder.to_owned()];
    while let Some(here) = left.pop() {
        for entry in fs::read_dir(&here).map_err(LabError::file("read", &here))?.flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if name.starts_with('.') || BUILT.iter().any(|ending| name.ends_with(ending)) {
                continue;
            }
            // A link to a folder may lead in a circle; one to nowhere is no source.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.push(path);
                continue;
            }
            let Some(data) = fs::metadata(&path).ok().filter(fs::Metadata::is_file) else { continue };
            bytes += data.len();
            let many = "it holds more than 2,000 files or 64 MiB; name the one that the driver's Kbuild or Makefile is in";
            ensure(sources.len() < MOST_FILES && bytes <= MOST_BYTES, || no_driver(folder, many))?;
            let below = path.strip_prefix(folder).expect("it was found below");
            let content = fs::read(&path).map_err(LabError::file("read", &path))?;
            sources.push((below.to_string_lossy().into_owned(), content));
        }
    }
    sources.sort();
    let is_driver = makefile(&sources, "").is_some();
    ensure(is_driver, || no_driver(folder, "it has neither Kbuild nor Makefile")).map(|()| sources)
}

/// File that the kernel's build reads in a folder: Kbuild, and only without one Makefile.
fn makefile(sources: &Sources, below: &str) -> Option<String> {
    let named = |name: &str| {
        let (_, content) = sources.iter().find(|(path, _)| *path == format!("{below}{name}"))?;
        Some(String::from_utf8_lossy(&content[..content.len().min(MOST_TEXT)]).into_owned())
    };
    named("Kbuild").or_else(|| named("Makefile"))
}

/// Modules of the lines like `obj-m := NAME.o`.
#[derive(Default)]
struct Declared {
    /// There is one, or one of a configuration: `obj-$(CONFIG_NAME) += NAME.o`.
    is_there: bool,
    modules: Vec<String>,
    /// Folders that were read.
    seen: HashSet<String>,
}

impl Declared {
    /// Reads the folder `below`, and those that it names.
    fn add(&mut self, sources: &Sources, below: &str) {
        if !self.seen.insert(below.to_owned()) {
            return;
        }
        let text = makefile(sources, below).unwrap_or_default().replace("\\\n", " ");
        let mut variables: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((name, value)) = line.split_once('=') else { continue };
            let name = name.trim_end_matches([':', '+', '?', ' ', '\t']).trim().to_owned();
            let value = variables.iter().fold(value.trim().to_owned(), |text, (name, value)| {
                if !text.contains('$') || text.len() > MOST_VALUE {
                    return text;
                }
                text.replace(&format!("$({name})"), value).replace(&format!("${{{name}}}"), value)
            });
            let Some(kind) = name.strip_prefix("obj-") else {
                if variables.len() < MOST_VARIABLES && value.len() <= MOST_VALUE {
                    variables.push((name, value));
                }
                continue;
            };
            let is_module = kind == "m" || kind.starts_with('$');
            for word in value.split_whitespace() {
                if let Some(folder) = word.strip_suffix('/') {
                    self.add(sources, &format!("{below}{folder}/"));
                } else if let Some(module) = word.strip_suffix(".o").filter(|_| is_module) {
                    self.is_there = true;
                    // What is left of a call of make's own is no name.
                    let is_name = module.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
                    self.modules.extend(is_name.then(|| normal(module)));
                }
            }
        }
    }
}

/// Modules that a build left, by the names that the kernel gives them.
pub(super) fn built(folder: &Path) -> Vec<(String, PathBuf)> {
    let files = files_below(folder).into_iter();
    let modules = files.filter(|path| path.extension().is_some_and(|ending| ending == "ko"));
    let mut found: Vec<(String, PathBuf)> = modules.map(|path| (name_of(&path), path)).collect();
    found.sort();
    found
}

/// Lines of a failed build that are shown.
const LINES_SHOWN: usize = 6;

/// First errors of the compiler in all that a failed build said, without the path of the folder it was done in.
pub(super) fn first_errors(said: &str, folder: &Path) -> String {
    let lines = |marks: &[&str]| -> Vec<&str> {
        let telling = said.lines().filter(|line| marks.iter().any(|mark| line.contains(mark)));
        telling.take(LINES_SHOWN).collect()
    };
    let found = [&["error: ", "ERROR: "][..], &["***"], &[""]].into_iter().map(lines);
    let told = found.into_iter().find(|lines| !lines.is_empty()).unwrap_or_default().join("\n");
    told.replace(&format!("{}/", folder.display()), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Sources {
        files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    fn declared(files: &[(&str, &str)]) -> (bool, Vec<String>) {
        let mut found = Declared::default();
        found.add(&sources(files), "");
        (found.is_there, found.modules)
    }

    #[test]
    fn what_a_folder_builds_is_told_by_its_kbuild_or_else_its_makefile() {
        let alone = |text: &str| declared(&[("Makefile", text)]);
        let one = |name: &str| (true, vec![name.to_owned()]);
        assert_eq!(alone("obj-m := scsi_ram.o"), one("scsi_ram"));
        assert_eq!(alone("ifneq ($(KERNELRELEASE),)\n\tobj-m += my-disk.o # ours\nendif"), one("my_disk"));
        assert_eq!(
            alone("obj-$(CONFIG_BLK_DEV_NULL_BLK)\t+= null_blk.o\nnull_blk-objs := main.o"),
            one("null_blk")
        );
        assert_eq!(alone("NAME := x\nobj-m := \\\n  $(NAME)_disk.o"), one("x_disk"));
        assert_eq!(alone("obj-m := $(shell basename $$PWD).o"), (true, vec![]));
        assert_eq!(alone("obj-y := x.o\nscsi_ram-y := main.o"), (false, vec![]));
        let both = [("Kbuild", "obj-m := a/ b/"), ("Makefile", "obj-m := c.o")];
        assert_eq!(declared(&both), (false, vec![]));
        let below = [both[0], ("a/Makefile", "obj-m := x.o"), ("b/Kbuild", "obj-m := y.o z.o")];
        assert_eq!(declared(&below), (true, vec!["x".to_owned(), "y".to_owned(), "z".to_owned()]));
    }

    #[test]
    fn a_kbuild_that_grows_without_end_ends() {
        let doubled = (1..200).map(|number| format!("A{number} := $(A{})$(A{})\n", number - 1, number - 1));
        let text = format!("A0 := xx\n{}obj-m := $(A199).o $(A3).o\n", doubled.collect::<String>());
        assert_eq!(declared(&[("Kbuild", &text)]), (true, vec!["x".repeat(16)]));
        let circle = [("Kbuild", "obj-m := a/ a/ x.o"), ("a/Kbuild", "obj-m := y.o")];
        assert_eq!(declared(&circle), (true, vec!["y".to_owned(), "x".to_owned()]));
    }

    #[test]
    fn of_a_failed_build_the_first_errors_are_shown_without_the_folder() {
        let said = "  CC [M]  /c/x/a.o\n/c/x/a.c:7:2: error: 'n' undeclared\nnote\n/c/x/a.c:9: error: two\nmake: *** Error 1";
        assert_eq!(
            first_errors(said, Path::new("/c/x")),
            "a.c:7:2: error: 'n' undeclared\na.c:9: error: two"
        );
        assert_eq!(first_errors("x\nmake: *** no rule", Path::new("/c")), "make: *** no rule");
        assert_eq!(first_errors("", Path::new("/c")), "");
    }
}
