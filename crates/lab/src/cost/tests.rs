//! Rounds by hand, and a kernel of a few functions.

use std::collections::BTreeMap;

use iostack_model::Direction;
use iostack_model::answers::{ClockPrices, CostCase, IoCost};

use super::{Counted, Function, Names, diff, tabulate};
use crate::counts::{Event, Io, Round, Trace, Vector};

/// Address of the first function of a [`TestKernel`]; each has this much room.
pub(super) const BASE: u64 = 0xffff_ffff_8100_0000;
pub(super) const ROOM: u64 = 0x1000;

/// Functions in a row. The layer is the name's part before the first `_`; `any` takes the caller's.
pub(super) struct TestKernel(pub(super) Vec<(&'static str, Option<&'static str>)>);

impl TestKernel {
    pub(super) fn pc(&self, name: &str) -> u64 {
        let index = self.0.iter().position(|(known, _)| *known == name).expect("a function of this kernel");
        BASE + index as u64 * ROOM
    }
}

impl Names for TestKernel {
    fn function(&self, pc: u64) -> Option<Function<'_>> {
        let index = pc.checked_sub(BASE)? / ROOM;
        let &(name, module) = self.0.get(index as usize)?;
        Some(Function { name, module, start: BASE + index * ROOM })
    }

    fn layer(&mut self, stack: &[u64]) -> String {
        let layer = |&pc: &u64| {
            let name = self.function(pc)?.name;
            name.split('_').find(|part| !part.is_empty()).filter(|&layer| layer != "any").map(str::to_owned)
        };
        if stack.is_empty() {
            return "user".to_owned();
        }
        stack.iter().find_map(layer).unwrap_or_else(|| "unclassified".to_owned())
    }

    fn meaning(&self, layer: &str) -> String {
        format!("what {layer} does")
    }
}

/// The steps of an I/O: function, offset into it, instructions of four bytes each.
pub(super) fn trace(kernel: &TestKernel, steps: &[(&str, u64, u64)]) -> (Vector, Trace) {
    let pc = |name: &str| if name == "user" { 0x40_0000 } else { kernel.pc(name) };
    let blocks = steps.iter().map(|&(name, offset, instructions)| (pc(name) + offset, instructions));
    traced(&blocks.collect::<Vec<_>>())
}

/// Counts and trace of blocks: address, and instructions of four bytes each.
pub(super) fn traced(blocks: &[(u64, u64)]) -> (Vector, Trace) {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for &(pc, instructions) in blocks {
        (0..instructions).for_each(|step| *counts.entry(pc + 4 * step).or_default() += 1);
    }
    let events = blocks.iter().map(|&(pc, instructions)| Event::Block { pc, instructions }).collect();
    let instructions = blocks.iter().map(|block| block.1).sum();
    let hash = counts.iter().fold(1, |hash: u64, (pc, times)| hash.wrapping_mul(31).wrapping_add(pc ^ times));
    (Vector { hash, ios: 1, counts: counts.into_iter().collect() }, Trace { hash, instructions, events })
}

pub(super) fn case() -> CostCase {
    CostCase {
        device: "scsi_ram".to_owned(),
        options: vec![("copy".to_owned(), "0".to_owned())],
        direction: Direction::Read,
        engine: "psync".to_owned(),
        block_bytes: 4096,
        file_system: None,
        buffered: false,
        scheduler: "none".to_owned(),
        kernel: "6.1.0-53-amd64".to_owned(),
        patched: Vec::new(),
        mitigations: false,
        tracepoints: Vec::new(),
    }
}

pub(super) fn counted(rounds: &[Round]) -> Counted<'_> {
    Counted {
        rounds,
        case: case(),
        ticks: &[],
        iomem: "",
        prices: ClockPrices::default(),
        how: "by hand".to_owned(),
    }
}

fn kernel() -> TestKernel {
    TestKernel(vec![
        ("syscall_entry", None),
        ("block_submit", None),
        ("driver_queue", Some("scsi_ram")),
        ("any_lock", None),
        ("sbitmap_get", None),
    ])
}

/// A read: the block layer and the driver take the same lock.
const STEPS: &[(&str, u64, u64)] = &[
    ("user", 0, 3),
    ("syscall_entry", 0, 4),
    ("block_submit", 0, 2),
    ("any_lock", 0, 5),
    ("block_submit", 8, 2),
    ("sbitmap_get", 0, 6),
    ("block_submit", 16, 1),
    ("driver_queue", 0, 4),
    ("any_lock", 0, 5),
    ("driver_queue", 16, 3),
    ("any_lock", 0, 5),
    ("driver_queue", 28, 1),
    ("syscall_entry", 16, 2),
    ("user", 12, 2),
];

