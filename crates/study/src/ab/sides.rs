//! What are the two?
//!
//! Both begin as the same jobs, options and target; `--a KEY=VALUE` and `--b KEY=VALUE` change one side. A key is an option
//! of the job, `on` for the target, `scheduler` for that of the device below, or, with a dot, a number of a simulated device.

use std::path::PathBuf;

use anyhow::{bail, ensure};
use iostack_model::{Job, LogRequest, Nanos, VerifyMode};
use iostack_target::{EXAMPLE, Targets, changes};
use iostack_workload::gather;

use super::answer::AbQuestion;
use crate::sweep::axis::is_parameter;
use crate::sweep::plan::{in_order, put};
use crate::what_if::chain;

/// One side, before anything is looked up in the world.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Side {
    /// Changes that set it apart, as typed.
    pub(crate) name: String,
    pub(crate) jobs: Vec<Job>,
    pub(crate) on: Option<String>,
    pub(crate) changes: Vec<(String, String)>,
}

/// Options that say how long and with which draws: both sides must have them alike.
const SHARED: [&str; 3] = ["runtime", "seed", "time_based"];

/// The two sides, whose runs take `run`; `cpus` is what `$ncpus` means in job files.
pub(crate) fn sides(
    asked: &AbQuestion,
    cpus: u32,
    run: Nanos,
    targets: &dyn Targets,
) -> anyhow::Result<[Side; 2]> {
    ensure!(
        asked.jobs.len() <= 2,
        "{} job files were named; name one for both sides, or one for A and one for B",
        asked.jobs.len()
    );
    let sides = [side(asked, 0, (cpus, run), targets)?, side(asked, 1, (cpus, run), targets)?];
    let [a, b] = sides.each_ref().map(|side| targets.kind(side.on.as_deref().unwrap_or_default()).name);
    ensure!(a == b, "A is {a} and B is {b}: their figures are not compared; name two targets of one kind");
    Ok(sides)
}

fn side(
    asked: &AbQuestion,
    number: usize,
    (cpus, run): (u32, Nanos),
    targets: &dyn Targets,
) -> anyhow::Result<Side> {
    let (flag, own) = [("--a", &asked.a), ("--b", &asked.b)][number];
    let changes = changes(&asked.set, EXAMPLE)?;
    let mut side = Side { name: String::new(), jobs: Vec::new(), on: asked.on.clone(), changes };
    let mut scheduler = None;
    let mut options: Vec<(String, String)> =
        asked.options.iter().filter(|(name, _)| !SHARED.contains(&name.as_str())).cloned().collect();
    for text in own {
        let (key, value) = setting(flag, text)?;
        match key.as_str() {
            "on" => side.on = Some(value),
            "scheduler" => scheduler = Some(value),
            key if is_parameter(key) => put(&mut side.changes, key, &value),
            key => put(&mut options, key, &value),
        }
    }
    in_order(&mut options);
    let file = asked.jobs.get(number).or(asked.jobs.first());
    let files: Vec<PathBuf> = file.cloned().into_iter().collect();
    side.jobs = gather::gather(&files, &asked.section, &options, false, cpus)?.jobs;
    one_load(&side.jobs)?;
    side.jobs.iter_mut().for_each(|job| shorten(job, run));
    check_target(&side, scheduler.as_deref(), targets)?;
    if scheduler.is_some() {
        side.jobs.iter_mut().for_each(|job| job.host.scheduler.clone_from(&scheduler));
    }
    side.name = name(&side, file.filter(|_| asked.jobs.len() == 2), own);
    Ok(side)
}

/// `KEY=VALUE`, the key as our own table has it.
fn setting(flag: &str, text: &str) -> anyhow::Result<(String, String)> {
    let Some((key, value)) = text.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty())
    else {
        bail!(
            "`{flag} {text}` is no setting; write it like {flag} queue_depth=8, {flag} on=/mnt/b or {flag} scheduler=none"
        );
    };
    let key = key.trim().trim_start_matches('-');
    let key = if is_parameter(key) { key.to_owned() } else { key.replace('-', "_") };
    ensure!(
        !SHARED.contains(&key.as_str()),
        "`{flag} {text}`: both sides run equally long and with the same draws; give --{} for both",
        key.replace('_', "-")
    );
    Ok((key, value.trim().to_owned()))
}

