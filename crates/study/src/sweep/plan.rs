//! From the axes to one task a point.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use iostack_model::answers::SweepAxis;
use iostack_model::{Job, Outcome};
use iostack_target::Targets;
use iostack_workload::gather;

use super::axis::{self, is_parameter};
use super::command::{self, Parts};
use super::pool::{Given, RunWindow, Task};
use crate::what_if::steady;

/// Device and jobs before anything is varied.
#[derive(Clone, Copy)]
pub struct Base<'a> {
    /// The device, or several with commas.
    pub device: &'a str,
    /// Paths of job files.
    pub jobs: &'a [PathBuf],
    /// Sections of them.
    pub sections: &'a [String],
    /// Changed numbers of the device.
    pub changes: &'a [(String, String)],
    /// Options of every job.
    pub options: &'a [(String, String)],
    /// Value of `$ncpus` in job files.
    pub cpus: u32,
    /// Table of targets.
    pub targets: &'a dyn Targets,
}

impl Base<'_> {
    /// Jobs of the files, with the options.
    pub(crate) fn gathered(&self) -> anyhow::Result<Vec<Job>> {
        Ok(gather::gather(self.jobs, self.sections, self.options, false, self.cpus)?.jobs)
    }

    /// The run of these jobs. One without an end is run in steady state, where numbers are what answers.
    pub(crate) fn runnable(&self, gathered: Result<Vec<Job>, String>) -> Runnable {
        let Base { device, jobs, sections, changes, options, targets, .. } = *self;
        let has_numbers = targets.kind(&targets.word(device)).has_numbers;
        let settles = jobs.is_empty() && !steady::ends(options) && has_numbers;
        let window = if settles { RunWindow::Steady } else { RunWindow::Own };
        Runnable {
            command: command::of(&Parts { jobs, sections, device, changes, options }, targets),
            task: Task { device: device.to_owned(), changes: changes.to_vec(), jobs: gathered, window },
        }
    }
}

/// A run, and the command that gives the same alone.
#[derive(Clone, Debug)]
pub(crate) struct Runnable {
    pub(crate) command: String,
    pub(crate) task: Task,
}

impl Runnable {
    /// The command with the window that was found, the outcomes, and the error; neither of a run that was not begun.
    pub(crate) fn ended(self, given: Option<Given>) -> (String, Vec<Outcome>, Option<String>) {
        let (outcomes, error) = match given {
            Some(Ok(outcomes)) => (outcomes, None),
            Some(Err(error)) => (Vec::new(), Some(error)),
            None => (Vec::new(), None),
        };
        (command::in_window(self.command, &self.task, outcomes.last()), outcomes, error)
    }
}

/// A point: its settings, each a key and a value, and its run.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) run: Runnable,
}

/// The axes and every point of them. What is wrong with all points is an error at once; a value that only some points
/// cannot have is an error of those.
pub(crate) fn plan(base: &Base<'_>, vary: &[String]) -> anyhow::Result<(Vec<SweepAxis>, Vec<Planned>)> {
    // Each may be named as elsewhere, `sim:NAME`; `lab:NAME` is what it says.
    let targets = base.targets;
    let names: Vec<&str> = base.device.split(',').map(|name| targets.bare(name.trim())).collect();
    let device = names.join(",");
    let base = &Base { device: &device, ..*base };
    let axes = axis::axes(base.device, vary).map_err(anyhow::Error::msg)?;
    let devices = match axes.first() {
        Some(first) if first.key == SweepAxis::DEVICE => first.values.clone(),
        _ => vec![base.device.to_owned()],
    };
    if let [device] = &devices[..] {
        targets.open(Some(&targets.word(device)), base.changes)?;
    }
    check_keys(&axes, base, &devices)?;
    Base { options: &[], ..*base }.gathered()?;
    let planned =
        axis::product(&axes).into_iter().map(|settings| point(base, &devices[0], settings)).collect();
    Ok((axes, planned))
}

