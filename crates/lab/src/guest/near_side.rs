//! What is told to the near side, and how is a failure said?

use std::io;
use std::path::Path;
use std::sync::Mutex;

use super::Message;
use crate::sys::guest as sys;

/// Sends a message to the near side.
pub fn tell(message: &Message) {
    /// Messages of several threads must not mix.
    static TELLING: Mutex<()> = Mutex::new(());
    let mut line = serde_json::to_vec(message).expect("a message is plain data");
    line.push(b'\n');
    let _telling = TELLING.lock();
    // Who cannot be told learns it from the console, where this ends as a panic.
    sys::write_port(&line).expect("the port to the near side opens");
}

/// For `map_err`: what was tried on what.
pub(super) fn failed(act: &str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> String {
    let text = format!("cannot {act} `{}`", path.as_ref().display());
    move |source| format!("{text}: {source}")
}
