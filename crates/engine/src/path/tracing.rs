//! Looks at a load while it runs: stages, layers, or both.

use anyhow::{Context, Result};
use iostack_attribute::classify::Rules;
use iostack_attribute::layers::{self, LayerTrace};
use iostack_attribute::stages::{self, StageTrace};
use iostack_doubt::{events_lost, inexact_clocks, traced, unclassified, unmatched};
use iostack_host::clock::Clock;
use iostack_model::{Caveat, Ladder, Lane, LaneRequest, Layers, Observer, Outcome, Stages, Storage};

use iostack_target::Wanted;

/// Observers of one load. Dropped, they detach.
#[derive(Default)]
pub struct Tracing {
    stages: Option<StageTrace>,
    layers: Option<LayerTrace>,
}

impl Tracing {
    /// Attaches what is wanted, or refuses with the reason and the remedy. `rules` give functions their layers; `None`: the
    /// built-in ones.
    pub fn attach(
        wanted: Wanted,
        rules: Option<&'static Rules>,
        storage: &Storage,
        ladder: &Ladder,
    ) -> Result<Tracing> {
        let mut tracing = Tracing::default();
        if wanted.stages {
            tracing.stages = Some(follow(&stages::Subject::Load, storage, ladder)?);
        }
        if wanted.layers {
            tracing.layers = Some(sample(layers::Subject::Load, storage, ladder, wanted.sample_rate, rules)?);
        }
        Ok(tracing)
    }

    /// Attaches what is wanted as far as it is permitted, and says why the rest is not.
    pub fn attach_permitted(
        wanted: Wanted,
        rules: Option<&'static Rules>,
        storage: &Storage,
        ladder: &Ladder,
    ) -> (Tracing, Vec<String>) {
        let (mut tracing, mut refused) = (Tracing::default(), Vec::new());
        let each = [Wanted { layers: false, ..wanted }, Wanted { stages: false, ..wanted }];
        for wanted in each {
            match Tracing::attach(wanted, rules, storage, ladder) {
                Ok(part) => {
                    tracing.stages = tracing.stages.or(part.stages);
                    tracing.layers = tracing.layers.or(part.layers);
                }
                Err(error) => refused.push(format!("{error:#}")),
            }
        }
        (tracing, refused)
    }

    /// True when nothing could be attached.
    pub fn sees_nothing(&self) -> bool {
        self.stages.is_none() && self.layers.is_none()
    }

    /// Observer that the engine calls.
    pub fn observer(&self) -> Both<'_> {
        Both {
            stages: self.stages.as_ref().map(StageTrace::observer),
            layers: self.layers.as_ref().map(LayerTrace::observer),
        }
    }

    /// Detaches, and puts what was seen into the first outcome: the jobs that ran together were seen together.
    pub fn finish(self, outcomes: &mut [Outcome]) {
        let ios: u64 = outcomes.iter().map(Outcome::ios).sum();
        let sum_ns: u64 = outcomes.iter().map(|outcome| outcome.latency().sum_ns).sum();
        let together = (outcomes.len() > 1)
            .then(|| format!("It covers the {} groups of jobs that ran at the same time.", outcomes.len()));
        let mean_ns = if ios == 0 { 0.0 } else { sum_ns as f64 / ios as f64 };
        let Some(first) = outcomes.first_mut() else { return };
        first.stages = self.stages.map(|trace| {
            let mut stages = trace.finish();
            stages.application_mean_ns = (ios > 0).then_some(mean_ns);
            stages.notes.extend(together.clone());
            stages
        });
        first.layers = self.layers.map(|trace| {
            let mut layers = trace.finish(Some(ios), "I/Os of the load");
            layers.notes.extend(together);
            layers
        });
        first.caveats.extend(doubts(first.stages.as_ref(), first.layers.as_ref(), mean_ns));
    }
}

/// Doubts from looking inside.
fn doubts(stages: Option<&Stages>, layers: Option<&Layers>, mean_ns: f64) -> Vec<Caveat> {
    let mut doubts = Vec::new();
    if let Some(stages) = stages {
        doubts.push(traced::of_cost(stages.tracing.ns_per_io, mean_ns));
        doubts.extend(events_lost::of_events(stages.lost, stages.tracing.events));
        doubts.extend(unmatched::of_ios(stages.ios, stages.matched));
    }
    if let Some(layers) = layers {
        doubts.extend(unclassified::of_quality(&layers.quality));
        doubts.extend(events_lost::of_events(layers.lost, layers.samples));
        doubts.extend(inexact_clocks::of_clocks(&layers.clocks));
    }
    doubts
}

