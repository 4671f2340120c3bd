//! What came of each job?

use iostack_model::{
    Band, Bins, Bytes, Direction, Engine, Interval, Job, Nanos, Outcome, OutcomeFile, Steadiness, Steady,
    TargetKind, TargetName,
};

use super::job_words::{asked, asked_short};
use super::numbers::{all_numbers, captioned, heat_map, per_io};
use super::{inside, layers, stages};
use crate::document::{Block, Cell, Column, Document, Doubts, Drawn, Section, Table, To};
use crate::html::figures::{self, RANK_BAND, bandwidth, iops};
use crate::html::numbers::Quantity;
use crate::html::plot::Plot;
use crate::html::raw;
use crate::html::time::{bandwidth_over_time, gauges, over_time};
use crate::lists::Joined;
use crate::text::format::{count, cut, megabytes, or_dash, percent, plus_minus, rate, supported, time};
use crate::text::sparks::sparks;

/// Document of `iostack run`, and of whatever else gives outcomes.
pub fn run(file: &OutcomeFile) -> Document {
    let mut all = Document::new("iostack run");
    all.origin = vec![format!("iostack {}", file.iostack)];
    all.answer = answer(file);
    let mut targets: Vec<String> = file.outcomes.iter().map(|outcome| outcome.target.to_string()).collect();
    targets.dedup();
    all.beside = vec![targets.join(", ")];
    // A simulation has no host and happens at no date, and its device is not that of this machine.
    let simulated = file.outcomes.first().and_then(|outcome| outcome.inside.as_ref());
    if let Some(inside) = simulated {
        inside::conditions(inside, &mut all);
    }
    if file.outcomes.len() != 1 {
        let overview = overview(file, &mut all.doubts);
        all.sections.push(overview);
    }
    for (index, outcome) in file.outcomes.iter().enumerate() {
        let job = job(index, outcome, &mut all.doubts);
        all.sections.push(job);
        let traced = outcome.stages.iter().map(stages::section);
        for (part, mut section) in (1..).zip(traced.chain(outcome.layers.iter().map(layers::section))) {
            section.id = format!("job-{}-{part}", index + 1);
            all.sections.push(section);
        }
    }
    all.sections.extend(file.prediction.as_ref().map(super::predicted::section));
    let mut method = Section::new("method", "Method", "How it was measured");
    if simulated.is_some() {
        let hosts = file.outcomes.iter().filter_map(|outcome| outcome.inside.as_ref());
        let with_host = hosts.into_iter().any(|inside| inside.host.is_some());
        "How it was simulated".clone_into(&mut method.title);
        method.page(Block::Words(inside::method(with_host)));
    } else {
        let first = file.outcomes.first().map(|outcome| (&outcome.storage, &outcome.target));
        let on: Vec<_> = first.into_iter().collect();
        all.measured_on(file.started_unix_ms, &file.machine, &on);
        method.page(Block::Words(super::METHOD.to_owned()));
    }
    all.sections.push(method);
    all.next = Some(next(file));
    all.raw = raw::outcomes(file.outcomes.iter().map(|outcome| (outcome.job.name.clone(), outcome)));
    all
}

fn answer(file: &OutcomeFile) -> String {
    match file.outcomes.as_slice() {
        [one] => {
            let rate = rate(iops(one).mean);
            format!("{}: {rate} IOPS, {}", one.job.name, Quantity::Bandwidth.say(bandwidth(one).mean))
        }
        [] => "No job ran".to_owned(),
        many => format!("{} jobs", many.len()),
    }
}

