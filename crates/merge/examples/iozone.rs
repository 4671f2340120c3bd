//! The four patterns of the published table on real storage: plain calls, libaio, `io_uring` and the library side by side.
//!
//! ```text
//! cargo run --release --package iostack-merge --example iozone -- DIRECTORY [CALLERS [ROUNDS [SECONDS]]]
//! ```
//!
//! Makes a file of 1 GiB there, whose blocks say where they lie, and removes it. Callers read or write 4 KiB blocks around the page
//! cache, each in order within its own part or at random in all of it; what comes is checked. All ways take turns in each round; a
//! figure is the median of the rounds' ratios to plain calls. `libaio` and `io_uring` are one thread with as many requests in flight
//! as there are callers, all sent and all waited for at once: what a program can have that is written for it.

mod measure;
mod sys;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iostack_merge::{Backend, Buffer, File, Options, Policy};
use measure::{BLOCK, Outcome, measure, median, threads};
use sys::scope;

const FILE_BYTES: u64 = 1 << 30;

/// What is asked.
#[derive(Clone, Copy)]
struct Pattern {
    name: &'static str,
    random: bool,
    write: bool,
}

const PATTERNS: [Pattern; 4] = [
    Pattern { name: "seq read", random: false, write: false },
    Pattern { name: "seq write", random: false, write: true },
    Pattern { name: "rand read", random: true, write: false },
    Pattern { name: "rand write", random: true, write: true },
];

/// Who asks, and how.
enum Way {
    /// A thread for each caller.
    Threads(File),
    /// One thread for all of them.
    Group(File),
    /// A coroutine for each caller, on two threads.
    Coroutines(File),
}

/// A file that goes when this does.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            eprintln!("cannot remove `{}`: {error}", self.0.display());
        }
    }
}

/// Where a caller goes.
struct Walk {
    pattern: Pattern,
    first: u64,
    count: u64,
    state: u64,
    step: u64,
}

impl Walk {
    fn new(pattern: Pattern, index: u64, callers: u64) -> Walk {
        let blocks = FILE_BYTES / BLOCK as u64;
        let (first, count) =
            if pattern.random { (0, blocks) } else { (index * (blocks / callers), blocks / callers) };
        Walk { pattern, first, count, state: (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15), step: 0 }
    }

    fn next(&mut self) -> u64 {
        let place = if self.pattern.random {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            self.state
        } else {
            self.step += 1;
            self.step
        };
        (self.first + place % self.count) * BLOCK as u64
    }

    /// One block, whose first bytes say where it lies.
    fn go(&mut self, file: &File, buffer: &mut Buffer) {
        let offset = self.next();
        if self.pattern.write {
            buffer[..8].copy_from_slice(&offset.to_le_bytes());
            file.write_all_at(buffer, offset).expect("the scratch file can be written");
        } else {
            file.read_exact_at(buffer, offset).expect("the scratch file can be read");
            assert_eq!(buffer[..8], offset.to_le_bytes(), "this is another's block");
        }
    }
}

fn main() -> io::Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |place: usize, default: f64| given.get(place).and_then(|text| text.parse().ok()).unwrap_or(default);
    let directory = given.first().expect("name a directory: iozone DIRECTORY [CALLERS [ROUNDS [SECONDS]]]");
    let (callers, rounds, seconds) = (number(1, 8.0) as u64, number(2, 5.0) as usize, number(3, 0.3));
    let scratch = fill(Path::new(directory))?;
    let ways = ways(&scratch.0)?;
    let mut outcomes: Vec<Vec<Vec<Outcome>>> = vec![vec![Vec::new(); PATTERNS.len()]; ways.len()];
    for round in 0..rounds {
        eprint!("\rround {} of {rounds} ", round + 1);
        for (column, &pattern) in PATTERNS.iter().enumerate() {
            for (row, (_, way)) in ways.iter().enumerate() {
                outcomes[row][column].push(measure(|| run(way, pattern, callers, seconds)));
            }
        }
    }
    eprintln!();
    let names: Vec<&str> = ways.iter().map(|(name, _)| name.as_str()).collect();
    print(&names, &outcomes, callers, rounds);
    Ok(())
}

fn fill(directory: &Path) -> io::Result<Scratch> {
    let path = directory.join(format!("iostack-iozone-{}", std::process::id()));
    std::fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
    let scratch = Scratch(path);
    let file = Options { write: true, policy: Policy::Pread, ..Options::default() }.open(&scratch.0)?;
    let mut chunk = vec![0x5A_u8; 1 << 20];
    for start in (0..FILE_BYTES).step_by(chunk.len()) {
        for (index, block) in chunk.chunks_mut(BLOCK).enumerate() {
            block[..8].copy_from_slice(&(start + (index * BLOCK) as u64).to_le_bytes());
        }
        file.write_all_at(&chunk, start)?;
    }
    file.sync_all()?;
    Ok(scratch)
}