/// Attaches to I/Os, or refuses with the reason and the remedy.
pub fn follow(subject: &stages::Subject<'_>, storage: &Storage, ladder: &Ladder) -> Result<StageTrace> {
    StageTrace::attach(subject, storage, ladder)
        .map_err(|error| with_remedy(&error, error.remedy()))
        .context("cannot trace the stages of an I/O")
}

/// Begins to sample, or refuses with the reason and the remedy.
pub fn sample(
    subject: layers::Subject,
    storage: &Storage,
    ladder: &Ladder,
    sample_rate: u32,
    rules: Option<&'static Rules>,
) -> Result<LayerTrace> {
    let hz = Clock::calibrated().tsc_hz();
    let rules = rules.unwrap_or_else(|| Rules::built_in());
    LayerTrace::start(rules, subject, storage, ladder, hz, sample_rate)
        .map_err(|error| with_remedy(&error, error.remedy()))
        .context("cannot sample the layers of the kernel")
}

/// An error with its causes in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// An error with its causes, and what lifts it behind them.
pub fn with_remedy(error: &dyn std::error::Error, remedy: Option<&str>) -> anyhow::Error {
    let said = chain(error);
    match remedy {
        Some(remedy) if !said.contains(remedy) => anyhow::anyhow!("{said}; what helps: {remedy}"),
        _ => anyhow::anyhow!("{said}"),
    }
}

/// Two observers of one load.
pub struct Both<'a> {
    stages: Option<&'a dyn Observer>,
    layers: Option<&'a dyn Observer>,
}

impl Both<'_> {
    fn each(&self) -> impl Iterator<Item = &dyn Observer> {
        self.stages.into_iter().chain(self.layers)
    }
}

impl Observer for Both<'_> {
    fn opened(&self) {
        self.each().for_each(Observer::opened);
    }

    fn closed(&self) {
        self.each().for_each(Observer::closed);
    }

    /// Layers look at threads, not at single I/Os: they have no lane.
    fn lane(&self, request: &LaneRequest) -> Option<Box<dyn Lane + '_>> {
        let lanes: Vec<Box<dyn Lane + '_>> = self.each().filter_map(|one| one.lane(request)).collect();
        lanes.into_iter().next()
    }
}

#[cfg(test)]
mod tests {
    use iostack_model::{Clocks, Ladder, Nanos, Quality, TracingCost};

    use super::*;

    fn stages(ios: u64, matched: u64, lost: u64) -> Stages {
        Stages {
            subject: "this load".to_owned(),
            elapsed: Nanos::secs(1),
            ios,
            matched,
            lost,
            ways: Vec::new(),
            devices: Vec::new(),
            processes: Vec::new(),
            kinds: Vec::new(),
            waits: Vec::new(),
            application_mean_ns: None,
            tracing: TracingCost { events: 5000, ns_per_event: 100.0, ns_per_io: 500.0, how: String::new() },
            ladder: Ladder::default(),
            notes: Vec::new(),
        }
    }

    fn layers(unclassified: f64, exact: bool) -> Layers {
        Layers {
            subject: "this load".to_owned(),
            elapsed: Nanos::secs(1),
            ios: Some(1000),
            ios_meaning: String::new(),
            tsc_hz: 2_500_000_000,
            clocks: Clocks { exact, how: "by samples".to_owned(), ..Clocks::default() },
            rate_hz: 997,
            event: "cpu-clock".to_owned(),
            samples: 500,
            lost: 0,
            sampling_cost: 0.05,
            rows: Vec::new(),
            functions: Vec::new(),
            stacks: Vec::new(),
            processes: Vec::new(),
            quality: Quality { unclassified, ..Quality::default() },
            hardware: None,
            ladder: Ladder::default(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_clean_trace_says_only_what_it_cost() {
        let found = doubts(Some(&stages(1000, 1000, 0)), Some(&layers(0.001, true)), 10_000.0);
        assert_eq!(found, [Caveat::Traced { ns_per_io: 500.0, share: 0.05 }]);
    }

    #[test]
    fn lost_events_and_unseen_ios_are_said() {
        let found = doubts(Some(&stages(1000, 990, 3)), None, 10_000.0);
        assert!(found.contains(&Caveat::EventsLost { lost: 3, seen: 5000 }), "{found:?}");
        assert!(found.contains(&Caveat::Unmatched { unmatched: 10, ios: 1000 }), "{found:?}");
    }

    #[test]
    fn unknown_functions_and_uncertain_totals_are_said() {
        let found = doubts(None, Some(&layers(0.02, false)), 0.0);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], Caveat::Unclassified { share: 0.02 });
    }
}
