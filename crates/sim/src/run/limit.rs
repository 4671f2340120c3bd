//! What limited the throughput, and why? One sentence for a reader who does not know the device. Pure.

use iostack_model::{Inside, Limiting, Outcome, ResourceUse};

/// Share from which on a resource counts as used up: the rest is chance and the start of the run.
const FULL: f64 = 0.9;

/// The resource that limits; `None` when nothing was busy.
pub(super) fn limiting_resource(outcome: &Outcome, inside: &Inside) -> Option<Limiting> {
    let busy = |each: &&ResourceUse| each.visits > 0 && each.busiest > 0.0;
    let most = |list: Vec<&ResourceUse>, by: fn(&ResourceUse) -> f64| {
        // The first of equals: the nearest to the host.
        list.into_iter().rev().max_by(|a, b| by(a).total_cmp(&by(b))).cloned()
    };
    let used: Vec<&ResourceUse> = inside.resources.iter().filter(busy).collect();
    let fullest = most(used.clone(), |each| each.busy)?;
    let hottest = most(used, |each| each.busiest)?;
    if fullest.busy >= FULL {
        return Some(Limiting { why: full(&fullest), busy: fullest.busy, name: fullest.name });
    }
    if hottest.busiest >= FULL {
        return Some(Limiting { why: hot(&hottest), busy: hottest.busy, name: hottest.name });
    }
    Some(Limiting { why: idle(outcome, &fullest), busy: fullest.busy, name: fullest.name })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn plural(name: &str, count: u32) -> String {
    if count == 1 { format!("the {name}") } else { format!("all {count} {name}s") }
}

fn full(each: &ResourceUse) -> String {
    let who = plural(&each.name, each.count);
    let verb = if each.count == 1 { "is" } else { "are" };
    format!(
        "{}: {who} {verb} busy {} of the time, {:.1} us for each use, so that more requests at once only wait longer.",
        each.name,
        percent(each.busy),
        each.service_ns / 1e3
    )
}

fn hot(each: &ResourceUse) -> String {
    format!(
        "One {0} is busy {1} of the time while the {2} {0}s average {3}: the requests gather at it.",
        each.name,
        percent(each.busiest),
        each.count,
        percent(each.busy)
    )
}

/// Nothing is used up: the load asks for no more, or its depth does.
fn idle(outcome: &Outcome, each: &ResourceUse) -> String {
    let share = percent(each.busy);
    let (name, depth) = (&each.name, outcome.depth_achieved);
    if outcome.job.rate.is_some() || outcome.job.think.is_some() {
        return format!("Nothing is used up: the load asks for no more, and the {name} is busy {share}.");
    }
    if each.count > 1 && each.wait_ns > each.service_ns * 0.1 {
        return format!(
            "Chance: {depth:.1} requests in flight meet at some of the {0} {name}s while others idle (busy {share}); more in flight would fill them.",
            each.count
        );
    }
    format!(
        "Latency: {depth:.1} requests in flight keep the {name} busy only {share} of the time; more in flight would do more."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(name: &str, count: u32, busy: f64, busiest: f64) -> ResourceUse {
        ResourceUse {
            name: name.to_owned(),
            count,
            busy,
            busiest,
            visits: 100,
            service_ns: 1000.0,
            wait_ns: 500.0,
            waiting: 1.0,
        }
    }

    fn limit(resources: Vec<ResourceUse>) -> Option<Limiting> {
        let outcome = super::super::tests::outcome();
        limiting_resource(&outcome, &Inside { resources, ..Inside::default() })
    }

    #[test]
    fn what_is_used_up_or_hot_is_named_and_an_idle_device_is_not_blamed() {
        for ((link, die), name, words) in [
            (([0.3, 0.3], (64, [0.97, 0.99])), "die", "all 64 dies are busy 97 %"),
            (([0.5, 0.5], (64, [0.1, 0.99])), "die", "gather"),
            (([0.1, 0.1], (8, [0.4, 0.5])), "die", "Chance"),
        ] {
            let (count, [busy, busiest]) = die;
            let told =
                limit(vec![resource("link", 1, link[0], link[1]), resource("die", count, busy, busiest)]);
            let told = told.expect("busy");
            assert!(told.name == name && told.why.contains(words), "{}", told.why);
        }
        assert_eq!(limit(vec![]), None);
        assert_eq!(limit(vec![resource("die", 8, 0.0, 0.0)]), None);
    }
}
