//! Where was the limit, and where did it move?
//!
//! Sentences for people, the same on the screen and on the page, from the limit of each run. Start reading at [`told`].

use iostack_model::answers::{WhatIf, WhatIfFigures, WhatIfStep};
use iostack_model::{Outcome, ResourceUse};

use crate::lists::Joined;
use crate::text::format::{capitalised, change};
use crate::{inside, platform};

/// A change below this share is told as none.
const SAME: f64 = 0.005;

/// Effect of each change, then what became of the limit: one pair for each step after the first that ran.
pub(crate) fn told(what_if: &WhatIf) -> Vec<(String, String)> {
    let pairs = what_if.steps.windows(2);
    let pairs = pairs.filter_map(|pair| {
        let (before, after) = (pair[0].outcome.as_ref()?, pair[1].outcome.as_ref()?);
        Some((
            effect(&WhatIfFigures::of_outcome(before), &WhatIfFigures::of_outcome(after)),
            moved(before, after),
        ))
    });
    pairs.collect()
}

/// `IOPS +24 %, mean latency -19 %.`
fn effect(before: &WhatIfFigures, after: &WhatIfFigures) -> String {
    let figures = [
        ("IOPS", Some(before.iops), Some(after.iops)),
        ("mean latency", Some(before.latency_mean_ns), Some(after.latency_mean_ns)),
        ("clocks per I/O", before.clocks_per_io, after.clocks_per_io),
        ("write amplification", before.write_amplification, after.write_amplification),
    ];
    let changed = figures.into_iter().filter_map(|(name, before, after)| {
        let ratio = ratio(before?, after?)?;
        ((ratio - 1.0).abs() >= SAME).then(|| format!("{name} {}", percent(ratio)))
    });
    let changed = changed.joined(", ");
    if changed.is_empty() { "It changes next to nothing.".to_owned() } else { capitalised(&changed) + "." }
}

/// `after / before`, where that means something.
pub(crate) fn ratio(before: f64, after: f64) -> Option<f64> {
    (before > 0.0 && after.is_finite()).then_some(after / before)
}

fn percent(ratio: f64) -> String {
    if ratio >= 3.0 { format!("x {ratio:.1}") } else { change((ratio - 1.0) * 100.0) }
}

/// The busiest resource of a run.
struct Busiest {
    /// `the adapter (100 %)`, `the drives' dies (97 %)`.
    words: String,
    who: String,
    busy: f64,
    name: String,
    used_up: bool,
}

fn busiest(outcome: &Outcome) -> Option<Busiest> {
    let inside = outcome.inside.as_ref()?;
    let (limit, used_up) = inside::busiest(inside)?;
    let used = inside.resources.iter().find(|each| each.name == limit.name);
    let count = used.map_or(1, |used| used.count);
    // One of several at which all gather.
    let hottest = used.map_or(0.0, |used| used.busiest);
    let one = used_up && limit.busy < inside::USED_UP;
    let busy = if one { hottest } else { limit.busy };
    let all = match inside.host {
        Some(_) if platform::parts(inside).drive.iter().any(|each| each.name == limit.name) => {
            format!("the drives' {}", if count == 1 { limit.name.clone() } else { plural(&limit.name) })
        }
        _ => named(&limit.name, count),
    };
    let who = if one { format!("one of {all}") } else { all };
    let words = format!("{who} ({:.0} %)", busy * 100.0);
    Some(Busiest { words, who, busy, name: limit.name.clone(), used_up })
}

/// `the adapter`, `the 4 adapters`.
pub(crate) fn named(name: &str, count: u32) -> String {
    if count == 1 { format!("the {name}") } else { format!("the {count} {}", plural(name)) }
}

/// `dies`, `links`, `arms`; what ends in y gets ies.
pub(crate) fn plural(name: &str) -> String {
    match name.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{name}s"),
    }
}

