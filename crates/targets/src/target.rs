//! What answers jobs?
//!
//!   jobs ──► Target ──► outcomes
//!              │ prepare
//!              └──────► Prepared ──► outcomes, outcomes, ..      (the same again, with other draws)
//!
//! A target is asked once a run, never once an I/O. Who implements it begins with [`Target::describe`].

use std::sync::atomic::AtomicBool;

use iostack_model::{Job, Nanos, Outcome, OutcomeFile, Progress, Storage, TargetName};
use serde::{Deserialize, Serialize};

/// A real path, a simulated device, a device of the lab: whatever answers jobs.
pub trait Target {
    /// Why it could not.
    type Error: 'static;

    /// What it is, and what it cannot do.
    fn describe(&self) -> &Description;

    /// Runs the jobs, those after a stonewall when all before it have ended. What was prepared for them is undone.
    fn run(&self, jobs: &[Job], wanted: Wanted, audience: &dyn Audience) -> Result<OutcomeFile, Self::Error>;

    /// Writes what belongs beside the outcomes of the last run, such as a timeline. Asked when they are safe: what cannot be written
    /// costs no outcome.
    fn beside(&self, _: &dyn Audience) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Makes ready what jobs need that run together, so that each run of them is only the run.
    fn prepare<'a>(&'a self, jobs: &[Job], _: &dyn Audience) -> Preparation<'a, Self::Error> {
        Ok(Box::new(Unprepared { target: self, jobs: jobs.to_vec() }))
    }
}

/// What [`Target::prepare`] gives.
pub type Preparation<'a, Error> = Result<Box<dyn Prepared<Error = Error> + 'a>, Error>;

/// Jobs that can be run, again and again. Dropped, it undoes what was done for them.
pub trait Prepared {
    /// Why it could not.
    type Error: 'static;

    /// What answers, now that it was found.
    fn name(&self) -> TargetName;

    /// The storage behind it.
    fn storage(&self) -> Storage;

    /// One run. With `seed` whatever a seed decides is decided anew: the first job has this one, the others those after it.
    fn run(
        &self,
        seed: Option<u64>,
        wanted: Wanted,
        audience: &dyn Audience,
    ) -> Result<Vec<Outcome>, Self::Error>;
}

/// What a target is, and what it cannot do.
#[derive(Clone, Debug)]
pub struct Description {
    /// As it was named; `None` for the files that jobs name.
    pub name: Option<TargetName>,
    /// Whose time its figures are in.
    pub clock: RunClock,
    /// The same jobs with the same seeds give the same bytes.
    pub repeats: bool,
    /// What it cannot do, and why so or what helps, as the end of a sentence.
    pub cannot: Vec<(Ability, &'static str)>,
}

/// The time that a run takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunClock {
    /// Of the machine that runs.
    Wall,
    /// Of a world that has only this one.
    Virtual,
}

/// What some targets can do and others cannot. What has a flag of its own is refused by that flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// Clocks by layer.
    Layers,
    /// Jobs that are programs ([`iostack_model::App`]).
    Applications,
    /// Jobs that replay a trace ([`Job::recorded`]).
    Traces,
    /// What only threads of a real machine do ([`Job::needs_threads`]).
    Threads,
    /// What came of it so far, while it runs.
    Status,
}

impl Description {
    /// Refuses what is asked and it cannot do.
    pub fn refuse(&self, jobs: &[Job], wanted: Wanted) -> Result<(), String> {
        for &(ability, why) in &self.cannot {
            match ability {
                Ability::Layers => {
                    if wanted.layers {
                        return Err(why.to_owned());
                    }
                }
                Ability::Status => {
                    if wanted.status.is_some() {
                        return Err(why.to_owned());
                    }
                }
                Ability::Threads => {
                    if let Some((job, option)) = jobs.iter().find_map(|job| Some((job, job.needs_threads()?)))
                    {
                        return Err(format!("job `{}`: {option} {why}", job.name));
                    }
                }
                Ability::Traces => {
                    if let Some(job) = jobs.iter().find(|job| job.recorded.is_some()) {
                        return Err(format!("job `{}`: a trace {why}", job.name));
                    }
                }
                Ability::Applications => {
                    if let Some((job, app)) = jobs.iter().find_map(|job| Some((job, job.app.as_ref()?))) {
                        return Err(format!("job `{}`: app={} {why}", job.name, app.name()));
                    }
                }
            }
        }
        Ok(())
    }
}

