//! Why might a simulated outcome mislead? Pure: the outcome in, caveats out.

use iostack_model::{Caveat, Data, Engine, HostUse, Load, Outcome};

use super::About;

/// Whether the job asks for it.
type Asks = fn(&Outcome) -> bool;

type Doubt = fn(&Outcome) -> Option<Caveat>;

/// In the order of weight, as for a real target.
const DOUBTS: &[Doubt] = &[failed, interrupted, load_not_full, depth_below_asked, rate_missed];

/// What the simulation leaves out: whether the job asks for it, and what it is. `asked.rs` goes through all that can be asked.
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
pub(super) fn of(outcome: &Outcome, about: &About, formulas: &[String]) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = DOUBTS.iter().filter_map(|doubt| doubt(outcome)).collect();
    caveats.push(Caveat::Simulated {
        device: about.device.clone(),
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

fn failed(outcome: &Outcome) -> Option<Caveat> {
    let commonest = outcome.failures.iter().max_by_key(|failure| failure.count)?;
    let count = outcome.failures.iter().map(|failure| failure.count).sum();
    Some(Caveat::Failed { count, message: commonest.message.clone() })
}

fn interrupted(outcome: &Outcome) -> Option<Caveat> {
    let asked = outcome.job.runtime;
    outcome.interrupted.then_some(Caveat::Interrupted { after: outcome.elapsed, asked })
}

fn load_not_full(outcome: &Outcome) -> Option<Caveat> {
    let Load { in_flight, little, residual, full } = outcome.inside.as_ref()?.load?;
    (residual > Load::RESIDUAL_MOST).then_some(Caveat::LoadNotFull { in_flight, little, residual, full })
}

fn depth_below_asked(outcome: &Outcome) -> Option<Caveat> {
    let job = &outcome.job;
    let asked = f64::from(job.queue_depth) * f64::from(job.threads);
    let achieved = outcome.depth_achieved;
    let closed_loop = job.rate.is_none() && job.think.is_none();
    let enough_ios = outcome.ios() as f64 > asked * 10.0;
    if !closed_loop || achieved >= asked * 0.8 || asked <= 1.0 || !enough_ios {
        return None;
    }
    let reason = if job.engine.is_synchronous() && job.queue_depth > 1 {
        format!("{} has one I/O in flight per thread", job.engine.name())
    } else if job.sync.fsync_every > 0 || job.sync.fdatasync_every > 0 {
        "each flush waits for an empty queue".to_owned()
    } else {
        // What is left is that threads began late or ended early, which `load_not_full` says.
        return None;
    };
    Some(Caveat::DepthBelowAsked { asked, achieved, reason })
}

/// I/Os per second asked and reached, when fewer were reached than chance explains.
pub(super) fn rate_missed_by(outcome: &Outcome) -> Option<(f64, f64)> {
    let asked = outcome.job.rate?.iops * f64::from(outcome.job.threads);
    let achieved = outcome.rate();
    // Random arrivals of n I/Os stray by sqrt(n); three times that is no chance any more.
    let chance = 3.0 / (outcome.ios().max(1) as f64).sqrt();
    (achieved < asked * (0.98 - chance)).then_some((asked, achieved))
}

fn rate_missed(outcome: &Outcome) -> Option<Caveat> {
    rate_missed_by(outcome).map(|(asked, achieved)| Caveat::RateMissed { asked, achieved })
}
