//! What came of each job?
//!
//! The page of `iostack run`: an overview when there are several jobs, then for each what was asked, what came,
//! figures, failures and doubts.

use iostack_model::{Access, Amount, Bins, Direction, Distribution, Job, Order, Outcome, OutcomeFile};

use super::figures::{self, RANK_BAND, bandwidth, iops};
use super::inventory;
use super::numbers::{NOTHING, Quantity, date, grouped};
use super::page::{Section, document};
use super::plot::Plot;
use super::sheet::{Sheet, span};
use super::stages::percent;
use super::table::{self, pairs, with_interval};
use super::tiles;
use super::time::{bandwidth_over_time, gauges, over_time};
use super::{attribution, check, escape, inside, raw};

/// The page of a file of outcomes.
pub(super) fn page(file: &OutcomeFile) -> String {
    let mut sheet = Sheet::of(file);
    let mut sections = Vec::new();
    if file.outcomes.len() != 1 {
        sections.push(Section::new("overview", "Overview", "All jobs", overview(file, &mut sheet)));
    }
    for (index, outcome) in file.outcomes.iter().enumerate() {
        let name = &outcome.job.name;
        sections.push(Section::new(&format!("job-{}", index + 1), name, name, job(outcome, &mut sheet)));
    }
    // What was simulated stands with each job, and there is no machine.
    if !simulated(file) {
        sections.push(Section::new("inventory", "Inventory", "What was measured on", inventories(file)));
    }
    sections.push(Section::new("doubts", "Doubts", "Why to doubt it, and what to do", sheet.doubts.list()));
    let (how, method) = if simulated(file) {
        ("How it was simulated", inside::method(file))
    } else {
        ("How it was measured", check::METHOD.to_owned())
    };
    sections.push(Section::new("method", "Method", how, method));
    let named = file.outcomes.iter().map(|outcome| (outcome.job.name.clone(), outcome));
    document("iostack run", &header(file), &sections, &sheet, &raw::outcomes(named))
}

fn simulated(file: &OutcomeFile) -> bool {
    file.outcomes.first().is_some_and(|outcome| outcome.inside.is_some())
}

