//! The code a thread is about to execute, read rarely.

use std::collections::HashMap;

use super::objects::{Mapping, mappings};
use super::sys;

const PAGE: u64 = 4096;
/// Instructions that matter, as the Intel SDM volume 2 encodes them.
const SYSCALL: &[u8] = &[0x0f, 0x05];
const RDTSC: &[u8] = &[0x0f, 0x31];
const RDTSCP: &[u8] = &[0x0f, 0x01, 0xf9];
const LONGEST: usize = 3;

/// Kind of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instruction {
    /// A system call.
    SystemCall,
    /// It reads the time-stamp counter, outside of the vdso.
    ReadsClock,
    /// Any other instruction, which needs no attention.
    Other,
}

impl Instruction {
    fn decode(bytes: &[u8]) -> Self {
        if bytes.starts_with(SYSCALL) {
            Instruction::SystemCall
        } else if bytes.starts_with(RDTSC) || bytes.starts_with(RDTSCP) {
            Instruction::ReadsClock
        } else {
            Instruction::Other
        }
    }
}

/// Pages of code that cannot change: those mapped from a file, and the vdso. Other code (a just-in-time compiler's)
/// is read afresh at every step.
pub(crate) struct Code {
    pid: i32,
    pages: HashMap<u64, Option<Box<[u8]>>>,
    map: Vec<Mapping>,
}

impl Code {
    /// The code of a process.
    pub(crate) fn new(pid: i32) -> Self {
        Code { pid, pages: HashMap::new(), map: mappings(pid) }
    }

    /// Forgets everything, because the program changed its mappings.
    pub(crate) fn forget(&mut self) {
        self.pages.clear();
        self.map.clear();
    }

    /// Kind of the instruction at `address`.
    pub(crate) fn instruction(&mut self, address: u64) -> Instruction {
        match self.look(address) {
            // The vdso combines the counter with the kernel's own reading, which nobody holds back.
            Instruction::ReadsClock if self.is_vdso(address) => Instruction::Other,
            instruction => instruction,
        }
    }

    fn is_vdso(&self, address: u64) -> bool {
        self.map.iter().any(|mapping| mapping.contains(address) && mapping.is_vdso())
    }

    fn look(&mut self, address: u64) -> Instruction {
        let (page, offset) = (address & !(PAGE - 1), (address & (PAGE - 1)) as usize);
        if !self.pages.contains_key(&page) {
            let content = self.read_stable(page);
            self.pages.insert(page, content);
        }
        let content = self.pages.get(&page).and_then(Option::as_deref);
        if let Some(bytes) = content.and_then(|bytes| bytes.get(offset..offset + LONGEST)) {
            return Instruction::decode(bytes);
        }
        // Code that may change, or the end of a page; the page after it may be missing.
        let mut bytes = [0; LONGEST];
        if sys::read_memory(self.pid, address, &mut bytes) {
            return Instruction::decode(&bytes);
        }
        sys::read_memory(self.pid, address, &mut bytes[..2]);
        Instruction::decode(&bytes[..2])
    }

    /// One page, when its content cannot change.
    fn read_stable(&mut self, page: u64) -> Option<Box<[u8]>> {
        if self.map.is_empty() {
            self.map = mappings(self.pid);
        }
        let mapping = self.map.iter().find(|mapping| mapping.contains(page))?;
        if !mapping.is_fixed_code() {
            return None;
        }
        let mut content = vec![0; PAGE as usize].into_boxed_slice();
        sys::read_memory(self.pid, page, &mut content).then_some(content)
    }
}
