//! Which of fio's engines are done, how are they set, and why not the others?

use iostack_model::{Engine, NameAct, StatCall};

use super::draft::Draft;
use super::others;
use crate::options::value::{Set, ValueError, bad, one_of, refused, ring_switches, switch};

/// The values of `ioengine` that are done.
pub(super) const ENGINES: &str = "psync, sync, vsync, pvsync, pvsync2, libaio, posixaio, io_uring, mmap, null, falloc, \
     ftruncate, filecreate, fileopen, filestat, filedelete, dircreate, dirstat, dirdelete";

pub(super) fn set_ioengine(draft: &mut Draft, text: &str) -> Set {
    draft.job.engine = Engine::named_by_fio(text).map_or_else(|| refuse_engine(text), Ok)?;
    Ok(())
}

fn refuse_engine<T>(name: &str) -> Result<T, ValueError> {
    let why = others::why_no_engine(name).map_or_else(String::new, |why| format!("{why}; "));
    refused(format!("{why}use one of {ENGINES}"))
}

pub(super) fn set_stat_call(draft: &mut Draft, text: &str) -> Set {
    let words = [("stat", StatCall::Stat), ("lstat", StatCall::Lstat), ("statx", StatCall::Statx)];
    let typed = one_of(text, &words)?;
    if let Engine::Names(NameAct::Stat(call) | NameAct::StatDirectory(call)) = &mut draft.job.engine {
        *call = typed;
    }
    Ok(())
}

pub(super) fn set_hipri(draft: &mut Draft, text: &str) -> Set {
    let on = switch(text)?;
    match &mut draft.job.engine {
        Engine::IoUring { poll, .. } | Engine::Pvsync2 { hipri: poll } => *poll = on,
        other if on => return bad(format!("needs ioengine=io_uring or pvsync2, not {}", other.name())),
        _ => {}
    }
    Ok(())
}

/// Sets a switch of `io_uring`, which must be the engine.
pub(super) fn set_ring(draft: &mut Draft, text: &str, change: fn([&mut bool; 4], bool)) -> Set {
    let on = switch(text)?;
    match ring_switches(&mut draft.job.engine) {
        Some(switches) => change(switches, on),
        None if on => return bad(format!("needs ioengine=io_uring, not {}", draft.job.engine.name())),
        None => {}
    }
    Ok(())
}
