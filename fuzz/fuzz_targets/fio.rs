//! A fio job file, strictly and leniently.
#![no_main]

use std::io;
use std::path::Path;

use iostack_workload::{ParseContext, parse_fio};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for lenient in [false, true] {
        let context = ParseContext {
            env: &|_| Some("1m".to_owned()),
            include: &|_| Err(io::ErrorKind::NotFound.into()),
            lenient,
            cpus: 2,
        };
        let _ = parse_fio(text, Path::new("f.fio"), &context);
    }
});
