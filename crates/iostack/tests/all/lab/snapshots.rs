//! Is a machine that begins with a snapshot the one that boots?

use std::process::Output;

use serde_json::Value;

use super::answered;
use crate::shared::{iostack, printed, said};
use crate::turn::turn_or_skip;

/// Counts of a case: the I/O, its layers and its functions.
fn counted(case: &str, further: &[&str]) -> Value {
    let words: Vec<&str> =
        case.split(' ').chain(["--full", "--json", "--quiet"]).chain(further.iter().copied()).collect();
    let cost = answered("lab cost", &[&["lab", "cost"], &words[..]].concat(), 0);
    ["instructions", "layers", "functions"].map(|name| cost[0][name].clone()).into()
}

#[test]
#[ignore = "slow: ten boots"]
fn counts_from_a_snapshot_are_those_of_boots() {
    let _turn = turn_or_skip!("counts_from_a_snapshot_are_those_of_boots", "6.1");
    for case in [
        "null_blk",
        "null_blk --op write --engine io_uring",
        "nvme",
        "nvme --engine io_uring --op write",
        "ahci",
        "brd --mitigations",
    ] {
        let (kept, booted) = (counted(case, &[]), counted(case, &["--fresh-boot"]));
        assert!(booted[0].as_u64().is_some_and(|instructions| instructions > 1000), "{case}: {booted}");
        assert_eq!(kept, booted, "{case}");
    }
}

#[test]
#[ignore = "slow: twelve boots"]
fn processors_that_take_turns_say_mostly_the_same() {
    let _turn = turn_or_skip!("processors_that_take_turns_say_mostly_the_same", "6.1");
    let script = "grep -c ^processor /proc/cpuinfo; ls /sys/block/sim0/mq | wc -l; cd $IOSTACK_DISK
        for i in 1 2 3 4; do (for k in 1 2 3; do dd if=/dev/urandom of=$i bs=64k count=$k conv=fsync; done) & done 2>/dev/null
        wait; cat /proc/interrupts; md5sum 1 2 3 4";
    for count in ["2", "4"] {
        let typed = ["lab", "exec", "--on", "sim:x25e", "--file-system", "ext4", "--cpus", count, "--quiet"];
        let typed = [&typed[..], &["--", "sh", "-c", script]].concat();
        let boots: Vec<Output> = (0..5).map(|_| iostack(&typed)).collect();
        if said(&boots[0]).contains("want QEMU 10") || said(&boots[0]).contains("bookworm-backports") {
            return println!("SKIPPED processors_that_take_turns: {}", said(&boots[0]));
        }
        let texts: Vec<String> = boots.iter().map(printed).collect();
        assert_eq!(boots[0].status.code(), Some(0), "{}{}", texts[0], said(&boots[0]));
        assert!(texts[0].starts_with(&format!("{count}\n{count}\n")), "{}", texts[0]);
        let others = texts[0].lines().find(|line| line.trim_start().starts_with("RES:")).expect("interrupts");
        let sent = others.split_whitespace().skip(1).take(2).filter_map(|word| word.parse::<u64>().ok());
        assert!(sent.sum::<u64>() > 10, "processors woke each other: {others}");
        // Where the emulator waits for the host, its processors may take other turns.
        let same = |text: &&String| texts.iter().filter(|other| other == text).count() >= 2;
        assert!(texts.iter().any(|text| same(&text)), "{count}: no two runs of five are the same");
    }
}
