//! How long did each thread and each interrupt have a CPU, exactly?
//!
//! ```text
//!   bpf/totals.bpf.c: slices that have ended, by thread ─┐
//!   what runs on each CPU now, and since when ───────────┴► Snapshot; the difference of two is a window's time
//! ```

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aya::maps::{Array, HashMap, MapData};
use iostack_model::Nanos;

use super::Subject;
use crate::bpf::members::{self, Family, Members};
use crate::bpf::{self, BpfError, Object};
use crate::packed::{TOTALS, unpacked};
use crate::sys::system;

/// Flag of an I/O worker, as in `bpf/totals.h`.
const IO_WORKER: u64 = 0x10;
const KERNEL_THREAD: u64 = 0x0020_0000;

/// One CPU as the kernel side keeps it; see `struct cpu_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuState {
    pub(crate) since: u64,
    pub(crate) thread: u64,
    pub(crate) process: u64,
    pub(crate) flags: u64,
    pub(crate) interrupts: u64,
    pub(crate) outside_interrupts: u64,
    pub(crate) outside_softirqs: u64,
    pub(crate) lost: u64,
    pub(crate) events: u64,
    pub(crate) unsure: u64,
    /// The process as it is numbered here.
    pub(crate) process_here: u64,
}

impl CpuState {
    fn from_words(words: &[u64; 16]) -> CpuState {
        CpuState {
            since: words[0],
            thread: words[1],
            process: words[2],
            flags: words[3],
            interrupts: words[4],
            outside_interrupts: words[8],
            outside_softirqs: words[9],
            lost: words[10],
            events: words[11],
            unsure: words[12],
            process_here: words[2],
        }
    }
}

/// Relation of a thread to the subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// One of its own.
    #[default]
    Subject,
    /// Its worker in the kernel; of the machine, any thread of the kernel.
    OwnWorker,
    /// A thread of the kernel, which serves everybody.
    Worker,
}

/// The role of a thread that counts, by the kernel's flags.
fn role(subject: Subject, flags: u64) -> Role {
    match (flags & KERNEL_THREAD != 0, flags & IO_WORKER != 0) {
        (false, false) => Role::Subject,
        (true, _) if subject != Subject::Machine => Role::Worker,
        _ => Role::OwnWorker,
    }
}

/// One thread's time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadTime {
    /// Time on CPUs; of kernel threads without the device's interrupts.
    pub(crate) time: Nanos,
    /// The device's interrupts within.
    pub(crate) interrupts: Nanos,
    /// Time that the hypervisor took meanwhile, which is no part of `time`; 0 where the kernel does not know.
    pub(crate) stolen: Nanos,
    /// The kernel's own account of the time, as getrusage and `top` tell it.
    pub(crate) accounted: Nanos,
    pub(crate) role: Role,
    /// Number of its process.
    pub(crate) process: u32,
    /// A slice has ended after the moment asked for, so that what ran at that moment is in `time`.
    pub(crate) cut: bool,
    pub(crate) name: String,
}

impl ThreadTime {
    fn add(&mut self, other: &ThreadTime) {
        self.time += other.time;
        self.interrupts += other.interrupts;
        self.stolen += other.stolen;
        self.accounted += other.accounted;
    }
}

/// All times up to a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// By number; the threads of a process that is followed are under its number together.
    pub(crate) threads: BTreeMap<u32, ThreadTime>,
    /// The device's interrupts, outside the subject's threads.
    pub(crate) interrupts: Nanos,
    /// The block layer's soft interrupt, likewise.
    pub(crate) softirqs: Nanos,
    /// Slices that found no place.
    pub(crate) lost: u64,
    /// Times that the kernel side was called.
    pub(crate) events: u64,
    /// Time in which a switch from or to the subject was missed, so that it may be another's, or the subject's and not
    /// counted.
    pub(crate) unsure: Nanos,
}

