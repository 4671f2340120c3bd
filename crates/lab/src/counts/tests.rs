//! What the plugin wrote is understood; what it cannot have written is refused.

use super::{CountsError, Event, Round, parse, parse::sum};
use std::fmt::Write as _;

const NULL_BLK: &str = include_str!("../../tests/data/plugin_null_blk_6_1.txt");
const NVME: &str = include_str!("../../tests/data/plugin_zero_nvme_6_1.txt");

/// A made-up round that is consistent: two pairs of (1, 2) and one of (3), a trace of the former.
fn made_up() -> String {
    let (often, seldom) = (sum(&[(0x10, 1), (0x20, 2)]).1, sum(&[(0x30, 3)]).1);
    let mut text = format!("iostack-plugin 1\nround 0\nio 0 3 {often:#018x}\nio 1 3 {seldom:#018x}\n");
    write!(text, "io 2 3 {often:#018x}\nvector {often:#018x} 2\npc 0x10 1\npc 0x20 2\n")
        .expect("a String grows");
    write!(text, "vector {seldom:#018x} 1\npc 0x30 3\ntrace 0 3 {often:#018x}\n").expect("a String grows");
    text.push_str("tb 0x10 2\nmmio w 0x20 0xfe001008 4 nvme ctrl\ntb 0x20 1\nend 0\n");
    text
}

#[track_caller]
fn problem(text: &str) -> (usize, String) {
    let CountsError { line, problem } = parse(text).expect_err("it is refused");
    (line, problem)
}

#[test]
fn a_round_is_read() {
    let rounds = parse(&made_up()).expect("consistent");
    let [Round { ios, vectors, traces }] = &rounds[..] else { panic!("{rounds:?}") };
    assert_eq!((ios.len(), vectors.len(), traces.len()), (3, 2, 1));
    assert_eq!((vectors[0].ios, &vectors[0].counts[..]), (2, &[(0x10, 1), (0x20, 2)][..]));
    assert_eq!(traces[0].hash, vectors[0].hash);
    let access =
        Event::Mmio { write: true, pc: 0x20, address: 0xfe00_1008, size: 4, region: "nvme ctrl".to_owned() };
    assert_eq!(traces[0].events[1], access);
}

#[test]
fn rounds_follow_each_other() {
    let first = made_up();
    let again =
        first.replace("iostack-plugin 1\n", "").replace("round 0", "round 1").replace("end 0", "end 1");
    assert_eq!(parse(&(first.clone() + &again)).map(|rounds| rounds.len()), Ok(2));
    let (line, what) = problem(&(first + &again.replace("round 1", "round 7")));
    assert_eq!((line, &what[..]), (16, "round 7 where round 1 was expected"));
}

#[test]
fn no_round_is_no_error() {
    assert_eq!(parse("iostack-plugin 1\n"), Ok(Vec::new()));
}

#[test]
fn a_file_cut_off_anywhere_is_refused_and_its_line_named() {
    for text in [&made_up()[..], NULL_BLK, NVME] {
        // Every end for the small file, some hundred for the real ones.
        let header = "iostack-plugin 1\n".len();
        for end in (header + 1..text.len() - 1).step_by(text.len() / 300 + 1) {
            let cut = &text[..end];
            assert_eq!(problem(cut).0, cut.lines().count(), "the last line is where it went wrong");
        }
    }
    assert_eq!(problem("").0, 0);
}

