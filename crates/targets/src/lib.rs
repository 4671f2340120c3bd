//! What answers? One row a kind of target: how its word begins, what opens it, which flags are its own.
//!
//!   word ──► row ──► refuse others' flags ──► open ──► dyn Target
//!
//! What a target can do says [`iostack_target::Target`]. Nobody else looks at how a word begins. Start reading at [`ROWS`].

pub mod ends;
pub mod exec;
pub(crate) mod files;
pub mod gather;
pub mod lab;
pub mod lab_place;
pub mod left;
pub mod merging;
mod names;
pub mod occupied;
pub mod outside;
pub(crate) mod path;
mod recorded;
mod schedulers;
pub mod simulated;
mod simulated_place;
mod stored;
pub mod tracing;

use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::bail;
use iostack_attribute::classify::Rules;
use iostack_host::Held;
use iostack_target::AnyTarget;

use lab::{LabFlags, LabTarget};
use path::PathTarget;
use simulated::{SimFlags, SimulatedTarget};
pub use stored::read_json;

/// Kinds of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `sim:DEVICE`.
    Simulated,
    /// `lab:DEVICE`.
    Lab,
    /// A file, a directory or a block device.
    Path,
}

/// A flag, and whether it was given.
type Given = (&'static str, bool);

/// All there is to know of a kind of target without opening one.
struct Row {
    scheme: Scheme,
    /// How its word begins.
    prefix: &'static str,
    /// Opens the target that the rest of the word names.
    open: fn(&OsStr, &Options<'_>) -> anyhow::Result<AnyTarget>,
    /// Flags that it understands.
    flags: fn(&TargetFlags) -> Vec<Given>,
    /// What to say to who gives such a flag elsewhere.
    elsewhere: &'static str,
}

/// The last is for whatever no other begins.
const ROWS: [Row; 3] = [
    Row {
        scheme: Scheme::Simulated,
        prefix: "sim:",
        open: |device, options| Ok(Box::new(SimulatedTarget::open(text(device)?, &options.flags.sim)?)),
        flags: |flags| flags.sim.given(),
        elsewhere: "is for simulated targets; add --on sim:DEVICE (`iostack sim list` names them)",
    },
    Row {
        scheme: Scheme::Lab,
        prefix: "lab:",
        open: |device, options| {
            Ok(Box::new(LabTarget::open(text(device)?, &options.flags.lab, &options.flags.sim.set)?))
        },
        flags: |flags| [flags.lab.given(), vec![flags.sim.given_set()]].concat(),
        elsewhere: "is for the lab; add --on lab:DEVICE (`iostack lab list` names them)",
    },
    Row {
        scheme: Scheme::Path,
        prefix: "",
        open: |word, options| Ok(Box::new(PathTarget::open(Some(path::named(word)?), options))),
        flags: |_| Vec::new(),
        elsewhere: "is for files, directories and block devices",
    },
];

/// Flags of targets.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct TargetFlags {
    /// Those of simulated devices.
    #[command(flatten)]
    pub sim: SimFlags,
    /// Those of the lab.
    #[command(flatten)]
    pub lab: LabFlags,
}

/// What targets are opened with.
#[derive(Clone)]
pub struct Options<'a> {
    /// Those that were given.
    pub flags: &'a TargetFlags,
    /// `--destroy-data`.
    pub destroy_data: bool,
    /// Rules that give functions their layers; `None` for the built-in ones.
    pub rules: Option<&'static Rules>,
    /// What the targets of one command hold.
    pub held: AllHeld,
}

/// Every file and device in use, each once: a device is claimed until all is over.
pub type AllHeld = Rc<RefCell<Vec<Arc<Held>>>>;

/// Opens what `on` names; without it, the files that the jobs name.
pub fn open(on: Option<&OsStr>, options: &Options<'_>) -> anyhow::Result<AnyTarget> {
    let (row, rest) = split(on.unwrap_or_default());
    refuse_flags(row, options.flags)?;
    if options.rules.is_some() && row.scheme != Scheme::Path {
        bail!("`--rules` is for files, directories and block devices; elsewhere the built-in rules sort");
    }
    match on {
        Some(_) => (row.open)(rest, options),
        None => Ok(Box::new(PathTarget::open(None, options))),
    }
}

/// Opens what a study asks: what `on` names, as these flags have it.
pub fn study(
    on: Option<&OsStr>,
    flags: &TargetFlags,
    destroy_data: bool,
    held: &AllHeld,
) -> anyhow::Result<AnyTarget> {
    open(on, &Options { flags, destroy_data, rules: None, held: held.clone() })
}

