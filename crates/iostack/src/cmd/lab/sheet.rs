//! `iostack lab sheet KERNEL`: what a kernel costs, counted, as sheets for the simulator.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};
use iostack_host::save::{self, Output};
use iostack_lab::Lab;
use iostack_lab::sheet::clock::{self, RealRead};
use iostack_lab::sheet::{self, Costs, CountedNumber, SheetPart, clocks};
use iostack_lab::targets::LabFlags;
use iostack_model::answers::{Answer, Check, ClockPrices, labelled};
use iostack_sim::sheet::{Sheet, catalogue};
use iostack_validation::count::Counter;
use iostack_validation::count::spec::Spec;
use schemars::JsonSchema;
use serde::Serialize;

use crate::exit::Ended;
use crate::stored;
use crate::talk::{self, Talk};
use crate::written;

/// I/Os of a case.
const IOS: u32 = 600;

/// Name of the table of the system, and of its sheet's kind.
const SYSTEM: &str = "os";

/// Arguments of `iostack lab sheet`.
#[derive(clap::Args)]
pub(crate) struct SheetArgs {
    /// Kernel: a series of the distribution's packages (6.1, 6.12), or a
    /// folder.
    kernel: String,
    /// Only this: psync, scsi, sleep, libaio, `io_uring`, sqpoll,
    /// page-cache, a file system or a scheduler; may be repeated.
    #[arg(long, value_name = "NAME")]
    part: Vec<String>,
    /// Outcome of `iostack check --json` on a real drive: how many clocks an
    /// instruction takes [1, assumed].
    #[arg(long, value_name = "CHECK.json")]
    clock: Option<PathBuf>,
    /// Write the system's sheet to a new file, and the sheets of file
    /// systems and schedulers beside it: FILE-ext4.toml.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Every number, and the sheets, as JSON.
    #[arg(long)]
    json: bool,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
}

/// Answer of `iostack lab sheet --json`.
#[derive(JsonSchema, Serialize)]
pub(crate) struct MadeSheets {
    /// Release of the kernel that was counted.
    kernel: String,
    /// Clocks of an instruction.
    cpi: f64,
    /// Origin of `cpi`: measured, or assumed.
    cpi_source: String,
    /// Sheets that were made.
    sheets: Vec<MadeSheet>,
}

/// A sheet that was made.
#[derive(JsonSchema, Serialize)]
struct MadeSheet {
    /// Kind of the sheet: `os`, `fs`, `scheduler`.
    kind: String,
    /// Built-in sheet that its other numbers are of.
    base: String,
    /// Its file, where it was written.
    file: Option<String>,
    /// Numbers that were counted.
    numbers: Vec<MadeNumber>,
    /// Numbers that were to be counted and were not, each with the case.
    not_counted: Vec<String>,
    /// Text of the sheet.
    text: String,
}

/// A number that was made.
#[derive(JsonSchema, Serialize)]
struct MadeNumber {
    /// Part that it was counted in.
    part: String,
    #[serde(flatten)]
    counted: CountedNumber,
    /// Clocks, as the sheet has them.
    clocks: String,
    /// Value of the built-in sheet; of what no sheet has, none.
    before: Option<String>,
}

iostack_model::kinds! {
    MadeSheets: "lab sheet", unlabelled;
}

