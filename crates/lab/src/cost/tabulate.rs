//! The cost of one I/O, from all that was counted.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use iostack_model::SCHEMA;
use iostack_model::answers::{ClockPrices, CostCase, CostMode, IoCost, MmioUse};

use super::Names;
use super::atlas::{Atlas, FunctionId, Known};
use super::charge::{self, Charged};
use super::flow::{self, Flow};
use super::frames::Segment;
use super::modal::{self, Modal};
use super::notes;
use super::registers::{Resources, register};
use crate::counts::{Event, Io, Round, Trace};

/// Layer of a processor that waits; its clock goes on without instructions.
const IDLE: &str = "idle";

/// Beginning of the emulator's names for the processor's own interrupt controller.
const OWN_CONTROLLER: &str = "apic";

/// Counts of the boots of one case, and all that is known of them.
#[derive(Clone, Debug)]
pub struct Counted<'a> {
    /// One of each boot, or several of one.
    pub rounds: &'a [Round],
    /// Case that was counted.
    pub case: CostCase,
    /// Differences of the guest's time-stamp counter for the same pairs, in the order of the rounds; empty when it was
    /// not read.
    pub ticks: &'a [u64],
    /// The guest's `/proc/iomem`; empty when it is not known.
    pub iomem: &'a str,
    /// Prices for the modelled clocks.
    pub prices: ClockPrices,
    /// Emulator and how it counted.
    pub how: String,
}

/// Tabulates the cost of the modal I/O.
pub fn tabulate(counted: Counted<'_>, names: &mut dyn Names) -> anyhow::Result<IoCost> {
    let ios = || counted.rounds.iter().flat_map(|round| &round.ios);
    let all = ios().count() as u64;
    let modes = modal::modes(ios());
    let Some(&CostMode { instructions, ios: common }) = modes.first() else {
        bail!("no I/O was counted: the guest ran no pair of marks; look for its own error above");
    };
    let modal = modal::find(counted.rounds, instructions).with_context(|| {
        format!(
            "{common} of {all} I/Os took {instructions} instructions, more than any other count, but by so many ways that \
             none is among the stored ones; count more I/Os, or leave out what runs beside them"
        )
    })?;
    let mut told = Vec::new();
    let Split { mut charged, mmio } = split(&modal, counted.iomem, names, &mut told);
    mark_alike(&mut charged, &modal, names);
    check_sums(&charged, instructions);
    told.extend(notes::scattered(common, all));
    told.extend(notes::identical(ios(), &modal));
    told.extend(notes::modes(counted.rounds, &modes, &modal, names));
    let idles = charged.layers.iter().any(|layer| layer.layer == IDLE);
    let tsc_excess =
        if idles { None } else { excess(&ios().copied().collect::<Vec<_>>(), counted.ticks, instructions) };
    Ok(IoCost {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        case: counted.case,
        ios: all,
        instructions,
        boots: counted
            .rounds
            .iter()
            .filter_map(|round| Some(modal::modes(round.ios.iter()).first()?.instructions))
            .collect(),
        modes,
        layers: charged.layers,
        functions: charged.functions,
        mmio,
        tree: charged.tree,
        tsc_excess,
        prices: counted.prices,
        unclassified: charged.unclassified,
        how: counted.how,
        notes: told,
    })
}

struct Split {
    charged: Charged,
    mmio: Option<Vec<MmioUse>>,
}

fn split(modal: &Modal<'_>, iomem: &str, names: &mut dyn Names, told: &mut Vec<String>) -> Split {
    let mut atlas = Atlas::new(names);
    let counts = charge::count(modal.vector, |pc| atlas.at(pc));
    let mmio = modal.trace.map(|trace| registers_used(trace, &mut atlas, iomem));
    let segments = modal.trace.map(|trace| flow::segments(trace, modal.vector, &mut atlas));
    let agrees = segments.as_ref().is_some_and(|segments| sums(segments) == counts);
    let flow: Option<Flow> = segments.filter(|_| agrees).map(|segments| flow::follow(&segments, &atlas));
    let functions: Vec<Known> = atlas.into_functions();
    if modal.trace.is_none() {
        told.push(
            "The modal I/O was not traced: functions that serve several layers are charged by their own name, not by \
             their caller."
                .to_owned(),
        );
    } else if flow.is_none() {
        told.push(
            "The trace of the modal I/O does not add up to its counts and was left out: functions that serve several \
             layers are charged by their own name."
                .to_owned(),
        );
    }
    let charged = match flow {
        Some(flow) => charge::by_stack(&flow, &functions, names),
        None => charge::by_function(&counts, &functions, names),
    };
    Split { charged, mmio }
}

