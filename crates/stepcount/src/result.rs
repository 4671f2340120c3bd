//! The answer: what one I/O costs a program in user space, and why to doubt it.

use std::collections::BTreeMap;

use iostack_model::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

use super::calls;
use super::free::FreeRun;
use super::objects::CodePlace;
use super::record::{Ended, Trace};
use super::summary::Counted;
use super::threads::Thread;

/// What one I/O costs a program in user space.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct UserCost {
    /// The command as typed, or the process.
    pub subject: String,
    /// Process of the thread.
    pub pid: i32,
    /// The thread that was stepped: the busiest that did I/O.
    pub tid: i32,
    /// The thread's name.
    pub thread: String,
    /// Its share of the CPU time of all the program's threads, 0..=1.
    pub cpu_share: f64,
    /// User instructions counted, from the return of one I/O call to the return of another, without those apart.
    pub instructions: u64,
    /// I/Os submitted in that window.
    pub ios: u64,
    /// Completions that `io_getevents` returned in that window.
    pub completions: u64,
    /// A kernel thread submits (SQPOLL); the I/Os are completions of the ring.
    pub kernel_submits: bool,
    /// User instructions per I/O.
    pub instructions_per_io: f64,
    /// The same for each fifth of the window; of whole beats where there are some.
    pub instructions_per_io_parts: Vec<f64>,
    /// Whole beats that were counted: distances at which a dear turn comes again, as planning in batches does. 0 when
    /// there is none.
    pub beats: u64,
    /// Turns of the I/O loop that keep no such distance, and so are work by time.
    pub apart_turns: u64,
    /// Instructions by which these exceed other turns; in none of the figures per I/O.
    pub apart_instructions: u64,
    /// Half of the distance between the smallest and the largest part, over the mean.
    pub spread: f64,
    /// System calls per I/O.
    pub calls_per_io: f64,
    /// System calls by name, commonest first.
    pub calls: Vec<CallCost>,
    /// Switches and CPU time, from a window without stepping; `None` when its I/Os could not be counted.
    pub free_run: Option<FreeRun>,
    /// Instructions by file, most first.
    pub objects: Vec<PlaceCost>,
    /// Instructions by function, most first.
    pub functions: Vec<PlaceCost>,
    /// Instructions by address, most first.
    pub addresses: Vec<AddressCost>,
    /// Files that took I/O by the read and write family, most first.
    pub files: Vec<FileCost>,
    /// Iterations of repeated string instructions beyond the first, not counted as instructions.
    pub repeats: u64,
    /// Signals that arrived while stepping.
    pub signals: u64,
    /// Wall time of stepping.
    pub stepping: Nanos,
    /// Why to doubt it.
    pub doubts: Vec<Doubt>,
}

/// One kind of system call.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CallCost {
    /// The system call's name.
    pub name: String,
    /// Calls in the window.
    pub count: u64,
    /// Calls per I/O.
    pub per_io: f64,
    /// I/Os that these calls submitted.
    pub ios: u64,
}

/// Instructions in one file or function.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PlaceCost {
    /// The name of the file that holds the code.
    pub object: String,
    /// Function; `None` for a whole file or where the file has no symbol.
    pub function: Option<String>,
    /// Instructions per I/O.
    pub per_io: f64,
    /// Share of all instructions, 0..=1.
    pub share: f64,
}

/// Executions of one instruction.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct AddressCost {
    /// The name of the file that holds the code.
    pub object: String,
    /// Address as `objdump -d` shows it.
    pub address: u64,
    /// Executions in the window.
    pub count: u64,
}

/// I/Os on one file.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct FileCost {
    /// Path as the process sees it.
    pub path: String,
    /// I/Os in the window.
    pub ios: u64,
}

