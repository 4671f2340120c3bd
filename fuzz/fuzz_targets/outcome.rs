//! A stored outcome; what is read is also rendered.
#![no_main]

use iostack_model::OutcomeFile;
use iostack_report::{fio, html, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(file) = serde_json::from_slice::<OutcomeFile>(bytes) {
        let _ = (text::outcome(&file), html::outcomes(&file), fio::json(&file, true), fio::terse(&file));
    }
});
