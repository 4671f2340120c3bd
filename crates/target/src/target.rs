//! What answers jobs?

use std::path::PathBuf;

use anyhow::{Result, bail};
use iostack_model::{Job, Nanos, Outcome, OutcomeFile, Storage, TargetName};
use serde::{Deserialize, Serialize};

use crate::{Audience, Session, Wishes};

/// Target of any kind.
pub type AnyTarget = Box<dyn Target>;

/// A real path, a simulated device, a device of the lab: whatever answers jobs.
pub trait Target {
    /// Description of the target, and of what it cannot do.
    fn describe(&self) -> &Description;

    /// Runs the jobs, those after a stonewall when all before it have ended. What was prepared for them is undone.
    fn run(&self, jobs: &[Job], wanted: Wanted, audience: &dyn Audience) -> Result<OutcomeFile>;

    /// File that goes beside the outcomes of the last run. Asked when they are safe: what cannot be written costs no
    /// outcome.
    fn beside(&self) -> Option<Beside> {
        None
    }

    /// Makes ready what jobs need that run together, so that each run of them is only the run.
    fn prepare<'a>(&'a self, jobs: &[Job], _: &dyn Audience) -> Preparation<'a> {
        Ok(unprepared(self, jobs))
    }

    /// Holds a place on it where a study asks one job after another: a scratch file, a device, a simulated drive.
    fn occupy<'a>(&'a self, wishes: &Wishes, audience: &dyn Audience) -> Result<Box<dyn Session + 'a>>;
}

/// A new file beside the outcomes, such as a timeline.
pub struct Beside {
    /// Path of the file.
    pub path: PathBuf,
    /// Text of the file.
    pub text: String,
    /// Sentence for the user when it is written.
    pub said: String,
}

/// Result of [`Target::prepare`].
pub type Preparation<'a> = Result<Box<dyn Prepared + 'a>>;

/// Jobs that can be run, again and again. Dropped, it undoes what was done for them.
pub trait Prepared {
    /// Name of the target, now that it was found.
    fn name(&self) -> TargetName;

    /// The storage behind it.
    fn storage(&self) -> Storage;

    /// One run. With `seed` whatever a seed decides is decided anew: the first job has this one, the others those after it.
    fn run(&self, seed: Option<u64>, wanted: Wanted, audience: &dyn Audience) -> Result<Vec<Outcome>>;
}

/// Description of a target, and of what it cannot do.
#[derive(Clone, Debug)]
pub struct Description {
    /// Name by which it was asked for; `None` for the files that jobs name.
    pub name: Option<TargetName>,
    /// Clock of its figures.
    pub clock: RunClock,
    /// The same jobs with the same seeds give the same bytes.
    pub repeats: bool,
    /// Abilities that it lacks, and why so or what helps, as the end of a sentence.
    pub cannot: Vec<(Ability, &'static str)>,
    /// Title of the target; empty where only its name says it.
    pub title: String,
    /// Numbers that it is made of, in the order of its sheet; none of what is not simulated.
    pub numbers: Vec<Number>,
}

/// A number that a target is made of, and that a study may change.
#[derive(Clone, Debug)]
pub struct Number {
    /// Key as in `--set KEY=VALUE`; a member's has the member's name before it, `raid0.member.flash.read`.
    pub key: String,
    /// Value as it is written in the sheet; empty when it is missing.
    pub text: String,
    /// Value in ns, bytes, or as a plain number; `None` where only the text can be compared.
    pub value: Option<f64>,
    /// True of a time, a rate, a share or clocks, which a study may scale; sizes and counts are what they are.
    pub scales: bool,
    /// True when no document gives it and it was fitted to no claim.
    pub assumed: bool,
    /// The words that it may be; none where it is no word.
    pub words: &'static [&'static str],
    /// Smallest and largest likely value over this one; `None` where it is taken as exact.
    pub range: Option<[f64; 2]>,
    /// Meaning of the number.
    pub meaning: &'static str,
}

impl Number {
    /// True when the other has the same value, however it is written.
    pub fn is_same(&self, other: &Number) -> bool {
        let bits = |number: &Number| number.value.map(f64::to_bits);
        self.text == other.text || bits(self).zip(bits(other)).is_some_and(|(own, other)| own == other)
    }
}

/// The time that a run takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunClock {
    /// Clock of the machine that runs.
    Wall,
    /// Clock of a world that has only this one.
    Virtual,
}

/// Ability that some targets have and others lack. What has a flag of its own is refused by that flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// Clocks by layer.
    Layers,
    /// Jobs that replay a trace ([`Job::recorded`]).
    Traces,
    /// Acts of threads of a real machine ([`Job::needs_threads`]).
    Threads,
    /// Outcomes so far, while it runs.
    Status,
}

impl Description {
    /// Description of a target of which only the clock is known: in its own time it repeats, and it can do all.
    pub fn of_clock(clock: RunClock) -> Description {
        let repeats = clock == RunClock::Virtual;
        Description {
            name: None,
            clock,
            repeats,
            cannot: Vec::new(),
            title: String::new(),
            numbers: Vec::new(),
        }
    }

