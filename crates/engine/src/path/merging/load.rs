//! What does one cell give? Threads that ask in its way for a while, timed call by call.
//!
//! ```text
//!   threads ─ first request ─┤ begin │ requests until the time is over │ end ├─ threads end, rings go
//!                                    └── time, CPU, switches of this ──┘
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Context;
use iostack_host::counters::{Usage, WorkerWatch};
use iostack_merge::{File, Options, Policy};
use iostack_model::answers::MergeRound;
use iostack_model::{Direction, Nanos};
use iostack_stats::Recorder;
use iostack_target::{MergeAsked, MergeHow, MergeMeasured, MergePlanned};
use iostack_workload::Rng;

use super::content::{Content, ReadRoom};
use crate::sys;

/// Form of one call, and its policy.
type Asking = (MergeHow, Policy);

const SCOPE: Asking = (MergeHow::Scope, Policy::Auto);

/// Policy of the library's by which a cell asks; an error when it names none that there is.
pub(super) fn policy_of(cell: &MergePlanned) -> anyhow::Result<Policy> {
    match cell.how {
        MergeHow::Calls => Policy::ALL
            .into_iter()
            .find(|policy| policy.name() == cell.policy)
            .with_context(|| format!("the merge library has no policy `{}`", cell.policy)),
        MergeHow::Loop => Ok(Policy::Pread),
        MergeHow::Many | MergeHow::Scope => Ok(Policy::Auto),
    }
}

/// Target that is measured, and what asks.
pub(crate) struct Bench<'a> {
    /// One for each policy: callers of one share its queue.
    files: Vec<(Policy, File)>,
    pub(crate) content: Content,
    pub(crate) direction: Direction,
    /// Requests that fit on the target.
    pub(crate) blocks: u64,
    /// Bytes of a request.
    pub(crate) request: usize,
    pub(crate) seed: u64,
    pub(crate) stop: &'a AtomicBool,
}

/// One round of one cell.
#[derive(Default)]
struct Measured {
    round: MergeRound,
    latency: Recorder,
    failures: Vec<String>,
}

/// A thread stops at its first failures: the rest would be alike.
const FAILURES: usize = 3;

