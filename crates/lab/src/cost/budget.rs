//! What may one I/O cost? A file of budgets that a change of the code is held to.
//!
//! ```toml
//! [[cost]]
//! name = "scsi_ram read"
//! device = "scsi_ram"
//! direction = "read"
//! engine = "psync"
//! kernel = "6.1"            # this release, or any that begins so
//! options = { copy = "0" }
//! instructions = 11574
//! tolerance = 8             # the step of the tag allocator
//! [cost.layers]
//! scsi = 672
//! [cost.functions]          # MODULE:FUNCTION
//! "scsi_ram:scsi_ram_queuecommand" = 61
//! ```
//!
//! The total and the layers are held to; the functions say where a growth is. With `module` only that module's functions
//! are held to. With `exact = true` the tolerance is 0 for each of them that was the same in every traced I/O. What shrank
//! is told, not refused: see [`shrunk`].

use std::collections::{BTreeMap, HashSet};

use anyhow::{Context, anyhow, ensure};
use iostack_model::Direction;
use iostack_model::answers::{BudgetVerdict, CALLS, CostCase, CostChange, IoCost};
use serde::{Deserialize, Serialize};

use super::diff::{paths, plain};
use crate::guest::Way;

/// The tag allocator's random hint takes a step of 8 instructions.
const TOLERANCE: u64 = 8;

/// A budget: a case, and what it may cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Name of the entry.
    pub name: String,
    /// Device of the case, as in [`CostCase`].
    pub device: String,
    /// Read or write.
    pub direction: Direction,
    /// Way of the I/Os: `psync`, `io_uring+files`.
    #[serde(default = "psync")]
    pub engine: String,
    /// Release of the kernel, or its beginning.
    pub kernel: String,
    /// Size of an I/O in bytes.
    #[serde(default = "page")]
    pub block_bytes: u64,
    /// File system between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// True through the page cache.
    #[serde(default)]
    pub buffered: bool,
    /// Name of the I/O scheduler.
    #[serde(default = "none")]
    pub scheduler: String,
    /// True with the processor's mitigations.
    #[serde(default)]
    pub mitigations: bool,
    /// Tracepoints that are enabled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tracepoints: Vec<String>,
    /// Driver options by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Module that alone is held to: its functions. The rest of the kernel may change with its release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Instructions of the modal I/O, or of the module's functions in it.
    pub instructions: u64,
    /// Instructions more that pass.
    #[serde(default = "tolerance")]
    pub tolerance: u64,
    /// True when `tolerance` is for figures alone that differ among the I/Os; the others may not grow at all.
    #[serde(default)]
    pub exact: bool,
    /// Instructions by layer.
    #[serde(default)]
    pub layers: BTreeMap<String, u64>,
    /// Instructions by `MODULE:FUNCTION`, or by function for those of the kernel itself.
    #[serde(default)]
    pub functions: BTreeMap<String, u64>,
}

fn psync() -> String {
    "psync".to_owned()
}

fn none() -> String {
    "none".to_owned()
}

fn page() -> u64 {
    4096
}

fn tolerance() -> u64 {
    TOLERANCE
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetFile {
    #[serde(default)]
    cost: Vec<Budget>,
}

/// Reads a file of budgets.
pub fn parse(text: &str) -> anyhow::Result<Vec<Budget>> {
    let BudgetFile { cost } = toml::from_str(text)
        .context("the file of costs cannot be read; `iostack lab cost --write` writes one that can")?;
    ensure!(!cost.is_empty(), "the file of costs has no [[cost]]; `iostack lab cost --write` writes one");
    let mut names = HashSet::new();
    for budget in &cost {
        let name = &budget.name;
        ensure!(names.insert(name), "[[cost]] `{name}` is there twice; give each entry a name of its own");
        check_figures(budget).map_err(|wrong| anyhow!("[[cost]] `{name}`: {wrong}"))?;
    }
    Ok(cost)
}

fn check_figures(budget: &Budget) -> anyhow::Result<()> {
    let layers: u64 = budget.layers.values().sum();
    ensure!(budget.instructions > 0, "`instructions` is 0; write what `iostack lab cost` counted");
    ensure!(budget.direction != Direction::Trim, "`direction` is trim; write `read` or `write`");
    budget.engine.parse::<Way>().map_err(|wrong| anyhow!("`engine`: {wrong}"))?;
    ensure!(
        layers <= budget.instructions,
        "`layers` is {layers} together; that is more than `instructions`; write what `iostack lab cost` counted"
    );
    Ok(())
}

/// Does this cost belong to that budget's case?
pub fn is_of(budget: &Budget, case: &CostCase) -> bool {
    let options: BTreeMap<String, String> = case.options.iter().cloned().collect();
    let kernel = case.kernel.strip_prefix(budget.kernel.as_str());
    // `6.1` is no beginning of `6.12`.
    let kernel = kernel.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()));
    kernel
        && budget.device == case.device
        && budget.direction == case.direction
        && budget.engine == case.engine
        && budget.block_bytes == case.block_bytes
        && budget.file_system == case.file_system
        && budget.buffered == case.buffered
        && budget.scheduler == case.scheduler
        && budget.mitigations == case.mitigations
        && budget.tracepoints == case.tracepoints
        && budget.options == options
}

