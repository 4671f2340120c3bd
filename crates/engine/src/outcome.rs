//! What came of it? Puts together what the threads, the board and the counters hold.

use iostack_host::clock::Clock;
use iostack_host::counters;
use iostack_model::{Bytes, CpuUse, Flow, Interval, IntervalFlow, Job, Nanos, Outcome, ReadBack};
use iostack_stats::Recorder;

use crate::board::BoardTotals;
use crate::evidence::evidence_of_group;
use crate::failures::Failures;
use crate::group::Group;
use crate::worker::WorkerReport;

/// The outcomes of a stage that was called at `called`, in ticks.
pub(crate) fn assemble_all(groups: Vec<Group<'_>>, called: u64) -> Vec<Outcome> {
    let devices: Vec<_> =
        groups.iter().map(|group| group.first().storage.top().map(|d| d.name.clone())).collect();
    let alone = |index: usize| {
        devices.iter().enumerate().all(|(other, device)| other == index || *device != devices[index])
    };
    groups.into_iter().enumerate().map(|(index, group)| assemble(group, called, alone(index))).collect()
}

/// Reads back of all threads, as one.
fn read_back(reports: &[WorkerReport], clock: &Clock) -> Option<ReadBack> {
    let all = || reports.iter().filter_map(|report| report.read_back.as_ref());
    let (first, last) = (all().map(|one| one.first).min()?, all().map(|one| one.last).max()?);
    let mut latency = Box::new(Recorder::new());
    all().for_each(|one| latency.absorb(&one.latency));
    let bytes = Bytes(all().map(|one| one.bytes).sum());
    Some(ReadBack {
        flow: Flow { bytes, latency: latency.bins(), ..Flow::default() },
        elapsed: Nanos(clock.nanos(last - first)),
    })
}

fn assemble(mut group: Group<'_>, called: u64, alone: bool) -> Outcome {
    let clock = Clock::calibrated();
    let reports = std::mem::take(&mut group.reports);
    let border = reports.iter().map(|report| report.result.border).min().unwrap_or(0);
    let last = reports.iter().map(|report| report.result.last).max().unwrap_or(border).max(border);
    let elapsed = Nanos(clock.nanos(last - border));
    let steady = group.board.steady();
    let totals = group.board.totals(elapsed);
    let job = Job { slice: totals.slice, ..job_of(&group) };
    let (target, storage) = (group.first().target.clone(), group.first().storage.clone());
    let mut outcome = Outcome {
        started_unix_ms: group.started_unix_ms,
        elapsed,
        startup: startup(&group, &reports, called),
        cpu: cpu(&group, &reports, &totals, elapsed),
        depth_achieved: depth(&reports, &totals, elapsed),
        device: group
            .before
            .device
            .as_ref()
            .zip(group.after.device.as_ref())
            .map(|(before, after)| counters::difference(before, after)),
        depth_found: reports.iter().filter_map(|report| report.depth_found).min_by_key(|found| found.depth),
        verified: reports.iter().map(|report| report.verified).sum(),
        read_between: reports.iter().map(|report| report.read_between).sum(),
        read_back: read_back(&reports, clock),
        interrupted: reports.iter().any(|report| report.result.interrupted),
        read: totals.flows[0].clone(),
        write: totals.flows[1].clone(),
        trim: totals.flows[2].clone(),
        sync: totals.sync,
        series: if job.latency_goal.is_some() { begun(totals.series) } else { totals.series },
        heat: if job.latency_goal.is_some() { totals.heat.begun() } else { totals.heat },
        steady,
        ..Outcome::empty(job, target, storage)
    };
    outcome.iops = iops(&outcome);
    let evidence = evidence_of_group(&group, &reports, &outcome, alone);
    let mut failures = Failures::default();
    for report in reports {
        report.result.failures.into_list().iter().for_each(|failure| failures.merge(failure));
        outcome.log.extend(report.log);
        outcome.log_spans.extend(report.log_spans);
    }
    outcome.failures = failures.into_list();
    outcome.log.sort_by_key(|entry| entry.time);
    outcome.log_spans.sort_by_key(|span| (span.start, span.thread));
    outcome.caveats = iostack_doubt::doubts_of_outcome(&outcome, &evidence);
    outcome
}

/// The series from its first element with an I/O: while a depth is searched, nothing counts.
fn begun(series: Vec<IntervalFlow>) -> Vec<IntervalFlow> {
    let first = series.iter().position(|element| element.ios != [0; 3]).unwrap_or(0);
    let start = series.get(first).map_or(Nanos(0), |element| element.start);
    let moved = |element: IntervalFlow| IntervalFlow { start: element.start - start, ..element };
    series.into_iter().skip(first).map(moved).collect()
}

