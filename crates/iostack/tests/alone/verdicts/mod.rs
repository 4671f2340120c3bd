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

/// Bottleneck that a test makes: its name; what makes it, or why that cannot be here; answers that name it; words of the answer or of
/// its evidence.
type Bottleneck = (&'static str, fn() -> Result<MadePlace, String>, &'static [Limit], &'static str);

/// One kernel thread carries a loop device: which of the two ends it, the queue or the path below, is no mistake.
const LOOPED: &[Limit] = &[Limit::Device, Limit::OneQueue, Limit::AllCores];

const BOTTLENECKS: &[Bottleneck] = &[
    ("cgroup's cap", places::capped, &[Limit::Cap], "limited to 4000 IOPS by /sys/fs/cgroup"),
    ("cap without a file", places::capped_unseen, &[Limit::Cap], "cap of about"),
    ("token bucket", places::bucket, &[Limit::Cap], "token bucket"),
    ("scheduler", places::scheduler, &[Limit::Scheduler], "kyber"),
    ("one CPU", places::one_cpu, &[Limit::OneCore], "core"),
    ("four places in a queue", places::few_tags, &[Limit::OneQueue], "queue"),
    ("tmpfs", places::tmpfs, &[Limit::AllCores], "processors"),
    ("zram", places::zram, &[Limit::AllCores], "processors"),
    ("loop on loop", places::loop_on_loop, LOOPED, ""),
    ("slow fsync", places::slow_fsync, LOOPED, "An fsync after"),
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
        println!("{:<24} {:>16} {:>16}", row.0, cell(&cells[0]), cell(&cells[1]));
        for tally in cells {
            all.right += tally.right;
            all.unknown += tally.unknown;
            all.wrong += tally.wrong;
        }
    }
    println!("right/unknown/wrong: {}/{}/{}\n{}", all.right, all.unknown, all.wrong, notes.join("\n"));
    assert_eq!(all.wrong, 0, "a verdict was wrong");
}

fn try_row(&(name, make, right, says): &Bottleneck, beside: bool, notes: &mut Vec<String>) -> Verdicts {
    let mut tally = Verdicts::default();
    for _ in 0..ROUNDS {
        let place = match make() {
            Ok(place) => place,
            Err(why) => {
                println!("SKIPPED {name}: {why}");
                break;
            }
        };
        let _busy = beside.then(Busy::half);
        let check = check(&place);
        let (limit, answer) = (check.verdict.limit, &check.verdict.answer);
        let said = format!("{answer} {}", check.verdict.evidence.join(" "));
        if right.contains(&limit) && said.contains(says) {
            tally.right += 1;
        } else if limit == Limit::Unknown {
            tally.unknown += 1;
        } else {
            tally.wrong += 1;
        }
        let others = if beside { ", half CPU taken" } else { "" };
        notes.push(format!("{name}{others}: {limit:?}: {answer}"));
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
