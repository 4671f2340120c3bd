//! What would one change give, and the next on top of it?
//!
//! ```text
//!   --set, --step, --named ──► chain: one run a step, cumulative ──► pool: several at once ──► WhatIf
//!                                  ▲
//!                fill: a job that makes something full, when none was asked for; steady: how long it must run
//! ```
//!
//! All that was typed is held against the target's sheet before anything runs. Start reading at [`chain::chain`].

mod answer;
pub(crate) mod chain;
mod curve;
pub(crate) mod fill;
mod list;
pub mod named;
mod one_run;
mod rank;
mod sizing;
pub(crate) mod steady;
pub(crate) mod typed;

use std::sync::atomic::Ordering;

use chain::Link;
use iostack_model::SCHEMA;
use iostack_model::answers::{WhatIf, WhatIfFigures, WhatIfNamed, WhatIfStep};
use iostack_target::{Audience, Targets};

use crate::sweep::pool::{Given, Task};
use crate::sweep::watch::watched;

pub use answer::{WhatIfQuestion, answer};
pub use curve::curve;
pub use list::{ListQuestion, list};
pub use one_run::{OneRan, OneRun};
pub use rank::rank;
pub use sizing::size;

/// A chain that is ready to run.
pub(crate) struct WhatIfChain {
    pub(crate) device: String,
    pub(crate) title: String,
    pub(crate) named: Option<WhatIfNamed>,
    pub(crate) links: Vec<Link>,
}

/// Runs every step of every chain, as many at once as asked.
pub(crate) fn run(
    chains: Vec<WhatIfChain>,
    (parallel, targets): (usize, &dyn Targets),
    talk: &dyn Audience,
) -> Vec<WhatIf> {
    let links = || chains.iter().flat_map(|chain| &chain.links);
    let tasks: Vec<Task> = links().map(|link| link.run.task.clone()).collect();
    let names: Vec<String> =
        chains.iter().flat_map(|chain| chain.links.iter().map(|link| run_name(chain, link))).collect();
    let mut given = watched(&tasks, &names, (parallel, targets), talk).into_iter();
    let interrupted = talk.stop().load(Ordering::Relaxed);
    let results = chains.into_iter().map(|chain| {
        let seed = chain.links.iter().find_map(|link| Some(link.run.task.jobs.as_ref().ok()?.first()?.seed));
        let steps = chain.links.into_iter().map(|link| step(link, given.next().flatten())).collect();
        WhatIf {
            schema: SCHEMA,
            iostack: env!("CARGO_PKG_VERSION").to_owned(),
            device: chain.device,
            title: chain.title,
            named: chain.named,
            seed: seed.unwrap_or(1),
            steps,
            interrupted,
        }
    });
    results.collect()
}

fn run_name(chain: &WhatIfChain, link: &Link) -> String {
    match &chain.named {
        Some(named) => format!("{}, {}", named.id, link.name),
        None => link.name.clone(),
    }
}

fn step(link: Link, given: Option<Given>) -> WhatIfStep {
    let (command, mut outcomes, error) = link.run.ended(given);
    // Jobs before the last make what it needs.
    let outcome = outcomes.pop();
    WhatIfStep {
        name: link.name,
        changes: link.changes,
        command,
        figures: outcome.as_ref().map(WhatIfFigures::of_outcome),
        outcome,
        error,
    }
}