impl TargetFlags {
    /// Those of the lab, and changes of numbers.
    pub fn of(set: &[String], lab: &LabFlags) -> TargetFlags {
        TargetFlags { sim: SimFlags { set: set.to_vec(), timeline: None }, lab: lab.clone() }
    }
}

/// The kind of target that `typed` names, and which.
pub fn scheme(typed: &str) -> (Scheme, &str) {
    let (row, _) = split(typed.as_ref());
    (row.scheme, &typed[row.prefix.len()..])
}

impl Scheme {
    /// What `typed` names where nothing but this kind is meant, with or without how it begins.
    pub fn bare(self, typed: &str) -> &str {
        match scheme(typed) {
            (scheme, rest) if scheme == self => rest,
            _ => typed,
        }
    }

    /// `device` as a target of this kind.
    pub fn word(self, device: &str) -> String {
        let prefix = ROWS.iter().find(|row| row.scheme == self).map_or("", |row| row.prefix);
        format!("{prefix}{}", self.bare(device))
    }
}

fn split(typed: &OsStr) -> (&'static Row, &OsStr) {
    let behind = |row: &Row| typed.as_bytes().strip_prefix(row.prefix.as_bytes()).map(OsStr::from_bytes);
    ROWS.iter().find_map(|row| Some((row, behind(row)?))).expect("every word begins with nothing")
}

/// Refuses flags of other kinds of targets than `on` is.
pub fn refuse_others(on: &OsStr, flags: &TargetFlags) -> anyhow::Result<()> {
    refuse_flags(split(on).0, flags)
}

/// Refuses the first flag that was given and is another kind's.
fn refuse_flags(row: &Row, flags: &TargetFlags) -> anyhow::Result<()> {
    let own = (row.flags)(flags);
    for other in &ROWS {
        let not_ours = |&(flag, given): &Given| given && own.iter().all(|&(name, _)| name != flag);
        if let Some((flag, _)) = (other.flags)(flags).into_iter().find(not_ours) {
            bail!("`{flag}` {}", other.elsewhere);
        }
    }
    Ok(())
}

/// Names of devices are text.
fn text(device: &OsStr) -> anyhow::Result<&str> {
    match device.to_str() {
        Some(device) => Ok(device),
        None => bail!("`{}` is no name of a device", device.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_what_its_beginning_says_and_else_a_path() {
        assert_eq!(scheme("sim:tlc-1t"), (Scheme::Simulated, "tlc-1t"));
        assert_eq!(scheme("lab:"), (Scheme::Lab, ""));
        for path in ["", "/data", "file:sim:x", "sim", "SIM:x"] {
            assert_eq!(scheme(path), (Scheme::Path, path));
        }
        assert_eq!((Scheme::Lab.bare("lab:brd"), Scheme::Lab.bare("brd")), ("brd", "brd"));
        assert_eq!(Scheme::Simulated.word("x25e"), "sim:x25e");
    }

    #[test]
    fn rules_of_ones_own_are_refused_where_nobody_would_read_them() {
        let flags = TargetFlags::default();
        let rules = Some(Rules::built_in());
        let options = Options { flags: &flags, destroy_data: false, rules, held: AllHeld::default() };
        for word in ["lab:brd", "sim:x25e"] {
            let error = open(Some(word.as_ref()), &options).err().map(|error| error.to_string());
            assert!(error.is_some_and(|said| said.starts_with("`--rules` is for files")), "{word}");
        }
    }

    #[test]
    fn a_flag_is_refused_by_every_kind_that_does_not_know_it() {
        let refused = |word: &str, flags: &TargetFlags| {
            refuse_others(word.as_ref(), flags).err().map(|error| error.to_string())
        };
        let mut flags = TargetFlags::default();
        flags.sim.set = vec!["a=b".to_owned()];
        assert_eq!((refused("sim:a", &flags), refused("lab:a", &flags)), (None, None));
        let said = refused("/a", &flags).expect("no path has such numbers");
        assert!(said.starts_with("`--set` is for simulated targets; add --on sim:DEVICE"), "{said}");
        flags.sim.timeline = Some("ways.json".into());
        assert!(refused("lab:a", &flags).is_some_and(|said| said.contains("`--timeline` is for sim")));
        flags.lab.mitigations = true;
        assert!(refused("sim:a", &flags).is_some_and(|said| said.contains("`--mitigations` is for the lab")));
    }
}
