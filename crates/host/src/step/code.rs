//! The code a thread is about to execute, read rarely.

use std::collections::HashMap;

use super::objects::{Mapping, mappings};
use super::sys;

const PAGE: u64 = 4096;
/// The `syscall` instruction (Intel SDM volume 2, SYSCALL: 0F 05).
const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// Pages of code that cannot change: those mapped from a file, and the vdso. Other code (a just-in-time compiler's)
/// is read afresh at every step.
pub(super) struct Code {
    pid: i32,
    pages: HashMap<u64, Option<Box<[u8]>>>,
    map: Vec<Mapping>,
}

impl Code {
    /// The code of a process.
    pub(super) fn new(pid: i32) -> Self {
        Code { pid, pages: HashMap::new(), map: mappings(pid) }
    }

    /// Forgets everything, because the program changed its mappings.
    pub(super) fn forget(&mut self) {
        self.pages.clear();
        self.map.clear();
    }

    /// True when the instruction at `address` is a system call.
    pub(super) fn is_system_call(&mut self, address: u64) -> bool {
        let (page, offset) = (address & !(PAGE - 1), (address & (PAGE - 1)) as usize);
        if !self.pages.contains_key(&page) {
            let content = self.read_stable(page);
            self.pages.insert(page, content);
        }
        let content = self.pages.get(&page).and_then(Option::as_deref);
        if let Some(bytes) = content.and_then(|bytes| bytes.get(offset..offset + 2)) {
            return bytes == SYSCALL;
        }
        let mut bytes = [0; 2];
        sys::read_memory(self.pid, address, &mut bytes) && bytes == SYSCALL
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