/// Holds a cost to its budget.
pub fn check(budget: &Budget, cost: &IoCost) -> BudgetVerdict {
    let exact = budget.exact && is_total_alike(budget, cost);
    let allowed = budget.instructions + if exact { 0 } else { budget.tolerance };
    let counted = counted(budget, cost);
    let changes = changes(budget, cost);
    let over = |change: &CostChange| {
        let is_held = budget.exact && is_layer_alike(cost, &change.name);
        is_layer(change) && change.after > change.before + if is_held { 0 } else { budget.tolerance }
    };
    // A module of which nothing ran was not held to anything.
    let holds = (1..=allowed).contains(&counted) && !changes.iter().any(over);
    let mut grown: Vec<CostChange> =
        changes.into_iter().filter(|change| !holds && change.after > change.before).collect();
    grown.sort_by_key(|change| (!is_layer(change), std::cmp::Reverse(change.after - change.before)));
    let path = grown.iter().find(|change| !is_layer(change)).and_then(|change| path_to(cost, &change.name));
    BudgetVerdict { name: budget.name.clone(), allowed, counted, grown, holds, exact, path }
}

/// Figures of an exact budget that differ among the I/Os all the same: `the total`, layers.
pub fn varying(budget: &Budget, cost: &IoCost) -> Vec<String> {
    let total = (!is_total_alike(budget, cost)).then(|| "the total".to_owned());
    let layers = budget.layers.keys().filter(|layer| !is_layer_alike(cost, layer)).cloned();
    if budget.exact { total.into_iter().chain(layers).collect() } else { Vec::new() }
}

fn is_total_alike(budget: &Budget, cost: &IoCost) -> bool {
    let own = cost.functions.iter().filter(|row| row.module == budget.module);
    match &budget.module {
        Some(_) => own.map(|row| row.alike).all(is_always),
        None => cost.layers.iter().map(|row| row.alike).all(is_always),
    }
}

fn is_layer_alike(cost: &IoCost, layer: &str) -> bool {
    cost.layers.iter().find(|row| row.layer == layer).is_none_or(|row| is_always(row.alike))
}

fn is_always(alike: Option<f64>) -> bool {
    alike.is_some_and(|share| share >= 1.0)
}

/// Path of calls on which most of a function's instructions run.
fn path_to(cost: &IoCost, function: &str) -> Option<String> {
    let name = function.rsplit(':').next()?;
    let mut to: BTreeMap<String, u64> = BTreeMap::new();
    for ((path, _), own) in paths(cost.tree.as_ref()?) {
        if path.rsplit(CALLS).next() == Some(plain(name)) {
            *to.entry(path).or_default() += own;
        }
    }
    to.into_iter().max_by_key(|(_, own)| *own).map(|(path, _)| path)
}

/// The instructions that the budget holds to.
pub fn counted(budget: &Budget, cost: &IoCost) -> u64 {
    let Some(module) = &budget.module else { return cost.instructions };
    let own = cost.functions.iter().filter(|row| row.module.as_ref() == Some(module));
    own.map(|row| row.instructions).sum()
}

/// Layers, then functions, that take fewer instructions than their budget, largest gain first: time to write it anew.
pub fn shrunk(budget: &Budget, cost: &IoCost) -> Vec<CostChange> {
    let mut shrunk: Vec<CostChange> =
        changes(budget, cost).into_iter().filter(|change| change.after < change.before).collect();
    shrunk.sort_by_key(|change| (!is_layer(change), std::cmp::Reverse(change.before - change.after)));
    shrunk
}

fn is_layer(change: &CostChange) -> bool {
    change.layer.is_empty()
}

