//! `iostack lab cost DEVICE`: the exact instructions of one I/O.

use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use iostack_host::save::{self, Output};
use iostack_lab::Lab;
use iostack_lab::cost::budget;
use iostack_lab::cost::diff;
use iostack_lab::devices;
use iostack_lab::targets::{self as lab, LabFlags};
use iostack_model::Bytes;
use iostack_model::answers::{Answer, ClockPrices, CostDiff, IoCost, labelled, labelled_each};
use iostack_report::{CostDetail, iocost};
use iostack_validation::count::Counter;
use iostack_validation::count::spec::{self, Spec};

use super::held::Budgets;
use crate::exit::Ended;
use crate::stored;
use crate::talk::{self, Talk};
use crate::written;

/// Arguments of `iostack lab cost`.
#[derive(clap::Args)]
pub(crate) struct CostArgs {
    /// Devices (`iostack lab list`), or folders with drivers, such as
    /// ./mydriver; several are laid side by side.
    #[arg(required_unless_present = "assert")]
    device: Vec<String>,
    /// read, write, or both with a comma.
    #[arg(long, value_name = "OPS", value_delimiter = ',', default_value = "read")]
    op: Vec<String>,
    /// `psync`, `libaio` or `io_uring`, several with a comma; `+files`,
    /// `+buffers`, `+poll`, `+sqpoll`, `+reap`, `+cached`, `+flush` and a
    /// batch (`/8`) behind it: docs/lab.md.
    #[arg(long, value_name = "ENGINES", value_delimiter = ',', default_value = "psync")]
    engine: Vec<String>,
    /// Size of an I/O.
    #[arg(long, value_name = "SIZE", default_value = "4k")]
    block_size: Bytes,
    /// Through the page cache instead of `O_DIRECT`.
    #[arg(long)]
    buffered: bool,
    /// I/Os to count.
    #[arg(long, value_name = "COUNT", default_value_t = 1000)]
    ios: u32,
    /// Boots: the count must be the same in each.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    boots: u32,
    /// Option of the device's driver, such as copy=0; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Count twice and show what differs: each side is changes such as
    /// kernel=6.12,op=write (`.`: none), or the file of an earlier --json.
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    diff: Vec<String>,
    /// Hold the costs to this file; exit 1 when one grew.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["diff", "device"])]
    assert: Option<PathBuf>,
    /// Write a file for --assert from what was counted.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["diff", "assert"])]
    write: Option<PathBuf>,
    /// With --write: hold only to the driver's own functions, so that the
    /// file outlives a new release of the kernel.
    #[arg(long, requires = "write")]
    driver_only: bool,
    /// Show the calls of the I/O.
    #[arg(long)]
    tree: bool,
    /// Every function, not only the largest.
    #[arg(long)]
    full: bool,
    /// Clocks of an instruction, for the modelled clocks.
    #[arg(long, value_name = "CLOCKS", default_value_t = ClockPrices::default().cpi)]
    cpi: f64,
    /// Clocks of a register read, for the modelled clocks.
    #[arg(long, value_name = "CLOCKS", default_value_t = ClockPrices::default().mmio_read)]
    mmio_read: f64,
    /// Every figure, as JSON.
    #[arg(long)]
    json: bool,
    /// Write an HTML report to a new file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    lab: LabFlags,
}

/// Counts and prints. Exit 1 when a budget is exceeded.
pub(crate) fn run(args: &CostArgs) -> anyhow::Result<Ended> {
    ensure!((1..=3500).contains(&args.ios), "`--ios {}` cannot be counted; choose 1 to 3500", args.ios);
    ensure!(args.boots > 0, "`--boots 0` counts nothing; choose 1 or more");
    let html = Output::new("--html", args.html.as_ref());
    save::refuse(html.into_iter().chain(Output::new("--write", args.write.as_ref())))?;
    let talk = Talk::new(args.quiet);
    if let Some(file) = &args.assert {
        return assert_costs(args, file, &talk);
    }
    let specs = specs(args)?;
    if let [a, b] = args.diff.as_slice() {
        return differ(args, &specs, [a, b], &talk);
    }
    for spec in &specs {
        spec.request()?;
    }
    let costs = count(args, &specs, &talk)?;
    // What cannot be written does not keep the rest from being so.
    let kept = args.write.as_ref().map_or(Ok(()), |path| {
        save::new_file(path, &budget::write(&costs, args.driver_only))?;
        talk.say(&format!("costs: {} (hold later runs to it with --assert)", path.display()));
        Ok(())
    });
    write(args, &costs, None, &talk).and(kept)?;
    Ok(Ended::Done)
}

