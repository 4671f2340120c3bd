//! Invented programs: what really called what is known.

use std::fmt::Write as _;

use super::super::atlas::Atlas;
use super::super::tests::{BASE, ROOM, TestKernel, trace, traced};
use super::*;

/// Name, own instructions, calls.
#[derive(Debug, PartialEq, Eq)]
struct CallTree(String, u64, Vec<CallTree>);

fn tree(flow: &Flow, atlas: &Atlas, index: usize) -> CallTree {
    let node = &flow.nodes[index];
    let calls = node.calls.iter().map(|&call| tree(flow, atlas, call)).collect();
    CallTree(atlas.name(node.function).to_owned(), node.instructions, calls)
}

fn total(flow: &Flow) -> u64 {
    flow.nodes.iter().map(|node| node.instructions).sum()
}

/// The tree of some steps, as an indented text.
fn drawn(kernel: &TestKernel, steps: &[(&str, u64, u64)]) -> String {
    fn draw(call: &CallTree, depth: usize, text: &mut String) {
        writeln!(text, "{}{} {}", " ".repeat(depth), call.0, call.1).expect("a string takes all");
        call.2.iter().for_each(|call| draw(call, depth + 1, text));
    }
    let (vector, trace) = trace(kernel, steps);
    let mut atlas = Atlas::new(kernel);
    let segments = segments(&trace, &vector, &mut atlas);
    let flow = follow(&segments, &atlas);
    assert_eq!(total(&flow), trace.instructions);
    let mut text = String::new();
    draw(&tree(&flow, &atlas, 0), 0, &mut text);
    text
}

/// A generator whose every result hangs on its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A program: each function calls later ones in turn, and ends by a return or by a jump to a later one.
struct TestProgram {
    calls: Vec<Vec<usize>>,
    tail: Vec<Option<usize>>,
}

impl TestProgram {
    fn new(dice: &mut Dice, functions: usize) -> TestProgram {
        let later =
            |from: usize, dice: &mut Dice| from + 1 + dice.roll((functions - from - 1) as u64) as usize;
        let calls = (0..functions)
            .map(|from| {
                let count = if from + 1 < functions { dice.roll(4) } else { 0 };
                (0..count).map(|_| later(from, dice)).collect()
            })
            .collect();
        let tail =
            (0..functions).map(|from| (from + 1 < functions && dice.roll(3) == 0).then(|| later(from, dice)));
        TestProgram { calls, tail: tail.collect() }
    }

    /// Runs a function: its blocks into `events`, and what is true of it.
    fn run(
        &self,
        function: usize,
        dice: &mut Dice,
        budget: &mut u32,
        events: &mut Vec<(u64, u64)>,
    ) -> CallTree {
        let start = BASE + function as u64 * ROOM;
        // Three instructions, of four bytes each, before each call and after the last.
        let mut call = CallTree(format!("f{function}"), 3, Vec::new());
        events.push((start, 3));
        for (place, &callee) in self.calls[function].iter().enumerate() {
            // Else a branch leads around the call: the next block follows without it, as one run.
            if *budget > 0 && dice.roll(4) != 0 {
                *budget -= 1;
                call.2.push(self.run(callee, dice, budget, events));
            }
            events.push((start + (place as u64 + 1) * 12, 3));
            call.1 += 3;
        }
        if let Some(next) = self.tail[function].filter(|_| *budget > 0) {
            *budget -= 1;
            call.2.push(self.run(next, dice, budget, events));
        }
        call
    }
}

fn names(functions: usize) -> TestKernel {
    let name = |index: usize| -> &'static str { Box::leak(format!("f{index}").into_boxed_str()) };
    TestKernel((0..functions).map(|index| (name(index), None)).collect())
}

#[test]
fn random_programs_with_tail_calls_are_reconstructed() {
    let kernel = names(24);
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let program = TestProgram::new(&mut dice, 24);
        let mut events = vec![(0x40_0000, 1)];
        let truth = program.run(0, &mut dice, &mut 200, &mut events);
        events.push((0x40_0004, 2));
        let (vector, trace) = traced(&events);
        let mut atlas = Atlas::new(&kernel);
        let segments = segments(&trace, &vector, &mut atlas);
        let flow = follow(&segments, &atlas);
        assert_eq!(tree(&flow, &atlas, 0), CallTree("user".to_owned(), 3, vec![truth]), "seed {seed}");
    }
}

#[test]
fn nothing_is_lost_of_nonsense() {
    let special = [
        "__switch_to",
        "__switch_to_asm",
        "__schedule",
        "ret_from_fork",
        "a.cold",
        "a",
        "__SCT__x",
        "entry_x",
    ];
    let kernel = TestKernel(special.iter().map(|&name| (name, None)).collect());
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let block = |dice: &mut Dice| {
            let function = dice.roll(10);
            let offset = if dice.roll(3) == 0 { 0 } else { dice.roll(ROOM) };
            let pc = if function == 9 { offset } else { BASE + function * ROOM + offset };
            (pc, 1 + dice.roll(40))
        };
        let events: Vec<(u64, u64)> = (0..3000).map(|_| block(&mut dice)).collect();
        // A vector that knows some of it, and other things.
        let (vector, _) = traced(&events[..dice.roll(3000) as usize]);
        let (_, trace) = traced(&events);
        let mut atlas = Atlas::new(&kernel);
        let segments = segments(&trace, &vector, &mut atlas);
        let flow = follow(&segments, &atlas);
        assert_eq!(total(&flow), events.iter().map(|event| event.1).sum::<u64>(), "seed {seed}");
    }
}