impl Snapshot {
    /// Difference to `earlier`.
    pub(crate) fn since(&self, earlier: &Snapshot) -> Snapshot {
        let threads = self.threads.iter().map(|(&number, thread)| {
            let mut thread = thread.clone();
            // A number may have been given again to another thread, whose time begins below the old one's.
            if let Some(before) = earlier.threads.get(&number).filter(|before| before.time <= thread.time) {
                thread.time = thread.time - before.time;
                thread.interrupts = thread.interrupts - before.interrupts;
                thread.stolen = thread.stolen - before.stolen;
                thread.accounted = thread.accounted - before.accounted;
            }
            (number, thread)
        });
        Snapshot {
            threads: threads.filter(|(_, thread)| thread.time > Nanos(0)).collect(),
            interrupts: self.interrupts - earlier.interrupts,
            softirqs: self.softirqs - earlier.softirqs,
            lost: self.lost - earlier.lost,
            events: self.events - earlier.events,
            unsure: self.unsure - earlier.unsure,
        }
    }

    /// Adds another window's time.
    pub(crate) fn add(&mut self, other: &Snapshot) {
        for (&number, thread) in &other.threads {
            let sum = self.threads.entry(number).or_default();
            sum.add(thread);
            sum.role = thread.role;
            sum.process = thread.process;
            sum.name.clone_from(&thread.name);
        }
        self.interrupts += other.interrupts;
        self.softirqs += other.softirqs;
        self.lost += other.lost;
        self.events += other.events;
        self.unsure += other.unsure;
    }
}

/// Rule of who is counted.
#[derive(Clone, Debug)]
struct Membership {
    subject: Subject,
    excluded: u64,
    lanes: BTreeMap<u32, u64>,
}

impl Membership {
    /// Role of a thread on a CPU, and since when it counts. `None` when it does not count. `is_own` tells the processes of
    /// the subject; of a load and of the machine it is ours.
    fn role_and_start(&self, state: &CpuState, is_own: impl Fn(u32) -> bool) -> Option<(u64, Role)> {
        let machine = self.subject == Subject::Machine;
        let own = || is_own(state.process as u32);
        let role = role(self.subject, state.flags);
        if state.thread == 0 || state.thread == self.excluded {
            None
        } else if state.flags & KERNEL_THREAD != 0 {
            Some((0, role))
        } else if state.flags & IO_WORKER != 0 {
            (machine || own()).then_some((0, role))
        } else {
            let since = match self.subject {
                Subject::Machine => Some(0),
                Subject::Process { .. } | Subject::Tree { .. } => own().then_some(0),
                Subject::Load => self.lanes.get(&(state.thread as u32)).copied(),
            };
            since.map(|since| (since, role))
        }
    }
}

/// Adds what ran at the moment `now` and had not ended when it was looked at. Pure.
fn join(
    mut ended: BTreeMap<u32, ThreadTime>,
    cpus: &[CpuState],
    member: impl Fn(&CpuState) -> Option<(u64, Role)>,
    now: Nanos,
) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for state in cpus {
        snapshot.interrupts += Nanos(state.outside_interrupts);
        snapshot.softirqs += Nanos(state.outside_softirqs);
        snapshot.lost += state.lost;
        snapshot.events += state.events;
        snapshot.unsure += Nanos(state.unsure);
        let Some((since, role)) = member(state).filter(|_| state.since != 0) else { continue };
        let running = now - Nanos(state.since.max(since));
        if ended.get(&(state.thread as u32)).is_some_and(|thread| thread.cut) {
            continue;
        }
        let thread = ended.entry(state.thread as u32).or_insert_with(|| ThreadTime {
            role,
            process: state.process_here as u32,
            name: thread_name(state.thread).unwrap_or_default(),
            ..ThreadTime::default()
        });
        thread.time += if role == Role::Subject { running } else { running - Nanos(state.interrupts) };
        thread.interrupts += Nanos(state.interrupts).min(running);
        thread.accounted += running;
    }
    snapshot.threads = ended;
    snapshot
}

/// Puts the subject's threads together by process: a thread that ends gives its time to its process.
fn by_process(threads: BTreeMap<u32, ThreadTime>) -> BTreeMap<u32, ThreadTime> {
    let mut together: BTreeMap<u32, ThreadTime> = BTreeMap::new();
    for (number, thread) in threads {
        let key = if thread.role == Role::Subject { thread.process } else { number };
        if let Some(whole) = together.get_mut(&key) {
            whole.add(&thread);
        } else {
            together.insert(key, thread);
        }
    }
    together
}

/// A thread's name as the system tells it now.
pub(crate) fn thread_name(thread: u64) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{thread}/comm")).ok()?;
    Some(name.trim().to_owned())
}