/// A reason to doubt a cost.
// Displayed as the doubt, then what to do, in whole sentences.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Doubt {
    /// Too few I/Os for a mean.
    #[error("Only {ios} I/Os were counted. Raise --instructions.")]
    FewIos {
        /// The number of I/Os counted.
        ios: u64,
    },
    /// The parts of the window differ.
    #[error(
        "The fifths of the window differ by ±{:.1} %. Raise --instructions, and --after if it was still starting.",
        spread * 100.0
    )]
    Uneven {
        /// See [`UserCost::spread`].
        spread: f64,
    },
    /// Other threads of the program work too.
    #[error(
        "Other threads used {:.0} % of the program's CPU time; their work is not in these figures. Use one thread or job \
         to see all of it.",
        share * 100.0
    )]
    OtherThreads {
        /// Their share of the program's CPU time, 0..=1.
        share: f64,
    },
    /// A kernel thread submits; there was no call to count from and to.
    #[error(
        "A kernel thread submits (SQPOLL), so I/Os are the ring's completions and the polls of a slowed thread are fewer \
         than at full speed. Measure without SQPOLL to compare."
    )]
    KernelSubmits,
    /// The window was not completed.
    #[error("The window was cut short: {reason}.")]
    CutShort {
        /// The reason, in a sentence for people.
        reason: String,
    },
    /// Several files took I/O.
    #[error(
        "{:.0} % of the I/Os went to `{second}`. If that is a log, the cost per I/O is higher than shown.",
        share * 100.0
    )]
    SeveralFiles {
        /// The one with fewer I/Os than the first.
        second: String,
        /// Its share of the I/Os, 0..=1.
        share: f64,
    },
    /// The I/Os of the free window could not be counted.
    #[error(
        "No counter of the kernel tells this thread's I/Os while it runs freely, so switches and CPU time per I/O are not \
         known. Read /proc as root, or use a program that reads or writes directly."
    )]
    NoFreeCount,
    /// All I/Os are plain `write` calls, as when a file is laid out.
    #[error(
        "All I/Os are plain `write` calls, each behind the one before, as when a generator lays out its file. If that is \
         not what the job does, lay the file out first, or raise --after."
    )]
    MayLayOut,
}

/// Fewest I/Os that pass without a doubt.
const IOS_ENOUGH: u64 = 50;
/// Largest spread that passes without a doubt.
const SPREAD_FINE: f64 = 0.02;
/// Largest share of other threads, or of another file, that passes without a doubt.
const SHARE_FINE: f64 = 0.05;

/// Puts the answer together.
pub(crate) fn assemble(
    subject: &str,
    (thread, cpu_share): (&Thread, f64),
    trace: &Trace,
    counted: Counted,
    free_run: Option<FreeRun>,
    places: Vec<(CodePlace, u64)>,
) -> UserCost {
    let ios = counted.ios as f64;
    let instructions_per_io = counted.instructions as f64 / ios;
    let [objects, functions] = by_place(&places, instructions_per_io);
    let mut answer = UserCost {
        subject: subject.to_owned(),
        pid: thread.pid,
        tid: thread.tid,
        thread: thread.name.clone(),
        cpu_share,
        instructions: counted.instructions,
        ios: counted.ios,
        completions: counted.completions,
        kernel_submits: counted.polled,
        instructions_per_io,
        spread: spread(&counted.parts, instructions_per_io),
        beats: counted.beats,
        apart_turns: counted.apart.0,
        apart_instructions: counted.apart.1,
        calls_per_io: counted.calls.values().map(|&(count, _)| count).sum::<u64>() as f64 / ios,
        calls: call_costs(&counted),
        free_run,
        objects,
        functions,
        addresses: addresses(places),
        files: file_costs(&counted),
        instructions_per_io_parts: counted.parts,
        repeats: trace.repeats,
        signals: trace.signals,
        stepping: Nanos(u64::try_from(trace.elapsed.as_nanos()).unwrap_or(u64::MAX)),
        doubts: Vec::new(),
    };
    answer.doubts = doubts(&answer, trace.ended);
    answer
}

/// Half of the range over the mean.
fn spread(parts: &[f64], mean: f64) -> f64 {
    let largest = parts.iter().copied().fold(f64::MIN, f64::max);
    let smallest = parts.iter().copied().fold(f64::MAX, f64::min);
    if parts.is_empty() || mean <= 0.0 { 0.0 } else { (largest - smallest) / 2.0 / mean }
}

fn call_costs(counted: &Counted) -> Vec<CallCost> {
    let cost = |(&number, &(count, ios)): (&u64, &(u64, u64))| CallCost {
        name: calls::name(number),
        count,
        per_io: count as f64 / counted.ios as f64,
        ios,
    };
    let mut costs: Vec<CallCost> = counted.calls.iter().map(cost).collect();
    costs.sort_by_key(|cost| std::cmp::Reverse(cost.count));
    costs
}

