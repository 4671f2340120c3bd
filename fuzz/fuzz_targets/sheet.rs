//! A device's file; what is read is also shown.
#![no_main]

use std::path::Path;

use iostack_sim::sheet::Sheet;
use iostack_sim::sheet::card::card;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(sheet) = Sheet::parse(text, Path::new("f.toml"), &[]) {
        let _ = card(&sheet);
    }
});
