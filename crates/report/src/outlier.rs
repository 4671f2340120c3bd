//! A slow I/O or a long sleep, and what was told of the same moment, on tracks for ui.perfetto.dev.
//!
//! ```text
//!   the outlier        | read of 4 KiB: a neighbour                 |
//!                      | scheduler |  device                        |
//!   fio [12] on vda        | write of 1 MiB               |
//!   vda                              | flush       |
//! ```
//!
//! The trace event format of Chrome ("Trace Event Format", 2016). Only what was told is there: slow I/Os, long sleeps, flushes and
//! discards. Events of one track do not overlap, but nest.

use std::collections::BTreeMap;

use iostack_model::Bytes;
use iostack_model::answers::{LongSleep, Owner, SlowIo, WatchSlice, WhyFinding};
use serde_json::{Value, json};

use crate::pages::cause_of_wait;

/// Events beside the outlier: the longest.
const BESIDE: usize = 1000;

/// A stretch of time: name of its group, its track, its own, beginning and end.
struct Stretch {
    group: &'static str,
    track: String,
    name: String,
    begin: u64,
    end: u64,
    /// Stages within, one behind the other: name and ns.
    stages: Vec<(&'static str, u64)>,
}

/// The trace as JSON. Moments count from half of the outlier's time before it.
pub fn outlier(finding: &WhyFinding, slices: &[WatchSlice]) -> String {
    let (begin, end) = (finding.ended_unix_ns.saturating_sub(finding.took.0), finding.ended_unix_ns);
    let margin = finding.took.0 / 2;
    let (first, last) = (begin.saturating_sub(margin), end + margin);
    let all: Vec<Stretch> = slices.iter().flat_map(stretches).collect();
    let is_it = |each: &Stretch| {
        (each.begin, each.end) == (begin, end)
            && each.track.starts_with(&person(&finding.owner))
            && each.track.ends_with(&finding.device)
    };
    let stages = all.iter().find(|each| is_it(each)).map(|each| each.stages.clone()).unwrap_or_default();
    let mut beside: Vec<Stretch> =
        all.into_iter().filter(|each| each.begin < last && each.end > first && !is_it(each)).collect();
    beside.sort_by_key(|each| std::cmp::Reverse(each.end - each.begin));
    beside.truncate(BESIDE);
    let itself = Stretch {
        group: "the outlier",
        track: format!("{} {}", person(&finding.owner), finding.device),
        name: format!("{}: {}", finding.what, cause_of_wait(finding.cause)),
        begin,
        end,
        stages,
    };
    let evidence = json!({"evidence": finding.evidence.join(" "), "sure": finding.sure});
    let mut events = Vec::new();
    draw(&[itself], first, &evidence, 1, &mut events);
    let mut groups: BTreeMap<&str, Vec<Stretch>> = BTreeMap::new();
    for each in beside {
        groups.entry(each.group).or_default().push(each);
    }
    for (process, stretches) in (2..).zip(groups.values()) {
        draw(stretches, first, &json!({}), process, &mut events);
    }
    let trace = json!({"displayTimeUnit": "ms", "traceEvents": events});
    trace.to_string() + "\n"
}

fn person(owner: &Owner) -> String {
    match owner.process {
        0 => "nobody".to_owned(),
        process => format!("{} [{process}]", owner.name),
    }
}

/// Everything told of one interval.
fn stretches(slice: &WatchSlice) -> impl Iterator<Item = Stretch> {
    let ios = slice.slow.iter().map(of_io);
    let sleeps = slice.sleeps.iter().map(of_sleep);
    let events = slice.events.iter().map(|event| Stretch {
        group: "flushes and discards",
        track: event.device.clone(),
        name: event.owner.as_ref().map_or_else(
            || event.kind.name().to_owned(),
            |owner| format!("{} for {}", event.kind.name(), person(owner)),
        ),
        begin: event.ended_unix_ns.saturating_sub(event.took_ns),
        end: event.ended_unix_ns,
        stages: Vec::new(),
    });
    ios.chain(sleeps).chain(events)
}

fn of_io(io: &SlowIo) -> Stretch {
    Stretch {
        group: "slow I/Os",
        track: format!("{} {}", person(&io.owner), io.device),
        name: format!("{} of {}", io.kind.name(), Bytes(io.bytes)),
        begin: io.ended_unix_ns.saturating_sub(io.whole_ns()),
        end: io.ended_unix_ns,
        stages: vec![
            ("held by a limit", io.held_ns),
            ("before its request", io.queue_ns),
            ("scheduler", io.schedule_ns),
            ("device", io.device_ns),
        ],
    }
}

fn of_sleep(sleep: &LongSleep) -> Stretch {
    let whole = sleep.slept_ns + sleep.runnable_ns;
    Stretch {
        group: if sleep.kernel { "threads of the kernel without a CPU" } else { "long sleeps" },
        track: person(&sleep.owner) + " ",
        name: sleep.stack.first().cloned().unwrap_or_else(|| "waits".to_owned()),
        begin: sleep.ended_unix_ns.saturating_sub(whole),
        end: sleep.ended_unix_ns,
        stages: vec![("asleep", sleep.slept_ns), ("without a CPU", sleep.runnable_ns)],
    }
}

/// Puts a group of stretches on tracks, each on the first of its name that is free.
fn draw(stretches: &[Stretch], first: u64, more: &Value, process: usize, events: &mut Vec<Value>) {
    let Some(group) = stretches.first().map(|each| each.group) else { return };
    events
        .push(json!({"ph": "M", "pid": process, "tid": 0, "name": "process_name", "args": {"name": group}}));
    let mut ordered: Vec<&Stretch> = stretches.iter().collect();
    ordered.sort_by_key(|each| each.begin);
    let mut tracks: Vec<(&str, u64)> = Vec::new();
    for each in ordered {
        let free = tracks.iter().position(|(name, end)| *name == each.track && *end <= each.begin);
        let track = free.unwrap_or_else(|| {
            tracks.push((&each.track, 0));
            let args = json!({"name": each.track});
            events.push(
                json!({"ph": "M", "pid": process, "tid": tracks.len(), "name": "thread_name", "args": args}),
            );
            tracks.len() - 1
        });
        tracks[track].1 = each.end;
        let mut event = |name: &str, begin: u64, end: u64, more: &Value| {
            // What began before the picture is cut at its edge.
            let begin = begin.max(first).min(end);
            let (at, took) = (begin.saturating_sub(first) as f64 / 1e3, (end - begin) as f64 / 1e3);
            events.push(json!({"ph": "X", "pid": process, "tid": track + 1, "ts": at, "dur": took, "name": name, "args": more}));
        };
        event(&each.name, each.begin, each.end, more);
        let mut from = each.begin;
        for (stage, ns) in each.stages.iter().filter(|(_, ns)| *ns > 0) {
            let to = (from + ns).min(each.end);
            if to > first {
                event(stage, from, to, &json!({}));
            }
            from = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use iostack_model::Nanos;
    use iostack_model::answers::{DeviceEvent, IoKind, OwnedHow, WaitCause};

    use super::*;

    fn io(process: u32, ended_us: u64, device_us: u64) -> SlowIo {
        SlowIo {
            owner: Owner { process, name: "fio".to_owned(), cgroup: "/".to_owned() },
            how: OwnedHow::Itself,
            device: "vda".to_owned(),
            kind: IoKind::Read,
            bytes: 4096,
            ended_unix_ns: ended_us * 1000,
            held_ns: 0,
            queue_ns: 0,
            schedule_ns: 20_000,
            device_ns: device_us * 1000,
            in_flight: 0,
            ended_beside: None,
            bytes_beside: 0,
            cpu: None,
        }
    }

    #[test]
    fn the_outlier_stands_with_its_stages_beside_what_ran_meanwhile_and_nothing_else() {
        let it = io(7, 1_000_200, 100);
        let flush = DeviceEvent {
            device: "vda".to_owned(),
            kind: IoKind::Flush,
            ended_unix_ns: 1_000_150_000,
            took_ns: 50_000,
            bytes: 0,
            owner: Some(it.owner.clone()),
        };
        let slow = vec![it.clone(), io(8, 1_000_190, 40), io(8, 1_000_195, 40), io(8, 2_000_000, 40)];
        let slice = WatchSlice { slow, events: vec![flush], ..WatchSlice::default() };
        let finding = WhyFinding {
            owner: it.owner.clone(),
            device: "vda".to_owned(),
            ended_unix_ns: it.ended_unix_ns,
            took: Nanos(it.whole_ns()),
            what: "a read of 4 KiB".to_owned(),
            cause: WaitCause::Flush,
            sure: true,
            evidence: vec!["\"quoted\"".to_owned()],
        };
        let read: Value = serde_json::from_str(&outlier(&finding, &[slice])).expect("JSON");
        let events = read["traceEvents"].as_array().expect("a list");
        let told: Vec<_> = events
            .iter()
            .filter(|event| event["ph"] == "X")
            .map(|event| {
                let number = |key: &str| event[key].as_f64().expect("a number") as u64;
                let name = event["name"].as_str().expect("a name");
                (number("pid"), number("tid"), number("ts"), number("dur"), name)
            })
            .collect();
        let expected = [
            (1, 1, 60, 120, "a read of 4 KiB: a flush beside it"),
            (1, 1, 60, 20, "scheduler"),
            (1, 1, 80, 100, "device"),
            (2, 1, 80, 50, "flush for fio [7]"),
            (3, 1, 110, 60, "read of 4 KiB"),
            (3, 1, 110, 20, "scheduler"),
            (3, 1, 130, 40, "device"),
            (3, 2, 115, 60, "read of 4 KiB"),
            (3, 2, 115, 20, "scheduler"),
            (3, 2, 135, 40, "device"),
        ];
        assert_eq!(told, expected);
        assert_eq!(events[2]["args"]["evidence"], "\"quoted\"");
    }

    #[test]
    fn what_began_before_the_picture_is_cut_at_its_edge() {
        let (it, long) = (io(7, 1_000, 80), io(8, 960, 500));
        let finding = WhyFinding {
            owner: it.owner.clone(),
            device: "vda".to_owned(),
            ended_unix_ns: it.ended_unix_ns,
            took: Nanos(it.whole_ns()),
            what: String::new(),
            cause: WaitCause::Unknown,
            sure: false,
            evidence: Vec::new(),
        };
        let slice = WatchSlice { slow: vec![it, long], ..WatchSlice::default() };
        let read: Value = serde_json::from_str(&outlier(&finding, &[slice])).expect("JSON");
        let other = read["traceEvents"].as_array().expect("a list").iter().filter(|event| event["pid"] == 2);
        let other: Vec<_> = other
            .filter(|event| event["ph"] == "X")
            .map(|event| (event["ts"].as_f64(), event["dur"].as_f64()))
            .collect();
        assert_eq!(other, [(Some(0.0), Some(110.0)), (Some(0.0), Some(110.0))], "its scheduler was before");
    }
}
