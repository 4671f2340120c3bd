//! What does a file answer to plain calls?

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::{Device, Finished, Lane, Op, Request};

/// `pread` and `pwrite`; a batch is one call after another.
#[derive(Debug)]
pub(crate) struct Pread {
    file: std::sync::Arc<File>,
}

impl Pread {
    pub(crate) fn new(file: std::sync::Arc<File>) -> Pread {
        Pread { file }
    }
}

impl Device for Pread {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        again(|| self.file.read_at(buffer, offset))
    }

    fn write(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        again(|| self.file.write_at(buffer, offset))
    }

    fn lane(&self, depth: usize) -> io::Result<Box<dyn Lane>> {
        Ok(Box::new(CallLane { device: Pread::new(self.file.clone()), depth, queued: Vec::new() }))
    }

    fn batch_max(&self) -> usize {
        usize::MAX
    }
}

/// A signal is no reason to stop.
fn again(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

struct CallLane {
    device: Pread,
    depth: usize,
    queued: Vec<Request>,
}

impl Lane for CallLane {
    fn depth(&self) -> usize {
        self.depth
    }

    fn held(&self) -> usize {
        self.queued.len()
    }

    fn push(&mut self, request: Request) {
        self.queued.push(request);
    }

    fn enter(&mut self, _least: usize, finished: &mut Vec<Finished>) {
        for request in self.queued.drain(..) {
            let result = call(&self.device, &request);
            finished.push(Finished::new(request, result));
        }
    }
}

/// One request by a plain call of this thread.
pub(crate) fn call(device: &dyn Device, request: &Request) -> io::Result<usize> {
    let (address, length) = (request.address(), request.length());
    match request.op() {
        Op::Read => {
            // SAFETY: the memory is the request's alone until it is completed.
            let buffer = unsafe { std::slice::from_raw_parts_mut(address, length) };
            device.read(buffer, request.offset())
        }
        Op::Write => {
            // SAFETY: the memory is lent to the request until it is completed, and nobody writes it meanwhile.
            let buffer = unsafe { std::slice::from_raw_parts(address, length) };
            device.write(buffer, request.offset())
        }
    }
}