fn file_costs(counted: &Counted) -> Vec<FileCost> {
    let cost = |(path, &ios): (&std::path::PathBuf, &u64)| FileCost { path: path.display().to_string(), ios };
    let mut costs: Vec<FileCost> = counted.files.iter().map(cost).filter(|cost| cost.ios > 0).collect();
    costs.sort_by_key(|cost| std::cmp::Reverse(cost.ios));
    costs
}

/// Instructions by file and by function, most first: shares of what an I/O costs.
fn by_place(places: &[(CodePlace, u64)], per_io: f64) -> [Vec<PlaceCost>; 2] {
    let mut objects: BTreeMap<(&str, Option<&str>), u64> = BTreeMap::new();
    let mut functions = objects.clone();
    for (place, count) in places {
        *objects.entry((&place.object, None)).or_default() += count;
        *functions.entry((&place.object, place.symbol.as_deref())).or_default() += count;
    }
    [objects, functions].map(|counts| {
        let all: u64 = counts.values().sum();
        let mut costs: Vec<_> = counts.into_iter().collect();
        costs.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        let cost = |((object, function), count): ((&str, Option<&str>), u64)| PlaceCost {
            object: object.to_owned(),
            function: function.map(str::to_owned),
            per_io: count as f64 / all as f64 * per_io,
            share: count as f64 / all as f64,
        };
        costs.into_iter().map(cost).collect()
    })
}

fn addresses(places: Vec<(CodePlace, u64)>) -> Vec<AddressCost> {
    let cost = |(place, count): (CodePlace, u64)| AddressCost {
        object: place.object,
        address: place.address,
        count,
    };
    let mut costs: Vec<AddressCost> = places.into_iter().map(cost).collect();
    costs.sort_by(|a, b| b.count.cmp(&a.count).then(a.address.cmp(&b.address)));
    costs
}

/// True when the thread did I/O, all of it by calls that write.
pub(crate) fn only_writes(trace: &Trace) -> bool {
    let mut carrying = trace.calls.iter().filter(|call| call.ios > 0).peekable();
    carrying.peek().is_some() && carrying.all(|call| calls::writes(call.number))
}

/// `read 12, futex 3`: the commonest calls of a trace.
pub(crate) fn commonest_calls(trace: &Trace) -> String {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for call in &trace.calls {
        *counts.entry(call.number).or_default() += 1;
    }
    let mut counts: Vec<(u64, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let words = counts.iter().take(5).map(|&(number, count)| format!("{} {count}", calls::name(number)));
    let words: Vec<String> = words.collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

fn doubts(answer: &UserCost, ended: Option<Ended>) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let reason = match ended {
        Some(Ended::Thread) => Some("the thread ended; let the program run longer"),
        Some(Ended::Patience) => Some("it took too long; lower --instructions or raise --patience"),
        Some(Ended::Interrupted) => Some("it was interrupted"),
        Some(Ended::Enough) | None => None,
    };
    doubts.extend(reason.map(|reason| Doubt::CutShort { reason: reason.to_owned() }));
    if answer.ios < IOS_ENOUGH {
        doubts.push(Doubt::FewIos { ios: answer.ios });
    }
    if answer.spread > SPREAD_FINE {
        doubts.push(Doubt::Uneven { spread: answer.spread });
    }
    if 1.0 - answer.cpu_share > SHARE_FINE {
        doubts.push(Doubt::OtherThreads { share: 1.0 - answer.cpu_share });
    }
    if answer.kernel_submits {
        doubts.push(Doubt::KernelSubmits);
    }
    if let Some(second) = answer.files.get(1) {
        let share = second.ios as f64 / answer.ios as f64;
        if share > SHARE_FINE {
            doubts.push(Doubt::SeveralFiles { second: second.path.clone(), share });
        }
    }
    if answer.free_run.is_none() {
        doubts.push(Doubt::NoFreeCount);
    }
    let carried = |name: &str| answer.calls.iter().any(|call| call.name == name && call.ios == answer.ios);
    if carried("write") && !answer.calls.iter().any(|call| call.name == "lseek") {
        doubts.push(Doubt::MayLayOut);
    }
    doubts
}
