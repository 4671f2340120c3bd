//! Stored samples of real workloads keep their classification: few unknown, few on which the rules disagree.
//!
//! `data/classify-symbols.txt` is an excerpt of `/proc/kallsyms` in its order (an empty line where functions are left
//! out), `data/classify-samples.txt` holds the stacks; `examples/classify_samples.rs` writes both. The rules
//! began as a draft made on workloads that are not recorded, and were then changed looking at ext4 and the programs; the
//! workloads of `HELD_OUT` were only measured after that. Sampling was of the whole machine, so that a few stacks of a
//! workload are of others that ran beside it.

use std::fmt::Write;

use iostack_attribute::classify::{Classifier, FunctionTable, Profile, Rules, Symbols, Tally};
use iostack_model::Nanos;

const SYMBOLS: &str = include_str!("../data/classify-symbols.txt");
const SAMPLES: &str = include_str!("../data/classify-samples.txt");

/// Beginnings of the names of workloads that no change of the draft looked at.
const HELD_OUT: &[&str] = &["xfs", "btrfs", "loop"];

/// Address of a line; an empty line is a gap that neighbours do not reach across.
fn addresses() -> Vec<u64> {
    let mut next = 0xffff_ffff_8100_0000_u64;
    let address = |name: &str| {
        next += if name.is_empty() { 1 << 20 } else { 16 };
        next
    };
    SYMBOLS.lines().map(address).collect()
}

fn classifier() -> Classifier {
    let mut text = String::new();
    for (address, name) in addresses().iter().zip(SYMBOLS.lines()).filter(|(_, name)| !name.is_empty()) {
        writeln!(text, "{address:x} t {name}").expect("a string takes all");
    }
    let symbols = Symbols::parse(&text).expect("the stored excerpt is well-formed");
    Classifier::new(Rules::built_in(), &symbols, FunctionTable::built_in())
}

/// Workload, samples, stack (leaf first).
fn samples() -> Vec<(&'static str, u64, Vec<u64>)> {
    let addresses = addresses();
    let mut workload = "";
    let mut found = Vec::new();
    for line in SAMPLES.lines() {
        let mut words = line.split(' ');
        let first = words.next().expect("split gives one");
        let Ok(count) = first.parse() else {
            workload = line;
            continue;
        };
        // One byte into the function, as a return address is behind its call.
        let address = |word: &str| addresses[word.parse::<usize>().expect("a line number") - 1] + 1;
        found.push((workload, count, words.map(address).collect()));
    }
    found
}

fn tally(wanted: impl Fn(&str) -> bool) -> Tally {
    let mut classifier = classifier();
    for (_, count, stack) in samples().iter().filter(|(workload, _, _)| wanted(workload)) {
        classifier.classify_many(stack, false, *count);
    }
    classifier.tally()
}

fn is_held_out(workload: &str) -> bool {
    HELD_OUT.iter().any(|held| workload.starts_with(held))
}

fn unknown(tally: Tally) -> f64 {
    assert!(tally.kernel >= 1000, "only {} samples are stored", tally.kernel);
    (tally.unclassified + tally.inferred) as f64 / tally.kernel as f64
}

#[test]
fn at_most_one_percent_of_the_samples_is_unknown() {
    for held_out in [false, true] {
        let share = unknown(tally(|workload| is_held_out(workload) == held_out));
        println!("held out {held_out}: unknown {:.2} %", share * 100.0);
        assert!(share <= 0.01, "held out {held_out}: {:.2} % unknown", share * 100.0);
    }
}

#[test]
fn name_rules_and_path_rules_disagree_on_at_most_one_and_a_half_percent() {
    let tally = tally(|_| true);
    let share = tally.disagreed as f64 / tally.kernel as f64;
    println!("disagree {:.2} %, both speak on {} of {}", share * 100.0, tally.both, tally.kernel);
    assert!(tally.both * 20 > tally.kernel, "the test says nothing where only one rule speaks: {tally:?}");
    assert!(share <= 0.015, "{:.2} % disagree", share * 100.0);
}