/// Attached to the scheduler and the interrupts while it lives.
pub(crate) struct Totals {
    object: Object,
    family: Members,
    cpus: Array<MapData, [u64; 16]>,
    threads: HashMap<MapData, u32, [u64; 11]>,
    boundaries: Mutex<Array<MapData, u64>>,
    lanes: HashMap<MapData, u32, u64>,
    members: Membership,
}

/// Times to tell a boundary at most.
const LOOKS: usize = 8;

impl Totals {
    /// Attaches. `cpus` are those online, `excluded` is the thread that reads samples.
    pub(crate) fn attach(
        subject: Subject,
        interrupts: &[u32],
        cpus: &[u32],
        excluded: u32,
    ) -> Result<Totals, BpfError> {
        let process = std::process::id();
        let (kind, family) = match subject {
            Subject::Load => (0, Family { process, children: false }),
            Subject::Process { pid } => (1, Family { process: pid, children: false }),
            Subject::Tree { pid } => (1, Family { process: pid, children: true }),
            Subject::Machine => (2, Family { process, children: false }),
        };
        let own = [
            ("subject_kind", kind),
            ("subject_process", u64::from(family.process)),
            ("excluded_thread", u64::from(excluded)),
        ];
        let constants: Vec<_> = own.into_iter().chain(family.constants()).collect();
        let places = cpus.iter().max().map_or(1, |last| last + 1);
        let entries: Vec<_> = [("cpus", places)].into_iter().chain(family.entries()).collect();
        let mut object = Object::load(&unpacked(TOTALS), &constants, &entries)?;
        members::follow(&mut object, family)?;
        if kind == 1 {
            object.attach("totals_ends", "sched_process_free", &[1])?;
        }
        let mut numbers: HashMap<MapData, u32, u64> =
            object.take_map("device_interrupts").try_into().expect("declared as a hash of these");
        for number in interrupts {
            // More interrupts than places would be a device of a thousand queues; those beyond are not bracketed.
            let _kept = numbers.insert(number, 1, 0);
        }
        let totals_cpus = object.take_map("cpus").try_into().expect("declared as an array of these");
        let threads = object.take_map("threads").try_into().expect("declared as a hash of these");
        let boundaries = object.take_map("boundaries").try_into().expect("declared as an array of these");
        let lanes = object.take_map("lanes").try_into().expect("declared as a hash of these");
        for (program, tracepoint, arguments) in [
            ("totals_interrupt_entry", "irq_handler_entry", &[2][..]),
            ("totals_interrupt_exit", "irq_handler_exit", &[3]),
            ("totals_softirq_entry", "softirq_entry", &[1]),
            ("totals_softirq_exit", "softirq_exit", &[1]),
            ("totals_switch", "sched_switch", &[3, 4]),
        ] {
            object.attach(program, tracepoint, arguments)?;
        }
        bpf::end_trial();
        let members = Membership { subject, excluded: u64::from(excluded), lanes: BTreeMap::new() };
        let boundaries = Mutex::new(boundaries);
        let family = Members::take(&mut object, family);
        let totals = Totals { object, family, cpus: totals_cpus, threads, boundaries, lanes, members };
        switch_once(cpus);
        Ok(totals)
    }

    /// The calling thread belongs to the load from now on.
    pub(crate) fn add_lane(&mut self, thread: u32) {
        let now = system::now().0;
        let thread = self.family.number_there(&mut self.object, thread);
        // A load of more threads than places does not exist; its threads would be missing in the total, which the
        // samples would show.
        let _kept = self.lanes.insert(thread, now, 0);
        self.members.lanes.insert(thread, now);
    }