fn round(traced: bool) -> Round {
    let (vector, trace) = trace(&kernel(), STEPS);
    let io = Io { instructions: trace.instructions, hash: vector.hash };
    Round { ios: vec![io; 9], vectors: vec![vector], traces: if traced { vec![trace] } else { Vec::new() } }
}

fn cost_of(rounds: &[Round]) -> IoCost {
    tabulate(counted(rounds), &mut kernel()).expect("there is a modal I/O")
}

pub(super) fn cost(traced: bool) -> IoCost {
    cost_of(&[round(traced)])
}

fn row<'a>(cost: &'a IoCost, name: &str, layer: &str) -> &'a iostack_model::answers::CostFunction {
    let is_it = |row: &&iostack_model::answers::CostFunction| row.name == name && row.layer == layer;
    cost.functions.iter().find(is_it).expect("the row is there")
}

#[test]
fn a_traced_lock_is_charged_to_its_callers() {
    let cost = cost(true);
    assert_eq!((cost.instructions, cost.ios), (45, 9));
    for (layer, charged) in [("block", (5, Some(1))), ("driver", (10, Some(2)))] {
        let row = row(&cost, "any_lock", layer);
        assert_eq!((row.instructions, row.calls), charged);
    }
    assert_eq!(row(&cost, "driver_queue", "driver").module.as_deref(), Some("scsi_ram"));
    assert_eq!(cost.layers[0].layer, "driver");
    assert_eq!(cost.layers.iter().map(|layer| layer.instructions).sum::<u64>(), 45);
    assert!(cost.unclassified.is_empty(), "{:?}", cost.unclassified);
    assert!((cost.modal_share() - 1.0).abs() < 1e-9);
}

#[test]
fn without_a_trace_it_is_charged_by_its_name_and_the_cost_says_so() {
    let cost = cost(false);
    assert_eq!(row(&cost, "any_lock", "unclassified").instructions, 15);
    assert_eq!(row(&cost, "any_lock", "unclassified").calls, None);
    assert_eq!(cost.unclassified, ["any_lock"]);
    assert!(cost.tree.is_none() && cost.mmio.is_none());
    assert!(cost.notes[0].contains("not traced"), "{:?}", cost.notes);
}

#[test]
fn a_trace_that_contradicts_the_counts_is_left_out() {
    let mut round = round(true);
    let Event::Block { instructions, .. } = &mut round.traces[0].events[3] else { panic!("a block") };
    *instructions += 1;
    let cost = cost_of(&[round]);
    assert!(cost.tree.is_none());
    assert!(cost.notes[0].contains("does not add up"), "{:?}", cost.notes);
}

#[test]
fn the_calls_stand_in_order_and_add_up() {
    let tree = cost(true).tree.expect("it was traced");
    assert_eq!(tree.whole(), 45);
    assert_eq!((tree.name.as_str(), tree.layer.as_str(), tree.instructions), ("user", "user", 5));
    let submit = &tree.calls[0].calls[0];
    let names: Vec<&str> = submit.calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["any_lock", "sbitmap_get", "driver_queue"]);
    // The driver's two locks are alike and stand once.
    assert_eq!(submit.calls[2].calls.len(), 1);
    assert_eq!(submit.calls[2].calls[0].times, 2);
}

#[test]
fn the_tag_allocators_hint_is_named() {
    let mut round = round(true);
    let mut steps = STEPS.to_vec();
    steps[5].2 += 8;
    let (vector, trace) = trace(&kernel(), &steps);
    round.ios.extend([Io { instructions: trace.instructions, hash: vector.hash }; 2]);
    round.vectors.push(vector);
    let cost = cost_of(&[round]);
    assert_eq!(cost.notes, ["2 I/Os took 8 more in sbitmap_get: the tag allocator's random hint."]);
    assert_eq!(cost.modes.len(), 2);
}

