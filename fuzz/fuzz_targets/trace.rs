//! A trace, in whatever format it looks like.
#![no_main]

use std::io::{BufReader, Cursor};

use iostack_workload::TraceFormat;
use iostack_workload::trace::open;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let reader = || BufReader::new(Cursor::new(bytes.to_vec()));
    if let Ok(format) = TraceFormat::detect_in(&mut reader(), "f") {
        for io in open(Box::new(reader()), format, "f") {
            if io.is_err() {
                break;
            }
        }
    }
});
