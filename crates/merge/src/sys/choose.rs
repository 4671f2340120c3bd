//! Which of the kernel's interfaces carries the batches of a file?

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::sync::Arc;

use super::tmerge::Tmerge;
use super::{Device, Pread};
use crate::{Backend, BackendError};

/// The device that a file is by a backend, or why it cannot be.
pub(crate) fn device(backend: Backend, file: Arc<File>) -> io::Result<Arc<dyn Device>> {
    let refused = |source| refused(backend, source);
    Ok(match backend {
        Backend::Best => best(file)?,
        Backend::IoUring => Arc::new(Pread::with_uring(file).map_err(refused)?),
        Backend::Libaio => Arc::new(Pread::with_libaio(file).map_err(refused)?),
        Backend::Pread => Arc::new(Pread::new(file)),
        Backend::Tmerge => {
            let source = io::Error::from_raw_os_error(libc::EINVAL);
            let direct = if is_direct(&file)? { Ok(()) } else { Err(source) };
            Arc::new(direct.and_then(|()| Tmerge::new(file)).map_err(refused)?)
        }
    })
}

/// `io_uring` where the kernel need not hand each request to a worker thread, which costs more than it saves; libaio, which is
/// asynchronous with direct I/O only; plain calls.
fn best(file: Arc<File>) -> io::Result<Arc<dyn Device>> {
    let kind = file.metadata()?.file_type();
    if !(kind.is_file() || kind.is_block_device()) {
        return Ok(Arc::new(Pread::new(file)));
    }
    let direct = is_direct(&file)?;
    if takes_nowait(&file)
        && let Ok(uring) = Pread::with_uring(file.clone())
    {
        return Ok(Arc::new(uring));
    }
    match Pread::with_libaio(file.clone()) {
        Ok(aio) if direct => Ok(Arc::new(aio)),
        _ => Ok(Arc::new(Pread::new(file))),
    }
}

fn is_direct(file: &File) -> io::Result<bool> {
    // SAFETY: F_GETFL takes no argument, and `file` keeps the descriptor open.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    if flags < 0 { Err(io::Error::last_os_error()) } else { Ok(flags & libc::O_DIRECT != 0) }
}

/// True when the file answers "would block" itself: `io_uring` punts all requests of others to its workers. Asked with a
/// read far behind the end, which moves nothing: `EOPNOTSUPP` comes before any look at the offset (`kiocb_set_rw_flags`).
fn takes_nowait(file: &File) -> bool {
    let mut byte = [0_u8; 512];
    let vector = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: byte.len() };
    let offset = 1 << 60;
    // SAFETY: the vector names 512 bytes that live for the call.
    let came = unsafe { libc::preadv2(file.as_raw_fd(), &raw const vector, 1, offset, libc::RWF_NOWAIT) };
    // Kernels before 4.14 do not know the flag, and have no io_uring either.
    came >= 0 || !matches!(io::Error::last_os_error().raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS))
}

/// Refusal of a backend: the meaning of an error of the kernel, and its remedy.
fn refused(backend: Backend, source: io::Error) -> BackendError {
    let (why, remedy) = match (backend, source.raw_os_error().unwrap_or(0)) {
        (Backend::IoUring, libc::ENOSYS) => (
            "this kernel has none, or a seccomp filter hides it",
            "run Linux 5.6 or later, or allow its three calls",
        ),
        (Backend::IoUring, libc::EPERM | libc::EACCES) => (
            "a seccomp filter or the sysctl kernel.io_uring_disabled forbids it",
            "allow it in the container's profile or set the sysctl to 0",
        ),
        (Backend::IoUring, libc::ENOMEM) => {
            ("it may lock no more memory", "raise RLIMIT_MEMLOCK (`ulimit -l`)")
        }
        (Backend::IoUring, libc::EMFILE | libc::ENFILE) => {
            ("no file descriptor is left", "raise RLIMIT_NOFILE (`ulimit -n`)")
        }
        (Backend::IoUring, _) => ("the kernel makes no ring", "see the cause"),
        (Backend::Tmerge, libc::EINVAL) => (
            "the extended command passes by the page cache, and the file is open for buffered I/O",
            "open it with `direct`",
        ),
        (Backend::Tmerge, _) => {
            ("this is no device of the tmerge driver", "load the module and open /dev/tmerge0")
        }
        (_, libc::EAGAIN) => {
            ("all requests that the system may have are taken", "raise the sysctl fs.aio-max-nr")
        }
        (_, libc::ENOSYS) => ("this kernel was built without it", "run one with CONFIG_AIO"),
        (_, libc::EPERM | libc::EACCES) => {
            ("a seccomp filter forbids it", "allow io_setup, io_submit and io_getevents")
        }
        _ => ("the kernel makes no context", "see the cause"),
    };
    BackendError { backend, why, remedy, source }
}