fn overview(file: &OutcomeFile, doubts: &mut Doubts) -> Section {
    let mut section = Section::new("overview", "Overview", "All jobs");
    let simulated = file.outcomes.iter().any(|outcome| outcome.inside.is_some());
    let last = |outcome: &Outcome| {
        let limit = outcome.inside.as_ref().and_then(|inside| inside.limit.as_ref());
        let limit = limit.map(|limit| format!("{}, {} %", limit.name, percent(limit.busy)));
        let cost = outcome.cpu_ns_per_io().filter(|_| outcome.inside.is_none()).map(time);
        limit.or(cost).unwrap_or_else(|| "-".to_owned())
    };
    let name = |outcome: &Outcome| {
        let name = &outcome.job.name;
        Cell::from(name).marked(doubts.note(&outcome.caveats, name))
    };
    let table = Table::over(&file.outcomes)
        .words("job", name)
        .number("asked", asked_short)
        .number("IOPS", |outcome| Cell::interval(Quantity::Count, iops(outcome)))
        .number("bandwidth", |outcome| Quantity::Bandwidth.say(bandwidth(outcome).mean))
        .number("p50", |outcome| supported(&outcome.latency(), 0.5))
        .number("p99", |outcome| supported(&outcome.latency(), 0.99))
        .number("p99.9", |outcome| supported(&outcome.latency(), 0.999))
        .number(if simulated { "busiest part" } else { "CPU per I/O" }, last);
    section.page(Block::Table(table.done()));
    if let Some(cells) = read_and_write(&file.outcomes) {
        section.table(cells);
    }
    section
}

/// Table of jobs that come in pairs, `NAME read` and `NAME write`, as those of `jobs/crystaldiskmark.toml`: a row a
/// pair.
fn read_and_write(outcomes: &[Outcome]) -> Option<Table> {
    let named = |name: String| outcomes.iter().find(|outcome| outcome.job.name == name);
    let pairs = outcomes.iter().filter_map(|read| {
        let name = read.job.name.strip_suffix(" read")?;
        Some((name, read, named(format!("{name} write"))?))
    });
    let pairs: Vec<(&str, &Outcome, &Outcome)> = pairs.collect();
    if pairs.is_empty() || pairs.len() * 2 != outcomes.len() {
        return None;
    }
    let table = Table::over(pairs)
        .words("test", |(name, ..)| name)
        .number("read MB/s", |(_, read, _)| megabytes(read.bandwidth()))
        .number("write MB/s", |(.., write)| megabytes(write.bandwidth()))
        .number("read IOPS", |(_, read, _)| rate(iops(read).mean))
        .number("write IOPS", |(.., write)| rate(iops(write).mean));
    Some(table.done())
}

/// The directions in which something moved.
fn moving(outcome: &Outcome) -> impl Iterator<Item = Direction> + Clone + '_ {
    Direction::ALL.into_iter().filter(|&direction| outcome.flow(direction).latency.count > 0)
}

fn job(index: usize, outcome: &Outcome, doubts: &mut Doubts) -> Section {
    let name = &outcome.job.name;
    let mut section = Section::new(&format!("job-{}", index + 1), name, name);
    let marks = doubts.note(&outcome.caveats, name);
    let when = match (outcome.interrupted, &outcome.inside) {
        (true, _) => "INTERRUPTED after",
        (false, Some(_)) => "simulated",
        (false, None) => "measured",
    };
    section.put(Block::Headline(cut(name, 40), marks, format!("{when} {}", outcome.elapsed)));
    section.page(Block::Tiles(tiles(outcome))).fact("asked", asked(outcome));
    throughput(outcome, &mut section);
    if outcome.ios() > 0 {
        section.table(latencies(outcome));
    }
    if let Some(band) = &outcome.band {
        section.fact("band", banded(band));
    }
    if outcome.ios() > 0 && outcome.inside.is_none() {
        cost(outcome, &mut section);
    }
    let asked = outcome.job.depth() * outcome.job.threads;
    section.fact("depth", format!("{:.1} of {asked} asked", outcome.depth_achieved));
    if outcome.inside.is_none() {
        section.fact("device", device(outcome));
    }
    failures(outcome, &mut section);
    section.screen(Block::Ready(sparks(outcome)));
    if let Some(inside) = &outcome.inside {
        section.page(Block::Heading("Why it is as fast as it is".to_owned()));
        inside::why(outcome, inside, &mut section, To::Page);
    }
    section.page(Block::Plots(drawings(outcome, doubts)));
    heat_map(outcome, "Latency over time", To::All, &mut section, doubts);
    if let Some(inside) = &outcome.inside {
        inside::account(outcome, inside, &mut section);
    }
    section.page(all_numbers(&[(name.clone(), outcome)], "", doubts));
    section
}

