//! A job file of our own.
#![no_main]

use std::path::Path;

use iostack_workload::parse_toml;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = parse_toml(text, Path::new("f.toml"));
});
