//! What answers as a target? Files, a directory, or a block device.
//!
//! ```text
//!   PathTarget ─ run ────► files: laid out, held ─► schedulers, traces, tracing ─► crate::run
//!              └ occupy ─► Occupied: one place that is held, for studies
//! ```

mod files;
mod left;
mod merging;
mod names;
mod occupied;
mod recorded;
mod schedulers;
pub mod tracing;

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use iostack_attribute::classify::Rules;
use iostack_model::{
    Caveat, Ends, Job, Ladder, Nanos, Outcome, OutcomeFile, Progress, Recorded, SCHEMA, Storage, TargetKind,
    TargetName,
};
use iostack_target::{
    Audience, Description, Kind, Preparation, Prepared, RunClock, Session, Target, Wanted, Wishes, reseeded,
};
use iostack_workload::load::stages;

use crate::{Control, Status, Work};
use files::Ground;
use occupied::Occupied;
use tracing::Tracing;

pub use files::{AllHeld, Placement, place};

/// Row of files and block devices for studies.
pub const REAL: Kind =
    Kind { name: "real", has_numbers: false, has_options: false, switches_schedulers: true, is_alone: false };

/// Options with which paths are opened.
#[derive(Clone, Default)]
pub struct PathOptions {
    /// True when what exists may be written over.
    pub destroy_data: bool,
    /// Rules that give functions their layers; `None`: the built-in ones.
    pub rules: Option<&'static Rules>,
    /// Files and devices that the targets of one command hold.
    pub held: AllHeld,
}

/// Files, a directory in which files are made, or a block device.
pub struct PathTarget {
    description: Description,
    options: PathOptions,
    /// Rungs that may be looked from here; asked for once.
    ladder: OnceCell<Ladder>,
}

/// A target that exists, or a file that is to be made in a directory that exists.
pub fn named(typed: &OsStr) -> Result<TargetName> {
    let bare = typed.as_bytes().strip_prefix(b"file:").map_or(typed, OsStr::from_bytes);
    let path = std::path::absolute(bare)?;
    let new_file =
        !bare.as_bytes().contains(&b':') && !path.exists() && path.parent().is_some_and(Path::is_dir);
    if new_file {
        return Ok(TargetName { kind: TargetKind::File, path });
    }
    Ok(iostack_host::resolve(typed)?)
}

impl PathTarget {
    /// Target of this name, or of the files that jobs name.
    pub fn open(name: Option<TargetName>, options: &PathOptions) -> PathTarget {
        PathTarget {
            description: Description { name, ..Description::of_clock(RunClock::Wall) },
            options: options.clone(),
            ladder: OnceCell::new(),
        }
    }

    /// Lays out and holds the files of jobs that run together.
    fn lay(&self, jobs: &[Job], audience: &dyn Audience) -> Result<Laid<'_>> {
        let report = |progress: &Progress| audience.progress(progress);
        let control = control(audience, &report);
        let say = |line: &str| audience.say(line);
        let mut ground = Ground::new(self.options.destroy_data, &control, &self.options.held);
        let mut laid = Laid { target: self, works: Vec::new(), doubts: Vec::new() };
        for job in jobs {
            let loaded = recorded::load(job, self.description.name.is_some())?;
            let job = loaded.as_ref().map_or(job, |loaded| &loaded.job);
            let placement = place(job, self.description.name.as_ref())?;
            left::files(&placement.target, &say);
            let mut work = ground.prepare(job, placement)?;
            if let Some(loaded) = &loaded {
                recorded::fit(&mut work, loaded)?;
                laid.doubts.extend(loaded.doubt.clone().map(|doubt| (job.recorded.clone(), doubt)));
            }
            laid.works.push(work);
        }
        schedulers::choose(&mut laid.works)?;
        for (path, size) in ground.made {
            say(&format!("laid out {} with {size}; it is kept for the next run", path.display()));
        }
        Ok(laid)
    }
}

impl Target for PathTarget {
    fn describe(&self) -> &Description {
        &self.description
    }

