//! Exact counts: every function of a kernel has a layer.
//!
//! `data/exact-functions.txt` is an excerpt of the symbols of Linux 6.1: every 211th function, and the functions on both
//! sides of it whose file is known, so that it is placed in the excerpt as in the whole. A line is
//! `ADDRESS NAME MODULE LAYER ROUTE`. Whole kernels are tried with
//!
//! ```sh
//! IOSTACK_KALLSYMS=FILE:FILE cargo test -p iostack-attribute --test all exact -- --nocapture
//! ```
//!
//! and `IOSTACK_STORE=FILE` beside it writes the excerpt of the first.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use iostack_attribute::classify::{Classifier, FunctionTable, Route, Rules, SymbolId, Symbols};

const STORED: &str = include_str!("../data/exact-functions.txt");

/// One function in so many is stored.
const STEP: usize = 211;

fn classifier(symbols: &Symbols) -> Classifier {
    Classifier::exact(Rules::built_in(), symbols, FunctionTable::built_in())
}

fn all(symbols: &Symbols) -> Vec<SymbolId> {
    (0..symbols.count()).filter_map(|index| symbols.at(index)).collect()
}

/// Layer and route of a function, as a line of the excerpt ends.
fn placed(classifier: &mut Classifier, id: SymbolId) -> String {
    let address = classifier.symbols().address(id);
    let layer = classifier.classify(&[address], false).layer;
    let route = classifier.route(id).map_or_else(|| "none".to_owned(), |route| format!("{route:?}"));
    format!("{} {}", classifier.rules().layer_name(layer), route.to_lowercase())
}

/// Every `STEP`th function with what places it.
fn store(file: &str, symbols: &Symbols) {
    let mut classifier = classifier(symbols);
    let ids = all(symbols);
    let mut wanted = BTreeSet::new();
    let known = |classifier: &Classifier, id: SymbolId| {
        symbols.symbol(id).module.is_none() && classifier.path(id).is_some()
    };
    for index in (0..ids.len()).step_by(STEP) {
        wanted.insert(index);
        wanted.extend((0..index).rev().find(|&before| known(&classifier, ids[before])));
        wanted.extend((index + 1..ids.len()).find(|&after| known(&classifier, ids[after])));
    }
    let line = |index: usize| {
        let symbol = symbols.symbol(ids[index]);
        let address = symbols.address(ids[index]);
        let placed = placed(&mut classifier, ids[index]);
        format!("{address:x} {} {} {placed}\n", symbol.name, symbol.module.unwrap_or("-"))
    };
    std::fs::write(file, wanted.into_iter().map(line).collect::<String>())
        .expect("IOSTACK_STORE can be written");
}

#[test]
fn the_stored_functions_keep_their_layers() {
    let mut kallsyms = String::new();
    for line in STORED.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let module = if words[2] == "-" { String::new() } else { format!("\t[{}]", words[2]) };
        writeln!(kallsyms, "{} t {}{module}", words[0], words[1]).expect("a string takes all");
    }
    let symbols = Symbols::parse(&kallsyms).expect("the excerpt is well-formed");
    let mut classifier = classifier(&symbols);
    let mut routes = BTreeSet::new();
    for (id, line) in all(&symbols).into_iter().zip(STORED.lines()) {
        let (_, expected) =
            line.match_indices(' ').nth(2).map(|(at, _)| line.split_at(at + 1)).expect("five words");
        assert_eq!(placed(&mut classifier, id), expected, "{line}");
        routes.insert(classifier.route(id).expect("none is left over"));
    }
    assert_eq!(routes.len(), 5, "each route is tried: {routes:?}");
}

#[test]
fn every_function_of_a_whole_kernel_has_a_layer() {
    let Ok(files) = std::env::var("IOSTACK_KALLSYMS") else { return };
    for (place, file) in files.split(':').enumerate() {
        let text = std::fs::read_to_string(file).expect("IOSTACK_KALLSYMS names readable files");
        let symbols = Symbols::parse(&text).expect("the file is a copy of /proc/kallsyms");
        if let Some(stored) = std::env::var("IOSTACK_STORE").ok().filter(|_| place == 0) {
            store(&stored, &symbols);
        }
        let mut classifier = classifier(&symbols);
        let mut routes: BTreeMap<Option<Route>, usize> = BTreeMap::new();
        let mut nowhere = Vec::new();
        for id in all(&symbols) {
            *routes.entry(classifier.route(id)).or_default() += 1;
            if placed(&mut classifier, id).starts_with("unclassified") {
                nowhere.push(symbols.symbol(id));
            }
        }
        println!("{file}: {} functions, {routes:?}", symbols.count());
        nowhere.truncate(40);
        assert!(nowhere.is_empty(), "{file}: without a layer: {nowhere:?}");
    }
}
