//! Where was each request, and when?
//!
//! ```text
//!   slot 1          | read 4 KiB                          || read 4 KiB ..
//!                   | flash                               |
//!                   | link | controller | die | channel   |
//!   slot 2          | read 64 KiB                                    |
//!   slot 2, part 2         | die wait  | die | channel |
//! ```
//!
//! The trace event format of Chrome ("Trace Event Format", 2016), which `chrome://tracing` and ui.perfetto.dev open.
//! A request takes the first slot that is free, so that there are as many tracks as requests in flight. Events of one
//! track nest; the pages of a large request overlap and have tracks of their own. Times are virtual. Start reading at
//! [`timeline`].

use std::fmt::Write as _;

use iostack_model::Bytes;
use iostack_model::answers::TimelineSpan;

/// The trace as JSON: one track for each request in flight, on it the request, the parts it passed, their stages.
pub fn timeline(spans: &[TimelineSpan]) -> String {
    let slots = slots(requests(spans));
    let mut events = vec![metadata(0, "process_name", "requests in flight, virtual time")];
    let mut track = 0;
    for (index, slot) in slots.iter().enumerate() {
        let lanes = slot.iter().map(|request| request.lanes.len()).max().unwrap_or_default();
        for lane in 0..lanes {
            let part = if lane == 0 { String::new() } else { format!(", part {}", lane + 1) };
            events.push(metadata(track + lane, "thread_name", &format!("slot {}{part}", index + 1)));
            events.push(sort_index(track + lane));
        }
        for request in slot {
            request.write(track, &mut events);
        }
        track += lanes;
    }
    format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}\n]}}\n", events.join(",\n"))
}

/// The spans of one request, in lanes within which nothing overlaps.
struct TimelineRequest<'a> {
    begin: u64,
    end: u64,
    lanes: Vec<Vec<&'a TimelineSpan>>,
}

/// The spans by request, in the order in which the requests began.
fn requests(spans: &[TimelineSpan]) -> Vec<TimelineRequest<'_>> {
    let mut ordered: Vec<&TimelineSpan> = spans.iter().collect();
    ordered.sort_by_key(|span| (span.request, span.begin, span.end));
    let mut requests: Vec<TimelineRequest> =
        ordered.chunk_by(|a, b| a.request == b.request).map(TimelineRequest::from_spans).collect();
    requests.sort_by_key(|request| request.begin);
    requests
}

