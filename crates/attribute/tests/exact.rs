//! Exact counts: every function of a kernel has a layer.

use std::collections::BTreeMap;

use iostack_attribute::classify::{Classifier, FunctionTable, Route, Rules, Symbols};

#[test]
fn every_function_of_a_whole_kernel_has_a_layer() {
    let Ok(files) = std::env::var("IOSTACK_KALLSYMS") else { return };
    for file in files.split(':') {
        let text = std::fs::read_to_string(file).expect("IOSTACK_KALLSYMS names readable files");
        let symbols = Symbols::parse(&text).expect("the file is a copy of /proc/kallsyms");
        let mut classifier = Classifier::exact(Rules::built_in(), &symbols, FunctionTable::built_in());
        let mut routes: BTreeMap<Option<Route>, usize> = BTreeMap::new();
        let mut layers: BTreeMap<String, usize> = BTreeMap::new();
        let mut nowhere = Vec::new();
        for id in (0..symbols.count()).filter_map(|index| symbols.at(index)) {
            *routes.entry(classifier.route(id)).or_default() += 1;
            let verdict = classifier.classify(&[symbols.address(id)], false);
            *layers.entry(classifier.rules().layer_name(verdict.layer).to_owned()).or_default() += 1;
            if verdict.layer == classifier.rules().unclassified() {
                nowhere.push(symbols.symbol(id));
            }
        }
        println!("{file}: {} functions, {routes:?}, {layers:?}", symbols.count());
        println!("neighbours right: {:?}", classifier.neighbours_right());
        assert!(
            nowhere.is_empty(),
            "{file}: {} without a layer: {:?}",
            nowhere.len(),
            &nowhere[..nowhere.len().min(40)]
        );
    }
}
