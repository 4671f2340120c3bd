//! What answers? One row a kind of target: how its word begins, what opens it, which flags are its own.
//!
//!   word ──► row ──► refuse others' flags ──► open ──► dyn Target
//!
//! What a target can do says [`iostack_target::Target`]. Nobody else looks at how a word begins. Start reading at [`ROWS`].

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::bail;
use iostack_attribute::classify::Rules;
use iostack_engine::path::{self, AllHeld, PathOptions, PathTarget};
use iostack_host::awaited;
use iostack_lab::targets::{self as lab, LabFlags, LabTarget};
use iostack_model::{Job, Machine, Nanos};
use iostack_serve::lab::BROUGHT;
use iostack_sim::targets::{self as sim, SimulatedOptions, SimulatedTarget, Simulations};
use iostack_target::{AnyTarget, Description, EXAMPLE, Kind, Ratings, Targets, changes};

use crate::ends;

/// A flag, and whether it was given.
type GivenFlag = (&'static str, bool);

/// All there is to know of a kind of target without opening one.
struct KindRow {
    kind: Kind,
    /// Prefix of its word.
    prefix: &'static str,
    /// Opens the target that the rest of the word names.
    open: fn(&OsStr, &TargetTable) -> anyhow::Result<AnyTarget>,
    /// Flags that it understands.
    flags: fn(&TargetFlags) -> Vec<GivenFlag>,
    /// Time of a run that names no end, by the target's clock.
    time: Nanos,
    /// Error text when one of its flags is used with another kind of target.
    elsewhere: &'static str,
}

/// The last row matches every word that has none of the prefixes.
const ROWS: [KindRow; 3] = [
    KindRow {
        kind: sim::SIMULATED,
        prefix: sim::PREFIX,
        open: |device, table| {
            let options = SimulatedOptions { timeline: table.flags.sim.timeline.clone(), fifo };
            let changes = changes(&table.flags.sim.set, EXAMPLE)?;
            Ok(Box::new(SimulatedTarget::open(text(device)?, &changes, options)?))
        },
        flags: |flags| flags.sim.given(),
        time: Nanos::secs(10),
        elsewhere: "is for simulated targets; add --on sim:DEVICE (`iostack sim list` names them)",
    },
    KindRow {
        kind: lab::OF_THE_LAB,
        prefix: lab::PREFIX,
        open: |device, table| {
            let flags = &table.flags;
            Ok(Box::new(LabTarget::open(text(device)?, &flags.lab, &flags.sim.set, BROUGHT)?))
        },
        flags: |flags| [flags.lab.given(), vec![flags.sim.given_set()]].concat(),
        // A second of the emulated machine takes many of ours.
        time: Nanos::secs(1),
        elsewhere: "is for the lab; add --on lab:DEVICE (`iostack lab list` names them)",
    },
    KindRow {
        kind: path::REAL,
        prefix: "",
        open: |word, table| Ok(Box::new(PathTarget::open(Some(path::named(word)?), &table.paths))),
        flags: |_| Vec::new(),
        time: Nanos::secs(10),
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

impl TargetFlags {
    /// Those of the lab, and changes of numbers, each `KEY=VALUE`.
    pub fn of_study(set: &[String], lab: &LabFlags) -> TargetFlags {
        TargetFlags { sim: SimFlags { set: set.to_vec(), ..SimFlags::default() }, lab: lab.clone() }
    }
}

const HEADING: &str = "Simulated targets (--on sim:DEVICE)";

/// Arguments that only a simulated target has.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SimFlags {
    /// Change a number of the simulated device, such as
    /// `flash.over_provisioning=28%`; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", help_heading = HEADING)]
    pub set: Vec<String>,
    /// Write the way of single requests to a new file, for ui.perfetto.dev.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub timeline: Option<PathBuf>,
    /// Draws of the numbers that the sheet does not know exactly: runs it as
    /// often again, and gives each figure its band [none].
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub draws: Option<u32>,
}

impl SimFlags {
    /// Its flags, and whether each was given.
    fn given(&self) -> Vec<GivenFlag> {
        let draws = ("--draws", self.draws.is_some());
        vec![self.given_set(), ("--timeline", self.timeline.is_some()), draws]
    }

    /// The one that is of use elsewhere too.
    fn given_set(&self) -> GivenFlag {
        ("--set", !self.set.is_empty())
    }
}

/// Every kind of target, with the flags that they are opened with.
#[derive(Clone, Default)]
pub struct TargetTable {
    /// Flags of targets.
    pub flags: TargetFlags,
    /// Options for opening paths.
    pub paths: PathOptions,
}

impl TargetTable {
    /// Makes the table; `destroy_data` allows writing over what exists.
    pub fn new(flags: TargetFlags, destroy_data: bool) -> TargetTable {
        let paths = PathOptions { destroy_data, rules: None, held: AllHeld::default() };
        TargetTable { flags, paths }
    }

    /// Adds rules that give functions their layers.
    #[must_use]
    pub fn with_rules(mut self, rules: Option<&'static Rules>) -> TargetTable {
        self.paths.rules = rules;
        self
    }

    /// Opens what `on` names; without it, the files that the jobs name.
    pub fn target(&self, on: Option<&OsStr>) -> anyhow::Result<AnyTarget> {
        let (row, rest) = split(on.unwrap_or_default());
        refuse_flags(row, &self.flags)?;
        if self.paths.rules.is_some() && row.kind != path::REAL {
            bail!("`--rules` is for files, directories and block devices; elsewhere the built-in rules sort");
        }
        match on {
            Some(_) => (row.open)(rest, self),
            None => Ok(Box::new(PathTarget::open(None, &self.paths))),
        }
    }

    /// The same with changes: keys of the lab's flags, or of numbers.
    fn changed(&self, changes: &[(String, String)]) -> anyhow::Result<TargetTable> {
        let (lab, set): (Vec<_>, Vec<_>) =
            changes.iter().cloned().partition(|(key, _)| lab::flag(key).is_some());
        let mut table = self.clone();
        table.flags.sim.set.extend(set.iter().map(|(key, value)| format!("{key}={value}")));
        if !lab.is_empty() {
            table.flags.lab = LabFlags::from_pairs(&lab)?;
        }
        Ok(table)
    }
}

impl Targets for TargetTable {
    fn kind(&self, on: &str) -> Kind {
        split(on.as_ref()).0.kind
    }

    fn word(&self, typed: &str) -> String {
        match self.kind(typed) {
            lab::OF_THE_LAB => typed.to_owned(),
            _ => Simulations.word(typed),
        }
    }

    fn bare<'a>(&self, typed: &'a str) -> &'a str {
        Simulations.bare(typed)
    }

    fn open(&self, on: Option<&str>, changes: &[(String, String)]) -> anyhow::Result<AnyTarget> {
        self.changed(changes)?.target(on.map(AsRef::as_ref))
    }

    fn flag(&self, change: &(String, String)) -> [String; 2] {
        lab::flag(&change.0).map_or_else(|| Simulations.flag(change), |flag| [flag, change.1.clone()])
    }

    fn machine(&self) -> Machine {
        iostack_host::machine()
    }

    fn give_end(&self, job: &mut Job, target: &Description) -> anyhow::Result<Option<String>> {
        let name = target.name.as_ref().map(ToString::to_string).unwrap_or_default();
        ends::give(job, target, split(name.as_ref()).0.time)
    }

    fn ratings(&self, name: &str) -> anyhow::Result<Ratings> {
        Simulations.ratings(name)
    }
}