/// Counts, makes and prints. Exit 1 when a number could not be counted.
pub(crate) fn run(args: &SheetArgs) -> anyhow::Result<Ended> {
    let asked: Vec<&SheetPart> = match &args.part[..] {
        [] => sheet::parts().iter().collect(),
        names => names
            .iter()
            .map(|name| sheet::part(name))
            .collect::<Result<_, _>>()
            .map_err(|error| anyhow!(error))?,
    };
    let real = args.clock.as_deref().map(real_read).transpose()?;
    let paths = paths(args, &asked);
    save::refuse(paths.iter().filter_map(|(_, path)| Output::new("--output", Some(path))))?;
    let talk = Talk::new(args.quiet);
    let mut counted = asked.clone();
    for name in real.iter().flat_map(|real| &real.parts) {
        let part = sheet::part(name).expect("one of ours");
        counted.extend((!asked.contains(&part)).then_some(part));
    }
    let costs = count(args, &counted, &talk)?;
    let kernel = costs.values().next().map(|cost| cost.case.kernel.clone());
    let kernel = kernel.context("not one case could be counted; the lines above say why")?;
    let (cpi, cpi_source) = price(real.as_ref(), &counted, &costs, &kernel, &talk)?;
    let mut made = MadeSheets { kernel, cpi, cpi_source, sheets: Vec::new() };
    for (kind, name) in sheets_of(&asked) {
        let of_sheet = asked.iter().copied().filter(|part| sheet_of(part) == name);
        let one = made.sheet(kind, name, of_sheet, &costs)?;
        made.sheets.push(one);
    }
    let mut kept = Ok(());
    for (name, path) in &paths {
        let one = made.sheets.iter_mut().zip(sheets_of(&asked)).find(|(_, (_, known))| known == name);
        let (one, _) = one.expect("each path is of a sheet");
        let wrote = save::new_file(path, &one.text);
        if wrote.is_ok() {
            one.file = Some(path.display().to_string());
        }
        kept = kept.and(wrote);
    }
    talk::data(&if args.json { written::json(&labelled(&made))? } else { made.text() });
    kept?;
    let all = made.sheets.iter().all(|one| one.not_counted.is_empty());
    Ok(if all { Ended::Done } else { Ended::FoundProblem })
}

/// Time that a real machine took, from the outcome of a check.
fn real_read(path: &Path) -> anyhow::Result<RealRead> {
    let stored = stored::read(path)?;
    ensure!(
        stored.kind == Check::KIND,
        "`--clock {}` is of `iostack {}`; give an outcome of `iostack check --json`",
        path.display(),
        stored.kind
    );
    let check: Check = stored.parse()?;
    clock::real_read(&check).map_err(|why| anyhow!("`--clock {}` is of no use: {why}", path.display()))
}

/// The sheet that a part's numbers are in.
fn sheet_of(part: &SheetPart) -> &str {
    if part.kind() == SYSTEM { SYSTEM } else { &part.name }
}

/// Kind and name of each sheet, in the order of the parts.
fn sheets_of<'a>(parts: &[&'a SheetPart]) -> Vec<(&'a str, &'a str)> {
    let mut sheets: Vec<(&str, &str)> = Vec::new();
    for &part in parts {
        let one = (part.kind(), sheet_of(part));
        sheets.extend((!sheets.contains(&one)).then_some(one));
    }
    sheets
}

/// File of each sheet: the first is FILE where there is one alone, or the system's.
fn paths<'a>(args: &SheetArgs, parts: &[&'a SheetPart]) -> Vec<(&'a str, PathBuf)> {
    let Some(file) = &args.output else { return Vec::new() };
    let sheets = sheets_of(parts);
    let alone = sheets.len() == 1;
    let stem = file.with_extension("").display().to_string();
    let path = |name: &str| {
        if alone || name == SYSTEM { file.clone() } else { PathBuf::from(format!("{stem}-{name}.toml")) }
    };
    sheets.into_iter().map(|(_, name)| (name, path(name))).collect()
}

/// Costs of all cases; those that could not be counted are left out.
fn count(args: &SheetArgs, parts: &[&SheetPart], talk: &Talk) -> anyhow::Result<Costs> {
    let lab = LabFlags { kernel: Some(args.kernel.clone()), ..LabFlags::default() };
    let plain = Spec { lab, ios: IOS, ..Spec::plain() };
    let mut words: Vec<&String> = parts.iter().flat_map(|part| part.cases.values()).collect();
    words.sort();
    words.dedup();
    let specs = words.iter().map(|words| plain.changed(words)).collect::<anyhow::Result<Vec<Spec>>>()?;
    let say = |text: &str| talk.say(text);
    let lab = Lab::open(&say, iostack_host::signals::stop_flag())?;
    let counter = Counter { lab, talk, boots: 1, prices: ClockPrices::default() };
    let each = counter.each(&specs, true)?;
    Ok(words.into_iter().zip(each).filter_map(|(words, cost)| Some((words.clone(), cost.ok()?))).collect())
}