#[test]
fn another_mode_is_explained_by_the_functions_that_differ() {
    let mut round = round(true);
    let (vector, trace) = trace(&kernel(), &STEPS[..4]);
    round.ios.push(Io { instructions: trace.instructions, hash: vector.hash });
    round.vectors.push(vector);
    let cost = cost_of(&[round]);
    let note = &cost.notes[0];
    assert!(note.starts_with("1 I/O took 31 fewer: any_lock -10, driver_queue -8"), "{note}");
    assert!(note.ends_with("and 2 more functions."), "{note}");
}

#[test]
fn boots_whose_modules_lie_elsewhere_are_compared_by_count() {
    let mut rounds = [round(true), round(true)];
    for io in &mut rounds[1].ios {
        io.hash += 1;
    }
    rounds[1].ios[0].instructions = 99;
    let cost = cost_of(&rounds);
    assert_eq!((cost.boots.as_slice(), cost.modes[0].ios), ([45, 45].as_slice(), 17));
}

#[test]
fn registers_are_counted_by_function_and_named() {
    let mut round = round(true);
    let pc = kernel().pc("driver_queue") + 4;
    let mmio = |write, address| Event::Mmio { write, pc, address, size: 4, region: "ahci".to_owned() };
    round.traces[0]
        .events
        .splice(8..8, [mmio(true, 0xfebf_0138), mmio(false, 0xfebf_0008), mmio(true, 0xfebf_0138)]);
    let cost = cost_of(&[round]);
    let uses = cost.mmio.as_ref().expect("it was traced");
    assert_eq!((uses[0].function.as_str(), uses[0].register.as_deref()), ("driver_queue", Some("P0CI")));
    assert_eq!((uses[0].reads, uses[0].writes, uses[1].reads), (0, 2, 1));
    assert_eq!(cost.registers(), Some((1, 2)));
    assert_eq!(cost.modelled_clocks(), Some(45.0 + 2100.0 + 500.0));
}

#[test]
fn the_guests_counter_is_compared_where_the_processor_did_not_idle() {
    let rounds = [round(true)];
    let ticks = [51, 51, 51, 51, 51, 51, 51, 60, 60];
    let with = Counted { ticks: &ticks, ..counted(&rounds) };
    assert_eq!(tabulate(with, &mut kernel()).expect("modal").tsc_excess, Some(6));
    assert_eq!(cost_of(&rounds).tsc_excess, None);
    let mut idle = TestKernel(vec![("idle_loop", None)]);
    let (vector, trace) = trace(&idle, &[("user", 0, 1), ("idle_loop", 0, 5)]);
    let io = Io { instructions: 6, hash: vector.hash };
    let rounds = [Round { ios: vec![io], vectors: vec![vector], traces: vec![trace] }];
    let with = Counted { ticks: &[5000], ..counted(&rounds) };
    assert_eq!(tabulate(with, &mut idle).expect("modal").tsc_excess, None);
}

#[test]
fn no_pairs_and_no_stored_vector_are_refused() {
    let mut kernel = kernel();
    let said = tabulate(counted(&[]), &mut kernel).expect_err("nothing").to_string();
    assert!(said.starts_with("no I/O was counted"), "{said}");
    let rounds = [Round { ios: vec![Io { instructions: 7, hash: 1 }], ..Round::default() }];
    let said = tabulate(counted(&rounds), &mut kernel).expect_err("no vector").to_string();
    assert!(said.contains("1 of 1 I/Os took 7"), "{said}");
}

#[test]
fn a_difference_names_what_varied_what_grew_and_what_vanished() {
    let before = cost(true);
    let mut after = before.clone();
    after.case.kernel = "6.12.117+deb12-amd64".to_owned();
    after.case.options = vec![("copy".to_owned(), "1".to_owned())];
    after.functions.retain(|row| row.name != "sbitmap_get");
    after.layers.retain(|row| row.layer != "sbitmap");
    after.functions.iter_mut().filter(|row| row.name == "driver_queue").for_each(|row| {
        row.name = "driver_queue.isra.0".to_owned();
        row.instructions += 20;
    });
    let told = diff(&before, &after);
    assert_eq!(told.varied, ["kernel 6.1.0-53-amd64 -> 6.12.117+deb12-amd64", "option copy 0 -> 1"]);
    let shown: Vec<_> = told.functions.iter().map(|row| (row.name.as_str(), row.before, row.after)).collect();
    assert_eq!(shown, [("driver_queue", 8, 28), ("sbitmap_get", 6, 0)]);
    assert_eq!(told.layers.len(), 1);
    assert_eq!((told.layers[0].name.as_str(), told.layers[0].after), ("sbitmap", 0));
}