fn moved(before: &Outcome, after: &Outcome) -> String {
    let (Some(old), Some(new)) = (busiest(before), busiest(after)) else {
        return "Nothing is busy before or after: the load asks for less than the target can do.".to_owned();
    };
    let (was, is) = (&old.words, &new.words);
    match (old.used_up, new.used_up) {
        (true, true) if old.name == new.name => {
            let [before, after] = [old.busy, new.busy].map(|busy| busy * 100.0);
            format!("The limit stays with {}: {before:.0} % before, {after:.0} % after.", new.who)
        }
        (true, true) => format!("The limit moves from {was} to {is}."),
        (true, false) => format!("The limit was {was}; now nothing is used up. The busiest: {is}. {MORE}"),
        (false, true) => format!("Nothing was used up before, the busiest was {was}; now the limit is {is}."),
        (false, false) => {
            format!("Nothing is used up, before or after: the busiest was {was}, now it is {is}. {MORE}")
        }
    }
}

const MORE: &str = "More I/Os in flight would do more.";

/// A resource in every run: how many there are and how busy they were.
pub(crate) struct Busy<'a> {
    pub(crate) name: &'a str,
    /// One for each step; `None` where the step has no such resource, or did not run.
    pub(crate) uses: Vec<Option<&'a ResourceUse>>,
}

/// Every resource of every run, in the order of the way.
pub(crate) fn busy(what_if: &WhatIf) -> Vec<Busy<'_>> {
    let mut names: Vec<&str> = Vec::new();
    for step in &what_if.steps {
        let mut at = 0;
        for each in resources(step) {
            if let Some(place) = names.iter().position(|name| *name == each.name) {
                at = place + 1;
            } else {
                names.insert(at, &each.name);
                at += 1;
            }
        }
    }
    let uses = |name: &str| {
        what_if.steps.iter().map(|step| resources(step).iter().find(|each| each.name == name)).collect()
    };
    names.into_iter().map(|name| Busy { name, uses: uses(name) }).collect()
}

fn resources(step: &WhatIfStep) -> &[ResourceUse] {
    step.outcome.as_ref().and_then(|outcome| outcome.inside.as_ref()).map_or(&[], |inside| &inside.resources)
}

/// Name of the resource that limits a run, if any is used up.
pub(crate) fn limiting(outcome: &Outcome) -> Option<&str> {
    let inside = outcome.inside.as_ref()?;
    inside::busiest(inside).filter(|(_, used_up)| *used_up).map(|(limit, _)| limit.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// The adapter limits, then the dies, then nothing.
    fn example(steps: usize) -> WhatIf {
        let mut chain: WhatIf = fixture::answer("what-if-chain");
        chain.steps.truncate(steps);
        chain
    }

    #[test]
    fn it_is_told_where_the_limit_goes() {
        let told = told(&example(3));
        assert_eq!(told[0].1, "The limit moves from the 2 adapters (100 %) to the 2 dies (97 %).");
        assert!(
            told[1].1.starts_with("The limit was the 2 dies (97 %); now nothing is used up."),
            "{told:?}"
        );
        assert_eq!(told[0].0, "It changes next to nothing.");
        let mut same = example(1);
        same.steps.push(same.steps[0].clone());
        assert_eq!(
            super::told(&same)[0].1,
            "The limit stays with the 2 adapters: 100 % before, 100 % after."
        );
    }

    #[test]
    fn resources_that_come_and_go_stand_in_the_order_of_the_way() {
        let what_if = example(2);
        let busy = busy(&what_if);
        let names: Vec<&str> = busy.iter().map(|each| each.name).collect();
        assert_eq!(names, ["core", "queue", "adapter", "die"]);
        assert!(busy[1].uses[0].is_none() && busy[1].uses[1].is_some());
    }

    #[test]
    fn an_effect_is_told_with_its_sign() {
        let figures =
            |iops, latency_mean_ns| WhatIfFigures { iops, latency_mean_ns, ..WhatIfFigures::default() };
        assert_eq!(effect(&figures(100.0, 10.0), &figures(125.0, 8.0)), "IOPS +25 %, mean latency -20 %.");
        assert_eq!(effect(&figures(100.0, 0.0), &figures(400.0, 8.0)), "IOPS x 4.0.");
    }
}
