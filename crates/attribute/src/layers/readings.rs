//! How much was used, read at the two ends of a window?

use std::sync::{Mutex, PoisonError};

use iostack_model::Nanos;

use super::LayerError;
use super::sampler::threads_of;
use super::totals::Snapshot;
use crate::ladder::cpu_ticks;
use crate::sys::perf::{Event, Source, Watched};

/// All that only grows. The difference of two is what a window used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readings {
    /// Bracketed times; `None` where BPF may not be used.
    pub(crate) exact: Option<Snapshot>,
    /// The scheduler's own clock of each thread, by perf.
    pub(crate) task_clock: Nanos,
    pub(crate) cycles: u64,
    pub(crate) instructions: u64,
    /// Ticks of all CPUs, as in `/proc/stat`.
    pub(crate) ticks: [u64; 8],
    /// Idle CPUs that polled.
    pub(crate) polling: Nanos,
}

impl Readings {
    pub(crate) fn since(&self, earlier: &Readings) -> Readings {
        let exact = match (&self.exact, &earlier.exact) {
            (Some(now), Some(before)) => Some(now.since(before)),
            _ => None,
        };
        let mut ticks = self.ticks;
        for (tick, before) in ticks.iter_mut().zip(earlier.ticks) {
            *tick = tick.saturating_sub(before);
        }
        Readings {
            exact,
            task_clock: self.task_clock - earlier.task_clock,
            cycles: self.cycles.saturating_sub(earlier.cycles),
            instructions: self.instructions.saturating_sub(earlier.instructions),
            ticks,
            polling: self.polling - earlier.polling,
        }
    }

    pub(crate) fn add(&mut self, other: &Readings) {
        if let Some(exact) = &other.exact {
            self.exact.get_or_insert_default().add(exact);
        }
        self.task_clock += other.task_clock;
        self.cycles += other.cycles;
        self.instructions += other.instructions;
        for (tick, more) in self.ticks.iter_mut().zip(other.ticks) {
            *tick += more;
        }
        self.polling += other.polling;
    }

    /// Share of CPU time that the hypervisor took.
    pub(crate) fn steal(&self) -> f64 {
        let total: u64 = self.ticks.iter().sum();
        if total == 0 { 0.0 } else { self.ticks[7] as f64 / total as f64 }
    }
}

/// Counting events of one kind, summed.
pub(crate) struct Counters {
    source: Source,
    events: Mutex<Vec<Event>>,
}

impl Counters {
    pub(crate) fn new(source: Source) -> Counters {
        Counters { source, events: Mutex::new(Vec::new()) }
    }

    pub(crate) fn add(&self, watched: Watched) -> Result<(), LayerError> {
        let event = Event::counting(self.source, watched)
            .map_err(|source| LayerError::Failed { act: "open a counting event", source })?;
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        Ok(())
    }

    /// The threads of a process, and all that they will make.
    pub(crate) fn add_process(&self, process: u32) -> Result<(), LayerError> {
        threads_of(process).into_iter().try_for_each(|thread| self.add(Watched::Family(thread)))
    }

    pub(crate) fn sum(&self) -> u64 {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().filter_map(|event| event.count().ok()).sum()
    }
}

/// Ticks of all CPUs now.
pub(crate) fn ticks() -> [u64; 8] {
    std::fs::read_to_string("/proc/stat").ok().and_then(|text| cpu_ticks(&text)).unwrap_or_default()
}

/// Time that idle CPUs spent in states that poll (Documentation/admin-guide/pm/cpuidle.rst), in microseconds there.
pub(crate) fn polling(cpus: &[u32]) -> Nanos {
    let mut sum = Nanos(0);
    for cpu in cpus {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        for state in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let read = |name: &str| std::fs::read_to_string(state.path().join(name)).unwrap_or_default();
            if read("name").trim() == "POLL" {
                sum += Nanos::micros(read("time").trim().parse().unwrap_or(0));
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_add_up_to_what_they_used() {
        let at = |count: u64| Readings {
            task_clock: Nanos(count),
            cycles: 3 * count,
            ticks: [count, 0, 0, 8 * count, 0, 0, 0, count],
            ..Readings::default()
        };
        let mut sum = at(30).since(&at(10));
        sum.add(&at(100).since(&at(70)));
        assert_eq!(sum, at(50));
        assert!((sum.steal() - 0.1).abs() < 1e-9);
    }
}
