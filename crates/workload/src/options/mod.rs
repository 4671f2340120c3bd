//! What may be said about a job, and what does each word mean?
//!
//! Two vocabularies, one table each: ours ([`native`], for flags and TOML) and fio's (in `fio/`, for job files that
//! exist). [`set_option`] looks a name up in ours first, then in fio's. The reference in the manual is printed from
//! the same tables by [`options_reference`].
//!
//! Start reading at [`set_option`].

pub(crate) mod native;
pub(crate) mod option;
#[cfg(test)]
mod tests;
pub(crate) mod value;

use iostack_model::{Engine, Job};

use crate::fio;
pub use option::{Dialect, OptionDoc, OptionError, Status, suggest};

/// The numbers of a list like `0-3,6`, as the kernel writes CPUs and nodes.
pub fn cpu_list(text: &str) -> Option<Vec<u32>> {
    value::cpu_list(text.trim()).ok()
}

/// Sets one option of a job, by our name for it or by fio's, and keeps it in `job.options` as it was typed.
///
/// On error the job is as it was. A dash is as good as an underscore.
pub fn set_option(job: &mut Job, name: &str, value: &str) -> Result<(), OptionError> {
    let key = name.trim_start_matches('-').replace('-', "_");
    let mut changed = job.clone();
    let done = if let Some(row) = native::find(&key) {
        (row.set)(&mut changed, value)
    } else if fio::knows(&key) {
        fio::set_one(&mut changed, &key, value)
    } else {
        let suggestion = suggest(&key, native::names().chain(fio::names()));
        return Err(OptionError::Unknown { name: name.to_owned(), suggestion });
    };
    done.map_err(|error| OptionError::from_value(name, value, error))?;
    changed.options.push((key, value.to_owned()));
    *job = changed;
    Ok(())
}

/// A job that asks for a depth, and says nothing of the engine, gets one that can hold it: libaio, which only direct I/O
/// keeps in flight, else `io_uring`.
///
/// Not of a fio file: there psync is the default whatever depth is asked, as in fio.
pub fn choose_engine(job: &mut Job) {
    let named =
        job.options_global.iter().chain(&job.options).any(|(name, _)| name == "engine" || name == "ioengine");
    if job.queue_depth > 1 && job.engine.is_synchronous() && !named {
        job.engine = if job.direct { Engine::Libaio } else { Engine::IO_URING };
    }
}

/// Our own options, in the order in which they are best applied: what others refine comes first.
pub fn native_options() -> Vec<OptionDoc> {
    native::ROWS.iter().map(|row| row.doc(Dialect::Native)).collect()
}

/// Every option of both vocabularies, ours first.
pub fn options_reference() -> Vec<OptionDoc> {
    native_options().into_iter().chain(fio::reference()).collect()
}