    /// Its number of this key.
    pub fn number(&self, key: &str) -> Option<&Number> {
        self.numbers.iter().find(|number| number.key == key)
    }

    /// Refuses what is asked and it cannot do.
    pub fn refuse(&self, jobs: &[Job], wanted: Wanted) -> Result<()> {
        for &(ability, why) in &self.cannot {
            match ability {
                Ability::Layers => {
                    if wanted.layers {
                        bail!("{why}");
                    }
                }
                Ability::Status => {
                    if wanted.status.is_some() {
                        bail!("{why}");
                    }
                }
                Ability::Threads => {
                    if let Some((job, option)) = jobs.iter().find_map(|job| Some((job, job.needs_threads()?)))
                    {
                        bail!("job `{}`: {option} {why}", job.name);
                    }
                }
                Ability::Traces => {
                    if let Some(job) = jobs.iter().find(|job| job.recorded.is_some()) {
                        bail!("job `{}`: a trace {why}", job.name);
                    }
                }
            }
        }
        Ok(())
    }
}

/// A run in a world of its own is told once, at the end.
pub const NO_STATUS: (Ability, &str) =
    (Ability::Status, "--status-interval is for files and block devices, whose time is ours; leave it out");

/// Wish to look inside while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Latency by stage.
    pub stages: bool,
    /// Clocks by layer.
    pub layers: bool,
    /// Samples per second and CPU; 0 for the default.
    pub sample_rate: u32,
    /// Time between two reports of the outcomes so far; `None`: only at the end.
    pub status: Option<Nanos>,
}

impl Wanted {
    /// True when anything is.
    pub const fn any(self) -> bool {
        self.stages || self.layers
    }
}

/// Jobs of a target that has nothing to prepare: each run is a whole one.
pub fn unprepared<'a, T: Target + ?Sized>(target: &'a T, jobs: &[Job]) -> Box<dyn Prepared + 'a> {
    Box::new(Unprepared { target, jobs: jobs.to_vec() })
}

/// Jobs of a target that has nothing to prepare.
struct Unprepared<'a, T: ?Sized> {
    target: &'a T,
    jobs: Vec<Job>,
}

impl<T: Target + ?Sized> Prepared for Unprepared<'_, T> {
    fn name(&self) -> TargetName {
        self.target.describe().name.clone().expect("a target that prepares nothing was named")
    }

    fn storage(&self) -> Storage {
        Storage::default()
    }

    fn run(&self, seed: Option<u64>, wanted: Wanted, audience: &dyn Audience) -> Result<Vec<Outcome>> {
        let jobs = reseeded(&self.jobs, seed);
        Ok(self.target.run(&jobs, wanted, audience)?.outcomes)
    }
}

/// The jobs, the first with this seed and the others with those after it.
pub fn reseeded(jobs: &[Job], seed: Option<u64>) -> Vec<Job> {
    let own = |(index, job): (u64, &Job)| Job {
        seed: seed.map_or(job.seed, |seed| seed.wrapping_add(index)),
        ..job.clone()
    };
    (0..).zip(jobs).map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::Recorded;

    fn described(cannot: &[(Ability, &'static str)]) -> Description {
        Description { cannot: cannot.to_vec(), ..Description::of_clock(RunClock::Wall) }
    }

    #[test]
    fn what_a_target_cannot_do_is_refused_with_its_reason_and_nothing_else_is() {
        let (layers, stages) = (Wanted { layers: true, ..Wanted::default() }, Wanted::default());
        let unable = described(&[(Ability::Layers, "no clocks"), (Ability::Traces, "runs elsewhere")]);
        let refused = |target: &Description, jobs: &[Job], wanted| {
            target.refuse(jobs, wanted).err().map(|error| error.to_string())
        };
        assert_eq!(refused(&unable, &[], layers).as_deref(), Some("no clocks"));
        assert_eq!(refused(&unable, &[Job::default()], Wanted { stages: true, ..stages }), None);
        let replay = Job { name: "b".to_owned(), recorded: Some(Recorded::default()), ..Job::default() };
        let jobs = [Job::default(), replay];
        assert_eq!(refused(&unable, &jobs, stages).as_deref(), Some("job `b`: a trace runs elsewhere"));
        assert_eq!(refused(&described(&[]), &jobs, layers), None);
    }

    #[test]
    fn a_seed_is_that_of_the_first_job_and_without_one_each_keeps_its_own() {
        let jobs = [7, 7, 9].map(|seed| Job { seed, ..Job::default() });
        let seeds = |seed| reseeded(&jobs, seed).iter().map(|job| job.seed).collect::<Vec<_>>();
        assert_eq!(seeds(None), [7, 7, 9]);
        assert_eq!(seeds(Some(u64::MAX)), [u64::MAX, 0, 1]);
    }
}