/// Every device with every operation and engine.
fn specs(args: &CostArgs) -> anyhow::Result<Vec<Spec>> {
    let mut specs = Vec::new();
    for device in &args.device {
        let (device, source) =
            devices::meant(lab::device(device).unwrap_or(device), args.lab.source.as_deref())?;
        let lab = LabFlags { source, ..args.lab.clone() };
        for op in &args.op {
            for engine in &args.engine {
                specs.push(Spec {
                    device: device.clone(),
                    set: args.set.clone(),
                    lab: lab.clone(),
                    direction: spec::direction(op)?,
                    way: spec::way(engine)?,
                    buffered: args.buffered,
                    block_bytes: args.block_size.0,
                    ios: args.ios,
                });
            }
        }
    }
    Ok(specs)
}

fn count(args: &CostArgs, specs: &[Spec], talk: &Talk) -> anyhow::Result<Vec<IoCost>> {
    if specs.is_empty() {
        return Ok(Vec::new());
    }
    let say = |text: &str| talk.say(text);
    let lab = Lab::open(&say, iostack_host::signals::stop_flag())?;
    let prices = ClockPrices { cpi: args.cpi, mmio_read: args.mmio_read, ..ClockPrices::default() };
    Counter { lab, talk, boots: args.boots, prices }.count(specs)
}

fn differ(args: &CostArgs, specs: &[Spec], sides: [&String; 2], talk: &Talk) -> anyhow::Result<Ended> {
    let [base] = specs else {
        bail!("--diff compares one case with another; name one device, one --op and one --engine");
    };
    let (mut planned, mut known) = (Vec::new(), Vec::new());
    for side in sides {
        let stored = Path::new(side.as_str());
        known.push(stored.is_file().then(|| stored_cost(stored)).transpose()?);
        if !stored.is_file() {
            let spec = base.changed(side)?;
            spec.request()?;
            planned.push(spec);
        }
    }
    let mut counted = count(args, &planned, talk)?.into_iter();
    let next = |known: Option<IoCost>| known.or_else(|| counted.next()).expect("each side was planned");
    let both: Vec<IoCost> = known.into_iter().map(next).collect();
    let found = diff(&both[0], &both[1]);
    write(args, &both, Some(&found), talk)?;
    Ok(Ended::Done)
}

/// The one cost of a file of an earlier `--json`.
fn stored_cost(path: &Path) -> anyhow::Result<IoCost> {
    let stored = stored::read(path)?;
    ensure!(
        stored.kind == IoCost::KIND,
        "`{}` is of `iostack {}`; --diff compares what `iostack lab cost --json` wrote",
        path.display(),
        stored.kind
    );
    stored.parse()
}

fn assert_costs(args: &CostArgs, file: &Path, talk: &Talk) -> anyhow::Result<Ended> {
    let budgets = Budgets::read(file)?;
    let costs = count(args, &budgets.specs(&args.lab, args.ios)?, talk)?;
    let verdicts = budgets.verdicts(&costs);
    talk::data(&iostack_report::budgets(&verdicts).text());
    for (budget, cost) in budgets.all.iter().zip(&costs) {
        let varying = budget::varying(budget, cost);
        if !varying.is_empty() {
            talk.say(&format!(
                "{}: not the same in all I/Os, so that {} more pass: {}; each other figure is held to exactly",
                budget.name,
                budget.tolerance,
                varying.join(", ")
            ));
        }
        let counted = budget::counted(budget, cost);
        if counted == 0 {
            let module = budget.module.as_deref().unwrap_or("the kernel");
            talk.warn(&format!(
                "{}: no function of {module} ran, so that nothing was held to it",
                budget.name
            ));
        } else if counted + budget.tolerance < budget.instructions {
            let by = budget.instructions - counted;
            let most = budget::shrunk(budget, cost).pop().map(|one| format!(", also in {}", one.name));
            let most = most.unwrap_or_default();
            talk.say(&format!("{} shrank by {by} instructions{most}; write its budget anew", budget.name));
        }
    }
    written::page(args.html.as_ref(), || iocost(&costs, None, CostDetail::default()).html(), talk)?;
    Ok(if verdicts.iter().all(|verdict| verdict.holds) { Ended::Done } else { Ended::FoundProblem })
}

fn write(args: &CostArgs, costs: &[IoCost], diff: Option<&CostDiff>, talk: &Talk) -> anyhow::Result<()> {
    let told = iocost(costs, diff, CostDetail { full: args.full, tree: args.tree });
    talk::data(&match (args.json, diff) {
        (true, Some(diff)) => written::json(&labelled(diff))?,
        (true, None) => written::json(&labelled_each(costs))?,
        (false, _) => told.text(),
    });
    written::page(args.html.as_ref(), || told.html(), talk)
}
