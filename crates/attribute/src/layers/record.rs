//! What does a perf record say? Pure.
//!
//! Fields of a sample stand in the order of `perf_event_open(2)`: address, process and thread, time, CPU, call chain.

use iostack_model::Nanos;

/// One record of a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// Sample of a CPU.
    Sample(Sample),
    /// A process began.
    Forked(Fork),
    /// So many records found no place.
    Lost(u64),
    /// The kernel slowed the samples down for a while.
    Throttled,
    /// Record of no interest, or cut.
    Other,
}

impl Record {
    /// Moment at which it was made; 0 of those that belong to none.
    pub(crate) fn time(&self) -> Nanos {
        match self {
            Record::Sample(sample) => sample.time,
            Record::Forked(fork) => fork.time,
            Record::Lost(_) | Record::Throttled | Record::Other => Nanos(0),
        }
    }
}

/// Sample of a CPU at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) time: Nanos,
    /// It ran in user space; the stack is then empty.
    pub(crate) user: bool,
    /// Kernel addresses, leaf first.
    pub(crate) stack: Vec<u64>,
}

/// Begin of a process or of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fork {
    pub(crate) process: u32,
    pub(crate) parent: u32,
    pub(crate) time: Nanos,
}

const LOST: u32 = 2;
const THROTTLE: u32 = 5;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MODE_MASK: u16 = 7;
const MODE_KERNEL: u16 = 1;
/// Call chains hold marks between parts of different modes, which are the last addresses there are.
const FIRST_MARK: u64 = (-4095_i64).cast_unsigned();

/// Reads one record.
pub(crate) fn parse(kind: u32, flags: u16, body: &[u8]) -> Record {
    let word = |at: usize| {
        let eight = body.get(at..at + 8)?;
        Some(u64::from_ne_bytes(eight.try_into().expect("eight bytes")))
    };
    match kind {
        LOST => word(8).map_or(Record::Other, Record::Lost),
        THROTTLE => Record::Throttled,
        FORK => fork(word).map_or(Record::Other, Record::Forked),
        SAMPLE => sample(flags, word).map_or(Record::Other, Record::Sample),
        _ => Record::Other,
    }
}

fn sample(flags: u16, word: impl Fn(usize) -> Option<u64>) -> Option<Sample> {
    let user = flags & MODE_MASK != MODE_KERNEL;
    let address = word(0)?;
    let who = word(8)?;
    let time = Nanos(word(16)?);
    let length = usize::try_from(word(32)?).ok()?;
    let mut stack = Vec::new();
    if !user {
        for place in 0..length {
            let frame = word(40 + 8 * place)?;
            if frame < FIRST_MARK {
                stack.push(frame);
            }
        }
        if stack.is_empty() {
            stack.push(address);
        }
    }
    let [process, thread] = two(who);
    Some(Sample { process, thread, time, user, stack })
}

/// Two 32-bit numbers: process and parent, then thread and parent's thread, then the time.
fn fork(word: impl Fn(usize) -> Option<u64>) -> Option<Fork> {
    let [process, parent] = two(word(0)?);
    Some(Fork { process, parent, time: Nanos(word(16)?) })
}

/// The two 32-bit numbers in a word, in the order of memory.
fn two(word: u64) -> [u32; 2] {
    [0, 4].map(|at| u32::from_ne_bytes(word.to_ne_bytes()[at..at + 4].try_into().expect("four bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn who(process: u32, thread: u32) -> u64 {
        let bytes = [process.to_ne_bytes(), thread.to_ne_bytes()].concat();
        u64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
    }

    #[test]
    fn a_kernel_sample_is_read_without_its_marks() {
        let kernel_mark = (-128_i64).cast_unsigned();
        let words = [0xffff_0001, who(7, 8), 55, 1, 3, kernel_mark, 0xffff_0001, 0xffff_0002];
        let Record::Sample(sample) = parse(SAMPLE, MODE_KERNEL, &body(&words)) else { panic!("a sample") };
        assert_eq!((sample.process, sample.thread, sample.time, sample.user), (7, 8, Nanos(55), false));
        assert_eq!(sample.stack, [0xffff_0001, 0xffff_0002]);
    }

    #[test]
    fn a_kernel_sample_without_a_chain_keeps_its_own_address() {
        let words = [0xffff_0001, who(7, 8), 55, 1, 0];
        let Record::Sample(sample) = parse(SAMPLE, MODE_KERNEL, &body(&words)) else { panic!("a sample") };
        assert_eq!(sample.stack, [0xffff_0001]);
    }

    #[test]
    fn a_user_sample_has_no_stack() {
        let words = [0x40_0000, who(7, 8), 55, 1, 0];
        let Record::Sample(sample) = parse(SAMPLE, 2, &body(&words)) else { panic!("a sample") };
        assert!(sample.user && sample.stack.is_empty());
    }

    #[test]
    fn a_fork_says_whose_child_it_is() {
        let fork = Fork { process: 7, parent: 8, time: Nanos(55) };
        assert_eq!(parse(FORK, 0, &body(&[who(7, 8), who(7, 9), 55])), Record::Forked(fork));
        assert_eq!(parse(FORK, 0, &body(&[who(7, 8), who(7, 9)])), Record::Other, "cut");
    }

    #[test]
    fn losses_are_counted_as_the_kernel_says() {
        assert_eq!(parse(LOST, 0, &body(&[1, 17])), Record::Lost(17));
        assert_eq!(parse(THROTTLE, 0, &body(&[1, 1, 1])), Record::Throttled);
    }

    #[test]
    fn a_cut_record_is_no_sample() {
        let words = body(&[0xffff_0001, who(7, 8), 55, 1, 2, 1, 2]);
        for length in 0..words.len() {
            assert_eq!(parse(SAMPLE, MODE_KERNEL, &words[..length]), Record::Other, "{length}");
        }
    }
}
