//! Which processes are the subject's? The kernel keeps the list itself: `bpf/members.h`.

use std::io::Read;

use aya::maps::{Array, HashMap, MapData};
use aya::programs::Iter;

use super::{BpfError, Object, from_program};

/// Processes at a time.
const PROCESSES_MAX: u32 = 16_384;
/// Threads of a load that the kernel numbers otherwise.
const THREADS_MAX: u32 = 4096;
/// Times to look for children of children, at most.
const LOOKS_MAX: u32 = 64;

/// The processes to follow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Family {
    /// The first, as it is numbered here.
    pub(crate) process: u32,
    /// What it starts is followed too.
    pub(crate) children: bool,
}

impl Family {
    /// True when the kernel has to keep the list: one process whose number is the kernel's own needs none.
    pub(crate) fn is_listed(self) -> bool {
        self.process != 0 && (self.children || !numbers_are_the_kernels())
    }

    /// Constants of `bpf/members.h`.
    pub(crate) fn constants(self) -> [(&'static str, u64); 3] {
        [
            ("by_members", u64::from(self.is_listed())),
            ("with_children", u64::from(self.children)),
            ("first_member", u64::from(self.process)),
        ]
    }

    /// Sizes of its maps.
    pub(crate) fn entries(self) -> [(&'static str, u32); 2] {
        let only = |wanted: bool, size| if wanted { size } else { 1 };
        [
            ("members", only(self.is_listed(), PROCESSES_MAX)),
            ("member_threads", only(self.is_listed() && !self.children, THREADS_MAX)),
        ]
    }
}

/// Processes have other numbers in a container than in the kernel.
pub(crate) fn numbers_are_the_kernels() -> bool {
    // PROC_PID_INIT_INO of include/linux/proc_ns.h.
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|name| name.as_os_str() == "pid:[4026531836]")
}

/// The list, kept by the kernel while its object is there.
pub(crate) struct Members {
    family: Family,
    processes: HashMap<MapData, u32, u64>,
    threads: HashMap<MapData, u32, u32>,
    facts: Array<MapData, u64>,
}

/// Begins the list: first what is new is followed, then what is there is looked for, so that nothing is missed between.
/// Before all other programs of the object are attached.
pub(crate) fn follow(object: &mut Object, family: Family) -> Result<(), BpfError> {
    if !family.is_listed() {
        return Ok(());
    }
    if family.children {
        object.attach("member_forks", "sched_process_fork", &[2])?;
    }
    object.attach("member_ends", "sched_process_free", &[1])?;
    object.load_iterator("member_seek", "task")?;
    let mut known = usize::MAX;
    for _ in 0..LOOKS_MAX {
        object.iterate("member_seek")?;
        let map = object.ebpf.map("members").expect("declared in members.h");
        let processes: HashMap<&MapData, u32, u64> = map.try_into().expect("declared as a hash of these");
        let found = processes.keys().count();
        if found == known {
            break;
        }
        known = found;
    }
    Ok(())
}

impl Members {
    /// The list of an object whose programs are all attached.
    pub(crate) fn take(object: &mut Object, family: Family) -> Members {
        let mut take = |name| object.take_map(name);
        Members {
            family,
            processes: take("members").try_into().expect("declared as a hash of these"),
            threads: take("member_threads").try_into().expect("declared as a hash of these"),
            facts: take("member_facts").try_into().expect("declared as an array of these"),
        }
    }

    /// The kernel's number of a thread of the process.
    pub(crate) fn number_there(&self, object: &mut Object, thread: u32) -> u32 {
        if !self.family.is_listed() || object.iterate("member_seek").is_err() {
            return thread;
        }
        self.threads.get(&thread, 0).unwrap_or(thread)
    }

    /// True for a process that is one, by the kernel's number.
    pub(crate) fn has(&self, process: u32) -> bool {
        if self.family.is_listed() {
            self.processes.get(&process, 0).is_ok()
        } else {
            process == self.family.process
        }
    }

    /// The number that a process has here, by the kernel's.
    pub(crate) fn number_here(&self, process: u32) -> u32 {
        self.processes.get(&process, 0).map_or(process, |number| number as u32)
    }

    /// Processes that found no place.
    pub(crate) fn lost(&self) -> u64 {
        self.facts.get(&1, 0).unwrap_or(0)
    }
}

impl Object {
    /// Lets the kernel verify a program that looks at each thing of a kind, such as `task`.
    fn load_iterator(&mut self, program: &str, kind: &str) -> Result<(), BpfError> {
        let btf = self.btf;
        self.iterator(program).load(kind, btf).map_err(|error| from_program("load", program, error))
    }

    /// Runs it once.
    fn iterate(&mut self, program: &str) -> Result<(), BpfError> {
        let iterator = self.iterator(program);
        let link = iterator.attach().and_then(|link| iterator.take_link(link));
        let link = link.map_err(|error| from_program("attach", program, error))?;
        let failed = |source| BpfError::Failed { act: format!("run the BPF program `{program}`"), source };
        let mut file = link.into_file().map_err(|error| failed(error.into()))?;
        file.read_to_end(&mut Vec::new()).map(drop).map_err(|error| failed(error.into()))
    }

    fn iterator(&mut self, program: &str) -> &mut Iter {
        let found = self.ebpf.program_mut(program);
        found
            .unwrap_or_else(|| panic!("the object holds the program `{program}`"))
            .try_into()
            .expect("it is in the section iter/task")
    }
}
