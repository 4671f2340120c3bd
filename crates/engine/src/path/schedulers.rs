//! Jobs that ask for an I/O scheduler of the disk below them: it has it while they run, and its own again after them.

use crate::Work;
use anyhow::{Context, ensure};
use iostack_host::{Journal, SettingGuard};
use iostack_model::{BlockDevice, Storage};

/// Notes in each job's storage the scheduler that its disk will have, for all jobs that share the disk. Refuses what
/// cannot be: two schedulers for one disk, or no disk.
pub(crate) fn choose(works: &mut [Work]) -> anyhow::Result<()> {
    for (device, name) in asked(works)? {
        for storage in works.iter_mut().map(|work| &mut work.storage) {
            let same = storage.devices.iter_mut().filter(|other| other.name == device);
            same.for_each(|other| other.queue.scheduler.clone_from(&name));
        }
    }
    Ok(())
}

/// Switches each disk once, until the guards are dropped.
pub(crate) fn switch(works: &[Work]) -> anyhow::Result<Vec<SettingGuard>> {
    let asked = asked(works)?;
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let journal =
        Journal::open().context("a changed scheduler cannot be noted anywhere, so none is changed")?;
    let switch = |(device, name): &(String, String)| iostack_host::set_scheduler(device, name, &journal);
    Ok(asked.iter().map(switch).collect::<Result<_, _>>()?)
}

/// Disk and scheduler, each disk once.
fn asked(works: &[Work]) -> anyhow::Result<Vec<(String, String)>> {
    let mut asked: Vec<(String, String)> = Vec::new();
    for work in works {
        let Some(name) = &work.job.host.scheduler else { continue };
        let device = scheduled(&work.storage).with_context(|| {
            format!("`ioscheduler={name}`: there is no block device below job `{}`", work.job.name)
        })?;
        match asked.iter().find(|(other, _)| *other == device.name) {
            Some((_, before)) => ensure!(
                before == name,
                "`ioscheduler={name}`: job `{}` shares {} with one that asks for {before}, and a disk has one scheduler \
                 at a time; let them run one after the other (stonewall)",
                work.job.name,
                device.name
            ),
            None => asked.push((device.name.clone(), name.clone())),
        }
    }
    Ok(asked)
}

/// The disk whose scheduler orders the I/O; where none has a choice, the last, which then says so itself.
fn scheduled(storage: &Storage) -> Option<&BlockDevice> {
    storage.scheduled().or(storage.bottom())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::{Job, Queue, TargetKind, TargetName};

    fn work(device: &str, scheduler: Option<&str>) -> Work {
        let queue = Queue { schedulers: vec!["none".into(), "kyber".into()], ..Queue::default() };
        let mut job = Job::default();
        job.host.scheduler = scheduler.map(str::to_owned);
        let device = BlockDevice { name: device.to_owned(), queue, ..BlockDevice::default() };
        let target = TargetName { kind: TargetKind::Block, path: "/dev/sda".into() };
        Work {
            job,
            target,
            storage: Storage { file_system: None, devices: vec![device] },
            files: Vec::new(),
            recording: None,
        }
    }

    #[test]
    fn jobs_that_share_a_disk_share_its_scheduler() {
        let mut works =
            [work("sda", Some("kyber")), work("sda", None), work("sdb", None), work("sda", Some("kyber"))];
        choose(&mut works).expect("one disk, one scheduler");
        let seen = works.each_ref().map(|work| work.storage.devices[0].queue.scheduler.as_str());
        assert_eq!(seen, ["kyber", "kyber", "", "kyber"]);
        assert_eq!(asked(&works).expect("as before").len(), 1, "the disk is switched once");
    }

    #[test]
    fn two_schedulers_for_one_disk_are_refused() {
        let error = choose(&mut [work("sda", Some("kyber")), work("sda", Some("none"))]).expect_err("two");
        assert!(error.to_string().contains("shares sda with one that asks for kyber"), "{error}");
        choose(&mut [work("sda", Some("kyber")), work("sdb", Some("none"))]).expect("two disks");
    }
}
