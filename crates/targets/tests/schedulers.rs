//! Jobs that ask for a scheduler have it while they run, on a real device.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use iostack_model::{Job, Nanos, OutcomeFile, Progress};
use iostack_target::{Audience, Wanted};
use iostack_targets::{AllHeld, Options, TargetFlags, open};
use iostack_testkit::{Loop, folder, or_skip};

/// Looks again and again which scheduler there is.
struct Onlooker<'a> {
    device: &'a Path,
    seen: Mutex<Vec<String>>,
    stop: AtomicBool,
}

impl Audience for Onlooker<'_> {
    fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    fn watches(&self) -> bool {
        true
    }

    fn progress(&self, _: &Progress) {
        self.seen.lock().expect("nobody panics").push(used(self.device));
    }
}

/// Scheduler of the device and the others there are to choose.
fn schedulers(device: &Path) -> (String, Vec<String>) {
    let queue = iostack_host::storage(device).expect("it is there").devices.remove(0).queue;
    let others = queue.schedulers.into_iter().filter(|name| *name != queue.scheduler).collect();
    (queue.scheduler, others)
}

fn used(device: &Path) -> String {
    schedulers(device).0
}

fn job(scheduler: Option<&str>, report_group: u32) -> Job {
    let mut job = Job { runtime: Some(Nanos::millis(800)), time_based: true, report_group, ..Job::default() };
    job.host.scheduler = scheduler.map(str::to_owned);
    job
}

/// What each outcome says of the disk.
fn named(file: &OutcomeFile) -> Vec<&str> {
    file.outcomes.iter().map(|outcome| outcome.storage.devices[0].queue.scheduler.as_str()).collect()
}

#[test]
fn jobs_of_one_disk_have_the_scheduler_that_they_ask_for_and_the_outcome_names_it() {
    let name = "jobs_of_one_disk_have_the_scheduler_that_they_ask_for";
    let folder = folder!("scheduler");
    let image = folder.join("image");
    fs::File::create(&image).and_then(|file| file.set_len(1 << 20)).expect("the folder is writable");
    let Some(device) = or_skip(name, Loop::over(&image)) else { return };
    let (before, others) = schedulers(&device);
    let chosen = others.first().map(String::as_str).ok_or_else(|| "there is only one scheduler".to_owned());
    let Some(chosen) = or_skip(name, chosen) else { return };
    let onlooker = Onlooker { device: &device, seen: Mutex::default(), stop: AtomicBool::new(false) };
    let flags = TargetFlags::default();
    let options = Options { flags: &flags, destroy_data: false, rules: None, held: AllHeld::default() };
    let target = open(Some(device.as_os_str()), &options).expect("a device");
    let run = |jobs: &[Job]| target.run(jobs, Wanted::default(), &onlooker);

    let file = run(&[job(Some(chosen), 0), job(Some(chosen), 1), job(None, 2)]).expect("one for all");
    assert_eq!(named(&file), [chosen; 3]);
    let seen = onlooker.seen.lock().expect("nobody panics").clone();
    assert!(!seen.is_empty() && seen.iter().all(|name| name == chosen), "{seen:?}, not {chosen}");
    assert_eq!(used(&device), before, "it is put back");

    let error = run(&[job(Some(chosen), 0), job(Some(&before), 1)]).expect_err("a disk has one").to_string();
    assert!(error.contains("one scheduler at a time") && error.contains("stonewall"), "{error}");
    let behind = Job { stonewall: true, ..job(Some(&before), 1) };
    let file = run(&[job(Some(chosen), 0), behind]).expect("one after the other");
    assert_eq!(named(&file), [chosen, before.as_str()]);
}
