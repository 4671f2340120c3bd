//! Did we make this file? An extended attribute says so, so that we overwrite our own files without being told.
//!
//! It names the file's own number, so that a copy of the file is the user's.

use std::os::unix::fs::MetadataExt;

use crate::{Held, sys};

const NAME: &std::ffi::CStr = c"user.iostack";

fn value(file: &Held) -> Option<Vec<u8>> {
    let number = file.metadata().ok()?.ino();
    Some(format!("made {number}").into_bytes())
}

/// Marks a file as made by iostack. False where the file system keeps no such marks; then writing to the file again
/// needs `--destroy-data`.
pub(crate) fn mark_made(file: &Held) -> bool {
    value(file).is_some_and(|value| sys::set_attribute(&file.handle(), NAME, &value).is_ok())
}

/// True when iostack made this file.
pub(crate) fn is_made(file: &Held) -> bool {
    let found = sys::attribute(&file.handle(), NAME).ok().flatten();
    found.is_some() && found == value(file)
}

/// True when the file could bear a mark and has none.
pub(crate) fn lacks_mark(file: &Held) -> bool {
    sys::attribute(&file.handle(), NAME).is_ok_and(|value| value.is_none())
}
