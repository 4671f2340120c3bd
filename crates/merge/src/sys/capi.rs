//! How does a C program call the library?
//!
//! `include/iostack_merge.h` is the documentation; this is its other half. Every function checks what it is given, turns it into
//! the safe call, and catches what unwinds: nothing but a number crosses the border. `tests/all/capi.rs` holds both halves
//! together.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr::NonNull;
use std::str::FromStr;

use crate::place::FileRange;
use crate::{BackendError, File, ManyError, Options, Policy, Stats};

const ABI: u32 = 2;
const WRITE: u64 = 1;
const DIRECT: u64 = 2;
const COUNT: u64 = 4;

/// [`Policy::ALL`] as C writes it.
const POLICIES: [&CStr; Policy::ALL.len()] =
    [c"auto", c"pread", c"ring", c"stm", c"atm", c"leader-follower", c"hybrid"];

/// Handle of a file, `struct iostack_merge_file`, or null. It is open, as the header asks for.
type Handle<'a> = Option<&'a File>;

/// Place for an answer, or null. It is the caller's alone, as the header asks for.
type Place<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// Options of C, `struct iostack_merge_options`.
#[repr(C)]
struct COptions {
    policy: *const c_char,
    backend: *const c_char,
    flags: u64,
}

/// Request of C, `struct iostack_merge_request`.
#[repr(C)]
struct CRequest {
    buffer: *mut c_void,
    length: usize,
    offset: u64,
    result: i64,
}

// The header's test asserts the same of C's.
const _: () = assert!(size_of::<CRequest>() == 2 * size_of::<usize>() + 16 && align_of::<CRequest>() == 8);
const _: () = assert!(size_of::<COptions>() == 2 * size_of::<usize>() + 8);
const _: () = assert!(size_of::<Stats>() == 24);

/// A negative error number.
type Refusal = i64;

const INVALID: Refusal = -(libc::EINVAL as i64);

unsafe extern "C" {
    /// `pthread.h`; the `libc` crate has it for other systems only.
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// `PTHREAD_CANCEL_DISABLE` of glibc and musl.
const CANCEL_DISABLE: c_int = 1;

/// Keeps `pthread_cancel` out until it is dropped: a thread that ended inside would leave its memory to the kernel, and what
/// unwinds then is no panic, so that the process would be aborted.
struct NoCancelling {
    before: c_int,
}

impl NoCancelling {
    fn new() -> NoCancelling {
        let mut before = 0;
        // SAFETY: changes the calling thread alone, and writes one number to the place it is given.
        unsafe { pthread_setcancelstate(CANCEL_DISABLE, &raw mut before) };
        NoCancelling { before }
    }
}

impl Drop for NoCancelling {
    fn drop(&mut self) {
        let mut ours = 0;
        // SAFETY: as above; the state is the one that was found.
        unsafe { pthread_setcancelstate(self.before, &raw mut ours) };
    }
}

/// Stops what unwinds, and delays what would end the thread.
fn border(call: impl FnOnce() -> Result<i64, Refusal>) -> i64 {
    let _whole = NoCancelling::new();
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value) | Err(value)) => value,
        Err(_) => -i64::from(libc::EIO),
    }
}

/// The same of functions that answer with an `int`.
fn short_border(call: impl FnOnce() -> Result<(), Refusal>) -> c_int {
    c_int::try_from(border(|| call().map(|()| 0))).unwrap_or(-libc::EIO)
}

fn number(error: &io::Error) -> Refusal {
    if let Some(backend) = error.get_ref().and_then(|inner| inner.downcast_ref::<BackendError>()) {
        return number(&backend.source);
    }
    let by_kind = || match error.kind() {
        io::ErrorKind::UnexpectedEof => libc::ENODATA,
        io::ErrorKind::InvalidInput => libc::EINVAL,
        io::ErrorKind::Unsupported => libc::EOPNOTSUPP,
        _ => libc::EIO,
    };
    -i64::from(error.raw_os_error().unwrap_or_else(by_kind))
}

/// Lengths fit: slices are no longer.
fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn bytes(result: io::Result<usize>) -> Result<i64, Refusal> {
    result.map(signed).map_err(|error| number(&error))
}

/// The text a caller points to.
///
/// # Safety
/// Null, or a string with its end, for as long as `'a`.
unsafe fn text<'a>(pointer: *const c_char) -> Option<&'a CStr> {
    // SAFETY: it is not null, so it is a string with its end, as the caller promises.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) })
}

/// Address of the first of so many values, whose bytes fit in an `isize`; a null pointer will do for none.
fn first<T>(pointer: *mut T, count: usize) -> Result<NonNull<T>, Refusal> {
    match NonNull::new(pointer) {
        _ if count > isize::MAX as usize / size_of::<T>() => Err(INVALID),
        None if count == 0 => Ok(NonNull::dangling()),
        first => first.ok_or(INVALID),
    }
}

