//! `iostack-stepcount INSTRUCTIONS COMMAND ..`: what one I/O of a command costs in user space, as JSON.
//!
//! For benchmarks and scripts; `iostack cost` also attaches to processes and prints tables.

use std::ffi::OsString;
use std::sync::atomic::AtomicBool;

use iostack_model::Nanos;
use iostack_stepcount::{Question, Subject, cost};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args_os().skip(1);
    let instructions = words.next().and_then(|word| word.to_str()?.parse().ok());
    let answer = cost(&Question {
        subject: Subject::Command { words: words.collect::<Vec<OsString>>(), output: None },
        warm_up: Nanos::secs(1),
        instructions: instructions.ok_or("usage: iostack-stepcount INSTRUCTIONS COMMAND ..")?,
        reads: false,
        patience: Nanos::secs(60),
        hold_clock: true,
        stop: &AtomicBool::new(false),
        talk: &|_| (),
    })?;
    println!("{}", serde_json::to_string(&answer)?);
    Ok(())
}