fn header(file: &OutcomeFile) -> String {
    let title = match file.outcomes.as_slice() {
        [one] => {
            let rate = Quantity::Count.show(iops(one).mean);
            format!("{}: {rate} IOPS, {}", one.job.name, Quantity::Bandwidth.show(bandwidth(one).mean))
        }
        [] => "No job ran".to_owned(),
        many => format!("{} jobs", many.len()),
    };
    let mut targets: Vec<String> = Vec::new();
    for outcome in &file.outcomes {
        let target = outcome.target.to_string();
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    // A simulation happens at no date.
    let when = if simulated(file) {
        "<b class=\"simulated\">SIMULATED</b>".to_owned()
    } else {
        date(file.started_unix_ms)
    };
    format!(
        "<p class=\"kicker\"><b>iostack run</b> · {} · {when} · iostack {}</p><h1>{}</h1>",
        escape::text(&targets.join(", ")),
        escape::text(&file.iostack),
        escape::text(&title)
    )
}

fn overview(file: &OutcomeFile, sheet: &mut Sheet) -> String {
    let last = if simulated(file) { "busiest part" } else { "CPU per I/O" };
    let heads = ["job", "asked", "IOPS", "bandwidth", "p50", "p99", "p99.9", last];
    let rows: Vec<Vec<String>> = file
        .outcomes
        .iter()
        .enumerate()
        .map(|(index, outcome)| {
            let latency = outcome.latency();
            let doubts = sheet.doubts.note(&outcome.caveats, &outcome.job.name);
            let mut row = vec![
                format!("<a href=\"#job-{}\">{}</a>{doubts}", index + 1, escape::text(&outcome.job.name)),
                escape::text(&asked_short(outcome)),
                with_interval(Quantity::Count, iops(outcome)),
                Quantity::Bandwidth.show(bandwidth(outcome).mean),
            ];
            row.extend([0.5, 0.99, 0.999].map(|fraction| supported(&latency, fraction)));
            row.push(match &outcome.inside {
                Some(inside) => inside.limit.as_ref().map_or(NOTHING.to_owned(), |limit| {
                    format!("{}, {}", escape::text(&limit.name), percent(limit.busy))
                }),
                None => outcome.cpu_ns_per_io().map_or(NOTHING.to_owned(), |ns| Quantity::Nanos.show(ns)),
            });
            row
        })
        .collect();
    table::table(&heads, &rows)
}

/// A percentile that at least ten samples exceed.
pub(super) fn supported(bins: &Bins, fraction: f64) -> String {
    let enough = bins.count >= iostack_stats::samples_needed(fraction);
    bins.quantile_ns(fraction)
        .filter(|_| enough)
        .map_or(NOTHING.to_owned(), |ns| Quantity::Nanos.show(ns as f64))
}

fn job(outcome: &Outcome, sheet: &mut Sheet) -> String {
    let directions: Vec<Direction> =
        Direction::ALL.into_iter().filter(|&direction| outcome.flow(direction).latency.count > 0).collect();
    let doubts = sheet.doubts.note(&outcome.caveats, &outcome.job.name);
    let doubts =
        if doubts.is_empty() { doubts } else { format!("<p class=\"doubtline\">Doubts {doubts}</p>") };
    let ended = if outcome.interrupted {
        "<p class=\"note\">Interrupted: the figures are of the time until then.</p>"
    } else {
        ""
    };
    let (beside, facts) = match &outcome.inside {
        Some(inside) => ("The simulated device", inside::device(inside)),
        None => ("What it cost", cost(outcome)),
    };
    format!(
        "{}{ended}{doubts}{}{}<div class=\"two\"><div><h3>What was asked</h3>{}</div><div><h3>{beside}</h3>{facts}</div>\
         </div><div class=\"figures\">{}</div>{}{}{}{}",
        tiles(outcome, &directions),
        inside::reasons(outcome),
        application(outcome) + &flows(outcome, &directions),
        asked(outcome),
        drawings(outcome, &directions, sheet),
        inside::body(outcome, sheet),
        attribution::of_outcome(outcome, sheet),
        failures(outcome),
        table::outcomes(&[(outcome.job.name.clone(), outcome)], "", &mut sheet.doubts),
    )
}

/// What the application did.
fn application(outcome: &Outcome) -> String {
    let Some(app) = &outcome.app else { return String::new() };
    format!("<h3>Transactions</h3>{}", pairs(&crate::app::told(app)))
}

fn tiles(outcome: &Outcome, directions: &[Direction]) -> String {
    let latency = outcome.latency();
    let tail =
        [("p99", 0.99), ("p99.9", 0.999)].map(|(name, at)| format!("{name} {}", supported(&latency, at)));
    let words: Vec<&str> = directions.iter().map(|direction| direction.name()).collect();
    let mut tiles = vec![
        ("throughput", format!("{} IOPS", Quantity::Count.show(iops(outcome).mean)), words.join(" and ")),
        (
            "bandwidth",
            Quantity::Bandwidth.show(bandwidth(outcome).mean),
            format!("{} moved", outcome.bytes()),
        ),
        ("median latency", supported(&latency, 0.5), tail.join(", ")),
        (
            "in flight",
            Quantity::Count.show(outcome.depth_achieved),
            format!("asked: {}", u64::from(outcome.job.depth()) * u64::from(outcome.job.threads)),
        ),
    ];
    match &outcome.inside {
        Some(inside) => tiles.extend(inside::tiles(inside)),
        None => tiles.push((
            "CPU time per I/O",
            outcome.cpu_ns_per_io().map_or(NOTHING.to_owned(), |ns| Quantity::Nanos.show(ns)),
            format!("busiest thread {:.0} %", outcome.cpu.busiest_thread * 100.0),
        )),
    }
    tiles::tiles(&tiles)
}

/// Latency and amounts by direction, and of the flushes.
fn flows(outcome: &Outcome, directions: &[Direction]) -> String {
    let heads = ["", "I/Os", "moved", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"];
    let line = |name: &str, moved: String, bins: &Bins| {
        let mut row = vec![name.to_owned(), grouped(bins.count), moved, Quantity::Nanos.show(bins.mean_ns())];
        row.extend([0.5, 0.9, 0.99, 0.999, 0.9999].map(|fraction| supported(bins, fraction)));
        row.push(Quantity::Nanos.show(bins.max_ns as f64));
        row
    };
    let mut rows: Vec<Vec<String>> = directions
        .iter()
        .map(|&direction| {
            let flow = outcome.flow(direction);
            line(direction.name(), flow.bytes.to_string(), &flow.latency)
        })
        .collect();
    if outcome.sync.count > 0 {
        rows.push(line("fsync", NOTHING.to_owned(), &outcome.sync));
    }
    table::table(&heads, &rows)
}

fn drawings(outcome: &Outcome, directions: &[Direction], sheet: &mut Sheet) -> String {
    let mut named: Vec<(&str, &Bins)> =
        directions.iter().map(|&direction| (direction.name(), &outcome.flow(direction).latency)).collect();
    if outcome.sync.count > 0 {
        named.push(("fsync", &outcome.sync));
    }
    let mut out = String::new();
    let until = format!("{RANK_BAND}; curves end where ten I/Os remain");
    for (mut plot, band) in [
        (figures::percentiles(&named, "Latency by percentile"), until.as_str()),
        (figures::histogram(&named, "How often each latency came"), "exact counts"),
    ] {
        plot.caption = sheet.caption(&[outcome], band);
        out += &sheet.figure(&plot);
    }
    let Some((rates, mut latency, each)) = over_time(outcome, "IOPS over time") else { return out };
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
    for mut plot in curves {
        plot.caption = sheet.caption(&[outcome], &each);
        out += &sheet.figure(&plot);
    }
    out
}

fn failures(outcome: &Outcome) -> String {
    if outcome.failures.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = outcome
        .failures
        .iter()
        .map(|failure| {
            vec![
                escape::text(&failure.message),
                failure.direction.name().to_owned(),
                grouped(failure.count),
                failure.errno.to_string(),
                grouped(failure.offset_first),
            ]
        })
        .collect();
    format!(
        "<h3>Failures</h3>{}",
        table::table(&["what", "direction", "I/Os", "errno", "first offset (bytes)"], &rows)
    )
}

fn cost(outcome: &Outcome) -> String {
    let cpu = &outcome.cpu;
    let part = |time: iostack_model::Nanos| {
        format!("{} in all, {} ns per I/O", span(time), table::per_io(time.0 as f64, outcome))
    };
    let device = outcome.device.as_ref().map_or(String::new(), |device| {
        format!(
            "{} counts {} I/Os and {}, {} merged; we count {} and {}",
            escape::text(&device.name),
            grouped(device.ios.iter().sum()),
            iostack_model::Bytes(device.bytes.iter().sum()),
            grouped(device.merges.iter().sum()),
            grouped(outcome.ios()),
            outcome.bytes()
        )
    });
    let switches = (cpu.switches_voluntary + cpu.switches_involuntary) as f64;
    pairs(&[
        ("User", part(cpu.user)),
        ("System", part(cpu.system)),
        ("Kernel workers", part(cpu.workers)),
        ("System calls", format!("{} per I/O", table::per_io(cpu.syscalls as f64, outcome))),
        ("Context switches", format!("{} per I/O", table::per_io(switches, outcome))),
        (
            "Whole machine",
            format!("{:.0} % busy, {:.1} % stolen", cpu.machine_busy * 100.0, cpu.steal * 100.0),
        ),
        ("Device", device),
    ])
}

fn asked_short(outcome: &Outcome) -> String {
    let job = &outcome.job;
    if let Some(replay) = &job.replay {
        return format!("replay of {replay}");
    }
    if let Some(app) = &job.app {
        return crate::app::asked(app);
    }
    let engine = if outcome.inside.is_some() { String::new() } else { format!("{} ", job.engine.name()) };
    let threads = if job.threads == 1 { String::new() } else { format!(", {} threads", job.threads) };
    format!("{} {}, {engine}depth {}{threads}", job.rw_name(), sizes(job), job.depth())
}

fn sizes(job: &Job) -> String {
    let (smallest, largest) = (job.block_sizes.smallest(), job.block_sizes.largest());
    if smallest == largest { largest.to_string() } else { format!("{smallest} to {largest}") }
}

fn asked(outcome: &Outcome) -> String {
    let job = &outcome.job;
    let real = |text: String| if outcome.inside.is_some() { String::new() } else { text };
    let yes_no = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let arrival = job.rate.map_or("closed loop".to_owned(), |rate| {
        format!("open loop, {} I/Os per second and thread", rate.iops)
    });
    if let Some(replay) = &job.replay {
        return pairs(&[("Replay of", replay.clone()), ("Seed", job.seed.to_string())]);
    }
    if let Some(app) = &job.app {
        return pairs(&[("Application", crate::app::asked(app)), ("Seed", job.seed.to_string())]);
    }
    pairs(&[
        ("Work", format!("{}, {}", job.rw_name(), access(&job.access))),
        ("Mix", format!("{} % read, {} % write, {} % trim", job.mix.read, job.mix.write, job.mix.trim)),
        ("Request size", sizes(job)),
        ("Region", job.size.map_or("the whole target".to_owned(), amount)),
        // Of an engine a simulation has only its depth, and of the page cache nothing.
        ("Engine", real(format!("{}, batches of {}", job.engine.name(), job.batch.submit))),
        (
            "Depth and threads",
            format!(
                "{} per thread, {} thread{}",
                job.depth(),
                job.threads,
                if job.threads == 1 { "" } else { "s" }
            ),
        ),
        ("Direct I/O", real(yes_no(job.direct))),
        ("Load", arrival),
        (
            "Time",
            job.runtime.map_or("until the region is done".to_owned(), |time| {
                format!("{}, ramp {}", span(time), span(job.ramp))
            }),
        ),
        ("Seed", job.seed.to_string()),
    ])
}

fn amount(amount: Amount) -> String {
    match amount {
        Amount::Bytes(bytes) => bytes.to_string(),
        Amount::Percent(percent) => format!("{percent} % of the target"),
    }
}

fn access(access: &Access) -> String {
    match access {
        Access::Sequential => "sequential".to_owned(),
        Access::Strided { gap } => format!("strided with gaps of {gap}"),
        Access::Random { order, distribution } => {
            let order = match order {
                Order::Independent => "independent draws",
                Order::Permutation => "each block once",
            };
            match distribution {
                Distribution::Uniform => format!("random, {order}"),
                Distribution::Zipf { theta } => format!("random, Zipf {theta}"),
                Distribution::Pareto { h } => format!("random, Pareto {h}"),
                Distribution::Normal { deviation_percent } => format!("random, normal {deviation_percent} %"),
                Distribution::Zoned(zones) => format!("random in {} zones", zones.len()),
            }
        }
    }
}

fn inventories(file: &OutcomeFile) -> String {
    match file.outcomes.first() {
        Some(first) => inventory::section(&file.machine, &first.storage, &first.target),
        None => inventory::machine_list(&file.machine),
    }
}
