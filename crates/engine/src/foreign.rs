//! How much CPU time have other programs used?
//!
//! The machine's busy time minus ours would also hold interrupts and kernel threads that work for us (a loop device, a
//! compressor), so user programs are summed instead: everything in `/proc` but ourselves and kernel threads.

use std::fs;
use std::path::Path;

use iostack_model::Nanos;

/// `PF_KTHREAD` of the kernel's `include/linux/sched.h`, in the flags of `/proc/PID/stat`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// `USER_HZ`, in which `/proc/PID/stat` counts: 100 on every architecture Linux runs on today.
const TICK: Nanos = Nanos::millis(10);

/// CPU time of all programs that run now but ourselves, each since its start. Those that end between two calls make
/// the difference too small, never too large.
pub(crate) fn programs_cpu() -> Nanos {
    let ourselves = std::process::id().to_string();
    let Ok(entries) = fs::read_dir("/proc") else { return Nanos(0) };
    let ticks = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        let name = name.to_str()?;
        let is_other = name.bytes().all(|byte| byte.is_ascii_digit()) && name != ourselves;
        is_other.then(|| ticks_of(&entry.path().join("stat"))).flatten()
    });
    Nanos(ticks.sum::<u64>() * TICK.0)
}

fn ticks_of(stat: &Path) -> Option<u64> {
    parse(&fs::read_to_string(stat).ok()?)
}

/// User and system time in ticks, of a program; `None` for kernel threads. Fields of proc(5), which follow a name in
/// parentheses that may itself hold any character.
fn parse(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let is_program = field(9)? & KERNEL_THREAD == 0;
    is_program.then_some(field(14)? + field(15)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_count_and_kernel_threads_do_not() {
        let program = "42 (a) b) c) S 1 42 42 0 -1 4194560 100 0 0 0 17 4 0 0 20 0 1 0 1 2 3";
        assert_eq!(parse(program), Some(21));
        let thread = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 5 6 0 0 20 0 1 0 1 0 0";
        assert_eq!(parse(thread), None);
        assert_eq!(parse("nonsense"), None);
    }
}