fn tiles(outcome: &Outcome) -> Vec<(String, String, String)> {
    let latency = outcome.latency();
    let tail =
        [("p99", 0.99), ("p99.9", 0.999)].map(|(name, at)| format!("{name} {}", supported(&latency, at)));
    let asked = u64::from(outcome.job.depth()) * u64::from(outcome.job.threads);
    let tile = |what: &str, value: String, detail: String| (what.to_owned(), value, detail);
    let mut tiles = vec![
        tile(
            "throughput",
            rate(iops(outcome).mean) + " IOPS",
            moving(outcome).map(Direction::name).joined(" and "),
        ),
        tile(
            "bandwidth",
            Quantity::Bandwidth.say(bandwidth(outcome).mean),
            format!("{} moved", outcome.bytes()),
        ),
        tile("median latency", supported(&latency, 0.5), tail.join(", ")),
        tile("in flight", rate(outcome.depth_achieved), format!("asked: {asked}")),
    ];
    if let Some(inside) = &outcome.inside {
        tiles.extend(inside::tiles(inside));
    } else {
        let busiest = format!("busiest thread {:.0} %", outcome.cpu.busiest_thread * 100.0);
        tiles.push(tile("CPU time per I/O", or_dash(outcome.cpu_ns_per_io(), time), busiest));
    }
    tiles
}

/// All directions with the interval, then each when there are several.
fn throughput(outcome: &Outcome, section: &mut Section) {
    if outcome.ios() == 0 {
        section.fact("IOPS", "none: no I/O completed in the measured time");
        return;
    }
    if outcome.elapsed.0 == 0 {
        section.fact("IOPS", "no rate: no time passed");
        return;
    }
    let iops = outcome.iops;
    let interval = if iops.samples < 3 {
        "(too short for an interval)".to_owned()
    } else {
        format!("{} (95 %: {} to {})", plus_minus(iops), rate(iops.low), rate(iops.high))
    };
    section.fact("IOPS", format!("{} {interval}, {} MB/s", rate(iops.mean), megabytes(outcome.bandwidth())));
    if moving(outcome).count() > 1 {
        let seconds = outcome.elapsed.as_secs_f64().max(1e-9);
        let each = moving(outcome).map(|each| {
            let flow = outcome.flow(each);
            let per_second = rate(flow.latency.count as f64 / seconds);
            format!("{} {per_second} ({} MB/s)", each.name(), megabytes(flow.bytes.0 as f64 / seconds))
        });
        section.fact("", each.joined(", "));
    }
}

/// Each figure's range, and what it is over.
fn banded(band: &Band) -> String {
    if band.drawn == 0 {
        return "none: its sheet knows all its numbers".to_owned();
    }
    if band.draws == 0 {
        return format!("none: of {} draws none ran to its end", band.failed);
    }
    let range = |name: &str, figure: Interval, say: fn(f64) -> String| {
        format!("{name} {} to {}", say(figure.low), say(figure.high))
    };
    let tails = [("p50", band.latency_p50), ("p99", band.latency_p99)];
    let tails = tails.into_iter().filter_map(|(name, figure)| Some(range(name, figure?, time)));
    let plain = [
        range("IOPS", band.iops, rate),
        range("MB/s", band.bandwidth, megabytes),
        range("mean", band.latency_mean, time),
    ];
    let failed = if band.failed > 0 { format!("; {} draws failed", band.failed) } else { String::new() };
    format!(
        "{}: 95 % of {} draws of {} numbers that the sheet does not know exactly{failed}",
        plain.into_iter().chain(tails).joined(", "),
        band.draws,
        band.drawn
    )
}