/// Gives each figure the share of the traced I/Os in which it is the same; in another boot the addresses may be others.
fn mark_alike(charged: &mut Charged, modal: &Modal<'_>, names: &mut dyn Names) {
    if charged.tree.is_none() {
        return;
    }
    let mut all: Vec<(u64, Charged)> = Vec::new();
    for vector in &modal.round.vectors {
        let trace = modal.round.traces.iter().find(|trace| trace.hash == vector.hash);
        let one = Modal { vector, trace, ..*modal };
        let other = trace.map(|_| split(&one, "", names, &mut Vec::new()).charged);
        all.extend(other.filter(|other| other.tree.is_some()).map(|other| (vector.ios, other)));
    }
    let whole: u64 = all.iter().map(|(ios, _)| ios).sum();
    let share = |is_alike: &dyn Fn(&Charged) -> bool| {
        let alike: u64 = all.iter().filter(|(_, other)| is_alike(other)).map(|(ios, _)| ios).sum();
        Some(alike as f64 / whole.max(1) as f64)
    };
    for row in &mut charged.layers {
        row.alike = share(&|other| other.layers.contains(row));
    }
    for row in &mut charged.functions {
        row.alike = share(&|other| other.functions.contains(row));
    }
}

/// Instructions by function, as the trace has them.
fn sums(segments: &[Segment]) -> BTreeMap<FunctionId, u64> {
    let mut sums = BTreeMap::new();
    for segment in segments {
        *sums.entry(segment.function).or_default() += segment.instructions;
    }
    sums
}

/// Nothing is lost and nothing counted twice, by layer, by function and by call.
fn check_sums(charged: &Charged, instructions: u64) {
    let layers: u64 = charged.layers.iter().map(|layer| layer.instructions).sum();
    let functions: u64 = charged.functions.iter().map(|function| function.instructions).sum();
    assert_eq!(layers, instructions, "the layers add up to the modal I/O");
    assert_eq!(functions, instructions, "the functions add up to the modal I/O");
    if let Some(tree) = &charged.tree {
        assert_eq!(tree.whole(), instructions, "the calls add up to the modal I/O");
    }
}

/// Register accesses by function and register, in order of appearance. The processor's own interrupt controller is none
/// of the device's, and a read of it crosses no bus.
fn registers_used(trace: &Trace, atlas: &mut Atlas<'_>, iomem: &str) -> Vec<MmioUse> {
    let resources = Resources::parse(iomem);
    let mut uses: Vec<MmioUse> = Vec::new();
    for event in &trace.events {
        let Event::Mmio { write, pc, address, region, .. } = event else { continue };
        if region.starts_with(OWN_CONTROLLER) {
            continue;
        }
        let function = atlas.at(*pc);
        let function = atlas.name(function);
        let known = uses
            .iter()
            .position(|one| one.function == function && one.address == *address && one.region == *region);
        let place = known.unwrap_or_else(|| {
            uses.push(MmioUse {
                function: function.to_owned(),
                region: region.clone(),
                address: *address,
                register: register(region, *address, &resources),
                reads: 0,
                writes: 0,
            });
            uses.len() - 1
        });
        if *write {
            uses[place].writes += 1;
        } else {
            uses[place].reads += 1;
        }
    }
    uses
}

/// Ticks of the guest's counter that the commonest I/O took beyond its instructions.
fn excess(ios: &[Io], ticks: &[u64], instructions: u64) -> Option<i64> {
    // Where not each tick has its I/O, all count.
    let is_modal = |place: usize| ios.len() != ticks.len() || ios[place].instructions == instructions;
    let modal = (0..ticks.len()).filter(|&place| is_modal(place));
    let ticks: Vec<Io> = modal.map(|place| Io { instructions: ticks[place], hash: 0 }).collect();
    let commonest = modal::modes(ticks.iter()).first()?.instructions;
    i64::try_from(i128::from(commonest) - i128::from(instructions)).ok()
}