/// The first job of the group, with the threads of all.
fn job_of(group: &Group<'_>) -> Job {
    Job { threads: group.threads() as u32, ..group.first().job.clone() }
}

/// Time until the last thread was about to submit its first I/O, start delays aside.
fn startup(group: &Group<'_>, reports: &[WorkerReport], called: u64) -> Nanos {
    let delays = group.works.iter().map(|work| work.job.start_delay);
    let delay = delays.max().unwrap_or_default();
    let called = group.begun.filter(|_| group.waits()).unwrap_or(called);
    let last = reports.iter().map(|report| report.first).max().unwrap_or(called);
    Nanos(Clock::calibrated().nanos(last.saturating_sub(called))) - delay
}

/// Mean and interval from the series; exact where the run was too short for one.
fn iops(outcome: &Outcome) -> Interval {
    let interval = iostack_stats::series_interval(&outcome.series);
    if interval.samples >= 3 { interval } else { Interval::exact(outcome.rate()) }
}

/// Little's law: the time in flight of all I/Os over the time measured.
fn depth(reports: &[WorkerReport], totals: &BoardTotals, elapsed: Nanos) -> f64 {
    if elapsed.0 == 0 {
        return 0.0;
    }
    let exact: Option<u64> = reports.iter().map(|report| report.in_flight.map(|time| time.0)).sum();
    exact.unwrap_or(totals.latency_sum_ns) as f64 / elapsed.0 as f64
}

