//! How do answers reach the client, when the drive's thread may not wait for it?
//!
//! The drive's thread sends what the socket takes at once. What it does not take waits in line for a thread of its own; what
//! comes meanwhile goes behind it. A request is in flight from when it is read until the socket took its answer, and a client
//! has only so much in flight: further requests stay in the socket, and go with it.

use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::sys;

/// Bytes that a client may have in flight, reads and writes and a little for each request; a longer one goes alone.
pub(super) const BYTES_MOST: usize = 16 << 20;

/// Requests that a client may have in flight. What it has at the drive when it leaves keeps others waiting still.
pub(super) const REQUESTS_MOST: usize = 128;

/// A client that is waited for is looked at this often: it may be gone.
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[derive(Default)]
struct AnswerLine {
    /// Answers that are not sent yet, in order, and what their requests count.
    rest: VecDeque<(Vec<u8>, usize)>,
    /// Requests in flight, and their bytes.
    requests: usize,
    bytes: usize,
    /// Nothing more is sent.
    closed: bool,
}

impl AnswerLine {
    fn has_room(&self, bytes: usize) -> bool {
        self.requests == 0 || self.requests < REQUESTS_MOST && self.bytes + bytes <= BYTES_MOST
    }
}

/// Answers to one client.
pub(super) struct Out {
    socket: UnixStream,
    line: Mutex<AnswerLine>,
    moved: Condvar,
    /// Bytes in flight of all clients.
    all: Arc<AtomicUsize>,
}

impl Out {
    pub(super) fn new(socket: UnixStream, all: Arc<AtomicUsize>) -> Self {
        Out { socket, line: Mutex::default(), moved: Condvar::new(), all }
    }

    fn line(&self) -> MutexGuard<'_, AnswerLine> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `ready`, or until the client is gone.
    fn wait(&self, ready: impl Fn(&AnswerLine) -> bool) -> MutexGuard<'_, AnswerLine> {
        let mut line = self.line();
        while !line.closed && !ready(&line) {
            let waited = self.moved.wait_timeout(line, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner);
            line = waited.0;
            line.closed |= waited.1.timed_out() && sys::has_hung_up(&self.socket);
        }
        line
    }

    /// Waits until there is room for a request of so many bytes, and takes it; false when the client is gone.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let mut line = self.wait(|line| line.has_room(bytes));
        if line.closed {
            return false;
        }
        line.requests += 1;
        line.bytes += bytes;
        self.all.fetch_add(bytes, Ordering::Relaxed);
        true
    }

    /// A request of so many bytes is no longer in flight.
    fn release(&self, line: &mut AnswerLine, bytes: usize) {
        line.requests -= 1;
        line.bytes -= bytes;
        self.all.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Sends an answer, whose request was of so many bytes. Never waits.
    pub(super) fn send(&self, mut answer: Vec<u8>, bytes: usize) {
        let mut line = self.line();
        if !line.closed && line.rest.is_empty() {
            match sys::send_some(&self.socket, &answer) {
                Ok(sent) => drop(answer.drain(..sent)),
                Err(_) => line.closed = true,
            }
        }
        if line.closed || answer.is_empty() {
            self.release(&mut line, bytes);
        } else {
            line.rest.push_back((answer, bytes));
        }
        self.moved.notify_all();
    }

    /// Sends what waits in line until the client is gone: of a thread of its own.
    pub(super) fn drain(&self) {
        let mut line = self.line();
        while !line.closed {
            let Some((next, bytes)) = line.rest.front_mut().map(std::mem::take) else {
                line = self.moved.wait(line).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            // Its empty place keeps later ones behind it.
            drop(line);
            let sent = (&self.socket).write_all(&next);
            drop(next);
            line = self.line();
            line.rest.pop_front();
            self.release(&mut line, bytes);
            line.closed |= sent.is_err();
            self.moved.notify_all();
        }
        for (_, bytes) in std::mem::take(&mut line.rest) {
            self.release(&mut line, bytes);
        }
    }

    /// The client is gone: nothing more is sent, and who waits for it no longer does.
    pub(super) fn close(&self) {
        self.line().closed = true;
        sys::hang_up(&self.socket);
        self.moved.notify_all();
    }

    /// Waits until all that was asked for is answered.
    pub(super) fn settle(&self) {
        drop(self.wait(|line| line.requests == 0));
    }
}