    fn run(&self, jobs: &[Job], wanted: Wanted, audience: &dyn Audience) -> Result<OutcomeFile> {
        self.description.refuse(jobs, wanted)?;
        let machine = iostack_host::machine();
        let started_unix_ms =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_millis() as u64);
        left::settings(&|line| audience.say(line));
        let file = |outcomes: Vec<Outcome>| OutcomeFile {
            schema: SCHEMA,
            iostack: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_ms,
            machine: machine.clone(),
            outcomes,
            prediction: None,
        };
        let mut outcomes: Vec<Outcome> = Vec::new();
        // A job may read what one before it wrote: what stands behind a stonewall is prepared when it is reached.
        let mut groups = VecDeque::from(stages(jobs.to_vec(), |job| job));
        while let Some(group) = groups.pop_front() {
            if audience.stop().load(Ordering::Relaxed) {
                break;
            }
            let so_far = |now: Vec<Outcome>| {
                let all = outcomes.iter().cloned().chain(now).chain(not_begun(&groups));
                audience.status(&file(all.collect()));
            };
            let asked = audience.asked();
            let every = wanted.status.or(asked.map(|_| NEVER));
            let status = every.map(|every| Status { every, asked, tell: &so_far });
            let come = self.lay(&group, audience)?.run_telling(None, wanted, audience, status)?;
            outcomes.extend(come);
            if group.iter().any(|job| job.ends == Ends::All) {
                break;
            }
        }
        Ok(file(outcomes))
    }

    fn prepare<'a>(&'a self, jobs: &[Job], audience: &dyn Audience) -> Preparation<'a> {
        self.description.refuse(jobs, Wanted::default())?;
        left::settings(&|line| audience.warn(line));
        Ok(Box::new(self.lay(jobs, audience)?))
    }

    fn occupy<'a>(&'a self, wishes: &Wishes, audience: &dyn Audience) -> Result<Box<dyn Session + 'a>> {
        let target = self.description.name.clone().context("name a directory, a file or a block device")?;
        if !target.path.exists() {
            // A job may have a file made; a study asks of what is there.
            iostack_host::resolve(&target.path)?;
        }
        Ok(Box::new(Occupied::new(target, wishes, self.options.destroy_data, self.options.rules, audience)?))
    }
}

/// Time between two tellings where nobody wants any but those asked for: a year.
const NEVER: Nanos = Nanos::secs(31_536_000);

/// Jobs behind stonewalls that are still to begin, with nothing.
fn not_begun(groups: &VecDeque<Vec<Job>>) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for job in groups.iter().flatten() {
        match outcomes.last_mut().filter(|last| last.job.report_group == job.report_group) {
            Some(last) => last.job.threads += job.threads,
            None => outcomes.push(Outcome { job: job.clone(), ..Outcome::default() }),
        }
    }
    outcomes
}

fn control<'a>(audience: &'a dyn Audience, report: &'a (dyn Fn(&Progress) + Sync)) -> Control<'a> {
    Control {
        stop: audience.stop(),
        progress: audience.watches().then_some(report),
        progress_every: Nanos::millis(500),
        ..Control::none()
    }
}

/// Jobs whose files are there and held. Dropped, it removes those that it made and that jobs want to be removed.
struct Laid<'a> {
    target: &'a PathTarget,
    works: Vec<Work>,
    /// Doubts about traces that are replayed.
    doubts: Vec<(Option<Recorded>, Caveat)>,
}

impl Prepared for Laid<'_> {
    fn name(&self) -> TargetName {
        self.works[0].target.clone()
    }

    fn storage(&self) -> Storage {
        self.works[0].storage.clone()
    }

    fn run(&self, seed: Option<u64>, wanted: Wanted, audience: &dyn Audience) -> Result<Vec<Outcome>> {
        self.run_telling(seed, wanted, audience, None)
    }
}

impl Laid<'_> {
    fn run_telling(
        &self,
        seed: Option<u64>,
        wanted: Wanted,
        audience: &dyn Audience,
        status: Option<Status<'_>>,
    ) -> Result<Vec<Outcome>> {
        let jobs: Vec<Job> = self.works.iter().map(|work| work.job.clone()).collect();
        let seeded = |(job, work): (Job, &Work)| Work { job, ..work.clone() };
        let works: Vec<Work> = reseeded(&jobs, seed).into_iter().zip(&self.works).map(seeded).collect();
        let report = |progress: &Progress| audience.progress(progress);
        let control = Control { status, ..control(audience, &report) };
        let _switched = schedulers::switch(&works)?;
        let Some(first) = works.first().filter(|_| wanted.any()) else {
            return Ok(self.doubted(crate::run(&works, &control)?));
        };
        let ladder = self.target.ladder.get_or_init(iostack_attribute::ladder::probe);
        let tracing = Tracing::attach(wanted, self.target.options.rules, &first.storage, ladder)?;
        let observer = tracing.observer();
        let mut outcomes = crate::run(&works, &Control { observer: Some(&observer), ..control })?;
        tracing.finish(&mut outcomes);
        Ok(self.doubted(outcomes))
    }

    /// The outcomes with the doubts about the traces that were replayed.
    fn doubted(&self, mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
        for outcome in &mut outcomes {
            let own = self.doubts.iter().filter(|(recorded, _)| *recorded == outcome.job.recorded);
            outcome.caveats.extend(own.map(|(_, doubt)| doubt.clone()));
            let behind = self.works.iter().find_map(|work| recorded::behind(work, outcome));
            outcome.caveats.extend(behind);
        }
        outcomes
    }
}

impl Drop for Laid<'_> {
    fn drop(&mut self) {
        let unlinked = self.works.iter().filter(|work| work.job.unlink);
        for held in unlinked.flat_map(|work| work.files.iter().flatten()).filter(|held| held.is_made()) {
            let _ = held.remove();
        }
    }
}