fn latencies(outcome: &Outcome) -> Table {
    let mut submit = outcome.read.submit.clone();
    submit.merge(&outcome.write.submit);
    submit.merge(&outcome.trim.submit);
    let of =
        |each: Direction| (each.name(), &outcome.flow(each).latency, outcome.flow(each).bytes.to_string());
    let others = [("flush", &outcome.sync, String::new()), ("submit", &submit, String::new())];
    let mut rows: Vec<(&str, &Bins, String)> = Direction::ALL.into_iter().map(of).chain(others).collect();
    rows.retain(|(_, bins, _)| bins.count > 0);
    Table::over(&rows)
        .words("latency", |(name, ..)| *name)
        .column(Column::number("min").light(2), |(_, bins, _)| time(bins.min_ns as f64))
        .number("mean", |(_, bins, _)| time(bins.mean_ns()))
        .number("p50", |(_, bins, _)| supported(bins, 0.5))
        .column(Column::number("p90").page(), |(_, bins, _)| supported(bins, 0.9))
        .number("p99", |(_, bins, _)| supported(bins, 0.99))
        .number("p99.9", |(_, bins, _)| supported(bins, 0.999))
        .number("p99.99", |(_, bins, _)| supported(bins, 0.9999))
        .number("max", |(_, bins, _)| time(bins.max_ns as f64))
        .number("I/Os", |(_, bins, _)| count(bins.count))
        .column(Column::number("moved").page(), |(.., moved)| moved)
        .done()
}

/// CPU time that makes a split into user and system mean something, ticks being 1 to 10 ms long.
const TICKS_ENOUGH: Nanos = Nanos::millis(100);

fn cost(outcome: &Outcome, section: &mut Section) {
    let cpu = &outcome.cpu;
    let ns = outcome.cpu_ns_per_io().unwrap_or_default();
    let share = |part: Nanos| 100.0 * part.0 as f64 / cpu.total().0.max(1) as f64;
    let workers = match cpu.workers.0 {
        0 => String::new(),
        _ => format!(", {:.0} % in kernel workers", share(cpu.workers)),
    };
    // The kernel splits CPU time by sampling at timer ticks: of a few ticks nothing follows.
    let split = if cpu.total() >= TICKS_ENOUGH {
        format!("; {:.0} % user, {:.0} % system{workers}", share(cpu.user), share(cpu.system))
    } else {
        String::new()
    };
    let per_core = if ns > 0.0 { format!("; {} IOPS per core", rate(1e9 / ns)) } else { String::new() };
    let switches = cpu.switches_voluntary + cpu.switches_involuntary;
    let [calls, switches] = [cpu.syscalls, switches].map(|each| per_io(each as f64, outcome));
    let (clocks, busiest) = (cpu.clocks_per_io, cpu.busiest_thread * 100.0);
    section.fact("cost", format!(
        "each I/O costs {ns:.0} ns CPU ({clocks:.0} clocks{split}), {calls} system calls, {switches} context \
         switches{per_core}; busiest thread {busiest:.0} % busy"
    ));
    let spent = format!("{} user, {} system, {} in kernel workers", cpu.user, cpu.system, cpu.workers);
    let busy = format!("{:.0} % busy, {:.1} % stolen", cpu.machine_busy * 100.0, cpu.steal * 100.0);
    for (label, words) in [("CPU time", spent), ("machine", busy)] {
        section.page(Block::Fact(label.to_owned(), words));
    }
}

/// Figures of the device's own counters beside ours.
fn device(outcome: &Outcome) -> String {
    let Some(device) = &outcome.device else { return "no counters of its own".to_owned() };
    let told = Direction::ALL.into_iter().filter_map(|each| {
        let (ours, theirs) = (outcome.flow(each).latency.count, device.ios[each as usize]);
        let merged = device.merges[each as usize];
        let merged = if merged > 0 { format!(" after {} merges", count(merged)) } else { String::new() };
        (ours > 0 || theirs > 0)
            .then(|| format!("{} {}s{merged} (ours: {})", count(theirs), each.name(), count(ours)))
    });
    let told = told.joined(", ");
    let told = if told.is_empty() { "no I/O" } else { &told };
    let flushes =
        if device.flushes > 0 { format!(", {} flushes", count(device.flushes)) } else { String::new() };
    let bytes = Bytes(device.bytes.iter().sum());
    format!("{} counts {told}{flushes}, {bytes} (ours: {})", device.name, outcome.bytes())
}