    /// All times up to now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let boundary = self.set_boundary();
        // The caller's slice ends here, and is cut at the boundary. Some kernels do not tell of a switch from the idle or a
        // kernel's thread: until its next one the caller's time looks like theirs.
        std::thread::sleep(Duration::from_micros(1));
        // What runs first, what has ended then: a slice that ends between is known to have ended after the boundary.
        let mut running = self.cpu_states();
        for state in &mut running {
            state.process_here = u64::from(self.family.number_here(state.process as u32));
        }
        let ended = self.ended(boundary);
        let is_own = |process| self.family.has(process);
        let mut seen = join(ended, &running, |state| self.members.role_and_start(state, is_own), boundary);
        if matches!(self.members.subject, Subject::Process { .. } | Subject::Tree { .. }) {
            seen.threads = by_process(seen.threads);
        }
        seen.lost += self.family.lost();
        seen
    }

    /// Tells the kernel side that times are wanted up to now. Slices that end between the look at the clock and the
    /// telling count as before; that is looked at again when it took long.
    fn set_boundary(&self) -> Nanos {
        let mut boundaries = self.boundaries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = system::now();
        for _ in 0..LOOKS {
            boundaries.set(0, now.0, 0).expect("the map has one place");
            let told = system::now();
            if told - now < TELLING_MAX {
                break;
            }
            now = told;
        }
        now
    }

    fn cpu_states(&self) -> Vec<CpuState> {
        self.cpus
            .iter()
            .map(|words| words.map_or(CpuState::default(), |words| CpuState::from_words(&words)))
            .collect()
    }

    /// Times of slices that ended before the boundary, with those cut by it.
    fn ended(&self, boundary: Nanos) -> BTreeMap<u32, ThreadTime> {
        let told = self.threads.iter().filter_map(Result::ok);
        told.map(|(number, words)| (number, thread_time(&words, boundary, self.members.subject))).collect()
    }
}

/// Longer than this takes the telling only when somebody else had the CPU meanwhile.
const TELLING_MAX: Nanos = Nanos::micros(100);

fn thread_time(words: &[u64; 11], boundary: Nanos, subject: Subject) -> ThreadTime {
    let cut = words[4] == boundary.0;
    let (time, interrupts) = if cut { (words[5], words[6]) } else { (words[0], words[1]) };
    ThreadTime {
        time: Nanos(time),
        interrupts: Nanos(interrupts),
        stolen: Nanos(words[9]),
        accounted: Nanos(words[10]),
        role: role(subject, words[3]),
        process: words[2] as u32,
        cut,
        name: crate::name_of(&[words[7], words[8]]),
    }
}

