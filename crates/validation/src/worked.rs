//! Experiments of the lab that run jobs there.
//!
//! A point is a job on a device of the lab, in virtual time. Points that differ in nothing but their jobs and in settings of the
//! device (`sysfs.PATH`) are done in one boot. Start reading at [`run`].

use iostack_lab::targets::{self as lab, LabFlags, Leg};
use iostack_model::answers::Reproduced;
use iostack_serve::lab::BROUGHT;
use iostack_target::{Audience, Targets};

use super::experiment::Experiment;
use super::gather::{self, Planned};
use iostack_study::sweep::pool::{self, Given, Task};
use iostack_study::sweep::watch::parallel;

/// Prefix of a change that is no parameter of the driver's but a file of the device's.
const SYSFS: &str = "sysfs.";

/// Work of one boot.
#[derive(Debug, PartialEq)]
struct Boot {
    device: String,
    /// Keys and values of `lab.`.
    flags: Vec<(String, String)>,
    /// `NAME=VALUE` of the driver's.
    set: Vec<String>,
    legs: Vec<Leg>,
    /// Numbers of its points.
    places: Vec<usize>,
    /// Nothing else is done in it.
    alone: bool,
}

/// Boots as often as needed, and judges.
pub(crate) fn run(
    experiment: &Experiment,
    targets: &dyn Targets,
    talk: &dyn Audience,
) -> anyhow::Result<Reproduced> {
    let planned: Vec<Planned> =
        experiment.curves.iter().flat_map(|curve| gather::plan(curve, targets)).collect();
    let mut given: Vec<Option<Given>> = planned.iter().map(|_| None).collect();
    let tasks: Vec<&Task> = planned.iter().map(|point| &point.task).collect();
    for (index, task) in tasks.iter().enumerate() {
        if let Err(error) = &task.jobs {
            given[index] = Some(Err(error.clone()));
        }
    }
    let simulated: Vec<usize> = (0..tasks.len()).filter(|&index| !is_in_lab(tasks[index])).collect();
    let without_lab: Vec<Task> = simulated.iter().map(|&index| tasks[index].clone()).collect();
    let ran = pool::run(&without_lab, (parallel(None), targets), talk.stop(), &mut |_, _| {});
    for (index, one) in simulated.into_iter().zip(ran) {
        given[index] = one;
    }
    let alone: Vec<bool> = planned.iter().map(|point| point.anew).collect();
    for Boot { device, flags, set, legs, places, .. } in boots(&tasks, &alone) {
        let files = lab::execute_legs(&device, &LabFlags::from_pairs(&flags)?, &set, legs, BROUGHT, talk)?;
        for (place, file) in places.into_iter().zip(files) {
            given[place] = Some(Ok(file.outcomes));
        }
    }
    Ok(gather::simulated(experiment, &planned, &given))
}

/// Others are simulated, to be beside those.
fn is_in_lab(task: &Task) -> bool {
    lab::device(&task.device).is_some()
}

/// Boots for these points, each with those that go together.
fn boots(tasks: &[&Task], alone: &[bool]) -> Vec<Boot> {
    let mut boots: Vec<Boot> = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        let Ok(jobs) = &task.jobs else { continue };
        if !is_in_lab(task) {
            continue;
        }
        let (mut set, mut settings, mut flags) = (Vec::new(), Vec::new(), Vec::new());
        for (key, value) in &task.changes {
            match key.strip_prefix(SYSFS) {
                Some(path) => settings.push((path.to_owned(), value.clone())),
                None if lab::flag(key).is_some() => flags.push((key.clone(), value.clone())),
                None => set.push(format!("{key}={value}")),
            }
        }
        let leg = Leg { settings, jobs: jobs.clone() };
        let alone = alone[place];
        let is_alike = |boot: &&mut Boot| {
            !alone && !boot.alone && boot.device == task.device && boot.set == set && boot.flags == flags
        };
        if let Some(boot) = boots.iter_mut().find(is_alike) {
            boot.legs.push(leg);
            boot.places.push(place);
        } else {
            let (device, legs, places) = (task.device.clone(), vec![leg], vec![place]);
            boots.push(Boot { device, flags, set, legs, places, alone });
        }
    }
    boots
}

#[cfg(test)]
mod tests {
    use iostack_study::sweep::pool::RunWindow;

    use super::*;

    fn task(changes: &[(&str, &str)]) -> Task {
        let changes = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        Task { device: "lab:tmerge".to_owned(), changes, jobs: Ok(Vec::new()), window: RunWindow::Own }
    }

    #[test]
    fn points_that_differ_in_settings_alone_boot_once() {
        let tasks = [
            task(&[("fixed_ns", "7"), ("sysfs.tmerge/subsystem", "stm")]),
            task(&[("fixed_ns", "8"), ("sysfs.tmerge/subsystem", "stm")]),
            task(&[("fixed_ns", "7"), ("sysfs.tmerge/subsystem", "atm")]),
            task(&[("fixed_ns", "7"), ("lab.file_system", "ext4")]),
            task(&[("fixed_ns", "7"), ("lab.file_system", "ext4")]),
            Task { device: "tmerge".to_owned(), ..task(&[]) },
        ];
        let tasks: Vec<&Task> = tasks.iter().collect();
        let alone = [false, false, false, false, true, false];
        let boots = boots(&tasks, &alone);
        assert_eq!(
            boots.iter().map(|boot| &boot.places[..]).collect::<Vec<_>>(),
            [&[0, 2][..], &[1], &[3], &[4]]
        );
        assert_eq!(boots[0].set, ["fixed_ns=7"]);
        let flags = LabFlags::from_pairs(&boots[2].flags).expect("they are flags");
        assert_eq!(
            (flags.file_system.as_deref(), &boots[2].set[..]),
            (Some("ext4"), &["fixed_ns=7".to_owned()][..])
        );
        assert_eq!(boots[0].legs[1].settings, [("tmerge/subsystem".to_owned(), "atm".to_owned())]);
    }
}
