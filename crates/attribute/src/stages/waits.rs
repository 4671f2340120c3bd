//! What did I/Os wait for while no bio of them was out? From the functions in which their threads slept.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use iostack_model::answers::WaitCause;
use iostack_model::{Nanos, StageWait};

use crate::classify::Symbols;
use crate::waits::{is_lock, rule, rule_below};

/// Names of the kernel's functions, read when they are first needed.
#[derive(Default)]
pub(super) struct Waits(OnceCell<Option<Symbols>>);

/// Functions in which a call waits for something that is no storage.
const NO_STORAGE: [&str; 2] = ["fifo_open", "chrdev_open"];

impl Waits {
    /// Sums by cause of stacks (addresses, the innermost first), each with its number of sleeps and their time, ns.
    pub(super) fn told(&self, stacks: &[(Vec<u64>, [u64; 2])]) -> Vec<StageWait> {
        if stacks.is_empty() {
            return Vec::new();
        }
        let symbols = self.0.get_or_init(|| Symbols::live().ok()).as_ref();
        let name = |frame: &u64| Some(symbols?.name(*frame)?.name.to_owned());
        let named = stacks.iter().map(|(frames, sums)| (frames.iter().filter_map(name).collect(), *sums));
        summed(named)
    }

    /// Note for the reader where functions have no names.
    pub(super) fn note(&self) -> Option<String> {
        matches!(self.0.get(), Some(None)).then(|| {
            "What I/Os waited for is not known: the kernel shows no names of its functions to this user (cap_syslog)."
                .to_owned()
        })
    }
}

/// Sums by cause, the longest first.
fn summed(stacks: impl Iterator<Item = (Vec<String>, [u64; 2])>) -> Vec<StageWait> {
    let mut rows: BTreeMap<(WaitCause, &str, String), [u64; 2]> = BTreeMap::new();
    for (stack, sums) in stacks {
        if stack.iter().any(|function| NO_STORAGE.contains(&function.as_str())) {
            continue;
        }
        // What lies before it is the tracer.
        let slept = stack.iter().position(|function| function == "__schedule").unwrap_or(0);
        let row = rows.entry(cause(&stack[slept..])).or_default();
        *row = [row[0] + sums[0], row[1] + sums[1]];
    }
    let told = rows.into_iter().map(|((cause, what, function), [sleeps, total])| StageWait {
        cause,
        what: what.to_owned(),
        function,
        sleeps,
        total: Nanos(total),
    });
    let mut told: Vec<StageWait> = told.collect();
    told.sort_by_key(|wait| std::cmp::Reverse(wait.total));
    told
}

/// Cause, what is waited for in words, and the function that says so; of a lock the one that takes it.
fn cause(stack: &[String]) -> (WaitCause, &'static str, String) {
    let place = || stack.iter().find(|name| !is_lock(name)).cloned().unwrap_or_default();
    match rule(stack).or_else(|| rule_below(stack)) {
        Some(&(_, WaitCause::Lock, words)) => (WaitCause::Lock, words, place()),
        Some(&(function, cause, words)) => (cause, words, function.to_owned()),
        None => (WaitCause::Unknown, "", place()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(functions: &str) -> Vec<String> {
        functions.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn sleeps_are_put_together_by_what_they_waited_for() {
        let stacks = [
            ("bpf_prog_1 __schedule schedule jbd2_log_wait_commit ext4_sync_file do_fsync", [1, 100]),
            ("schedule jbd2_log_wait_commit ext4_sync_file do_syncfs", [2, 50]),
            ("schedule rwsem_down_write_slowpath down_write ext4_buffered_write_iter", [1, 10]),
            ("bpf_prog_1 __traceiter __schedule schedule some_new_wait vfs_fsync", [1, 500]),
            ("schedule wait_for_partner fifo_open", [1, 9_000]),
        ];
        let told = summed(stacks.into_iter().map(|(functions, sums)| (stack(functions), sums)));
        let told: Vec<_> =
            told.iter().map(|row| (row.cause, row.function.as_str(), row.sleeps, row.total.0)).collect();
        assert_eq!(
            told,
            [
                (WaitCause::Unknown, "some_new_wait", 1, 500),
                (WaitCause::Journal, "jbd2_log_wait_commit", 3, 150),
                (WaitCause::Lock, "ext4_buffered_write_iter", 1, 10),
            ]
        );
    }

    #[test]
    fn the_wait_for_an_io_that_another_thread_does_is_known() {
        let (cause, words, _) = cause(&stack("io_schedule folio_wait_bit_common folio_wait_writeback x"));
        assert_eq!((cause, words), (WaitCause::WriteBack, "for pages that are being written"));
    }
}
