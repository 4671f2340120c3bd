//! What do a system call and a context switch cost, with nothing else in them?
//!
//! Loops to be measured in turns: the one with the call, and the same one without it. Each returns CPU time, as ticks of
//! the clock or as nanoseconds of the threads, for as many repetitions as were asked. Start reading at [`null_calls`].

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::thread;

use crate::clock::Clock;
use crate::sys;

/// A stretch of the caller's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopTurn {
    /// Clock ticks from begin to end.
    pub ticks: u64,
    /// The thread lost its CPU to another in between: the ticks are not its own.
    pub disturbed: bool,
}

/// `count` system calls that do nothing (getppid, which no library caches).
pub fn null_calls(count: u32) -> LoopTurn {
    turn(count, || {
        std::hint::black_box(sys::parent_process());
    })
}

/// The same loop without the call.
pub fn no_calls(count: u32) -> LoopTurn {
    turn(count, || {
        std::hint::black_box(());
    })
}

fn turn(count: u32, step: impl Fn()) -> LoopTurn {
    let clock = Clock::calibrated();
    let switches = sys::usage(libc::RUSAGE_THREAD).switches_involuntary;
    let begin = clock.now();
    for _ in 0..count {
        step();
    }
    let ticks = clock.now().saturating_sub(begin);
    LoopTurn { ticks, disturbed: sys::usage(libc::RUSAGE_THREAD).switches_involuntary != switches }
}

/// CPU time, in ns, of two threads on one CPU that hand a byte back and forth through pipes `rounds` times: each round is two
/// context switches with their wake-ups, two writes and two reads.
pub fn hand_to_another(rounds: u32) -> io::Result<u64> {
    let (mut answer_from, mut ask_to) = io::pipe()?;
    let (mut ask_from, mut answer_to) = io::pipe()?;
    let cpu = sys::current_cpu()?;
    thread::scope(|scope| {
        let other =
            scope.spawn(move || on_cpu(cpu, || hand(&mut answer_from, &mut answer_to, rounds, false)));
        let one = scope.spawn(move || on_cpu(cpu, || hand(&mut ask_from, &mut ask_to, rounds, true)));
        Ok(joined(one.join())? + joined(other.join())?)
    })
}

/// CPU time, in ns, of one thread on one CPU that writes a byte to a pipe and reads it back `rounds` times: a write and
/// a read, and no switch.
pub fn hand_to_self(rounds: u32) -> io::Result<u64> {
    let (mut from, mut to) = io::pipe()?;
    let cpu = sys::current_cpu()?;
    thread::scope(|scope| {
        joined(scope.spawn(move || on_cpu(cpu, || hand(&mut from, &mut to, rounds, true))).join())
    })
}

fn joined(result: thread::Result<io::Result<u64>>) -> io::Result<u64> {
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// CPU time of `work` in a thread that may run on `cpu` only; the thread is new and ends afterwards.
fn on_cpu(cpu: u32, work: impl FnOnce() -> io::Result<()>) -> io::Result<u64> {
    sys::run_on(&[cpu])?;
    let begin = sys::thread_cpu_ns();
    work()?;
    Ok(sys::thread_cpu_ns() - begin)
}

fn hand(from: &mut PipeReader, to: &mut PipeWriter, rounds: u32, first: bool) -> io::Result<()> {
    let mut byte = [1u8];
    for _ in 0..rounds {
        if first {
            to.write_all(&byte)?;
            from.read_exact(&mut byte)?;
        } else {
            from.read_exact(&mut byte)?;
            to.write_all(&byte)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best of some turns: a busy machine disturbs most of them.
    fn best(turn: impl Fn() -> u64) -> u64 {
        (0..20).map(|_| turn()).min().expect("20 turns")
    }

    #[test]
    fn a_system_call_costs_more_than_none() {
        let with = best(|| null_calls(2_000).ticks);
        let without = best(|| no_calls(2_000).ticks);
        assert!(with > 5 * without, "{with} ticks with, {without} without");
    }

    #[test]
    fn handing_a_byte_to_another_thread_costs_more_than_to_oneself() {
        let other = best(|| hand_to_another(200).expect("two pipes and two threads"));
        let own = best(|| hand_to_self(200).expect("a pipe and a thread"));
        // The other way has twice the calls, and two switches on top.
        assert!(other > 2 * own, "{other} ns to another, {own} ns to oneself");
    }
}
