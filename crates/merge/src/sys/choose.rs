//! Which of the kernel's interfaces carries the batches of a file?

use std::fs::File;
use std::io;
use std::sync::Arc;

use super::{Device, Pread};
use crate::Backend;

/// The device that a file is by a backend.
pub(crate) fn device(_backend: Backend, file: Arc<File>) -> io::Result<Arc<dyn Device>> {
    Ok(Arc::new(Pread::new(file)))
}
