//! What the lab's plugin writes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = iostack_lab::counts::parse(text);
});