/// All that are compared; the first is what the others are held against.
fn ways(path: &Path) -> io::Result<Vec<(String, Way)>> {
    let base = Options { write: true, direct: true, ..Options::default() };
    let open = |policy, backend| Options { policy, backend, ..base.clone() }.open(path);
    let mut ways = vec![("pread".to_owned(), Way::Threads(open(Policy::Pread, Backend::Best)?))];
    for backend in [Backend::Libaio, Backend::IoUring] {
        match open(Policy::Ring, backend) {
            Ok(file) => ways.push((format!("{}, 1 thread", backend.name()), Way::Group(file))),
            Err(error) => println!("left out: {error}"),
        }
    }
    for policy in Policy::ALL.into_iter().filter(|&policy| policy != Policy::Pread) {
        ways.push((policy.name().to_owned(), Way::Threads(open(policy, Backend::Best)?)));
    }
    ways.push(("scope, 2 threads".to_owned(), Way::Coroutines(open(Policy::Auto, Backend::Best)?)));
    Ok(ways)
}

/// Requests that were made.
fn run(way: &Way, pattern: Pattern, callers: u64, seconds: f64) -> u64 {
    let one = |file: &File, index: u64, end: Instant| {
        let (mut walk, mut buffer, mut count) = (Walk::new(pattern, index, callers), Buffer::new(BLOCK), 0);
        while count % 8 != 0 || Instant::now() < end {
            walk.go(file, &mut buffer);
            count += 1;
        }
        count
    };
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    match way {
        Way::Threads(file) => threads(callers, seconds, |index, end| one(file, index, end)),
        Way::Group(file) => groups(file, pattern, callers, end),
        Way::Coroutines(file) => scope(2, |s| {
            let one = &one;
            let handles: Vec<_> = (0..callers).map(|index| s.spawn(move || one(file, index, end))).collect();
            handles.into_iter().map(|handle| handle.join().expect("no load panics")).sum()
        }),
    }
}

/// One thread sends the next request of every caller, and waits for all.
fn groups(file: &File, pattern: Pattern, callers: u64, end: Instant) -> u64 {
    let mut walks: Vec<Walk> = (0..callers).map(|index| Walk::new(pattern, index, callers)).collect();
    let mut buffers: Vec<Buffer> = (0..callers).map(|_| Buffer::new(BLOCK)).collect();
    let mut count = 0;
    while Instant::now() < end {
        let offsets: Vec<u64> = walks.iter_mut().map(Walk::next).collect();
        if pattern.write {
            for (buffer, offset) in buffers.iter_mut().zip(&offsets) {
                buffer[..8].copy_from_slice(&offset.to_le_bytes());
            }
            let list: Vec<(u64, &[u8])> =
                offsets.iter().copied().zip(buffers.iter().map(|buffer| &buffer[..])).collect();
            file.write_many(&list).expect("the scratch file can be written");
        } else {
            let memory = buffers.iter_mut().map(|buffer| &mut buffer[..]);
            let mut list: Vec<(u64, &mut [u8])> = offsets.iter().copied().zip(memory).collect();
            file.read_many(&mut list).expect("the scratch file can be read");
            for (buffer, offset) in buffers.iter().zip(&offsets) {
                assert_eq!(buffer[..8], offset.to_le_bytes(), "this is another's block");
            }
        }
        count += callers;
    }
    count
}

fn print(names: &[&str], outcomes: &[Vec<Vec<Outcome>>], callers: u64, rounds: usize) {
    println!(
        "{callers} callers, 4 KiB, {rounds} rounds; IOPS and CPU us per I/O of plain calls, then ratios to them"
    );
    let [a, b, c, d] = PATTERNS.map(|pattern| pattern.name);
    println!("{:<20}{a:>15}{b:>15}{c:>15}{d:>15}", "");
    for (row, name) in names.iter().enumerate() {
        let cells: String = (0..PATTERNS.len())
            .map(|column| {
                let (plain, ours) = (&outcomes[0][column], &outcomes[row][column]);
                let of = |value: fn(&Outcome) -> f64| {
                    let base = |one: &Outcome| if row == 0 { 1.0 } else { value(one) };
                    median(plain.iter().zip(ours).map(|(plain, ours)| value(ours) / base(plain)).collect())
                };
                let (iops, cpu) = (of(|one| one.iops), of(|one| one.cpu_us));
                if row == 0 { format!("{iops:>9.0} {cpu:>5.1}") } else { format!("{iops:>9.2} {cpu:>5.2}") }
            })
            .collect();
        println!("{name:<20}{cells}");
    }
}
