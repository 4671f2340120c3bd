//! One I/O, one name: files and directories are made, opened, looked at, removed.
//!
//! Nothing is removed but what is held: it gets a name that nobody else uses before the load begins, and what is left
//! gets its own name back. What was made is marked as ours after the load. Neither counts.

use std::ffi::CString;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostack_host::Held;
use iostack_model::NameAct;

use crate::EngineError;
use crate::backend::Call;
use crate::sys::names;

struct Name {
    held: Arc<Held>,
    /// Name that the kernel is given: below `folder`, where the act makes something.
    asked: CString,
    folder: Option<File>,
    /// Place where it waits to be removed.
    aside: Option<PathBuf>,
    made: Option<Metadata>,
}

/// The names of one thread.
pub(crate) struct Names {
    act: NameAct,
    each: Vec<Name>,
    /// The last I/O's, and what it opened.
    last: Option<(usize, Option<File>)>,
}

impl Names {
    /// Makes the names ready: what is to be removed is moved aside.
    pub(crate) fn new(act: NameAct, held: &[Arc<Held>]) -> Result<Names, EngineError> {
        let mut names = Names { act, each: Vec::with_capacity(held.len()), last: None };
        for held in held {
            // What was moved aside so far goes back when this is dropped.
            names.each.push(Name::new(act, held)?);
        }
        Ok(names)
    }

    fn act_on(&mut self, file: usize, length: usize) -> isize {
        let Name { asked, folder, aside, .. } = &mut self.each[file];
        let opened = |result: Result<File, isize>| match result {
            Ok(opened) => (0, Some(opened)),
            Err(errno) => (errno, None),
        };
        let folder = folder.as_ref().map_or(libc::AT_FDCWD, AsRawFd::as_raw_fd);
        let (result, open) = match self.act {
            NameAct::Create => opened(names::make_file(folder, asked)),
            NameAct::Open => opened(names::open(asked)),
            NameAct::Stat(with) | NameAct::StatDirectory(with) => (names::look(asked, with), None),
            NameAct::MakeDirectory => (names::make_directory(folder, asked), None),
            NameAct::Delete | NameAct::RemoveDirectory => {
                (names::remove(asked, self.act.of_directories()), None)
            }
        };
        if result == 0 {
            *aside = None;
        }
        self.last = (result == 0).then_some((file, open));
        if result == 0 { length.cast_signed() } else { result }
    }

    /// Marks what was made as made by iostack, or removes it.
    pub(crate) fn finish(&mut self, unlink: bool) {
        for Name { held, made, .. } in &self.each {
            let marked = made.as_ref().and_then(|made| iostack_host::mark_made(held.path(), made));
            if let Some(marked) = marked.filter(|_| unlink) {
                let _ = marked.remove();
            }
        }
    }
}

impl Name {
    fn new(act: NameAct, held: &Arc<Held>) -> Result<Name, EngineError> {
        let path = held.path();
        let failed = |act, source| EngineError::Failed { act, path: path.to_owned(), source };
        let c_string = |path: &Path| {
            CString::new(path.as_os_str().as_bytes()).map_err(|error| failed("name", error.into()))
        };
        let mut this =
            Name { held: Arc::clone(held), asked: c_string(path)?, folder: None, aside: None, made: None };
        if act.makes() {
            let name = path.file_name().ok_or_else(|| failed("name", io::ErrorKind::InvalidInput.into()))?;
            this.asked = c_string(Path::new(name))?;
            let folder = OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY).clone();
            this.folder = Some(held.reopen(&folder).map_err(|source| failed("open the folder of", source))?);
        } else if !act.looks_only() {
            let aside = held.aside()?;
            let aside =
                aside.ok_or_else(|| failed("remove", io::Error::other("its name is another's by now")))?;
            this.asked = c_string(&aside)?;
            this.aside = Some(aside);
        }
        Ok(this)
    }
}

impl Call for Names {
    fn carry(&mut self, _: bool, file: usize, buffer: &mut [u8], _: u64) -> isize {
        self.act_on(file, buffer.len())
    }

    fn settle(&mut self) {
        let Some((file, opened)) = self.last.take().filter(|_| self.act.makes()) else { return };
        let Name { held, made, .. } = &mut self.each[file];
        let data = opened.map_or_else(|| std::fs::symlink_metadata(held.path()), |opened| opened.metadata());
        *made = data.ok();
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        for Name { held, aside, .. } in &self.each {
            if let Some(Err(error)) = aside.as_deref().map(|aside| held.put_back(aside)) {
                eprintln!("iostack: {error}");
            }
        }
    }
}