/// A misspelt key would fail every point: it is said before any of them runs.
fn check_keys(axes: &[SweepAxis], base: &Base<'_>, devices: &[String]) -> anyhow::Result<()> {
    let targets = base.targets;
    let options = iostack_workload::native_options();
    for axis in axes.iter().filter(|axis| axis.key != SweepAxis::DEVICE) {
        if is_parameter(&axis.key) {
            for device in devices {
                let word = targets.word(device);
                let target =
                    targets.open(Some(&word), base.changes).with_context(|| format!("device `{device}`"))?;
                // Numbers of a driver are known where it is loaded.
                ensure!(
                    !targets.kind(&word).has_numbers || target.describe().number(&axis.key).is_some(),
                    "`{}` is no number of `{device}`; `iostack sim show {device}` lists them",
                    axis.key
                );
            }
        } else if !options.iter().any(|option| option.name == axis.key) {
            bail!(
                "`{}` is neither an option of a job (`iostack options`) nor a number of a device, which has a dot \
                 (`iostack sim show {}`)",
                axis.key,
                devices[0]
            );
        }
    }
    Ok(())
}

fn point(base: &Base<'_>, device: &str, settings: Vec<(String, String)>) -> Planned {
    let named = settings.iter().find(|(key, _)| key == SweepAxis::DEVICE);
    let device = named.map_or(device, |(_, value)| value);
    let (mut changes, mut options) = (base.changes.to_vec(), base.options.to_vec());
    for (key, value) in settings.iter().filter(|(key, _)| key != SweepAxis::DEVICE) {
        put(if is_parameter(key) { &mut changes } else { &mut options }, key, value);
    }
    in_order(&mut options);
    let own = Base { device, changes: &changes, options: &options, ..*base };
    let run = own.runnable(own.gathered().map_err(|error| format!("{error:#}")));
    Planned { settings, run }
}

/// Gives a key its value, in place of one that it has.
pub(crate) fn put(list: &mut Vec<(String, String)>, key: &str, value: &str) {
    list.retain(|(other, _)| other != key);
    list.push((key.to_owned(), value.to_owned()));
}

/// Sorts options so that those which others refine come first, as when the command is typed.
pub fn in_order(options: &mut [(String, String)]) {
    let known = iostack_workload::native_options();
    options.sort_by_key(|(name, _)| known.iter().position(|option| option.name == name));
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use iostack_sim::targets::Simulations;

    /// One device, without job files.
    pub(crate) fn base<'a>(device: &'a str, options: &'a [(String, String)]) -> Base<'a> {
        Base { device, jobs: &[], sections: &[], changes: &[], options, cpus: 2, targets: &Simulations }
    }

    fn vary(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn a_point_has_its_job_its_device_and_its_command() {
        let options =
            [("engine".to_owned(), "libaio".to_owned()), ("queue_depth".to_owned(), "9".to_owned())];
        let asked = vary(&["queue_depth=4,8", "zero.latency=10us,20us"]);
        let (axes, points) = plan(&base("zero", &options), &asked).expect("sound");
        assert_eq!((axes.len(), points.len()), (2, 4));
        let last = &points[3];
        assert_eq!(last.run.task.changes, [("zero.latency".to_owned(), "20us".to_owned())]);
        assert_eq!(last.run.task.jobs.as_ref().expect("sound")[0].queue_depth, 8);
        assert_eq!(
            last.run.command,
            "iostack run --on sim:zero --set zero.latency=20us --engine libaio --queue-depth 8"
        );
    }

    #[test]
    fn options_are_applied_in_the_order_of_the_table_whatever_is_varied_first() {
        // `poisson` makes sense only once there is a rate.
        let asked = vary(&["arrival=poisson", "rate=1k,2k"]);
        let (_, points) = plan(&base("zero", &[]), &asked).expect("sound");
        assert!(points.iter().all(|point| point.run.task.jobs.is_ok()), "{points:?}");
    }

    #[test]
    fn a_value_that_makes_no_sense_is_an_error_of_its_point() {
        let (_, points) = plan(&base("zero", &[]), &vary(&["queue_depth=0,1"])).expect("the key is right");
        let error = points[0].run.task.jobs.as_ref().expect_err("depth 0");
        assert!(error.contains("queue_depth=0"), "{error}");
        assert!(points[1].run.task.jobs.is_ok());
    }
}