fn failures(outcome: &Outcome, section: &mut Section) {
    for failure in &outcome.failures {
        let (many, direction) = (count(failure.count), failure.direction.name());
        let (what, at) = (&failure.message, failure.offset_first);
        let word = if failure.ignored { "ignored" } else { "FAILED" };
        section.fact(word, format!("{many} {direction}s failed: {what} (first at byte {at})"));
    }
    if let (Some(steady), Some(goal)) = (outcome.steady, outcome.job.until_steady) {
        section.fact("steady", steadiness(&outcome.job, steady, &goal));
    }
    if let (Some(found), Some(goal)) = (outcome.depth_found, outcome.job.latency_goal) {
        let asked = format!("{:.3} % within {}; {} % asked", found.percent, goal.latency, goal.percent);
        section.fact("depth found", format!("{} per thread: {asked}", found.depth));
    }
    if outcome.verified > 0 {
        let between = match outcome.read_between {
            0 => String::new(),
            between => format!(", {} of them between the writes", count(between)),
        };
        section.fact("verified", format!("{} blocks{between}", count(outcome.verified)));
    }
}

/// Says since when the rate was steady, or how far from it: `since round 3 (rounds of 60 s, 3 to 7: excursion 12.30 % of
/// 20, slope 4.10 % of 10)`.
fn steadiness(job: &Job, steady: Steady, goal: &Steadiness) -> String {
    let round = job.slice;
    let count = goal.window.0.div_ceil(round.0.max(1)).max(1);
    let Some(percent) = steady.percent else {
        return format!("NOT STEADY: it ended before {count} rounds of {round} were done");
    };
    let first = steady.since.0 / round.0.max(1) + 1;
    let seen = goal.limit.named().into_iter().zip([Some(percent), steady.slope_percent]);
    let seen =
        seen.filter_map(|((name, limit), percent)| Some(format!("{name} {:.2} % of {limit}", percent?)));
    let seen = format!("rounds of {round}, {first} to {}: {}", first + count - 1, seen.joined(", "));
    if steady.attained { format!("since round {first} ({seen})") } else { format!("NOT STEADY: {seen}") }
}

fn drawings(outcome: &Outcome, doubts: &mut Doubts) -> Vec<Drawn> {
    let mut named: Vec<(&str, &Bins)> =
        moving(outcome).map(|direction| (direction.name(), &outcome.flow(direction).latency)).collect();
    if outcome.sync.count > 0 {
        named.push(("fsync", &outcome.sync));
    }
    let until = format!("{RANK_BAND}; curves end where ten I/Os remain");
    let percentiles = figures::percentiles(&named, "Latency by percentile");
    let histogram = figures::histogram(&named, "How often each latency came");
    let mut drawn = vec![
        captioned(percentiles, &[outcome], &until, doubts),
        captioned(histogram, &[outcome], "exact counts", doubts),
    ];
    let Some((rates, mut latency, each)) = over_time(outcome, "IOPS over time") else { return drawn };
    "p50 and p99 over time".clone_into(&mut latency.heading);
    let mut gauges = gauges(outcome);
    let mut curves: Vec<Plot> =
        [Some(rates), bandwidth_over_time(outcome), Some(latency)].into_iter().flatten().collect();
    if !gauges.is_empty() {
        // Below each other and of one width, so that what ran out stands under what fell.
        for plot in &mut curves {
            plot.wide = true;
        }
        let rest = curves.split_off(1);
        curves.append(&mut gauges);
        curves.extend(rest);
    }
    drawn.extend(curves.into_iter().map(|plot| captioned(plot, &[outcome], &each, doubts)));
    drawn
}

fn next(file: &OutcomeFile) -> (String, &'static str) {
    let path = |outcome: &Outcome| iostack_model::quoted(&outcome.target.path.display().to_string());
    match file.outcomes.first() {
        Some(outcome) if outcome.inside.is_some() => {
            (format!("iostack sim show {}", path(outcome)), "its parts, its numbers, their sources")
        }
        Some(outcome @ Outcome { target: TargetName { kind: TargetKind::Lab, .. }, .. }) => {
            (format!("iostack lab cost {}", path(outcome)), "the exact instructions of one I/O")
        }
        Some(outcome) if outcome.job.engine != Engine::Null => {
            (format!("iostack check {}", path(outcome)), "what limits this platform")
        }
        _ => ("iostack check".to_owned(), "what limits this platform"),
    }
}

#[cfg(test)]
mod tests {
    use iostack_model::{Mix, SteadyFigure, SteadyLimit};

    use super::*;
    use crate::fixture;

