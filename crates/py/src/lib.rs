//! How does Python ask? The Rust half of the package `iostack`; the other half is `python/`.
//!
//! ```text
//!   python/iostack ──► ask(command, words) ──► a thread: door ──► Kept ──► Answer: JSON, text, tables
//!                          │ every 50 ms: signals, progress
//! ```
//!
//! All calls of our own crates stand in [`door`]. What takes time runs without Python's lock in a thread of its own, while the
//! thread that asked hears of progress and of Ctrl-C. Start reading at [`ask`].

mod answer;
mod asked;
mod attend;
mod door;
mod tables;

use pyo3::prelude::*;

/// The module `iostack._native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("version", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", py.get_type::<attend::Error>())?;
    module.add("Interrupted", py.get_type::<attend::Interrupted>())?;
    module.add_class::<answer::Answer>()?;
    module.add_function(wrap_pyfunction!(ask, module)?)?;
    module.add_function(wrap_pyfunction!(parse, module)?)?;
    module.add_function(wrap_pyfunction!(platforms, module)?)?;
    module.add_function(wrap_pyfunction!(platform, module)?)
}

/// Does what a command does, as the JSON `asked` has it; `listener(kind, text)` hears what is said, with `watches` also how far it is.
#[pyfunction]
fn ask(command: &str, asked: &str, listener: &Bound<'_, PyAny>, watches: bool) -> PyResult<answer::Answer> {
    let work = door::work(command, asked).map_err(attend::error)?;
    attend::attend(listener, watches, work)
}

/// Reads the JSON of an answer; `path` names it in errors.
#[pyfunction]
fn parse(py: Python<'_>, text: &str, path: &str) -> PyResult<answer::Answer> {
    let kept = py.detach(|| door::parse(text, path)).map_err(attend::error)?;
    Ok(answer::Answer::new(kept))
}

/// Every platform, device and part that is built in, as JSON.
#[pyfunction]
fn platforms(py: Python<'_>) -> PyResult<String> {
    py.detach(door::platforms).map_err(attend::error)
}

/// The card of one platform or device with changes `KEY=VALUE`, as JSON.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "a list of Python's comes as a vector")]
fn platform(py: Python<'_>, name: &str, set: Vec<String>) -> PyResult<String> {
    py.detach(|| door::platform(name, &set)).map_err(attend::error)
}
