//! Does `iostack check` name a bottleneck that was made on purpose, alone and beside a program that takes half of the CPUs?
//!
//! ```text
//!   row: a place with one known bottleneck ──► check --quick ──► right, "unknown" with its reason, or wrong
//! ```
//!
//! A verdict that is wrong is worse than none: none of the runs may be. The table is printed, so that what was right and
//! what was not known is seen as well. Start reading at `BOTTLENECKS`.

mod places;

use std::process::Command;

use iostack_model::answers::{Check, Limit};

use places::{Busy, MadePlace};

/// Bottleneck that a test makes.
struct Bottleneck {
    name: &'static str,
    /// Makes it; the reason when it cannot be made here.
    make: fn() -> Result<MadePlace, String>,
    /// Answers that name it.
    right: &'static [Limit],
    /// Words of the answer or of its evidence.
    says: &'static str,
}

const BOTTLENECKS: &[Bottleneck] = &[
    Bottleneck {
        name: "cgroup's cap",
        make: places::capped,
        right: &[Limit::Cap],
        says: "limited to 4000 IOPS by /sys/fs/cgroup",
    },
    Bottleneck {
        name: "cap without a file",
        make: places::capped_unseen,
        right: &[Limit::Cap],
        says: "cap of about",
    },
    Bottleneck { name: "token bucket", make: places::bucket, right: &[Limit::Cap], says: "token bucket" },
    Bottleneck { name: "scheduler", make: places::scheduler, right: &[Limit::Scheduler], says: "kyber" },
    Bottleneck { name: "one CPU", make: places::one_cpu, right: &[Limit::OneCore], says: "core" },
    Bottleneck {
        name: "four places in a queue",
        make: places::few_tags,
        right: &[Limit::OneQueue],
        says: "queue",
    },
    Bottleneck { name: "tmpfs", make: places::tmpfs, right: &[Limit::AllCores], says: "processors" },
    Bottleneck { name: "zram", make: places::zram, right: &[Limit::AllCores], says: "processors" },
    // One kernel thread carries a loop device: which of the two ends it, the queue or the path below, is no mistake.
    Bottleneck {
        name: "loop on loop",
        make: places::loop_on_loop,
        right: &[Limit::Device, Limit::OneQueue, Limit::AllCores],
        says: "",
    },
    Bottleneck {
        name: "slow fsync",
        make: places::slow_fsync,
        right: &[Limit::Device, Limit::OneQueue, Limit::AllCores],
        says: "An fsync after",
    },
];

/// Tries of each row, alone and beside others.
const ROUNDS: usize = 2;

#[derive(Clone, Copy, Debug, Default)]
struct Verdicts {
    right: usize,
    unknown: usize,
    wrong: usize,
}

#[test]
#[ignore = "slow: fifteen minutes"]
fn a_known_bottleneck_is_named_or_nothing_is() {
    let (mut all, mut notes) = (Verdicts::default(), Vec::new());
    println!("{:<24} {:>16} {:>16}", "bottleneck", "alone", "half CPU taken");
    for row in BOTTLENECKS {
        let cells = [false, true].map(|beside| try_row(row, beside, &mut notes));
        let cell = |tally: &Verdicts| format!("{}/{}/{}", tally.right, tally.unknown, tally.wrong);
        println!("{:<24} {:>16} {:>16}", row.name, cell(&cells[0]), cell(&cells[1]));
        for tally in cells {
            all.right += tally.right;
            all.unknown += tally.unknown;
            all.wrong += tally.wrong;
        }
    }
    println!("right/unknown/wrong: {}/{}/{}\n{}", all.right, all.unknown, all.wrong, notes.join("\n"));
    assert_eq!(all.wrong, 0, "a verdict was wrong");
}

fn try_row(row: &Bottleneck, beside: bool, notes: &mut Vec<String>) -> Verdicts {
    let mut tally = Verdicts::default();
    for _ in 0..ROUNDS {
        let place = match (row.make)() {
            Ok(place) => place,
            Err(why) => {
                println!("SKIPPED {}: {why}", row.name);
                break;
            }
        };
        let _busy = beside.then(Busy::half);
        let check = check(&place);
        let (limit, answer) = (check.verdict.limit, &check.verdict.answer);
        let said = format!("{answer} {}", check.verdict.evidence.join(" "));
        if row.right.contains(&limit) && said.contains(row.says) {
            tally.right += 1;
        } else if limit == Limit::Unknown {
            tally.unknown += 1;
        } else {
            tally.wrong += 1;
        }
        let others = if beside { ", half CPU taken" } else { "" };
        notes.push(format!("{}{others}: {limit:?}: {answer}", row.name));
    }
    tally
}

fn check(place: &MadePlace) -> Check {
    let program = env!("CARGO_BIN_EXE_iostack");
    let arguments = ["check", &place.target, "--quick", "--size", "128m", "--json", "--quiet", "--no-files"];
    let mut command = match &place.around {
        None => Command::new(program),
        Some(script) => {
            let mut shell = Command::new("unshare");
            shell.args(["--mount", "sh", "-c", &format!("{script}\nexec \"$0\" \"$@\""), program]);
            shell
        }
    };
    let output = command.args(arguments).output().expect("the binary was built");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "{error}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    })
}