/// Layers and functions beside their figures. A layer that the file leaves out is passed over when it names none, and
/// new when it names others; likewise a function, by the others of its module.
fn changes(budget: &Budget, cost: &IoCost) -> Vec<CostChange> {
    let mut changes = Vec::new();
    let mut add = |name: &str, layer: &str, before: u64, after: u64| {
        changes.push(CostChange { name: name.to_owned(), layer: layer.to_owned(), before, after });
    };
    let layers: BTreeMap<&str, u64> =
        cost.layers.iter().map(|row| (row.layer.as_str(), row.instructions)).collect();
    for (layer, &after) in layers.iter().filter(|_| !budget.layers.is_empty()) {
        add(layer, "", budget.layers.get(*layer).copied().unwrap_or(0), after);
    }
    for (layer, &before) in budget.layers.iter().filter(|(layer, _)| !layers.contains_key(layer.as_str())) {
        add(layer, "", before, 0);
    }
    let functions = functions(cost);
    let modules: HashSet<&str> =
        budget.functions.keys().filter_map(|name| Some(name.split_once(':')?.0)).collect();
    for (name, (layer, after)) in &functions {
        let is_new = || name.split_once(':').is_some_and(|(module, _)| modules.contains(module));
        if let Some(before) = budget.functions.get(name).copied().or_else(|| is_new().then_some(0)) {
            add(name, layer, before, *after);
        }
    }
    for (name, &before) in budget.functions.iter().filter(|(name, _)| !functions.contains_key(*name)) {
        add(name, "gone", before, 0);
    }
    changes
}

/// Functions of a cost as a budget names them, over all their layers; the layer is that of most of it.
fn functions(cost: &IoCost) -> BTreeMap<String, (&str, u64)> {
    let mut functions: BTreeMap<String, (&str, u64)> = BTreeMap::new();
    // The largest row of a function comes first and names the layer.
    for row in &cost.functions {
        let name = match &row.module {
            Some(module) => format!("{module}:{}", row.name),
            None => row.name.clone(),
        };
        functions.entry(name).or_insert((&row.layer, 0)).1 += row.instructions;
    }
    functions
}

/// The text of a file that holds these costs to what they are now: each layer, and each function of a module. With
/// `driver_only`, the functions of the device's own driver alone, under any release of the kernel's series.
pub fn write(costs: &[IoCost], driver_only: bool) -> String {
    let budget = |cost: &IoCost| {
        let case = &cost.case;
        let module = driver_only.then(|| case.device.replace('-', "_"));
        let beginning = module.as_ref().map_or(String::new(), |module| format!("{module}:"));
        let of_modules = functions(cost)
            .into_iter()
            .filter(|(name, _)| name.contains(':') && name.starts_with(&beginning));
        let whole = Budget {
            name: name_of(case),
            device: case.device.clone(),
            direction: case.direction,
            engine: case.engine.clone(),
            kernel: if driver_only { series(&case.kernel) } else { case.kernel.clone() },
            block_bytes: case.block_bytes,
            file_system: case.file_system.clone(),
            buffered: case.buffered,
            scheduler: case.scheduler.clone(),
            mitigations: case.mitigations,
            tracepoints: case.tracepoints.clone(),
            options: case.options.iter().cloned().collect(),
            module,
            instructions: cost.instructions,
            tolerance: TOLERANCE,
            exact: true,
            layers: cost.layers.iter().map(|row| (row.layer.clone(), row.instructions)).collect(),
            functions: of_modules.map(|(name, (_, instructions))| (name, instructions)).collect(),
        };
        let layers = if driver_only { BTreeMap::new() } else { whole.layers.clone() };
        Budget { instructions: counted(&whole, cost), layers, ..whole }
    };
    let file = BudgetFile { cost: costs.iter().map(budget).collect() };
    let text = toml::to_string(&file).expect("strings and numbers are TOML");
    format!("# Written by `iostack lab cost --write`; held to by `iostack lab cost --assert`.\n\n{text}")
}

/// `6.1` of `6.1.0-53-amd64`.
fn series(release: &str) -> String {
    release.split(['.', '-', '+']).take(2).collect::<Vec<_>>().join(".")
}

/// A name for a case, from what sets it apart.
fn name_of(case: &CostCase) -> String {
    let mut words = vec![case.device.clone(), case.direction.name().to_owned()];
    let mut also = |wanted: bool, word: String| words.extend(wanted.then_some(word));
    also(case.engine != "psync", case.engine.clone());
    also(case.block_bytes != page(), format!("{} bytes", case.block_bytes));
    also(case.file_system.is_some(), case.file_system.clone().unwrap_or_default());
    also(case.buffered, "buffered".to_owned());
    also(case.scheduler != none(), case.scheduler.clone());
    also(case.mitigations, "mitigations".to_owned());
    also(!case.tracepoints.is_empty(), case.tracepoints.join(" "));
    words.extend(case.options.iter().map(|(name, value)| format!("{name}={value}")));
    words.push(series(&case.kernel));
    words.join(" ")
}

#[cfg(test)]
mod tests;
