//! How long is a client waited for before it has agreed? Until a moment, however many bytes it sends until then.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A connection that is waited for until a moment.
pub(super) struct Patient<'a> {
    pub(super) stream: &'a UnixStream,
    pub(super) until: Instant,
}

impl Patient<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            Some(left) => Ok(Some(left)),
            None => Err(io::Error::new(ErrorKind::TimedOut, "it did not agree in time")),
        }
    }

    /// Ends the time limit: from now on it is waited for without end.
    pub(super) fn forget(self) -> io::Result<()> {
        self.stream.set_read_timeout(None)?;
        self.stream.set_write_timeout(None)
    }
}

impl Read for Patient<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(into)
    }
}

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_sends_a_byte_now_and_then_or_takes_none_is_not_waited_for_longer() {
        let (ours, theirs) = UnixStream::pair().expect("two ends");
        let mut patient = Patient { stream: &ours, until: Instant::now() + Duration::from_millis(200) };
        let drip = std::thread::spawn(move || {
            while (&theirs).write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let _as_much_as_came = io::copy(&mut patient, &mut io::sink()).expect_err("time is up");
        // A byte is there, and the socket has room.
        assert_eq!(patient.read(&mut [0]).expect_err("time is up").kind(), ErrorKind::TimedOut);
        assert_eq!(patient.write(b"x").expect_err("time is up").kind(), ErrorKind::TimedOut);
        patient.until = Instant::now() + Duration::from_millis(50);
        let _more_than_it_takes = patient.write_all(&vec![0; 16 << 20]).expect_err("nobody takes it");
        drop(ours);
        drip.join().expect("it ended");
    }
}