    #[test]
    fn jobs_that_read_and_write_alike_are_one_table() {
        let like = fixture::outcome_file().outcomes.swap_remove(0);
        let mut outcomes: Vec<Outcome> = Vec::new();
        for test in ["SEQ1M Q8T1", "RND4K Q32T1"] {
            for (name, mix) in [("read", Mix::READ), ("write", Mix::WRITE)] {
                let job = Job { name: format!("{test} {name}"), mix, ..like.job.clone() };
                let [read, write] = [&like.read, &like.write];
                let (read, write) = if name == "read" { (read, write) } else { (write, read) };
                outcomes.push(Outcome { job, read: read.clone(), write: write.clone(), ..like.clone() });
            }
        }
        let file = OutcomeFile { outcomes, ..fixture::outcome_file() };
        let text = run(&file).text();
        let lines = |begin: &str| text.lines().filter(|line| line.trim_start().starts_with(begin)).count();
        assert_eq!(lines("TEST "), 1, "{text}");
        assert!(
            text.lines().any(|line| line.contains("SEQ1M Q8T1 ") && line.split_whitespace().count() == 6),
            "{text}"
        );
        let odd = OutcomeFile { outcomes: file.outcomes[1..].to_vec(), ..file };
        assert!(!run(&odd).text().contains("write MB/s"), "a read without its write is no pair");
    }

    #[test]
    fn a_band_is_told_with_what_it_is_over_and_none_says_why() {
        let of = |mean: f64| Interval { mean, low: mean * 0.9, high: mean * 1.2, samples: 20 };
        let band = Band {
            draws: 20,
            drawn: 14,
            seed: 1,
            iops: of(10_000.0),
            bandwidth: of(4e7),
            latency_mean: of(1e5),
            latency_p99: Some(of(2e5)),
            ..Band::default()
        };
        let told = "IOPS 9.000k to 12.00k, MB/s 36.00 to 48.00, mean 90 us to 120 us, p99 180 us to 240 us: 95 % of 20 draws of 14 \
                    numbers that the sheet does not know exactly";
        assert_eq!(banded(&band), told);
        let failed = banded(&Band { failed: 2, ..band.clone() });
        assert!(failed.ends_with("exactly; 2 draws failed"), "{failed}");
        assert!(banded(&Band { draws: 0, failed: 20, ..band.clone() }).starts_with("none: of 20 draws none"));
        assert!(banded(&Band { drawn: 0, draws: 0, ..band.clone() }).starts_with("none: its sheet knows"));
        let mut file = fixture::outcome_file();
        file.outcomes[0].band = Some(band);
        let told = run(&file);
        assert!(told.text().contains("band       IOPS 9.000k to 12.00k"), "{}", told.text());
        assert!(told.html().contains("of 20 draws of 14 numbers"));
    }

    #[test]
    fn a_job_that_looks_for_a_steady_rate_says_in_words_what_it_found() {
        let limit = SteadyLimit::Snia { excursion: 20.0, slope: 10.0 };
        let goal =
            Steadiness { figure: SteadyFigure::Iops, limit, window: Nanos::secs(300), after: Nanos(0) };
        let job = Job { slice: Nanos::secs(60), until_steady: Some(goal), ..Job::default() };
        let said = |attained, percent, slope_percent, goal| {
            let steady = Steady { attained, percent, slope_percent, since: Nanos::secs(120) };
            steadiness(&job, steady, goal)
        };
        assert_eq!(
            said(true, Some(12.3), Some(10.0), &goal),
            "since round 3 (rounds of 60 s, 3 to 7: excursion 12.30 % of 20, slope 10.00 % of 10)"
        );
        assert_eq!(
            said(false, Some(20.1), Some(4.0), &goal),
            "NOT STEADY: rounds of 60 s, 3 to 7: excursion 20.10 % of 20, slope 4.00 % of 10"
        );
        assert_eq!(said(false, None, None, &goal), "NOT STEADY: it ended before 5 rounds of 60 s were done");
        let fios = Steadiness { limit: SteadyLimit::Deviation(0.3), ..goal };
        assert!(said(true, Some(0.25), None, &fios).ends_with("3 to 7: deviation 0.25 % of 0.3)"));
    }
}