fn cpu(group: &Group<'_>, reports: &[WorkerReport], totals: &BoardTotals, elapsed: Nanos) -> CpuUse {
    let mut cpu = CpuUse { workers: group.workers.cpu, ..CpuUse::default() };
    for report in reports {
        let usage = report.result.usage;
        cpu.user += usage.user;
        cpu.system += usage.system;
        cpu.syscalls += report.result.syscalls;
        cpu.switches_voluntary += usage.switches_voluntary;
        cpu.switches_involuntary += usage.switches_involuntary;
        cpu.faults_major += usage.faults_major;
        cpu.faults_minor += usage.faults_minor;
        cpu.waiting += usage.waiting;
        let share = |time: Nanos| (time.0 as f64 / elapsed.0.max(1) as f64).min(1.0);
        let busy = usage.user + usage.system;
        cpu.busiest_thread = cpu.busiest_thread.max(share(busy));
        cpu.wanted = cpu.wanted.max(share(busy + usage.waiting));
    }
    let machine = group.after.cpu.since(group.before.cpu);
    let others = group.after.others.since(group.before.others);
    cpu.waiting_kernel = others.kernel_waiting;
    cpu.foreign = machine.share(others.programs).min(1.0);
    cpu.steal = machine.steal_share();
    cpu.machine_busy = machine.busy_share();
    let ios: u64 = totals.flows.iter().map(|flow| flow.latency.count).sum();
    if ios > 0 {
        let clocks = cpu.total().as_secs_f64() * Clock::calibrated().tsc_hz() as f64;
        cpu.clocks_per_io = clocks / ios as f64;
    }
    cpu
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Work;
    use crate::tally::ThreadResult;
    use iostack_host::counters::CpuCount;
    use iostack_model::{Storage, TargetKind, TargetName};

    /// A clock's ticks of so many microseconds.
    fn ticks(micros: u64) -> u64 {
        (micros as f64 * Clock::calibrated().tsc_hz() as f64 / 1e6).round() as u64
    }

    fn work(start_delay: Nanos) -> Work {
        Work {
            job: Job { threads: 3, start_delay, ..Job::default() },
            target: TargetName { kind: TargetKind::File, path: "/none".into() },
            storage: Storage::default(),
            files: vec![Vec::new(); 3],
            recording: None,
        }
    }

    /// A thread that counted from `border` to `last` microseconds after the start.
    fn report(border: u64, last: u64, syscalls: u64) -> WorkerReport {
        let result = ThreadResult {
            border: ticks(1_000_000 + border),
            last: ticks(1_000_000 + last),
            syscalls,
            ..ThreadResult::default()
        };
        WorkerReport {
            result,
            first: ticks(1_000_000 + border),
            verified: syscalls,
            ..WorkerReport::default()
        }
    }

    fn near(nanos: Nanos, micros: u64) -> bool {
        nanos.0.abs_diff(micros * 1_000) <= 2
    }

    #[test]
    fn elapsed_is_from_the_earliest_border_to_the_latest_completion_whichever_threads_those_are() {
        let work = work(Nanos(0));
        for threads in [
            [report(30, 900, 0), report(10, 500, 0), report(20, 2_010, 0)],
            [report(20, 2_010, 0), report(30, 900, 0), report(10, 500, 0)],
            [report(10, 2_010, 0), report(30, 900, 0), report(20, 500, 0)],
        ] {
            let mut group = Group::new(vec![&work], false);
            group.reports = threads.into();
            let outcome = assemble(group, ticks(1_000_000), true);
            assert!(near(outcome.elapsed, 2_000), "{}", outcome.elapsed);
        }
    }

    #[test]
    fn what_threads_count_is_added_up() {
        let work = work(Nanos(0));
        let mut group = Group::new(vec![&work], false);
        group.reports = vec![report(0, 100, 5), report(0, 100, 70), report(0, 100, 900)];
        for (report, micros) in group.reports.iter_mut().zip([10, 60, 20]) {
            let usage = &mut report.result.usage;
            (usage.user, usage.system) = (Nanos::micros(micros), Nanos::micros(20));
            (usage.switches_voluntary, usage.switches_involuntary) = (micros, 2 * micros);
            (usage.faults_major, usage.faults_minor) = (3 * micros, 4 * micros);
        }
        group.workers.cpu = Nanos::micros(7);
        let outcome = assemble(group, ticks(1_000_000), true);
        let cpu = outcome.cpu;
        assert_eq!((cpu.syscalls, outcome.verified), (975, 975));
        assert_eq!(
            (cpu.user, cpu.system, cpu.workers),
            (Nanos::micros(90), Nanos::micros(60), Nanos::micros(7))
        );
        assert_eq!((cpu.switches_voluntary, cpu.switches_involuntary), (90, 180));
        assert_eq!((cpu.faults_major, cpu.faults_minor), (270, 360));
        assert!((cpu.busiest_thread - 0.8).abs() < 1e-4, "80 of 100 us: {}", cpu.busiest_thread);
        assert!(cpu.clocks_per_io.abs() < 1e-12, "without I/O there is none to divide by");
    }

    #[test]
    fn what_the_machine_lost_and_did_is_that_between_before_and_after() {
        let work = work(Nanos(0));
        let mut group = Group::new(vec![&work], false);
        let count = |busy, idle, steal| CpuCount {
            busy: Nanos::millis(busy),
            idle: Nanos::millis(idle),
            steal: Nanos::millis(steal),
        };
        group.before.cpu = count(5_000, 70_000, 900);
        group.after.cpu = count(5_300, 70_500, 1_100);
        group.reports = vec![report(0, 100, 0)];
        let cpu = assemble(group, ticks(1_000_000), true).cpu;
        assert!((cpu.steal - 0.2).abs() < 1e-12, "200 of 1000 ms: {}", cpu.steal);
        assert!((cpu.machine_busy - 0.3).abs() < 1e-12, "300 of 1000 ms: {}", cpu.machine_busy);
    }

    #[test]
    fn startup_ends_with_the_last_thread_and_leaves_delays_out() {
        let (soon, late) = (work(Nanos(0)), work(Nanos::micros(50)));
        let mut group = Group::new(vec![&soon, &late], false);
        group.reports = vec![report(60, 100, 0), report(80, 100, 0), report(70, 100, 0)];
        let outcome = assemble(group, ticks(1_000_000), true);
        assert!(near(outcome.startup, 30), "80 us less the delay of 50: {}", outcome.startup);
        assert_eq!(outcome.job.threads, 6, "the threads of all works");
    }

    #[test]
    fn depth_is_the_time_in_flight_where_it_was_counted_and_that_of_latencies_elsewhere() {
        let totals = BoardTotals {
            slice: Nanos::secs(1),
            flows: Default::default(),
            sync: iostack_model::Bins::default(),
            series: Vec::new(),
            heat: iostack_model::Heat::default(),
            latency_sum_ns: 300,
        };
        let flight = |ns: Option<u64>| WorkerReport { in_flight: ns.map(Nanos), ..WorkerReport::default() };
        let of = |reports: &[WorkerReport]| depth(reports, &totals, Nanos(100));
        assert!((of(&[flight(Some(150)), flight(Some(50))]) - 2.0).abs() < 1e-12);
        assert!((of(&[flight(Some(150)), flight(None)]) - 3.0).abs() < 1e-12);
        assert!(depth(&[flight(Some(1))], &totals, Nanos(0)).abs() < 1e-12);
    }
}