/// Memory to read into.
///
/// # Safety
/// Null, or so many bytes that are the caller's alone, for as long as `'a`.
unsafe fn memory<'a>(pointer: *mut c_void, length: usize, offset: u64) -> Result<&'a mut [u8], Refusal> {
    FileRange::new(offset, length).map_err(|_| INVALID)?;
    let first = first(pointer.cast(), length)?;
    // SAFETY: the caller's memory of that length, which fits in an `isize`, or none.
    Ok(unsafe { std::slice::from_raw_parts_mut(first.as_ptr(), length) })
}

/// Memory to write from, which other requests may share.
///
/// # Safety
/// Null, or so many bytes that nobody changes, for as long as `'a`.
unsafe fn data<'a>(pointer: *const c_void, length: usize, offset: u64) -> Result<&'a [u8], Refusal> {
    FileRange::new(offset, length).map_err(|_| INVALID)?;
    let first = first(pointer.cast::<u8>().cast_mut(), length)?;
    // SAFETY: the caller's memory of that length, which fits in an `isize`, or none.
    Ok(unsafe { std::slice::from_raw_parts(first.as_ptr(), length) })
}

/// The requests of a group.
///
/// # Safety
/// Null, or so many requests that are the caller's alone, for as long as `'a`.
unsafe fn group<'a>(pointer: *mut CRequest, count: usize) -> Result<&'a mut [CRequest], Refusal> {
    let first = first(pointer, count)?;
    // SAFETY: the caller's requests, whose bytes fit in an `isize`, or none.
    Ok(unsafe { std::slice::from_raw_parts_mut(first.as_ptr(), count) })
}

/// The default without a name.
fn named<T: FromStr + Default>(name: Option<&CStr>) -> Result<T, Refusal> {
    let Some(name) = name else { return Ok(T::default()) };
    name.to_str().ok().and_then(|name| name.parse().ok()).ok_or(INVALID)
}

/// # Safety
/// The options' strings are null, or have their ends.
unsafe fn options(asked: Option<&COptions>) -> Result<Options, Refusal> {
    let Some(asked) = asked else { return Ok(Options::default()) };
    if asked.flags & !(WRITE | DIRECT | COUNT) != 0 {
        return Err(INVALID);
    }
    // SAFETY: as the caller promises.
    let policy = unsafe { text(asked.policy) };
    // SAFETY: likewise.
    let backend = unsafe { text(asked.backend) };
    let (policy, backend) = (named(policy)?, named(backend)?);
    let [write, direct, count] = [WRITE, DIRECT, COUNT].map(|flag| asked.flags & flag != 0);
    Ok(Options { policy, backend, write, direct, count, ..Options::default() })
}

/// Hands a new file to the caller; null when there is none.
fn opened(
    place: Place<'_, Option<Box<File>>>,
    open: impl FnOnce() -> Result<io::Result<File>, Refusal>,
) -> c_int {
    short_border(|| {
        let file = place.ok_or(INVALID)?.write(None);
        *file = Some(Box::new(open()?.map_err(|error| number(&error))?));
        Ok(())
    })
}

/// Results into the requests of a group: how many failed.
fn collect(requests: &mut [CRequest], done: Result<(), ManyError>) -> i64 {
    for request in requests.iter_mut() {
        request.result = signed(request.length);
    }
    let failures = done.err().map_or_else(Vec::new, |error| error.failures);
    for (index, error) in &failures {
        requests[*index].result = number(error);
    }
    signed(failures.len())
}

/// True when two of them share a byte.
fn overlap(requests: &[CRequest]) -> bool {
    let mut ranges: Vec<(usize, usize)> = requests
        .iter()
        .filter(|request| request.length > 0)
        .map(|request| (request.buffer.addr(), request.buffer.addr().saturating_add(request.length)))
        .collect();
    ranges.sort_unstable();
    ranges.windows(2).any(|pair| pair[0].1 > pair[1].0)
}

#[unsafe(no_mangle)]
extern "C" fn iostack_merge_abi() -> u32 {
    ABI
}

