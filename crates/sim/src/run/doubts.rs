//! Why might a simulated outcome mislead? Pure: the outcome in, caveats out.

use iostack_doubt::Evidence;
use iostack_model::{Caveat, Data, Engine, HostUse, Outcome};

use super::About;

/// True for a job that asks for it.
type Asks = fn(&Outcome) -> bool;

/// All that the simulation leaves out, with a test for jobs that ask for it. `asked.rs` goes through all that can be asked.
const LEFT_OUT: &[(Asks, &str)] = &[
    (
        |outcome| outcome.inside.as_ref().is_none_or(|inside| inside.host.is_none()),
        "the host (system calls, interrupts and CPUs take no time)",
    ),
    (
        |outcome| {
            let has = |host: &HostUse| host.layers.iter().any(|layer| layer.name == "page cache");
            let is_there = outcome.inside.as_ref().and_then(|inside| inside.host.as_ref()).is_some_and(has);
            !is_there && (!outcome.job.direct || outcome.job.engine == Engine::Mmap)
        },
        "the page cache",
    ),
    (
        |outcome| outcome.job.data != Data::Random && outcome.job.mix.write > 0,
        "what the data holds (the device neither compresses nor finds duplicates)",
    ),
    (
        |outcome| matches!(outcome.job.engine, Engine::IoUring { fixed_buffers: true, .. }),
        "what fixed_buffers saves in the time of an I/O",
    ),
    (
        |outcome| matches!(outcome.job.engine, Engine::IoUring { registered_files: true, .. }),
        "what registered_files saves in the time of an I/O",
    ),
    (
        |outcome| matches!(outcome.job.engine, Engine::IoUring { submit_poll: true, .. }),
        "what submit_poll saves in the time of an I/O (its thread's clocks are counted)",
    ),
    (|outcome| !outcome.job.invalidate, "a page cache that holds anything at the start (invalidate = false)"),
    (|outcome| outcome.job.sync.o_sync || outcome.job.sync.o_dsync, "O_SYNC and O_DSYNC"),
    (|outcome| outcome.job.think.is_some_and(|think| think.spin.0 > 0), "thinking that burns CPU"),
];

/// All reasons to doubt the outcome; `formulas` say how states were made that were not written.
pub(super) fn caveats_of_outcome(outcome: &Outcome, about: &About, formulas: &[String]) -> Vec<Caveat> {
    let evidence = Evidence { simulated: true, ..Evidence::default() };
    let mut caveats: Vec<Caveat> = iostack_doubt::doubts_of_run(outcome, &evidence).collect();
    caveats.push(Caveat::Simulated {
        device: about.inside.device.clone(),
        sourced: about.tally.sourced,
        fitted: about.tally.fitted,
        assumed: about.tally.assumed,
    });
    let left_out = LEFT_OUT.iter().filter(|(asks, _)| asks(outcome));
    caveats.extend(left_out.map(|&(_, what)| Caveat::NotSimulated { what: what.to_owned() }));
    let mut formulas = formulas.to_vec();
    formulas.dedup();
    caveats.extend(formulas.into_iter().map(|how| Caveat::StateByFormula { how }));
    caveats.extend(iostack_stats::doubts_of_series(outcome));
    caveats
}

/// The jobs of these names ask for several files.
pub(super) fn of_files(outcome: &Outcome, several: &[&str]) -> Option<Caveat> {
    let what = "several files (they are one region of the device)".to_owned();
    several.contains(&outcome.job.name.as_str()).then_some(Caveat::NotSimulated { what })
}
