//! What came of it? Puts together what the threads, the board and the counters hold.

use iostack_host::clock::Clock;
use iostack_host::counters;
use iostack_model::{CpuUse, Interval, Job, Nanos, Outcome};

use crate::board::BoardTotals;
use crate::doubts::{self, Evidence};
use crate::failures::Failures;
use crate::stage::Group;
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

fn assemble(mut group: Group<'_>, called: u64, alone: bool) -> Outcome {
    let clock = Clock::calibrated();
    let reports = std::mem::take(&mut group.reports);
    let border = reports.iter().map(|report| report.result.border).min().unwrap_or(0);
    let last = reports.iter().map(|report| report.result.last).max().unwrap_or(border).max(border);
    let elapsed = Nanos(clock.nanos(last - border));
    let totals = group.board.totals(elapsed);
    let mut outcome = Outcome {
        job: Job { slice: totals.slice, ..job_of(&group) },
        target: group.first().target.clone(),
        storage: group.first().storage.clone(),
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
        verified: reports.iter().map(|report| report.verified).sum(),
        interrupted: reports.iter().any(|report| report.result.interrupted),
        iops: Interval::default(),
        read: totals.flows[0].clone(),
        write: totals.flows[1].clone(),
        trim: totals.flows[2].clone(),
        sync: totals.sync,
        series: totals.series,
        failures: Vec::new(),
        log: Vec::new(),
        stages: None,
        layers: None,
        inside: None,
        app: None,
        caveats: Vec::new(),
    };
    outcome.iops = iops(&outcome);
    let evidence = Evidence::of(&group, &reports, &outcome, alone);
    let mut failures = Failures::default();
    for report in reports {
        report.result.failures.into_list().iter().for_each(|failure| failures.merge(failure));
        outcome.log.extend(report.log);
    }
    outcome.failures = failures.into_list();
    outcome.log.sort_by_key(|entry| entry.time);
    outcome.caveats = doubts::of(&outcome, &evidence);
    outcome
}

/// The first job of the group, with the threads of all.
fn job_of(group: &Group<'_>) -> Job {
    Job { threads: group.threads() as u32, ..group.first().job.clone() }
}

/// Until the last thread was about to submit its first I/O, start delays aside.
fn startup(group: &Group<'_>, reports: &[WorkerReport], called: u64) -> Nanos {
    let delays = group.works.iter().map(|work| work.job.start_delay);
    let delay = delays.max().unwrap_or_default();
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