impl<'a> Bench<'a> {
    /// Every policy on a file that is open.
    pub(crate) fn new(
        file: &std::fs::File,
        asked: &MergeAsked,
        content: Content,
        blocks: u64,
        stop: &'a AtomicBool,
    ) -> std::io::Result<Bench<'a>> {
        let MergeAsked { direction, request, seed, .. } = *asked;
        let open = |policy: Policy| {
            let options = Options { policy, write: direction == Direction::Write, ..Options::default() };
            options.over(file.try_clone()?).map(|file| (policy, file))
        };
        let files = Policy::ALL.into_iter().map(open).collect::<std::io::Result<Vec<_>>>()?;
        Ok(Bench { files, content, direction, blocks, request: request as usize, seed, stop })
    }

    /// The file with this policy.
    pub(crate) fn file(&self, policy: Policy) -> &File {
        let found = self.files.iter().find(|(other, _)| *other == policy);
        &found.expect("every policy was opened").1
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// One round of a cell: `slice` long, and until its last request is back.
    pub(crate) fn run(
        &self,
        (cell, policy): (&MergePlanned, Policy),
        number: u32,
        slice: Duration,
        watch: &mut WorkerWatch,
    ) -> MergeMeasured {
        let measured = match cell.how {
            MergeHow::Scope => self.scope(cell, number, slice),
            _ => self.threads((cell, policy), number, slice, watch),
        };
        let Measured { round, latency, failures } = measured;
        MergeMeasured { round, latency: latency.bins(), failures }
    }

    fn threads(
        &self,
        (cell, policy): (&MergePlanned, Policy),
        number: u32,
        slice: Duration,
        watch: &mut WorkerWatch,
    ) -> Measured {
        let threads = cell.threads as usize;
        let (begin, end, leave) =
            (Barrier::new(threads + 1), Barrier::new(threads + 1), Barrier::new(threads + 1));
        let mut whole = Measured::default();
        std::thread::scope(|scope| {
            let each: Vec<_> = (0..threads)
                .map(|thread| {
                    let gates = Gates { begin: &begin, end: &end, leave: &leave };
                    let caller = self.caller(number, thread as u64);
                    scope.spawn(move || caller.in_thread((cell, policy), slice, &gates))
                })
                .collect();
            begin.wait();
            let (before, started) = (Usage::of_process(), Instant::now());
            end.wait();
            let elapsed = Nanos(started.elapsed().as_nanos() as u64);
            let used = Usage::of_process().since(before);
            if policy != Policy::Pread {
                watch.sample();
            }
            leave.wait();
            for thread in each {
                whole.take(thread.join().expect("a thread of ours does not panic"));
            }
            // Each thread, and this one, slept once at the end: that is no part of the load.
            let switches = used.switches().saturating_sub(threads as u64 + 1);
            whole.round = MergeRound { number, ios: whole.round.ios, elapsed, cpu: used.cpu(), switches };
        });
        whole
    }

    /// The same with coroutines, which cannot wait for each other without holding their thread: the last to have had its first
    /// request begins, and the last to end ends.
    fn scope(&self, cell: &MergePlanned, number: u32, slice: Duration) -> Measured {
        let callers = cell.column as usize;
        let (ready, done) = (Meeting::new(callers), Meeting::new(callers));
        let whole = Mutex::new(Measured::default());
        sys::scope::scope(cell.threads as usize, |scope| {
            for index in 0..callers {
                let (caller, ready, done, whole) = (self.caller(number, index as u64), &ready, &done, &whole);
                scope.spawn(move || {
                    let caller = caller.in_coroutine(slice, ready);
                    done.arrive();
                    whole.lock().expect("no coroutine panics").take(caller);
                });
            }
        });
        let mut whole = whole.into_inner().expect("no coroutine panics");
        if let (Some((before, began)), Some((after, ended))) = (ready.moment.get(), done.moment.get()) {
            let (used, elapsed) = (after.since(*before), Nanos((*ended - *began).as_nanos() as u64));
            let ios = whole.round.ios;
            whole.round = MergeRound { number, ios, elapsed, cpu: used.cpu(), switches: used.switches() };
        }
        whole
    }

    fn caller(&self, number: u32, stream: u64) -> Caller<'_> {
        let rng = Rng::stream(self.seed ^ (u64::from(number) << 32), stream);
        Caller { bench: self, rng, latency: Box::default(), ios: 0, failures: Vec::new() }
    }
}

impl Measured {
    fn take(&mut self, caller: Caller<'_>) {
        self.latency.absorb(&caller.latency);
        self.round.ios += caller.ios;
        self.failures.extend(caller.failures);
    }
}

/// Gates where all threads of a cell meet.
struct Gates<'a> {
    begin: &'a Barrier,
    end: &'a Barrier,
    leave: &'a Barrier,
}

/// Moment at which the last of so many was there.
struct Meeting {
    missing: AtomicUsize,
    moment: OnceLock<(Usage, Instant)>,
}

impl Meeting {
    fn new(missing: usize) -> Meeting {
        Meeting { missing: AtomicUsize::new(missing), moment: OnceLock::new() }
    }

    fn arrive(&self) {
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.moment.get_or_init(|| (Usage::of_process(), Instant::now()));
        }
    }
}

/// One thread, or one coroutine.
struct Caller<'a> {
    bench: &'a Bench<'a>,
    rng: Rng,
    /// Latencies, on the heap: a coroutine's stack is small.
    latency: Box<Recorder>,
    ios: u64,
    failures: Vec<String>,
}