/// Opens a trace that is a FIFO; a signal that wants the program to end interrupts the wait for who writes to it.
fn fifo(path: &Path) -> io::Result<Box<dyn Read>> {
    awaited::open(path).map(|file| -> Box<dyn Read> { Box::new(file) })
}

fn split(typed: &OsStr) -> (&'static KindRow, &OsStr) {
    let behind = |row: &KindRow| typed.as_bytes().strip_prefix(row.prefix.as_bytes()).map(OsStr::from_bytes);
    ROWS.iter().find_map(|row| Some((row, behind(row)?))).expect("every word begins with nothing")
}

/// Refuses the first flag that was given and is another kind's.
fn refuse_flags(row: &KindRow, flags: &TargetFlags) -> anyhow::Result<()> {
    let own = (row.flags)(flags);
    for other in &ROWS {
        let not_ours = |&(flag, given): &GivenFlag| given && own.iter().all(|&(name, _)| name != flag);
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
        let table = TargetTable::default();
        assert_eq!((table.kind("sim:tlc-1t"), table.bare("sim:tlc-1t")), (sim::SIMULATED, "tlc-1t"));
        assert_eq!((table.kind("lab:"), table.bare("lab:")), (lab::OF_THE_LAB, "lab:"));
        for path in ["", "/data", "file:sim:x", "sim", "SIM:x"] {
            assert_eq!((table.kind(path), table.bare(path)), (path::REAL, path));
        }
        let words = ["x25e", "sim:x25e", "lab:brd"].map(|typed| table.word(typed));
        assert_eq!(words, ["sim:x25e", "sim:x25e", "lab:brd"]);
    }

    #[test]
    fn rules_of_ones_own_are_refused_where_nobody_would_read_them() {
        let table = TargetTable::default().with_rules(Some(Rules::built_in()));
        for word in ["lab:brd", "sim:x25e"] {
            let error = table.target(Some(word.as_ref())).err().map(|error| error.to_string());
            assert!(error.is_some_and(|said| said.starts_with("`--rules` is for files")), "{word}");
        }
    }

    #[test]
    fn a_flag_is_refused_by_every_kind_that_does_not_know_it() {
        let refused = |word: &str, flags: &TargetFlags| {
            refuse_flags(split(word.as_ref()).0, flags).err().map(|error| error.to_string())
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
