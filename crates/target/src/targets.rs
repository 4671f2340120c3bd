//! Which targets are there? The table of whoever knows them, seen by studies that open more than one.

use iostack_model::answers::Figure;
use iostack_model::{Job, Machine};

use crate::{AnyTarget, Description};

/// Facts that a study must know of a kind of targets before it opens one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// `simulated`, `real`, `of the lab`: figures of different kinds are not compared.
    pub name: &'static str,
    /// It is made of numbers that can be changed, and that it describes.
    pub has_numbers: bool,
    /// There is something of it that `--set` changes: numbers, or options of a driver.
    pub has_options: bool,
    /// A job may ask for the I/O scheduler of the disk below.
    pub switches_schedulers: bool,
    /// A run has the machine to itself.
    pub is_alone: bool,
}

/// Names of targets, and what opens them.
pub trait Targets: Sync {
    /// The kind that `on` names.
    fn kind(&self, on: &str) -> Kind;

    /// `typed`, where nothing but a simulated target is meant by a bare name: `x25e` is `sim:x25e`.
    fn word(&self, typed: &str) -> String;

    /// A simulated target's name without what its word begins with; every other word as it is.
    fn bare<'a>(&self, typed: &'a str) -> &'a str;

    /// Opens what `on` names, or the files that jobs name, with these changes of its numbers. Checks what can be without I/O.
    fn open(&self, on: Option<&str>, changes: &[(String, String)]) -> anyhow::Result<AnyTarget>;

    /// The flag and value with which a command makes a change: `--set flash.read=30us`, `--file-system ext4`.
    fn flag(&self, change: &(String, String)) -> [String; 2];

    /// The machine that runs this program.
    fn machine(&self) -> Machine;

    /// Gives a job from flags an end and a size, where it has none; what was given is said in a line.
    fn give_end(&self, job: &mut Job, target: &Description) -> anyhow::Result<Option<String>>;

    /// Ratings of the sheet of this name.
    fn ratings(&self, name: &str) -> anyhow::Result<Ratings>;
}

/// The data sheet of a drive.
#[derive(Clone, Debug)]
pub struct Ratings {
    /// Its name, `970pro`.
    pub name: String,
    /// `Samsung 970 PRO, 512 GB`.
    pub title: String,
    /// Figures that it rates.
    pub figures: Vec<Rating>,
}

/// One rated figure.
#[derive(Clone, Debug)]
pub struct Rating {
    /// Figure that is rated, in words.
    pub what: String,
    /// The load that shows it.
    pub job: Job,
    /// Numbers of the drive that differ while it is shown.
    pub set: Vec<(String, String)>,
    /// Figure that is read off.
    pub figure: Figure,
    /// It is the ratio of two.
    pub is_ratio: bool,
    /// I/Os or bytes per second, ns, or a ratio.
    pub value: f64,
    /// Source of the rating.
    pub source: String,
}