impl Caller<'_> {
    fn in_thread(
        mut self,
        (cell, policy): (&MergePlanned, Policy),
        slice: Duration,
        gates: &Gates<'_>,
    ) -> Self {
        let size = if matches!(cell.how, MergeHow::Loop | MergeHow::Many) { cell.column as usize } else { 1 };
        let asking = (cell.how, policy);
        let mut room = ReadRoom::new(size * self.bench.request);
        let mut list: Vec<(u64, &mut [u8])> =
            room.slice().chunks_exact_mut(self.bench.request).map(|block| (0, block)).collect();
        self.warm_up(asking, &mut list);
        gates.begin.wait();
        let until = Instant::now() + slice;
        while self.call(asking, &mut list) < until && !self.is_over() {}
        gates.end.wait();
        gates.leave.wait();
        self
    }

    fn in_coroutine(mut self, slice: Duration, ready: &Meeting) -> Self {
        let mut room = ReadRoom::new(self.bench.request);
        let mut list = [(0, room.slice())];
        self.warm_up(SCOPE, &mut list);
        ready.arrive();
        while ready.moment.get().is_none() {
            iostack_merge::yield_now();
        }
        let until = Instant::now() + slice;
        while self.call(SCOPE, &mut list) < until && !self.is_over() {}
        self
    }

    /// The first request makes what the thread keeps: a ring, its memory.
    fn warm_up(&mut self, how: Asking, list: &mut [(u64, &mut [u8])]) {
        self.call(how, list);
        (self.latency, self.ios) = (Box::default(), 0);
    }

    fn is_over(&self) -> bool {
        self.failures.len() >= FAILURES || self.bench.stopped()
    }

    /// One call, timed and checked; when it ended.
    fn call(&mut self, how: Asking, list: &mut [(u64, &mut [u8])]) -> Instant {
        let Bench { content, direction, blocks, request, seed, .. } = self.bench;
        for (offset, block) in &mut *list {
            *offset = content.next(*blocks, *request as u64, &mut self.rng);
            match direction {
                Direction::Write => Content::stamp(block, *offset, *seed),
                Direction::Read | Direction::Trim => content.forget(block),
            }
        }
        let started = Instant::now();
        // All threads of a cell meet at its end: one that unwinds would leave the others waiting for ever.
        let done = catch_unwind(AssertUnwindSafe(|| self.ask(how, list)))
            .unwrap_or_else(|_| Err(std::io::Error::other("a mistake in the library: the call panicked")));
        let ended = Instant::now();
        self.latency.record((ended - started).as_nanos() as u64);
        self.ios += list.len() as u64;
        if let Err(error) = done {
            self.failures.push(error.to_string());
        } else if *direction == Direction::Read {
            let wrong = list.iter().find_map(|(offset, block)| content.check(block, *offset).err());
            self.failures.extend(wrong);
        }
        ended
    }

    fn ask(&self, (how, policy): Asking, list: &mut [(u64, &mut [u8])]) -> std::io::Result<()> {
        let writes = self.bench.direction == Direction::Write;
        let file = self.bench.file(policy);
        if how == MergeHow::Many {
            return send(file, writes, list);
        }
        for (offset, block) in list {
            if writes {
                file.write_all_at(block, *offset)?;
            } else {
                file.read_exact_at(block, *offset)?;
            }
        }
        Ok(())
    }
}

/// A group as one batch.
pub(crate) fn send(file: &File, writes: bool, list: &mut [(u64, &mut [u8])]) -> std::io::Result<()> {
    if writes {
        let list: Vec<(u64, &[u8])> = list.iter().map(|(offset, block)| (*offset, &**block)).collect();
        return Ok(file.write_many(&list)?);
    }
    Ok(file.read_many(list)?)
}

#[cfg(test)]
mod tests {
    use iostack_model::answers::MergeAsk;

    use super::*;

    #[test]
    fn a_policy_that_the_library_does_not_have_is_an_error() {
        let cell = |name: &str| {
            let (ask, policy) = (MergeAsk::Calls, name.to_owned());
            policy_of(&MergePlanned { ask, policy, how: MergeHow::Calls, column: 1, threads: 1 })
        };
        assert_eq!(cell("ring").expect("one of them"), Policy::Ring);
        let error = cell("rings").expect_err("none of them").to_string();
        assert!(error.contains("no policy `rings`"), "{error}");
    }
}
