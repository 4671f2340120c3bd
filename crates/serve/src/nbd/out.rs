//! How do answers reach the client, when the drive's thread may not wait for it?
//!
//! The drive's thread sends what the socket takes at once. What it does not take waits in line for a thread of its own; what
//! comes meanwhile goes behind it. A client is given no more than so many bytes in flight, so the line is short.

use std::collections::VecDeque;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::sys;

#[derive(Default)]
struct Line {
    /// Not sent yet, in order.
    rest: VecDeque<Vec<u8>>,
    /// Bytes of requests that are not answered yet.
    in_flight: usize,
    /// Nothing more is sent.
    closed: bool,
}

/// Answers to one client.
pub(super) struct Out<Stream> {
    socket: Stream,
    line: Mutex<Line>,
    moved: Condvar,
}

impl<Stream> Out<Stream>
where
    Stream: AsRawFd,
    for<'a> &'a Stream: Write,
{
    pub(super) fn new(socket: Stream) -> Self {
        Out { socket, line: Mutex::default(), moved: Condvar::new() }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until less than `most` bytes are in flight, and takes `bytes`; false when the client is gone.
    pub(super) fn take(&self, bytes: usize, most: usize) -> bool {
        let mut line = self.line();
        while line.in_flight > 0 && line.in_flight + bytes > most && !line.closed {
            line = self.moved.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
        line.in_flight += bytes;
        !line.closed
    }

    /// Sends an answer, whose request was of so many bytes. Never waits.
    pub(super) fn send(&self, answer: Vec<u8>, bytes: usize) {
        let mut line = self.line();
        line.in_flight -= bytes;
        if !line.closed {
            if line.rest.is_empty() {
                match sys::send_some(&self.socket, &answer) {
                    Ok(sent) if sent == answer.len() => {}
                    Ok(sent) => line.rest.push_back(answer[sent..].to_vec()),
                    Err(_) => line.closed = true,
                }
            } else {
                line.rest.push_back(answer);
            }
        }
        self.moved.notify_all();
    }

    /// Sends what waits in line until the client is gone: of a thread of its own.
    pub(super) fn drain(&self) {
        let mut line = self.line();
        loop {
            let Some(next) = line.rest.front_mut().map(std::mem::take) else {
                if line.closed {
                    return;
                }
                line = self.moved.wait(line).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            // Its empty place keeps later ones behind it.
            drop(line);
            let sent = (&self.socket).write_all(&next);
            line = self.line();
            line.rest.pop_front();
            if sent.is_err() {
                line.closed = true;
                line.rest.clear();
            }
        }
    }

    /// The client is gone: nothing more is sent.
    pub(super) fn close(&self) {
        let mut line = self.line();
        line.closed = true;
        self.moved.notify_all();
    }

    /// Waits until all that was asked for is answered.
    pub(super) fn settle(&self) {
        let mut line = self.line();
        while (line.in_flight > 0 || !line.rest.is_empty()) && !line.closed {
            line = self.moved.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
