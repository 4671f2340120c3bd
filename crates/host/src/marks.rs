//! Did we make this file? An extended attribute says so, so that we overwrite our own files without being told.

use std::path::Path;

use crate::sys;

const NAME: &std::ffi::CStr = c"user.iostack";
const VALUE: &[u8] = b"made";

/// Marks a file as made by iostack. False where the file system keeps no such marks; then writing to the file again
/// needs `--destroy-data`.
pub fn mark_made(path: &Path) -> bool {
    sys::set_attribute(path, NAME, VALUE).is_ok()
}

/// True when iostack made this file.
pub fn is_made(path: &Path) -> bool {
    sys::attribute(path, NAME).is_some_and(|value| value == VALUE)
}