#[test]
fn without_source_files_far_more_is_unknown() {
    let text = SYMBOLS.lines().zip(addresses()).filter(|(name, _)| !name.is_empty());
    let text: Vec<String> = text.map(|(name, address)| format!("{address:x} t {name}\n")).collect();
    let symbols = Symbols::parse(&text.concat()).expect("well-formed");
    let mut names_only = Classifier::new(Rules::built_in(), &symbols, &FunctionTable::empty());
    for (_, count, stack) in samples() {
        names_only.classify_many(&stack, false, count);
    }
    assert!(unknown(names_only.tally()) > 0.1, "the samples are too easy to test the table");
}

#[test]
fn the_time_of_the_rows_adds_up_to_the_time_of_the_groups() {
    let mut classifier = classifier();
    let mut profile = Profile::default();
    for (index, (_, count, stack)) in samples().iter().enumerate() {
        let class = classifier.classify_many(stack, false, *count);
        profile.add(index % 2, &class, *count);
    }
    // The third group has time and no samples.
    let rows = profile.rows(&classifier, &[Nanos(1_000_003), Nanos(77), Nanos(5)]);
    assert_eq!(rows.iter().map(|row| row.time.0).sum::<u64>(), 1_000_085);
    assert_eq!(rows.iter().map(|row| row.samples).sum::<u64>(), profile.total());
    for row in &rows {
        assert_eq!(row.kinds.iter().map(|(_, count)| count).sum::<u64>(), row.samples, "{}", row.layer);
    }
    let stacks = profile.stacks(&mut classifier);
    assert!(stacks.len() <= 2000, "{} rows", stacks.len());
    assert_eq!(stacks.iter().map(|row| row.samples).sum::<u64>(), profile.total());
    assert!(stacks.iter().all(|row| row.frames.len() == row.layers.len()));
    assert!(profile.functions(&classifier).len() <= 64);
}

#[test]
fn drivers_that_are_modules_are_known_by_their_module_and_built_in_by_their_file() {
    let text = "ffffffff81000000 t nvme_queue_rq\nffffffff81001000 t scsi_queue_rq\nffffffff81002000 t ata_qc_issue\n\
        ffffffffc0001000 t new_name\t[nvme]\nffffffffc0002000 t new_name\t[mpt3sas]\nffffffffc0003000 t new_name\t[ahci]\n";
    let symbols = Symbols::parse(text).expect("well-formed");
    let mut classifier = Classifier::new(Rules::built_in(), &symbols, FunctionTable::built_in());
    for (address, layer) in [
        (0xffff_ffff_8100_0000, "nvme"),
        (0xffff_ffff_8100_1000, "scsi"),
        (0xffff_ffff_8100_2000, "libata"),
        (0xffff_ffff_c000_1000, "nvme"),
        (0xffff_ffff_c000_2000, "scsi"),
        (0xffff_ffff_c000_3000, "libata"),
    ] {
        let class = classifier.classify(&[address], false);
        assert_eq!(classifier.rules().layer_name(class.layer), layer, "{address:x}");
        assert!(class.io);
    }
}

#[test]
fn the_leaf_gives_the_kind_and_the_nearest_opaque_frame_the_layer() {
    let text =
        "1000 t _raw_spin_unlock_irqrestore\n2000 t never_seen\n3000 t blk_mq_submit_bio\n4000 t vfs_read\n";
    let symbols = Symbols::parse(text).expect("well-formed");
    let mut classifier = Classifier::new(Rules::built_in(), &symbols, FunctionTable::built_in());
    let mut said = |stack: &[u64]| {
        let class = classifier.classify(stack, false);
        let rules = classifier.rules();
        (rules.layer_name(class.layer).to_owned(), rules.kind_name(class.kind).to_owned(), class.inferred)
    };
    let expect = |layer: &str, kind: &str, inferred| (layer.to_owned(), kind.to_owned(), inferred);
    assert_eq!(said(&[0x1000, 0x3001, 0x4001]), expect("block", "irqoff", false));
    assert_eq!(said(&[0x1000]), expect("locking", "irqoff", false));
    assert_eq!(said(&[0x2000, 0x3001]), expect("block", "inferred", true));
    assert_eq!(said(&[0x2000, 0x2001, 0x2001, 0x3001]), expect("unclassified", "code", false));
    assert_eq!(said(&[]), expect("user", "code", false));
}