/// Lets every CPU switch threads once, so that it is known what runs there. A thread of ours goes to each; where it is
/// not let in within some time, the CPU is known from its next switch on.
fn switch_once(cpus: &[u32]) {
    let (done, arrived) = std::sync::mpsc::channel();
    for &cpu in cpus {
        let done = done.clone();
        std::thread::spawn(move || {
            let _ran = iostack_host::run_on(&[cpu]);
            // Nobody may be listening any more.
            let _told = done.send(());
        });
    }
    for _ in cpus {
        if arrived.recv_timeout(Duration::from_millis(100)).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(time: u64) -> ThreadTime {
        ThreadTime { time: Nanos(time), name: "worker".to_owned(), ..ThreadTime::default() }
    }

    fn snapshot(threads: &[(u32, u64)]) -> Snapshot {
        Snapshot {
            threads: threads.iter().map(|&(number, time)| (number, thread(time))).collect(),
            ..Snapshot::default()
        }
    }

    #[test]
    fn a_windows_time_is_the_difference_of_two_snapshots() {
        let window = snapshot(&[(1, 500), (2, 70), (3, 9)]).since(&snapshot(&[(1, 100), (2, 70)]));
        assert_eq!(window, snapshot(&[(1, 400), (3, 9)]));
    }

    #[test]
    fn a_thread_number_given_again_counts_from_zero() {
        assert_eq!(snapshot(&[(1, 30)]).since(&snapshot(&[(1, 100)])), snapshot(&[(1, 30)]));
    }

    #[test]
    fn windows_add_up() {
        let mut sum = snapshot(&[(1, 10)]);
        sum.add(&snapshot(&[(1, 5), (2, 1)]));
        assert_eq!(sum, snapshot(&[(1, 15), (2, 1)]));
    }

    #[test]
    fn the_threads_of_a_process_are_one_also_after_some_have_ended() {
        let own = |time, process| ThreadTime { process, ..thread(time) };
        let worker = ThreadTime { role: Role::Worker, ..own(5, 2) };
        let running = BTreeMap::from([(50, own(10, 50)), (51, own(7, 50)), (60, own(1, 60)), (2, worker)]);
        let ended = BTreeMap::from([(50, own(17, 50)), (60, own(1, 60))]);
        let times = |threads| -> Vec<(u32, u64)> {
            by_process(threads).into_iter().map(|(number, thread)| (number, thread.time.0)).collect()
        };
        assert_eq!(times(running), [(2, 5), (50, 17), (60, 1)]);
        assert_eq!(times(ended), [(50, 17), (60, 1)]);
    }

    fn members(subject: Subject) -> Membership {
        Membership { subject, excluded: 59, lanes: BTreeMap::from([(51, 900)]) }
    }

    #[test]
    fn what_runs_counts_up_to_now_from_when_it_joined() {
        let state = CpuState { since: 800, thread: 51, process: 50, ..CpuState::default() };
        let load = members(Subject::Load);
        let joined = join(
            BTreeMap::from([(51, thread(7))]),
            &[state],
            |state| load.role_and_start(state, |own| own == 50),
            Nanos(1000),
        );
        assert_eq!(joined.threads[&51].time, Nanos(107));
    }

    #[test]
    fn a_slice_that_ended_since_is_not_counted_again() {
        let state = CpuState { since: 800, thread: 51, process: 50, ..CpuState::default() };
        let load = members(Subject::Load);
        let cut = ThreadTime { cut: true, ..thread(207) };
        let joined = join(
            BTreeMap::from([(51, cut)]),
            &[state],
            |state| load.role_and_start(state, |own| own == 50),
            Nanos(1000),
        );
        assert_eq!(joined.threads[&51].time, Nanos(207));
        let later = CpuState { since: 1001, ..state };
        let joined = join(
            BTreeMap::from([(51, thread(207))]),
            &[later],
            |state| load.role_and_start(state, |own| own == 50),
            Nanos(1000),
        );
        assert_eq!(joined.threads[&51].time, Nanos(207), "began after the moment asked for");
    }

    #[test]
    fn a_thread_is_read_up_to_the_boundary() {
        let words = [90, 9, 50, 0, 700, 60, 6, u64::from_ne_bytes(*b"load\0\0\0\0"), 0, 0, 0];
        let at = |boundary| thread_time(&words, Nanos(boundary), Subject::Load);
        assert_eq!((at(700).time, at(700).interrupts, at(700).cut), (Nanos(60), Nanos(6), true));
        assert_eq!((at(800).time, at(800).interrupts, at(800).cut), (Nanos(90), Nanos(9), false));
        assert_eq!(at(800).name, "load");
    }

    #[test]
    fn a_kernel_thread_does_not_count_the_devices_interrupts() {
        let state = CpuState {
            since: 800,
            thread: 9,
            flags: KERNEL_THREAD,
            interrupts: 60,
            outside_interrupts: 500,
            ..CpuState::default()
        };
        let load = members(Subject::Load);
        let joined =
            join(BTreeMap::new(), &[state], |state| load.role_and_start(state, |own| own == 50), Nanos(1000));
        assert_eq!(joined.threads[&9].time, Nanos(140));
        assert_eq!(joined.interrupts, Nanos(500));
    }

    #[test]
    fn strangers_idle_cpus_and_our_reader_do_not_count() {
        for (thread, process) in [(0, 0), (77, 70), (59, 50), (52, 50)] {
            let state = CpuState { since: 800, thread, process, ..CpuState::default() };
            assert_eq!(members(Subject::Load).role_and_start(&state, |own| own == 50), None, "{thread}");
        }
        let stranger = CpuState { since: 800, thread: 77, process: 70, ..CpuState::default() };
        assert_eq!(
            members(Subject::Process { pid: 70 }).role_and_start(&stranger, |own| own == 70),
            Some((0, Role::Subject))
        );
        assert_eq!(
            members(Subject::Machine).role_and_start(&stranger, |own| own == 70),
            Some((0, Role::Subject))
        );
        let worker = CpuState { flags: IO_WORKER, ..stranger };
        assert_eq!(
            members(Subject::Load).role_and_start(&worker, |own| own == 50),
            None,
            "another process's worker"
        );
        assert_eq!(
            members(Subject::Process { pid: 70 }).role_and_start(&worker, |own| own == 70),
            Some((0, Role::OwnWorker))
        );
    }

    #[test]
    fn threads_of_the_kernel_are_the_machines_own_and_serve_everybody_else() {
        let thread = CpuState { since: 800, thread: 9, flags: KERNEL_THREAD, ..CpuState::default() };
        for (subject, role) in [
            (Subject::Load, Role::Worker),
            (Subject::Process { pid: 70 }, Role::Worker),
            (Subject::Machine, Role::OwnWorker),
        ] {
            assert_eq!(
                members(subject).role_and_start(&thread, |own| own == 70),
                Some((0, role)),
                "{subject:?}"
            );
        }
    }
}