#[test]
fn lines_that_are_not_the_plugins_are_refused() {
    let text = made_up();
    let cases = [
        ("iostack-plugin 1", "iostack-plugin 2", 1),
        ("io 1 3", "io 5 3", 4),
        ("io 1 3", "io 1 many", 4),
        ("io 1 3", "io 1 99999999999999999999999", 4),
        ("pc 0x20 2", "pc 0x10 2", 8),
        ("pc 0x20 2", "pc 0x20 2 2", 8),
        ("pc 0x20 2", "surprise", 8),
        ("pc 0x20 2", "", 8),
        ("mmio w", "mmio x", 13),
        ("0xfe001008 4", "0xfe001008 4294967296", 13),
        ("end 0", "end 1", 15),
        ("end 0", "round 1", 15),
        ("round 0\n", "", 2),
    ];
    for (from, to, line) in cases {
        assert_eq!(problem(&text.replacen(from, to, 1)).0, line, "{from} -> {to}");
    }
    assert_eq!(problem("iostack-plugin 1\nround 0\npc 0x1 1\n").0, 3);
    assert_eq!(problem("iostack-plugin 1\nround 0\ntb 0x1 1\n").0, 3);
}

#[test]
fn sums_that_do_not_agree_are_refused() {
    let text = made_up();
    for (from, to, says) in [
        ("pc 0x20 2", "pc 0x20 3", "adds up to 4 instructions, its pairs to 3"),
        ("pc 0x20 2", "pc 0x21 2", "has the hash"),
        ("pc 0x10 1\n", "", "adds up to 2 instructions"),
        ("tb 0x20 1\n", "", "adds up to 2 instructions instead of 3"),
        ("io 2 3", "io 2 4", "differ in their instructions"),
    ] {
        let (line, what) = problem(&text.replacen(from, to, 1));
        assert!(what.contains(says), "{what}");
        assert!((14..=15).contains(&line), "the end of the round is where it is seen, not {line}");
    }
    let claims = text.replacen(" 2\npc", " 3\npc", 1);
    assert!(problem(&claims).1.contains("claims 3 pairs and has 2"));
}

#[test]
fn a_difference_that_the_plugin_reports_is_not_hidden() {
    let text = made_up().replace("end 0", "differs 0x20 -1\nend 0");
    let (line, what) = problem(&text);
    assert!(line == 15 && what.contains("disagree at 0x20 by -1"), "{line}: {what}");
}

#[test]
fn real_output_adds_up() {
    let (null_blk, nvme) = (parse(NULL_BLK).expect("a real output"), parse(NVME).expect("a real output"));
    assert_eq!((null_blk.len(), nvme.len()), (1, 2), "two DUMPs in one boot are two rounds");
    for round in [&null_blk[0], &nvme[1]] {
        let traced = round.traces.first().expect("one was kept");
        let modal = round.ios.iter().find(|io| io.hash == traced.hash).expect("counted as well as traced");
        assert_eq!(modal.instructions, traced.instructions);
    }
}

#[test]
fn reading_4096_zeroes_repeats_one_instruction_4097_times() {
    let rounds = parse(NVME).expect("a real output");
    let vector = &rounds[0].vectors[0];
    // `rep stosb` of clear_user; the last round finds that nothing is left.
    let repeated: Vec<_> = vector.counts.iter().filter(|(_, times)| *times > 1000).collect();
    assert!(matches!(repeated[..], [(_, 4097)]), "{repeated:?}");
    assert_eq!(sum(&vector.counts).0, rounds[0].ios[0].instructions);
}

#[test]
fn null_blk_has_no_register_and_nvme_has_two_doorbells() {
    let written = |round: &Round| -> Vec<String> {
        let accesses = round.traces[0].events.iter().filter_map(|event| match event {
            Event::Mmio { write: true, address, region, .. } => Some(format!("{region} {address:#x}")),
            Event::Mmio { .. } => panic!("none of the two reads a register"),
            Event::Block { .. } => None,
        });
        accesses.collect()
    };
    assert!(written(&parse(NULL_BLK).expect("a real output")[0]).is_empty());
    // Between the doorbells of submission and completion, the interrupt controller is told that it was served.
    let mut nvme = written(&parse(NVME).expect("a real output")[1]);
    nvme.sort();
    assert_eq!(nvme, ["apic-msi 0xfee000b0", "nvme 0xfebf1008", "nvme 0xfebf100c"]);
}
