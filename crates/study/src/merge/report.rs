//! From what was measured to the report: the fit, the tables, the verdicts, and why to doubt them. Pure.

use iostack_doubt::{clock, cost_overlapped, io_limit, not_linear, punted, small_region, steal};
use iostack_host::counters::CpuCount;
use iostack_model::answers::{MergeAsk, MergeFit, MergeReport, MergeTable, Scratch};
use iostack_model::{Bytes, Caveat, Direction, Effort, Nanos, SCHEMA};
use iostack_target::Session as _;
use iostack_targets::occupied::Occupied;

use super::measure::Found;
use super::plan::PLAIN;
use super::{advice, fit, gather};

/// What is known beside the figures.
pub(crate) struct Facts {
    pub(crate) occupied: Occupied,
    pub(crate) scratch: Option<Scratch>,
    pub(crate) effort: Effort,
    pub(crate) seed: u64,
    pub(crate) direction: Direction,
    pub(crate) request: Bytes,
    /// What carries batches.
    pub(crate) backend: String,
    /// What `auto` does in the end, and why.
    pub(crate) auto: String,
    /// All CPUs meanwhile.
    pub(crate) cpu: CpuCount,
    pub(crate) started_unix_ms: u64,
    pub(crate) elapsed: Nanos,
    pub(crate) interrupted: bool,
}

/// The report.
pub(crate) fn assemble(facts: Facts, found: &Found) -> MergeReport {
    let fit = fit::fit(&found.fit, &how(&facts.backend));
    let tables = gather::tables(&found.cells);
    let verdicts = advice::verdicts(&tables, false);
    let mut caveats = of_figures(fit.as_ref(), &tables);
    caveats.extend(of_the_place(&facts));
    caveats.extend(of_workers(found, &facts));
    if facts.interrupted {
        caveats.push(Caveat::Interrupted { after: facts.elapsed, asked: None });
    }
    let mut notes: Vec<String> = found.failures.iter().map(|what| format!("The fit: {what}.")).collect();
    notes.push(format!("auto in the end: {}.", facts.auto));
    if !facts.occupied.about().place.direct {
        notes.push(
            "There is no direct I/O here: the page cache answers, and the figures are of memory.".to_owned(),
        );
    }
    MergeReport {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: facts.started_unix_ms,
        elapsed: facts.elapsed,
        effort: facts.effort,
        seed: facts.seed,
        direct: facts.occupied.about().place.direct,
        target: facts.occupied.about().name.clone(),
        changes: Vec::new(),
        storage: facts.occupied.about().storage.clone(),
        machine: facts.occupied.about().machine.clone(),
        scratch: facts.scratch,
        request: facts.request,
        direction: facts.direction,
        fit,
        tables,
        verdicts,
        caveats,
        notes,
        interrupted: facts.interrupted,
    }
}

fn how(backend: &str) -> String {
    format!("one thread sends requests as one through {backend}, and waits for all")
}

/// What the figures say about themselves.
pub(crate) fn of_figures(fit: Option<&MergeFit>, tables: &[MergeTable]) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> =
        fit.and_then(|fit| not_linear::of(fit.holds, fit.residual, fit.bend)).into_iter().collect();
    let calls = tables.iter().find(|table| table.ask == MergeAsk::Calls);
    let rate = |column: u32| Some((column, calls?.cell(PLAIN, column)?.iops.mean));
    let columns = calls.map(MergeTable::columns).unwrap_or_default();
    let most = columns.iter().filter_map(|&column| rate(column)).max_by(|a, b| a.1.total_cmp(&b.1));
    if let (Some((_, one)), Some(most)) = (rate(1), most) {
        caveats.extend(cost_overlapped::of(one, most));
    }
    let failures: Vec<&String> =
        tables.iter().flat_map(|table| &table.cells).flat_map(|cell| &cell.failures).collect();
    if let Some(first) = failures.first() {
        caveats.push(Caveat::Failed { count: failures.len() as u64, message: (*first).clone() });
    }
    caveats
}

fn of_the_place(facts: &Facts) -> Vec<Caveat> {
    let (machine, storage) = (&facts.occupied.about().machine, &facts.occupied.about().storage);
    let found = [
        io_limit::of(machine.virtualisation.io_limit.as_deref()),
        steal::of(facts.cpu.steal_share()),
        small_region::of(facts.occupied.about().place.region, machine, storage),
        clock::of(machine),
    ];
    found.into_iter().flatten().collect()
}

/// Kernel workers took I/O from rings.
fn of_workers(found: &Found, facts: &Facts) -> Option<Caveat> {
    let workers = found.workers.total();
    punted::of(workers.count, workers.cpu, facts.cpu.busy)
}
