//! The kernel's log, read on from where it was read last.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use super::device::complaint;

/// The log, or nothing where the kernel shows none.
pub struct KernelLog(Option<File>);

impl KernelLog {
    /// Opens the log at its first record.
    pub(super) fn whole() -> KernelLog {
        KernelLog(File::options().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg").ok())
    }

    /// Opens the log behind its last record.
    pub fn from_now() -> KernelLog {
        let mut log = KernelLog::whole();
        let is_there = log.0.as_mut().is_some_and(|file| file.seek(SeekFrom::End(0)).is_ok());
        KernelLog(log.0.filter(|_| is_there))
    }

    /// Messages since the last call, without level and time.
    pub fn messages(&mut self) -> Vec<String> {
        let message = |record: String| record.split_once(';').map(|(_, text)| text.to_owned());
        self.records().unwrap_or_default().into_iter().filter_map(message).collect()
    }

    /// Messages of level warning and worse since the last call.
    pub(super) fn complaints(&mut self) -> Vec<String> {
        match self.records() {
            Some(records) => records.iter().filter_map(|record| complaint(record)).collect(),
            None => vec!["the kernel's log cannot be read".to_owned()],
        }
    }

    fn records(&mut self) -> Option<Vec<String>> {
        let log = self.0.as_mut()?;
        let (mut records, mut record) = (Vec::new(), vec![0; 8192]);
        loop {
            match log.read(&mut record) {
                Ok(length @ 1..) => records.push(String::from_utf8_lossy(&record[..length]).into_owned()),
                // The log ran over; what comes next is the oldest there is.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
                _ => return Some(records),
            }
        }
    }
}