/// All jobs of a side run at the same time, each time anew.
fn one_load(jobs: &[Job]) -> anyhow::Result<()> {
    if let Some(job) = jobs.iter().skip(1).find(|job| job.stonewall) {
        bail!(
            "job `{}` waits for those before it; a run of `ab` is one load: pick it with --section",
            job.name
        );
    }
    let verifies = |job: &&Job| job.verify.is_some_and(|verify| verify.mode == VerifyMode::ReadOnly);
    if let Some(job) = jobs.iter().find(verifies) {
        bail!(
            "job `{}` only verifies what another run wrote, and each run of `ab` has its own seed; leave verify out",
            job.name
        );
    }
    Ok(())
}

/// Runs are short and many: time ends them, and they write no logs.
fn shorten(job: &mut Job, run: Nanos) {
    job.runtime = Some(run);
    job.time_based = true;
    job.stonewall = false;
    job.logs = LogRequest::default();
    job.slice = Nanos((run.0 / 20).max(25_000_000));
}

fn check_target(side: &Side, scheduler: Option<&str>, targets: &dyn Targets) -> anyhow::Result<()> {
    let kind = targets.kind(side.on.as_deref().unwrap_or_default());
    if let Some((key, _)) = side.changes.first().filter(|_| !kind.has_options) {
        bail!(
            "`{key}` is a number of a simulated device; name one with --on sim:DEVICE (`iostack sim list`)"
        );
    }
    if let Some(scheduler) = scheduler.filter(|_| !kind.switches_schedulers) {
        bail!(
            "`scheduler={scheduler}` is for real devices; a platform's scheduler is a number of it (`iostack sim show`)"
        );
    }
    Ok(())
}

/// Words typed for this side alone, or else its target.
fn name(side: &Side, file: Option<&PathBuf>, own: &[String]) -> String {
    let file = file.map(|path| path.display().to_string());
    let words: Vec<String> = file.into_iter().chain(own.iter().cloned()).collect();
    if words.is_empty() {
        let jobs: Vec<&str> = side.jobs.iter().map(|job| job.name.as_str()).collect();
        return format!("{}, as it is", jobs.join(" and "));
    }
    words.join(" ")
}

/// Nothing was typed that would set them apart.
pub(crate) fn are_alike(sides: &[Side; 2]) -> bool {
    let [a, b] = sides;
    chain::are_alike(&a.jobs, &b.jobs) && (&a.on, &a.changes) == (&b.on, &b.changes)
}

#[cfg(test)]
mod tests {
    use iostack_model::Machine;
    use iostack_sim::targets::{SIMULATED, Simulations};
    use iostack_target::{AnyTarget, Description, Kind, Ratings};

    use super::*;

    const RUN: Nanos = Nanos::millis(500);

    struct Both;

    impl Targets for Both {
        fn kind(&self, on: &str) -> Kind {
            match on.split_once(':') {
                Some(("sim", _)) => SIMULATED,
                Some(("lab", _)) => Kind { name: "of the lab", switches_schedulers: true, ..SIMULATED },
                _ => Kind { name: "real", has_options: false, switches_schedulers: true, ..SIMULATED },
            }
        }

        fn word(&self, typed: &str) -> String {
            Simulations.word(typed)
        }