/// What is to be looked at from inside while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Latency by stage.
    pub stages: bool,
    /// Clocks by layer.
    pub layers: bool,
    /// Samples per second and CPU; 0 for the default.
    pub sample_rate: u32,
    /// How often to say what came of it so far; `None`: at the end.
    pub status: Option<Nanos>,
}

impl Wanted {
    /// True when anything is.
    pub const fn any(self) -> bool {
        self.stages || self.layers
    }
}

/// Who hears of a run, and may end it.
pub trait Audience: Sync {
    /// Set, it ends the run early with the outcome so far.
    fn stop(&self) -> &AtomicBool;

    /// Somebody looks at [`Audience::progress`].
    fn watches(&self) -> bool {
        false
    }

    /// How far it is.
    fn progress(&self, _: &Progress) {}

    /// What came of it so far, where [`Wanted::status`] asks; jobs that are still to begin with nothing.
    fn status(&self, _: &OutcomeFile) {}

    /// The flag that is set when somebody asks what came of it so far; it is told then, where the target can.
    fn asked(&self) -> Option<&AtomicBool> {
        None
    }

    /// A new step of a longer work began: its title, since when all goes on, and how long in all.
    fn step(&self, _title: &str, _elapsed: Nanos, _whole: Nanos) {}

    /// One measurement of a step began: what it is part of, which it is, since when all goes on, and how long in all.
    fn point(&self, _series: &str, _label: &str, _elapsed: Nanos, _whole: Nanos) {}

    /// What is done at present, in place of what was said so before.
    fn live(&self, _: &str) {}

    /// Nothing is done at present.
    fn clear(&self) {}

    /// Something worth knowing.
    fn say(&self, _: &str) {}

    /// Something to worry about.
    fn warn(&self, _: &str) {}
}

/// A flag alone ends a run, and nobody hears of it.
impl Audience for AtomicBool {
    fn stop(&self) -> &AtomicBool {
        self
    }
}

/// Jobs of a target that has nothing to prepare.
struct Unprepared<'a, T: ?Sized> {
    target: &'a T,
    jobs: Vec<Job>,
}

impl<T: Target + ?Sized> Prepared for Unprepared<'_, T> {
    type Error = T::Error;

    fn name(&self) -> TargetName {
        self.target.describe().name.clone().expect("a target that prepares nothing was named")
    }

    fn storage(&self) -> Storage {
        Storage::default()
    }

    fn run(
        &self,
        seed: Option<u64>,
        wanted: Wanted,
        audience: &dyn Audience,
    ) -> Result<Vec<Outcome>, T::Error> {
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
    use iostack_model::{App, Tpcc};

    fn described(cannot: &[(Ability, &'static str)]) -> Description {
        Description { name: None, clock: RunClock::Wall, repeats: false, cannot: cannot.to_vec() }
    }

    #[test]
    fn what_a_target_cannot_do_is_refused_with_its_reason_and_nothing_else_is() {
        let (layers, stages) = (Wanted { layers: true, ..Wanted::default() }, Wanted::default());
        let unable = described(&[(Ability::Layers, "no clocks"), (Ability::Applications, "elsewhere")]);
        assert_eq!(unable.refuse(&[], layers), Err("no clocks".to_owned()));
        assert_eq!(unable.refuse(&[Job::default()], Wanted { stages: true, ..stages }), Ok(()));
        let program = Job { name: "b".to_owned(), app: Some(App::Tpcc(Tpcc::default())), ..Job::default() };
        let jobs = [Job::default(), program];
        assert_eq!(unable.refuse(&jobs, stages), Err("job `b`: app=tpcc elsewhere".to_owned()));
        assert_eq!(described(&[]).refuse(&jobs, layers), Ok(()));
    }

    #[test]
    fn a_seed_is_that_of_the_first_job_and_without_one_each_keeps_its_own() {
        let jobs = [7, 7, 9].map(|seed| Job { seed, ..Job::default() });
        let seeds = |seed| reseeded(&jobs, seed).iter().map(|job| job.seed).collect::<Vec<_>>();
        assert_eq!(seeds(None), [7, 7, 9]);
        assert_eq!(seeds(Some(u64::MAX)), [u64::MAX, 0, 1]);
    }
}
