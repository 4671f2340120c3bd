//! From the axes to one task a point.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use iostack_model::answers::SweepAxis;
use iostack_target::Targets;
use iostack_workload::gather;

use super::axis::{self, is_parameter};
use super::command::{self, Parts};
use super::pool::Task;
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

/// A point: its settings, the command that runs it alone, and the task.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Settings, each a key and a value.
    pub settings: Vec<(String, String)>,
    /// Command that gives the same alone.
    pub command: String,
    /// Task that runs it.
    pub task: Task,
}

/// The axes and every point of them. What is wrong with all points is an error at once; a value that only some points
/// cannot have is an error of those.
pub fn plan(base: &Base<'_>, vary: &[String]) -> anyhow::Result<(Vec<SweepAxis>, Vec<Planned>)> {
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
    gather::gather(base.jobs, base.sections, &[], false, base.cpus)?;
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
    let targets = base.targets;
    let device = settings
        .iter()
        .find(|(key, _)| key == SweepAxis::DEVICE)
        .map_or(device, |(_, value)| value)
        .to_owned();
    let mut changes = base.changes.to_vec();
    let mut options = base.options.to_vec();
    for (key, value) in settings.iter().filter(|(key, _)| key != SweepAxis::DEVICE) {
        let list = if is_parameter(key) { &mut changes } else { &mut options };
        list.retain(|(other, _)| other != key);
        list.push((key.clone(), value.clone()));
    }
    in_order(&mut options);
    let jobs = gather::gather(base.jobs, base.sections, &options, false, base.cpus);
    let jobs = jobs.map(|gathered| gathered.jobs).map_err(|error| format!("{error:#}"));
    let parts = Parts {
        jobs: base.jobs,
        sections: base.sections,
        device: &device,
        changes: &changes,
        options: &options,
    };
    let command = command::of(&parts, targets);
    let steady =
        base.jobs.is_empty() && !steady::ends(&options) && targets.kind(&targets.word(&device)).has_numbers;
    Planned { settings, command, task: Task { device, changes, jobs, steady } }
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
        assert_eq!(last.task.changes, [("zero.latency".to_owned(), "20us".to_owned())]);
        assert_eq!(last.task.jobs.as_ref().expect("sound")[0].queue_depth, 8);
        assert_eq!(
            last.command,
            "iostack run --on sim:zero --set zero.latency=20us --engine libaio --queue-depth 8"
        );
    }

    #[test]
    fn options_are_applied_in_the_order_of_the_table_whatever_is_varied_first() {
        // `poisson` makes sense only once there is a rate.
        let asked = vary(&["arrival=poisson", "rate=1k,2k"]);
        let (_, points) = plan(&base("zero", &[]), &asked).expect("sound");
        assert!(points.iter().all(|point| point.task.jobs.is_ok()), "{points:?}");
    }

    #[test]
    fn a_value_that_makes_no_sense_is_an_error_of_its_point() {
        let (_, points) = plan(&base("zero", &[]), &vary(&["queue_depth=0,1"])).expect("the key is right");
        let error = points[0].task.jobs.as_ref().expect_err("depth 0");
        assert!(error.contains("queue_depth=0"), "{error}");
        assert!(points[1].task.jobs.is_ok());
    }
}