/// Clocks of an instruction, and where they are from.
fn price(
    real: Option<&RealRead>,
    parts: &[&SheetPart],
    costs: &Costs,
    kernel: &str,
    talk: &Talk,
) -> anyhow::Result<(f64, String)> {
    let Some(real) = real else { return Ok((1.0, "assumed".to_owned())) };
    let of = |part: &str, key: &str| {
        let part = parts.iter().find(|one| one.name == part)?;
        part.numbers(costs).0.into_iter().find(|number| number.key == key).map(|number| number.instructions)
    };
    let Some((cpi, how)) = real.cpi(&of) else {
        bail!(
            "`--clock` needs {}, of which not all was counted; the lines above say why",
            real.parts.join(", ")
        )
    };
    if real.release != kernel {
        talk.warn(&format!("--clock was measured on Linux {}, and counted is {kernel}", real.release));
    }
    Ok((cpi, format!("fitted: {how}, Linux {}", real.release)))
}

impl MadeSheets {
    fn sheet<'a>(
        &self,
        kind: &str,
        name: &str,
        parts: impl Iterator<Item = &'a SheetPart>,
        costs: &Costs,
    ) -> anyhow::Result<MadeSheet> {
        let base = if name == SYSTEM { sheet::base_of_kernel(&self.kernel) } else { name };
        let known = Sheet::load(base, &[])?.entries();
        let before = |key: &str| known.iter().find(|entry| entry.key == key).map(|entry| entry.text.clone());
        let (mut numbers, mut not_counted) = (Vec::new(), Vec::new());
        for part in parts {
            let (counted, lacking) = part.numbers(costs);
            not_counted.extend(lacking);
            numbers.extend(counted.into_iter().map(|counted| MadeNumber {
                part: part.name.clone(),
                clocks: clocks(&counted, self.cpi),
                before: before(&counted.key),
                counted,
            }));
        }
        let counted: Vec<CountedNumber> = numbers.iter().map(|number| number.counted.clone()).collect();
        let document = format!(
            "iostack {} lab sheet: instructions of the modal I/O, counted, Linux {}; {:.4} clocks an instruction, {}",
            env!("CARGO_PKG_VERSION"),
            self.kernel,
            self.cpi,
            self.cpi_source
        );
        let text = catalogue::text(base).expect("it is built in");
        let text = sheet::sheet_with(text, &format!("{base}-counted"), &document, self.cpi, &counted);
        let (kind, base) = (kind.to_owned(), base.to_owned());
        Ok(MadeSheet { kind, base, file: None, numbers, not_counted, text })
    }

    fn text(&self) -> String {
        let mut out = format!("iostack lab sheet                      Linux {}\n", self.kernel);
        let _to_memory =
            writeln!(out, "cpi        {:.4} clocks an instruction, {}", self.cpi, self.cpi_source);
        for one in &self.sheets {
            let _to_memory = writeln!(
                out,
                "\n{:<22} {:>13} {:>10} {:>10}",
                one.base, "instructions", "clocks", "built in"
            );
            for number in one.numbers.iter().filter(|number| number.counted.what.is_none()) {
                let before = number.before.as_deref().unwrap_or("-");
                let count = clocks(&number.counted, 1.0);
                let _to_memory = writeln!(
                    out,
                    "{:<22} {count:>13} {:>10} {before:>10}",
                    number.counted.key, number.clocks
                );
            }
            for number in &one.numbers {
                if let Some(what) = &number.counted.what {
                    let _to_memory =
                        writeln!(out, "  - {what}: {} instructions.", clocks(&number.counted, 1.0));
                }
            }
            out.extend(one.not_counted.iter().map(|lacking| format!("  - not counted: {lacking}.\n")));
            out.extend(one.file.iter().map(|file| format!("written    {file}\n")));
        }
        let next = self.sheets.iter().find_map(|one| one.file.as_ref()).map_or_else(
            || {
                format!(
                    "iostack lab sheet {} -o my-linux.toml",
                    self.kernel.splitn(3, '.').take(2).collect::<Vec<_>>().join(".")
                )
            },
            |file| format!("iostack sim show nvme-server --set platform.os=./{file}"),
        );
        out + &format!("\nNext: {next}\n")
    }
}
