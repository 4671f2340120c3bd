//! Did we make this file, and does somebody keep data in it? An extended attribute says so: a file that was only made is
//! overwritten without being told, one in which `serve --store` keeps data is not.
//!
//! It names the file's own number, so that a copy of the file is the user's.

use std::os::unix::fs::MetadataExt;

use crate::{Held, sys};

const NAME: &std::ffi::CStr = c"user.iostack";

/// The mark's first word on a file that was made, and on one that keeps data.
const MADE: &str = "made";
const KEPT: &str = "kept";

fn value(word: &str, file: &Held) -> Option<Vec<u8>> {
    let number = file.metadata().ok()?.ino();
    Some(format!("{word} {number}").into_bytes())
}

fn mark(word: &str, file: &Held) -> bool {
    value(word, file).is_some_and(|value| sys::set_attribute(&file.handle(), NAME, &value).is_ok())
}

fn has(word: &str, file: &Held) -> bool {
    let found = sys::attribute(&file.handle(), NAME).ok().flatten();
    found.is_some() && found == value(word, file)
}

/// Marks a file as made by iostack. False where the file system keeps no such marks; then writing to the file again
/// needs `--destroy-data`.
pub(crate) fn mark_made(file: &Held) -> bool {
    mark(MADE, file)
}

/// Marks a file as one in which somebody keeps data. False where the file system keeps no such marks.
pub(crate) fn mark_kept(file: &Held) -> bool {
    mark(KEPT, file)
}

/// True when somebody keeps data in this file.
pub(crate) fn is_kept(file: &Held) -> bool {
    has(KEPT, file)
}

/// True when iostack made this file and nobody keeps data in it.
pub(crate) fn is_made(file: &Held) -> bool {
    has(MADE, file)
}

/// True when the file could bear a mark and has none.
pub(crate) fn lacks_mark(file: &Held) -> bool {
    sys::attribute(&file.handle(), NAME).is_ok_and(|value| value.is_none())
}
