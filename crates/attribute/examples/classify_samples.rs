//! Stores some of this machine's own stacks for the tests, which tell how well they are classified.
//!
//! ```sh
//! perf record -e cpu-clock -a -g -F 1997 -o x.data -- PROGRAM
//! perf script -i x.data -F comm,pid,ip > program.txt
//! cargo run --release --example classify_samples -- FOLDER program.txt ..
//! ```
//!
//! Samples of the idle task and of the programs named in `OTHERS` are left out. It writes `classify-symbols.txt`
//! (functions in the order of `/proc/kallsyms`, an empty line where some are left out) and `classify-samples.txt`
//! (under each workload: samples, and the line numbers of their functions, leaf first).

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use iostack_attribute::classify::{Classifier, FunctionTable, Rules, SymbolId, Symbols};

/// Programs that run beside the workload on a shared machine.
const OTHERS: &[&str] =
    &["cargo", "rustc", "perf", "process_api", "clippy-driver", "clang", "ld", "cc", "load", "swapper"];

/// Samples stored of a workload, evenly spread over it.
const STORED: usize = 250;

/// Frames stored of a sample, from the leaf.
const FRAMES: usize = 10;

/// Functions stored on each side of one that was seen, so that neighbours can place it.
const BESIDE: u32 = 6;

type Stacks = Vec<Vec<u64>>;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, files) = arguments.split_first().ok_or("write `FOLDER FILE ..`")?;
    store(Path::new(folder), files)
}

/// The kernel stacks of a file of `perf script -F comm,pid,ip`, leaf first.
fn read(file: &str) -> Result<Stacks, Box<dyn Error>> {
    let text = std::fs::read_to_string(file)?;
    let sample = |block: &str| {
        let mut lines = block.lines();
        let comm = lines.next()?.trim();
        if OTHERS.iter().any(|other| comm.starts_with(other)) {
            return None;
        }
        let addresses = lines.filter_map(|line| u64::from_str_radix(line.trim(), 16).ok());
        // What follows the first address outside the kernel is the program's own stack, or what was taken for it.
        let kernel: Vec<u64> = addresses.take_while(|address| address >> 63 == 1).collect();
        (!kernel.is_empty()).then_some(kernel)
    };
    Ok(text.split("\n\n").filter_map(sample).collect())
}

fn name_of(file: &str) -> String {
    Path::new(file).file_stem().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

fn store(folder: &Path, files: &[String]) -> Result<(), Box<dyn Error>> {
    let symbols = Symbols::live()?;
    let mut classifier = Classifier::new(Rules::built_in(), &symbols, FunctionTable::built_in());
    let mut workloads: BTreeMap<String, BTreeMap<Vec<SymbolId>, u64>> = BTreeMap::new();
    let mut wanted: BTreeSet<SymbolId> = BTreeSet::new();
    for file in files {
        let stacks = read(file)?;
        let step = stacks.len().div_ceil(STORED).max(1);
        for stack in stacks.iter().step_by(step) {
            let mut frames = classifier.classify(stack, false).frames;
            frames.truncate(FRAMES);
            wanted.extend(frames.iter().copied());
            *workloads.entry(name_of(file)).or_default().entry(frames).or_default() += 1;
        }
    }
    let mut numbers: BTreeMap<SymbolId, usize> = BTreeMap::new();
    let mut excerpt = String::new();
    let mut number = 0;
    let all: Vec<SymbolId> = (0..symbols.count()).filter_map(|index| symbols.at(index)).collect();
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    for (index, id) in all.iter().enumerate() {
        if wanted.contains(id) {
            // A function that the table knows needs no neighbours.
            let beside = if classifier.path(*id).is_some() { 0 } else { BESIDE as usize };
            kept.extend(index.saturating_sub(beside)..=(index + beside).min(all.len() - 1));
        }
    }
    let mut previous = 0;
    for index in kept {
        if index != previous + 1 {
            excerpt.push('\n');
            number += 1;
        }
        previous = index;
        let symbol = symbols.symbol(all[index]);
        writeln!(excerpt, "{}", symbol.name)?;
        number += 1;
        numbers.insert(all[index], number);
    }
    let mut samples = String::new();
    for (workload, stacks) in workloads {
        writeln!(samples, "{workload}")?;
        for (stack, count) in stacks {
            let frames: Vec<String> = stack.iter().map(|frame| numbers[frame].to_string()).collect();
            writeln!(samples, "{count} {}", frames.join(" "))?;
        }
    }
    std::fs::write(folder.join("classify-symbols.txt"), excerpt)?;
    std::fs::write(folder.join("classify-samples.txt"), samples)?;
    Ok(())
}
