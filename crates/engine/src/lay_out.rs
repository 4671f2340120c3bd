//! How does a scratch file get its content?
//!
//! Space is reserved first, so that a full disk is known before anything is written. Then every byte is written once,
//! direct where the file system can: reads of a region that was only reserved never reach the medium.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use iostack_host::{Held, HostError};
use iostack_model::{Access, BlockSizes, Bytes, Data, Engine, Job, Mix, Outcome, Phase, Storage};
use iostack_workload::{Rng, fill_buffer};

use crate::{Control, EngineError, Result, Work, outcome, stage, sys};

const BLOCK: u64 = 1 << 20;
const DEPTH: u32 = 8;

/// Writes `held` full with `size` bytes of content of the kind `data`, and flushes it. Ends early, with the file
/// incomplete, when the stop flag is set.
pub fn lay_out(held: &Arc<Held>, size: Bytes, data: &Data, seed: u64, control: &Control<'_>) -> Result<()> {
    let failed = |act| move |source| EngineError::Failed { act, path: held.path().to_owned(), source };
    let refused = |source| EngineError::refused(held.path(), "writing", false, source);
    let file = held.reopen(OpenOptions::new().write(true)).map_err(refused)?;
    let before = file.metadata().map_err(failed("look at"))?.len();
    match sys::allocate(file.as_raw_fd(), false, 0, size.0) {
        Ok(()) => {}
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EFBIG | libc::EDQUOT)) => {
            file.set_len(before).map_err(failed("shorten"))?;
            return Err(does_not_fit(&error, held, size));
        }
        // Some file systems cannot reserve; the writes will find out.
        Err(_) => file.set_len(size.0.max(before)).map_err(failed("extend"))?,
    }
    let whole = Bytes(size.0 / BLOCK * BLOCK);
    if whole.0 > 0 {
        write_blocks(&Content { file: held, size: whole, data, seed }, control)?;
    }
    if whole < size && !control.stop.load(Ordering::Relaxed) {
        write_rest(&file, whole.0, size.0 - whole.0, data, seed).map_err(failed("write"))?;
    }
    file.sync_all().map_err(failed("flush"))
}

/// Content to write, and its place.
struct Content<'a> {
    file: &'a Arc<Held>,
    size: Bytes,
    data: &'a Data,
    seed: u64,
}

/// Tries the fastest way first; what a system refuses, the next way may do.
fn write_blocks(content: &Content<'_>, control: &Control<'_>) -> Result<()> {
    let ways = [(Engine::Libaio, true), (Engine::Psync, true), (Engine::Psync, false)];
    let mut result = Ok(());
    for (engine, direct) in ways {
        result = write_with(content, engine, direct, control);
        let is_refusal = matches!(
            result,
            Err(EngineError::Refused { .. }
                | EngineError::EngineUnavailable { .. }
                | EngineError::DepthBeyondLimit { .. })
        );
        if !is_refusal {
            break;
        }
    }
    result
}

fn write_with(content: &Content<'_>, engine: Engine, direct: bool, control: &Control<'_>) -> Result<()> {
    let job = Job {
        name: "lay out".to_owned(),
        mix: Mix::WRITE,
        access: Access::Sequential,
        block_sizes: BlockSizes::all(Bytes(BLOCK)),
        size: Some(iostack_model::Amount::Bytes(content.size)),
        engine,
        queue_depth: DEPTH,
        direct,
        invalidate: false,
        data: content.data.clone(),
        seed: content.seed,
        ..Job::default()
    };
    let work = Work::on(job, content.file, Storage::default());
    let groups = stage::run(&[&work], control, Phase::LayingOut)?;
    let outcomes = outcome::assemble_all(groups, 0);
    outcomes.iter().find_map(|outcome| first_error(content, outcome)).map_or(Ok(()), Err)
}

fn first_error(content: &Content<'_>, outcome: &Outcome) -> Option<EngineError> {
    let failure = outcome.failures.first()?;
    let source = std::io::Error::from_raw_os_error(failure.errno);
    if matches!(failure.errno, libc::ENOSPC | libc::EFBIG | libc::EDQUOT) {
        return Some(does_not_fit(&source, content.file, content.size));
    }
    Some(EngineError::Failed { act: "write", path: content.file.path().to_owned(), source })
}

fn does_not_fit(error: &std::io::Error, file: &Held, size: Bytes) -> EngineError {
    if error.raw_os_error() == Some(libc::EFBIG) {
        return HostError::FileLimit { path: file.path().to_owned(), needed: size }.into();
    }
    let free = file
        .storage()
        .ok()
        .and_then(|storage| storage.file_system)
        .map(|file_system| file_system.free)
        .unwrap_or_default();
    EngineError::NoSpace { path: file.path().to_owned(), size, free }
}

/// Writes the rest below one block, through the page cache, because its length may be no multiple of anything.
fn write_rest(file: &File, offset: u64, length: u64, data: &Data, seed: u64) -> std::io::Result<()> {
    let mut buffer = vec![0; length as usize];
    fill_buffer(&mut buffer, data, &mut Rng::from_seed(seed ^ offset));
    file.write_all_at(&buffer, offset)
}