        fn bare<'a>(&self, typed: &'a str) -> &'a str {
            Simulations.bare(typed)
        }

        fn open(&self, on: Option<&str>, changes: &[(String, String)]) -> anyhow::Result<AnyTarget> {
            Simulations.open(on, changes)
        }

        fn flag(&self, change: &(String, String)) -> [String; 2] {
            Simulations.flag(change)
        }

        fn machine(&self) -> Machine {
            Simulations.machine()
        }

        fn give_end(&self, job: &mut Job, target: &Description) -> anyhow::Result<Option<String>> {
            Simulations.give_end(job, target)
        }

        fn ratings(&self, name: &str) -> anyhow::Result<Ratings> {
            Simulations.ratings(name)
        }
    }

    fn typed(a: &[&str], b: &[&str]) -> AbQuestion {
        let [a, b] = [a, b].map(|list| list.iter().map(|&text| text.to_owned()).collect());
        AbQuestion { on: Some("/mnt".to_owned()), a, b, ..AbQuestion::default() }
    }

    fn sides_of(asked: &AbQuestion) -> anyhow::Result<[Side; 2]> {
        sides(asked, 2, RUN, &Both)
    }

    fn refused(asked: &AbQuestion) -> String {
        sides_of(asked).expect_err("refused").to_string()
    }

    #[test]
    fn a_setting_changes_its_side_and_nothing_else() {
        let [a, b] = sides_of(&typed(&[], &["queue-depth=8", "engine=libaio", "on=/other"])).expect("sound");
        assert_eq!((a.jobs[0].queue_depth, b.jobs[0].queue_depth), (1, 8));
        assert_eq!((a.on.as_deref(), b.on.as_deref()), (Some("/mnt"), Some("/other")));
        assert_eq!(
            (a.name.as_str(), b.name.as_str()),
            ("job, as it is", "queue-depth=8 engine=libaio on=/other")
        );
        assert!(!are_alike(&[a.clone(), b]) && are_alike(&[a.clone(), a]));
    }

    #[test]
    fn a_side_s_own_option_stands_instead_of_that_of_both() {
        let mut asked = typed(&["block_size=8k"], &[]);
        asked.options =
            vec![("block_size".to_owned(), "16k".to_owned()), ("runtime".to_owned(), "9s".to_owned())];
        let [a, b] = sides_of(&asked).expect("sound");
        let size = |side: &Side| side.jobs[0].block_sizes.largest().0;
        assert_eq!((size(&a), size(&b)), (8192, 16384));
        assert!([a, b].iter().all(|side| side.jobs[0].runtime == Some(RUN) && side.jobs[0].time_based));
    }

    #[test]
    fn numbers_of_a_device_and_a_scheduler_find_their_place() {
        let mut asked = typed(&["flash.dies=4"], &[]);
        asked.on = Some("sim:tlc-1t".to_owned());
        let [a, b] = sides_of(&asked).expect("sound");
        assert_eq!((a.changes.len(), b.changes.len()), (1, 0));
        let [a, _] = sides_of(&typed(&["scheduler=none"], &[])).expect("sound");
        assert_eq!(a.jobs[0].host.scheduler.as_deref(), Some("none"));
    }

    #[test]
    fn what_cannot_be_compared_in_turns_is_refused_with_the_remedy() {
        for (a, said) in [
            (&["queue_depth"][..], "`--a queue_depth` is no setting; write it like --a queue_depth=8"),
            (&["=8"], "is no setting"),
            (&["seed=8"], "give --seed for both"),
            (&["runtime=8s"], "give --runtime for both"),
            (&["on=sim:tlc-1t"], "A is simulated and B is real"),
            (&["on=lab:brd"], "A is of the lab and B is real"),
            (&["flash.dies=4"], "`flash.dies` is a number of a simulated device"),
            (&["on=sim:tlc-1t", "scheduler=none"], "is for real devices"),
        ] {
            let error = refused(&typed(a, &[]));
            assert!(error.contains(said), "{a:?}: {error}");
        }
        let three = AbQuestion { jobs: vec!["a".into(), "b".into(), "c".into()], ..typed(&[], &[]) };
        assert!(refused(&three).contains("3 job files were named"));
    }

    #[test]
    fn jobs_that_wait_for_each_other_are_not_one_load() {
        let first = Job { stonewall: true, ..Job::default() };
        assert!(one_load(std::slice::from_ref(&first)).is_ok(), "there is none before it");
        let error = one_load(&[first.clone(), first]).expect_err("two loads").to_string();
        assert!(error.contains("pick it with --section"), "{error}");
    }
}
