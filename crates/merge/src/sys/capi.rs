//! How does a C program call the library?
//!
//! `include/iostack_merge.h` is the documentation; this is its other half. Every function checks what it is given, turns it into
//! the safe call, and catches what unwinds: nothing but a number crosses the border. `tests/all/capi.rs` holds both halves
//! together.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::str::FromStr;

use crate::place::FileRange;
use crate::{BackendError, File, ManyError, Options, Policy};

const ABI: u32 = 2;
const WRITE: u64 = 1;
const DIRECT: u64 = 2;
const COUNT: u64 = 4;

/// [`Policy::ALL`] as C writes it.
const POLICIES: [&CStr; Policy::ALL.len()] =
    [c"auto", c"pread", c"ring", c"stm", c"atm", c"leader-follower", c"hybrid"];

/// Handle of a file, `struct iostack_merge_file`.
type Handle = File;

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

/// Counts for C, `struct iostack_merge_stats`.
#[repr(C)]
struct CStats {
    requests: u64,
    batches: u64,
    batch_max: u64,
}

// The header's test asserts the same of C's.
const _: () = assert!(size_of::<CRequest>() == 2 * size_of::<usize>() + 16 && align_of::<CRequest>() == 8);
const _: () = assert!(size_of::<COptions>() == 2 * size_of::<usize>() + 8);
const _: () = assert!(size_of::<CStats>() == 24);

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

/// The value a caller points to.
///
/// # Safety
/// Null, or a value that nobody changes, for as long as `'a`.
unsafe fn value<'a, T>(pointer: *const T) -> Result<&'a T, Refusal> {
    // SAFETY: null, or valid for reads, as the caller promises.
    unsafe { pointer.as_ref() }.ok_or(INVALID)
}

/// The place for an answer.
///
/// # Safety
/// Null, or the caller's alone, for as long as `'a`.
unsafe fn place<'a, T>(pointer: *mut T) -> Result<&'a mut T, Refusal> {
    // SAFETY: null, or valid for reads and writes, as the caller promises.
    unsafe { pointer.as_mut() }.ok_or(INVALID)
}

fn is_in_range(length: usize, offset: u64) -> bool {
    isize::try_from(length).is_ok() && FileRange::new(offset, length).is_ok()
}

/// Memory to read into; a null pointer will do for no bytes.
///
/// # Safety
/// Null, or so many bytes that are the caller's alone, for as long as `'a`.
unsafe fn memory<'a>(pointer: *mut c_void, length: usize, offset: u64) -> Result<&'a mut [u8], Refusal> {
    match (pointer.is_null(), length) {
        _ if !is_in_range(length, offset) => Err(INVALID),
        (true, 0) => Ok(&mut []),
        (true, _) => Err(INVALID),
        // SAFETY: not null, so the caller's memory of that length, which fits in an `isize`.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts_mut(pointer.cast(), length) }),
    }
}

/// Memory to write from, which other requests may share.
///
/// # Safety
/// Null, or so many bytes that nobody changes, for as long as `'a`.
unsafe fn data<'a>(pointer: *const c_void, length: usize, offset: u64) -> Result<&'a [u8], Refusal> {
    match (pointer.is_null(), length) {
        _ if !is_in_range(length, offset) => Err(INVALID),
        (true, 0) => Ok(&[]),
        (true, _) => Err(INVALID),
        // SAFETY: not null, so the caller's memory of that length, which fits in an `isize`.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(pointer.cast(), length) }),
    }
}

/// The requests of a group.
///
/// # Safety
/// Null, or so many requests that are the caller's alone, for as long as `'a`.
unsafe fn group<'a>(pointer: *mut CRequest, count: usize) -> Result<&'a mut [CRequest], Refusal> {
    match (pointer.is_null(), count) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(INVALID),
        _ if count > isize::MAX as usize / size_of::<CRequest>() => Err(INVALID),
        // SAFETY: not null, so the caller's requests, whose bytes fit in an `isize`.
        _ => Ok(unsafe { std::slice::from_raw_parts_mut(pointer, count) }),
    }
}

/// The default without a name.
fn named<T: FromStr + Default>(name: Option<&CStr>) -> Result<T, Refusal> {
    let Some(name) = name else { return Ok(T::default()) };
    name.to_str().ok().and_then(|name| name.parse().ok()).ok_or(INVALID)
}

/// # Safety
/// Null, or options as the header has them.
unsafe fn options(pointer: *const COptions) -> Result<Options, Refusal> {
    // SAFETY: as the caller promises.
    let Ok(asked) = (unsafe { value(pointer) }) else { return Ok(Options::default()) };
    if asked.flags & !(WRITE | DIRECT | COUNT) != 0 {
        return Err(INVALID);
    }
    // SAFETY: a field of the options is null or a string.
    let policy = unsafe { text(asked.policy) };
    // SAFETY: likewise.
    let backend = unsafe { text(asked.backend) };
    let (policy, backend) = (named(policy)?, named(backend)?);
    let [write, direct, count] = [WRITE, DIRECT, COUNT].map(|flag| asked.flags & flag != 0);
    Ok(Options { policy, backend, write, direct, count, ..Options::default() })
}

