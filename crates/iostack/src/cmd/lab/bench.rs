//! `iostack lab bench`: the survey, every device of the lab side by side.

use std::path::PathBuf;

use anyhow::bail;
use iostack_host::save::{self, Output};
use iostack_lab::Lab;
use iostack_lab::devices;
use iostack_lab::guest::{Door, Way};
use iostack_lab::targets::{self as lab, LabFlags};
use iostack_model::Direction;
use iostack_model::answers::{ClockPrices, IoCost, labelled_each};
use iostack_report::{CostDetail, iocost};
use iostack_validation::count::Counter;
use iostack_validation::count::spec::Spec;

use crate::exit::Ended;
use crate::talk::{self, Talk};
use crate::written;

/// Arguments of `iostack lab bench`.
#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    /// Devices (`iostack lab list`); none: all of them.
    device: Vec<String>,
    /// Kernels, with a comma: series of the distribution's packages, or
    /// folders.
    #[arg(long, value_name = "KERNELS", value_delimiter = ',', default_value = "6.1")]
    kernel: Vec<String>,
    /// Every figure, as JSON: for iostack repro --costs.
    #[arg(long)]
    json: bool,
    /// Write an HTML report to a new file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
}

/// Counts and prints. Exit 1 when a device could not be counted.
pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<Ended> {
    save::refuse(Output::new("--html", args.html.as_ref()))?;
    let talk = Talk::new(args.quiet);
    let specs = specs(args);
    for spec in &specs {
        spec.request()?;
    }
    let say = |text: &str| talk.say(text);
    let lab = Lab::open(&say, iostack_host::signals::stop_flag())?;
    let counter = Counter { lab, talk: &talk, boots: 1, prices: ClockPrices::default() };
    let each = counter.each(&specs, true)?;
    let all = each.len();
    let costs: Vec<IoCost> = each.into_iter().filter_map(Result::ok).collect();
    if costs.is_empty() {
        bail!("not one device could be counted; `iostack lab cost DEVICE` shows one alone");
    }
    let told = iocost(&costs, None, CostDetail::default());
    if args.json {
        talk::data(&written::json(&labelled_each(&costs))?);
    } else {
        talk::data(&told.text());
    }
    written::page(args.html.as_ref(), || told.html(), &talk)?;
    Ok(if costs.len() == all { Ended::Done } else { Ended::FoundProblem })
}

/// Each kernel with each device, read and written, by `psync` and `io_uring`: a boot serves the four.
fn specs(args: &BenchArgs) -> Vec<Spec> {
    let known: Vec<String> = devices::all().iter().map(|device| device.name.clone()).collect();
    let devices = if args.device.is_empty() { &known } else { &args.device };
    let mut specs = Vec::new();
    for kernel in &args.kernel {
        for device in devices {
            for direction in [Direction::Read, Direction::Write] {
                for door in [Door::Psync, Door::IoUring] {
                    let way = Way { door, ..Way::default() };
                    let lab = LabFlags { kernel: Some(kernel.clone()), ..LabFlags::default() };
                    let device = lab::device(device).unwrap_or(device).to_owned();
                    specs.push(Spec { device, lab, direction, way, ..Spec::plain() });
                }
            }
        }
    }
    specs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_is_counted_four_ways_on_each_kernel() {
        let args = |device: &[&str]| BenchArgs {
            device: device.iter().map(|&name| name.to_owned()).collect(),
            kernel: vec!["6.1".to_owned(), "6.12".to_owned()],
            json: false,
            html: None,
            quiet: true,
        };
        assert_eq!(specs(&args(&["lab:brd"])).len(), 8);
        assert_eq!(specs(&args(&[])).len(), 8 * devices::all().len());
        assert!(specs(&args(&[])).iter().all(|spec| spec.request().is_ok()));
    }
}