impl<'a> TimelineRequest<'a> {
    fn from_spans(spans: &[&'a TimelineSpan]) -> TimelineRequest<'a> {
        // A request's time has no gaps, so that what follows at once and has the same place is the same piece of it. The
        // members of an array have places of their own, which can be alike.
        let mut pieces: Vec<Vec<&TimelineSpan>> = Vec::new();
        for &span in spans {
            let follows = |piece: &&mut Vec<&TimelineSpan>| {
                let last = piece[piece.len() - 1];
                (last.end, last.offset, last.length) == (span.begin, span.offset, span.length)
            };
            match pieces.iter_mut().find(follows) {
                Some(piece) => piece.push(span),
                None => pieces.push(vec![span]),
            }
        }
        let mut lanes: Vec<Vec<&TimelineSpan>> = Vec::new();
        for piece in pieces {
            match lanes.iter_mut().find(|lane| end(lane) <= piece[0].begin.0) {
                Some(lane) => lane.extend(piece),
                None => lanes.push(piece),
            }
        }
        let begin = spans.iter().map(|span| span.begin.0).min().unwrap_or_default();
        TimelineRequest { begin, end: end(spans), lanes }
    }

    /// Offset and length of the request. The longest pieces are the request itself, unless they overlap: then it spent no
    /// time before it was parted, and its parts count from the start of other devices.
    fn itself(&self) -> Option<(u64, u32)> {
        let longest = self.lanes.iter().flatten().map(|span| span.length).max()?;
        let mut lanes = self.lanes.iter().filter(|lane| lane.iter().any(|span| span.length == longest));
        let place = lanes.next()?.iter().find(|span| span.length == longest)?;
        lanes.next().is_none().then_some((place.offset, place.length))
    }

    fn write(&self, track: usize, events: &mut Vec<String>) {
        let Some(first) = self.lanes.iter().flatten().next() else { return };
        let (name, place) = match self.itself() {
            Some((offset, length)) => {
                let size = Bytes(length.into());
                let size = if length == 0 { String::new() } else { format!(" {size}") };
                (format!("{}{size}", first.direction), format!(",\"offset\":{offset},\"length\":{length}"))
            }
            None => (format!("{} in parts", first.direction), String::new()),
        };
        let more = format!("\"request\":{}{place}", first.request);
        events.push(event(track, &name, &first.direction, (self.begin, self.end), &more));
        for (lane, spans) in self.lanes.iter().enumerate() {
            for stay in spans.chunk_by(|a, b| a.part == b.part && a.end == b.begin) {
                let whole = (stay[0].begin.0, end(stay));
                let more = format!("\"request\":{},\"offset\":{}", first.request, stay[0].offset);
                events.push(event(track + lane, &stay[0].part, "part", whole, &more));
                for span in stay {
                    let more = format!("\"meaning\":{}", text(span.stage.meaning()));
                    let when = (span.begin.0, span.end.0);
                    events.push(event(track + lane, span.stage.name(), "stage", when, &more));
                }
            }
        }
    }
}

fn end(spans: &[&TimelineSpan]) -> u64 {
    spans.iter().map(|span| span.end.0).max().unwrap_or_default()
}

/// Each request in the first slot whose requests have ended when it begins.
fn slots(requests: Vec<TimelineRequest<'_>>) -> Vec<Vec<TimelineRequest<'_>>> {
    let mut slots: Vec<Vec<TimelineRequest>> = Vec::new();
    for request in requests {
        let free = slots.iter().position(|slot| slot.last().is_none_or(|last| last.end <= request.begin));
        match free {
            Some(slot) => slots[slot].push(request),
            None => slots.push(vec![request]),
        }
    }
    slots
}

/// A complete event: `ph` X.
fn event(track: usize, name: &str, category: &str, (begin, end): (u64, u64), more: &str) -> String {
    format!(
        "{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{},\"dur\":{},\"name\":{},\"cat\":{},\"args\":{{{more}}}}}",
        track + 1,
        micros(begin),
        micros(end - begin),
        text(name),
        text(category)
    )
}

/// A name of the process (track 0) or of a track.
fn metadata(track: usize, what: &str, name: &str) -> String {
    format!(
        "{{\"ph\":\"M\",\"pid\":1,\"tid\":{},\"name\":\"{what}\",\"args\":{{\"name\":{}}}}}",
        track + 1,
        text(name)
    )
}

fn sort_index(track: usize) -> String {
    format!(
        "{{\"ph\":\"M\",\"pid\":1,\"tid\":{0},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{0}}}}}",
        track + 1
    )
}

/// Microseconds, the format's unit, with every nanosecond: `12.345`.
fn micros(ns: u64) -> String {
    let mut text = (ns / 1000).to_string();
    if !ns.is_multiple_of(1000) {
        write!(text, ".{:03}", ns % 1000).expect("a string takes everything");
    }
    text
}

fn text(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::{Nanos, Stage};
    use serde_json::Value;

    fn span(request: u64, place: (u64, u32), part: &str, stage: Stage, time: (u64, u64)) -> TimelineSpan {
        TimelineSpan {
            request,
            direction: "read".to_owned(),
            offset: place.0,
            length: place.1,
            part: part.to_owned(),
            stage,
            begin: Nanos(time.0),
            end: Nanos(time.1),
        }
    }

    /// Complete events as (track, begin, end, name), in ns, as they stand.
    fn events(spans: &[TimelineSpan]) -> Vec<(u64, u64, u64, String)> {
        let read: Value = serde_json::from_str(&timeline(spans)).expect("the trace is JSON");
        let all = read["traceEvents"].as_array().expect("a list of events");
        let ns = |value: &Value| (value.as_f64().expect("a number") * 1e3).round() as u64;
        all.iter()
            .filter(|event| event["ph"] == "X")
            .map(|event| {
                let begin = ns(&event["ts"]);
                let name = event["name"].as_str().expect("a name").to_owned();
                (event["tid"].as_u64().expect("a track"), begin, begin + ns(&event["dur"]), name)
            })
            .collect()
    }

    /// Holds the complete events of one track to the rule of ui.perfetto.dev: each within the one before it, or after it.
    fn assert_nested(events: &[(u64, u64, u64, String)]) {
        let mut ordered: Vec<_> = events.iter().collect();
        ordered.sort_by_key(|event| (event.0, event.1, u64::MAX - event.2));
        for own in ordered.chunk_by(|a, b| a.0 == b.0) {
            let mut open: Vec<u64> = Vec::new();
            for (_, begin, end, name) in own {
                while open.last().is_some_and(|last| last <= begin) {
                    open.pop();
                }
                assert!(open.last().is_none_or(|last| end <= last), "{name} leaves the event around it");
                open.push(*end);
            }
        }
    }

    #[test]
    fn requests_in_flight_at_once_have_a_track_each_and_nest() {
        let (small, other) = ((0, 4096), (8192, 4096));
        let spans = [
            span(0, small, "flash", Stage::Link, (0, 1_500)),
            span(0, small, "flash", Stage::Die, (1_500, 60_001)),
            span(1, other, "flash", Stage::Link, (1_500, 3_000)),
            span(1, other, "flash", Stage::Die, (3_000, 70_000)),
            span(2, small, "flash", Stage::Link, (60_001, 62_000)),
        ];
        let events = events(&spans);
        assert_nested(&events);
        let tracks = |name: &str| -> Vec<(u64, u64)> {
            events.iter().filter(|event| event.3 == name).map(|event| (event.0, event.1)).collect()
        };
        assert_eq!(tracks("read 4 KiB"), [(1, 0), (1, 60_001), (2, 1_500)]);
        assert_eq!(tracks("die"), [(1, 1_500), (2, 3_000)]);
        assert_eq!(tracks("flash").len(), 3, "a stay in a part is one event");
    }

    #[test]
    fn the_pages_of_a_large_request_overlap_on_tracks_of_their_own() {
        let mut spans = vec![span(7, (0, 16_384), "flash", Stage::Link, (0, 1_000))];
        for page in 0..4 {
            let place = (page * 4096, 4096);
            spans.push(span(7, place, "flash", Stage::DieWait, (1_000, 2_000 + page)));
            spans.push(span(7, place, "flash", Stage::Die, (2_000 + page, 50_000 + page)));
        }
        spans.push(span(7, (0, 16_384), "flash", Stage::Link, (50_003, 51_000)));
        let events = events(&spans);
        assert_nested(&events);
        assert_eq!(events.iter().filter(|event| event.3 == "read 16 KiB").count(), 1);
        let mut tracks: Vec<u64> =
            events.iter().filter(|event| event.3 == "die").map(|event| event.0).collect();
        tracks.sort_unstable();
        assert_eq!(tracks, [1, 2, 3, 4]);
    }

    #[test]
    fn a_request_that_is_only_seen_in_parts_has_no_size() {
        let spans = [0, 1].map(|part| span(0, (part * 4096, 4096), "ssd", Stage::Die, (0, 10)));
        assert_eq!(events(&spans)[0].3, "read in parts");
    }

    #[test]
    fn members_of_an_array_may_have_pages_at_the_same_place() {
        let mut spans = vec![span(0, (0, 8192), "raid0", Stage::Controller, (0, 10))];
        for member in 0..2 {
            spans.push(span(0, (0, 4096), "ssd", Stage::Link, (10, 20 + member)));
            spans.push(span(0, (0, 4096), "ssd", Stage::Die, (20 + member, 90)));
        }
        let events = events(&spans);
        assert_nested(&events);
        assert_eq!(events[0], (1, 0, 90, "read 8 KiB".to_owned()));
        assert_eq!(events.iter().filter(|event| event.3 == "die").count(), 2);
    }

    #[test]
    fn no_span_and_hostile_names_are_json() {
        assert_eq!(events(&[]), []);
        let hostile = TimelineSpan {
            direction: "\"},{".to_owned(),
            ..span(0, (0, 0), "a\"\\\n\u{1}b", Stage::Medium, (5, 5))
        };
        assert_eq!(events(&[hostile])[1].3, "a\"\\\n\u{1}b");
    }

    #[test]
    fn random_traces_nest() {
        let mut rng = iostack_workload::Rng::from_seed(1);
        let mut random = |below| rng.below(below);
        let mut spans = Vec::new();
        for request in 0..300 {
            let begin = random(100_000);
            for page in 0..=random(4) {
                let mut now = begin + random(50);
                for stage in [Stage::Link, Stage::DieWait, Stage::Die] {
                    let next = now + random(3_000);
                    let part = ["a", "b"][random(2) as usize];
                    spans.push(span(request, (page * 4096, 4096), part, stage, (now, next)));
                    now = next;
                }
            }
        }
        assert_nested(&events(&spans));
    }
}