#[unsafe(no_mangle)]
extern "C" fn iostack_merge_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version has no zero byte inside"),
        };
    VERSION.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn iostack_merge_policy(index: usize) -> *const c_char {
    POLICIES.get(index).map_or(std::ptr::null(), |name| name.as_ptr())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn iostack_merge_open(
    path: *const c_char,
    wanted: Option<&COptions>,
    file: Place<'_, Option<Box<File>>>,
) -> c_int {
    opened(file, || {
        // SAFETY: null, or a string, as the header asks for.
        let path = unsafe { text(path) }.ok_or(INVALID)?;
        // SAFETY: the strings are null, or have their ends, as the header asks for.
        let options = unsafe { options(wanted) }?;
        Ok(options.open(Path::new(OsStr::from_bytes(path.to_bytes()))))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn iostack_merge_over(
    descriptor: c_int,
    wanted: Option<&COptions>,
    file: Place<'_, Option<Box<File>>>,
) -> c_int {
    opened(file, || {
        // SAFETY: the strings are null, or have their ends, as the header asks for.
        let options = unsafe { options(wanted) }?;
        if descriptor < 0 {
            return Err(-i64::from(libc::EBADF));
        }
        // SAFETY: not -1; a number that is no open descriptor is refused by the kernel when it is duplicated.
        let theirs = unsafe { BorrowedFd::borrow_raw(descriptor) };
        Ok(theirs.try_clone_to_owned().and_then(|own| options.over(own.into())))
    })
}

#[unsafe(no_mangle)]
extern "C" fn iostack_merge_close(file: Option<Box<File>>) -> c_int {
    short_border(|| file.map(drop).ok_or(INVALID))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn iostack_merge_read_at(
    file: Handle<'_>,
    buffer: *mut c_void,
    length: usize,
    offset: u64,
) -> i64 {
    border(|| {
        // SAFETY: null, or the caller's memory.
        let buffer = unsafe { memory(buffer, length, offset) }?;
        bytes(file.ok_or(INVALID)?.read_at(buffer, offset))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn iostack_merge_write_at(
    file: Handle<'_>,
    buffer: *const c_void,
    length: usize,
    offset: u64,
) -> i64 {
    border(|| {
        // SAFETY: null, or the caller's memory.
        let buffer = unsafe { data(buffer, length, offset) }?;
        bytes(file.ok_or(INVALID)?.write_at(buffer, offset))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn iostack_merge_read_many(file: Handle<'_>, list: *mut CRequest, count: usize) -> i64 {
    border(|| {
        // SAFETY: null, or the caller's requests.
        let requests = unsafe { group(list, count) }?;
        if overlap(requests) {
            return Err(INVALID);
        }
        let list = requests.iter().map(|request| {
            // SAFETY: null, or the caller's memory, which no other request of the group shares.
            Ok((request.offset, unsafe { memory(request.buffer, request.length, request.offset) }?))
        });
        let mut list = list.collect::<Result<Vec<_>, Refusal>>()?;
        let done = file.ok_or(INVALID)?.read_many(&mut list);
        Ok(collect(requests, done))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn iostack_merge_write_many(file: Handle<'_>, list: *mut CRequest, count: usize) -> i64 {
    border(|| {
        // SAFETY: null, or the caller's requests.
        let requests = unsafe { group(list, count) }?;
        let list = requests.iter().map(|request| {
            // SAFETY: null, or the caller's memory.
            Ok((request.offset, unsafe { data(request.buffer, request.length, request.offset) }?))
        });
        let list = list.collect::<Result<Vec<_>, Refusal>>()?;
        let done = file.ok_or(INVALID)?.write_many(&list);
        Ok(collect(requests, done))
    })
}

#[unsafe(no_mangle)]
extern "C" fn iostack_merge_stats(file: Handle<'_>, place: Place<'_, Stats>) -> c_int {
    short_border(|| {
        place.ok_or(INVALID)?.write(file.and_then(File::stats).ok_or(INVALID)?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri does not know pthread_setcancelstate")]
    fn a_panic_does_not_cross_the_border() {
        assert_eq!(border(|| panic!("a bug")), -i64::from(libc::EIO));
        assert_eq!(short_border(|| panic!("another")), -libc::EIO);
    }

    #[test]
    fn policies_have_the_names_they_have_in_rust() {
        assert_eq!(POLICIES.map(|name| name.to_str()), Policy::ALL.map(|policy| Ok(policy.name())));
    }

    #[test]
    fn buffers_that_only_touch_do_not_overlap() {
        let at = |address: usize, length| CRequest {
            buffer: std::ptr::without_provenance_mut(address),
            length,
            offset: 0,
            result: 0,
        };
        assert!(!overlap(&[at(200, 100), at(100, 100), at(250, 0)]));
        assert!(overlap(&[at(200, 100), at(100, 101)]));
        assert!(overlap(&[at(100, 300), at(500, 9), at(200, 1)]));
        assert!(!overlap(&[at(usize::MAX, 8), at(8, 8)]));
    }

    #[test]
    fn an_end_of_file_has_a_number_of_its_own() {
        assert_eq!(number(&io::ErrorKind::UnexpectedEof.into()), -i64::from(libc::ENODATA));
        assert_eq!(number(&io::Error::from_raw_os_error(libc::ENOSPC)), -i64::from(libc::ENOSPC));
        assert_eq!(number(&io::Error::other("a bug")), -i64::from(libc::EIO));
    }
}