fn scheduling() -> TestKernel {
    let names = [
        "entry",
        "sys_read",
        "wake",
        "schedule",
        "__schedule",
        "__switch_to_asm",
        "__switch_to",
        "finish_task_switch",
        "server_loop",
        "serve",
        "do_idle",
        "asm_interrupt",
        "handler",
        "thunk",
        "ret_from_fork",
        "kthread",
    ];
    TestKernel(names.into_iter().map(|name| (name, None)).collect())
}

const LEAVE: [(&str, u64, u64); 4] =
    [("schedule", 0, 1), ("__schedule", 0, 2), ("__switch_to_asm", 0, 1), ("__switch_to", 0, 3)];

const RESUME: [(&str, u64, u64); 4] =
    [("__schedule", 8, 1), ("finish_task_switch", 0, 4), ("__schedule", 12, 1), ("schedule", 4, 1)];

fn with_switches(parts: &[&[(&'static str, u64, u64)]]) -> Vec<(&'static str, u64, u64)> {
    parts.concat()
}

#[test]
fn a_thread_that_was_waiting_has_its_own_place_and_the_waiter_gets_its_own_back() {
    let steps = with_switches(&[
        &[("user", 0, 1), ("entry", 0, 1), ("sys_read", 0, 2)],
        &LEAVE,
        &RESUME,
        &[("server_loop", 100, 5), ("serve", 0, 7), ("server_loop", 120, 5)],
        &LEAVE,
        &RESUME,
        &[("sys_read", 8, 2), ("entry", 4, 1), ("user", 4, 1)],
    ]);
    let expected = "\
user 2
 entry 2
  sys_read 4
   schedule 2
    __schedule 4
     __switch_to_asm 1
      __switch_to 3
     finish_task_switch 4
 (another task) 0
  server_loop 10
   schedule 1
    __schedule 2
     finish_task_switch 4
   serve 7
   schedule 1
    __schedule 2
     __switch_to_asm 1
      __switch_to 3
";
    let drawn = drawn(&scheduling(), &steps);
    assert_eq!(drawn, expected);
}

#[test]
fn idling_and_an_interrupt_between_two_tasks_are_told_apart() {
    let steps = with_switches(&[
        &[("user", 0, 1), ("entry", 0, 1), ("sys_read", 0, 2)],
        &LEAVE,
        &RESUME,
        &[("do_idle", 40, 2), ("asm_interrupt", 0, 1), ("handler", 0, 3), ("wake", 0, 2)],
        &[("handler", 12, 1), ("asm_interrupt", 4, 1), ("do_idle", 48, 2)],
        &LEAVE,
        &RESUME,
        &[("sys_read", 8, 1)],
        &LEAVE,
        &RESUME,
        &[("do_idle", 56, 1)],
        &LEAVE,
        &RESUME,
        &[("sys_read", 12, 2), ("entry", 4, 1), ("user", 4, 1)],
    ]);
    let drawn = drawn(&scheduling(), &steps);
    assert_eq!(drawn.matches("(another task)").count(), 1, "{drawn}");
    assert!(drawn.contains("  do_idle 5\n"), "{drawn}");
    assert!(drawn.contains("   asm_interrupt 2\n    handler 4\n     wake 2\n"), "{drawn}");
    assert!(drawn.starts_with("user 2\n entry 2\n  sys_read 5\n"), "{drawn}");
}

#[test]
fn a_new_thread_begins_where_it_was_forked() {
    let steps = with_switches(&[
        &[("user", 0, 1), ("sys_read", 0, 2)],
        &LEAVE,
        &[("ret_from_fork", 0, 1), ("kthread", 0, 4), ("serve", 0, 1), ("kthread", 16, 1)],
        &LEAVE,
        &RESUME,
        &[("sys_read", 8, 2), ("user", 4, 1)],
    ]);
    let drawn = drawn(&scheduling(), &steps);
    assert!(drawn.contains(" (another task) 0\n  ret_from_fork 1\n   kthread 5\n    serve 1\n"), "{drawn}");
    assert!(drawn.starts_with("user 2\n sys_read 4\n"), "{drawn}");
}

/// Functions, where in them, and how many instructions.
type Steps<'a> = &'a [(&'a str, u64, u64)];

#[test]
fn what_a_trampoline_leads_to_is_its_callers_a_cold_part_is_its_functions_and_a_block_ends_with_a_function() {
    const THUNK: &str = "__x86_indirect_thunk_rax";
    let kernel = TestKernel(["a", "b", "a.cold", THUNK].map(|name| (name, None)).to_vec());
    let cold = [("a.cold", 8, 4), ("b", 0, 1), ("a.cold", 24, 1), ("a", 16, 2)];
    let cases: [(Steps<'_>, &str); 3] = [
        (
            &[("a", 0, 2), (THUNK, 0, 1), ("b", 0, 3), ("a", 8, 1)],
            " a 3\n  __x86_indirect_thunk_rax 1\n  b 3\n",
        ),
        (&[&[("a", 0, 2)][..], &cold].concat(), " a 4\n  a.cold 5\n   b 1\n"),
        // Three of the five instructions are in `b`.
        (&[("a", ROOM - 8, 5)], " a 2\n  b 3\n"),
    ];
    for (steps, expected) in cases {
        let steps = [&[("user", 0, 1)][..], steps, &[("user", 4, 1)]].concat();
        assert_eq!(drawn(&kernel, &steps), format!("user 2\n{expected}"));
    }
}
