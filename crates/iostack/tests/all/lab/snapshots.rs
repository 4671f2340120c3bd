//! Is a machine that begins with a snapshot the one that boots?

use serde_json::Value;

use super::answered;
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
