//! From what was measured to the report: the fit, the tables, the verdicts, and why to doubt them. Pure.

use iostack_doubt::{clock, cost_overlapped, io_limit, not_linear, punted, small_region, steal};
use iostack_model::answers::{MergeAsk, MergeFit, MergeReport, MergeTable, Scratch};
use iostack_model::{Bytes, Caveat, Nanos, SCHEMA};
use iostack_target::{About, MergeAsked, MergeFound, RunClock};

use super::answer::MergeQuestion;
use super::plan::PLAIN;
use super::{advice, fit, gather};

/// The report; beside the figures, when it began, the scratch file, and the bytes of a request.
pub(crate) fn assemble(
    asked: &MergeQuestion<'_>,
    about: &About,
    (started_unix_ms, scratch, request): (u64, Option<Scratch>, Bytes),
    merging: &MergeAsked,
    found: &MergeFound,
) -> MergeReport {
    let fit = fit::fit(&found.fit, &how(&found.backend));
    let tables = gather::tables(merging, found);
    let verdicts = advice::verdicts(&tables, false);
    let mut caveats = found.caveats.clone();
    caveats.extend(of_figures(fit.as_ref(), &tables));
    caveats.extend(of_the_place(about, found));
    caveats.extend(punted::of_workers(found.workers.0, found.workers.1, found.busy));
    let filled = scratch.as_ref().map_or(Nanos(0), |scratch| scratch.fill);
    let elapsed = found.elapsed + filled;
    if found.interrupted {
        caveats.push(Caveat::Interrupted { after: elapsed, asked: None });
    }
    let mut notes: Vec<String> = found.fit_failures.iter().map(|what| format!("The fit: {what}.")).collect();
    notes.push(format!("auto in the end: {}.", found.auto));
    if !about.place.direct {
        notes.push(
            "There is no direct I/O here: the page cache answers, and the figures are of memory.".to_owned(),
        );
    }
    MergeReport {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms,
        elapsed,
        effort: asked.effort,
        seed: asked.seed,
        direct: about.place.direct,
        target: about.name.clone(),
        changes: asked.changes.to_vec(),
        storage: about.storage.clone(),
        machine: about.machine.clone(),
        scratch,
        request,
        direction: asked.direction,
        fit,
        tables,
        verdicts,
        caveats,
        notes,
        interrupted: found.interrupted,
    }
}

fn how(backend: &str) -> String {
    format!("one thread sends requests as one through {backend}, and waits for all")
}

/// Doubts about the figures.
pub(crate) fn of_figures(fit: Option<&MergeFit>, tables: &[MergeTable]) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> =
        fit.and_then(|fit| not_linear::of_fit(fit.holds, fit.residual, fit.bend)).into_iter().collect();
    let calls = tables.iter().find(|table| table.ask == MergeAsk::Calls);
    let rate = |column: u32| Some((column, calls?.cell(PLAIN, column)?.iops.mean));
    let columns = calls.map(MergeTable::columns).unwrap_or_default();
    let most = columns.iter().filter_map(|&column| rate(column)).max_by(|a, b| a.1.total_cmp(&b.1));
    if let (Some((_, one)), Some(most)) = (rate(1), most) {
        caveats.extend(cost_overlapped::of_callers(one, most));
    }
    let failures: Vec<&String> =
        tables.iter().flat_map(|table| &table.cells).flat_map(|cell| &cell.failures).collect();
    if let Some(first) = failures.first() {
        caveats.push(Caveat::Failed { count: failures.len() as u64, message: (*first).clone() });
    }
    caveats
}

/// Doubts about the machine before the place; in virtual time there is none.
fn of_the_place(about: &About, found: &MergeFound) -> Vec<Caveat> {
    if about.place.clock == RunClock::Virtual {
        return Vec::new();
    }
    let (machine, storage) = (&about.machine, &about.storage);
    let doubts = [
        io_limit::of_limit(machine.virtualisation.io_limit.as_deref()),
        steal::of_share(found.steal_share),
        small_region::of_region(about.place.region, machine, storage),
        clock::of_machine(machine),
    ];
    doubts.into_iter().flatten().collect()
}