/// Hands a new file to the caller; null when there is none.
///
/// # Safety
/// As [`place`].
unsafe fn opened(
    place_of: *mut *mut Handle,
    open: impl FnOnce() -> Result<io::Result<File>, Refusal>,
) -> c_int {
    short_border(|| {
        // SAFETY: as the caller promises.
        let place = unsafe { place(place_of) }?;
        *place = std::ptr::null_mut();
        let file = open()?.map_err(|error| number(&error))?;
        *place = Box::into_raw(Box::new(file));
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
    wanted: *const COptions,
    file: *mut *mut Handle,
) -> c_int {
    let open = || {
        // SAFETY: null, or a string, as the header asks for.
        let path = unsafe { text(path) }.ok_or(INVALID)?;
        // SAFETY: null, or options, as the header asks for.
        let options = unsafe { options(wanted) }?;
        Ok(options.open(Path::new(OsStr::from_bytes(path.to_bytes()))))
    };
    // SAFETY: null, or a place for a pointer, as the header asks for.
    unsafe { opened(file, open) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn iostack_merge_over(
    descriptor: c_int,
    wanted: *const COptions,
    file: *mut *mut Handle,
) -> c_int {
    let open = || {
        // SAFETY: null, or options, as the header asks for.
        let options = unsafe { options(wanted) }?;
        if descriptor < 0 {
            return Err(-i64::from(libc::EBADF));
        }
        // SAFETY: not -1; a number that is no open descriptor is refused by the kernel when it is duplicated.
        let theirs = unsafe { BorrowedFd::borrow_raw(descriptor) };
        Ok(theirs.try_clone_to_owned().and_then(|own| options.over(own.into())))
    };
    // SAFETY: null, or a place for a pointer, as the header asks for.
    unsafe { opened(file, open) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn iostack_merge_close(file: *mut Handle) -> c_int {
    short_border(|| {
        if file.is_null() {
            return Err(INVALID);
        }
        // SAFETY: made by `opened`, and the caller neither used nor uses it elsewhere.
        drop(unsafe { Box::from_raw(file) });
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn iostack_merge_read_at(
    file: *const Handle,
    buffer: *mut c_void,
    length: usize,
    offset: u64,
) -> i64 {
    border(|| {
        // SAFETY: null, or a file that is open.
        let handle = unsafe { value(file) }?;
        // SAFETY: null, or the caller's memory.
        let buffer = unsafe { memory(buffer, length, offset) }?;
        bytes(handle.read_at(buffer, offset))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn iostack_merge_write_at(
    file: *const Handle,
    buffer: *const c_void,
    length: usize,
    offset: u64,
) -> i64 {
    border(|| {
        // SAFETY: null, or a file that is open.
        let handle = unsafe { value(file) }?;
        // SAFETY: null, or the caller's memory.
        let buffer = unsafe { data(buffer, length, offset) }?;
        bytes(handle.write_at(buffer, offset))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn iostack_merge_read_many(
    file: *const Handle,
    requests: *mut CRequest,
    count: usize,
) -> i64 {
    border(|| {
        // SAFETY: null, or a file that is open.
        let handle = unsafe { value(file) }?;
        // SAFETY: null, or the caller's requests.
        let requests = unsafe { group(requests, count) }?;
        if overlap(requests) {
            return Err(INVALID);
        }
        let list = requests.iter().map(|request| {
            // SAFETY: null, or the caller's memory, which no other request of the group shares.
            Ok((request.offset, unsafe { memory(request.buffer, request.length, request.offset) }?))
        });
        let mut list = list.collect::<Result<Vec<_>, Refusal>>()?;
        let done = handle.read_many(&mut list);
        Ok(collect(requests, done))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn iostack_merge_write_many(
    file: *const Handle,
    requests: *mut CRequest,
    count: usize,
) -> i64 {
    border(|| {
        // SAFETY: null, or a file that is open.
        let handle = unsafe { value(file) }?;
        // SAFETY: null, or the caller's requests.
        let requests = unsafe { group(requests, count) }?;
        let list = requests.iter().map(|request| {
            // SAFETY: null, or the caller's memory.
            Ok((request.offset, unsafe { data(request.buffer, request.length, request.offset) }?))
        });
        let list = list.collect::<Result<Vec<_>, Refusal>>()?;
        let done = handle.write_many(&list);
        Ok(collect(requests, done))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn iostack_merge_stats(file: *const Handle, stats: *mut CStats) -> c_int {
    short_border(|| {
        // SAFETY: null, or a file that is open.
        let handle = unsafe { value(file) }?;
        // SAFETY: null, or a place for them.
        let place = unsafe { place(stats) }?;
        let stats = handle.stats().ok_or(INVALID)?;
        *place = CStats { requests: stats.requests, batches: stats.batches, batch_max: stats.batch_max };
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
