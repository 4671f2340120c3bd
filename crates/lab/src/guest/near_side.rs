//! What is told to the near side, and how is a failure said?

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;

use super::Message;
use crate::layout::ORDER;
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

/// Fetches the next order, as [`Drives::order`](crate::host::mailbox::Drives::order) says it; `None` when that is all. No
/// time passes here meanwhile.
pub fn next_order() -> Result<Option<String>, String> {
    let path = "/dev/mem";
    let memory = File::open(path).map_err(failed("open", path))?;
    sys::mark_order();
    let mut length = [0; 8];
    memory.read_exact_at(&mut length, ORDER).map_err(failed("read", path))?;
    let mut order = vec![0; u64::from_le_bytes(length) as usize];
    memory.read_exact_at(&mut order, ORDER + 8).map_err(failed("read", path))?;
    let text = String::from_utf8(order).map_err(|_| "the order is no text".to_owned())?;
    Ok((!text.is_empty()).then_some(text))
}

/// Closure for `map_err` that names act and file.
pub(super) fn failed(act: &str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> String {
    let text = format!("cannot {act} `{}`", path.as_ref().display());
    move |source| format!("{text}: {source}")
}
