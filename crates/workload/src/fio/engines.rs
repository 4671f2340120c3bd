//! Which of fio's engines are done, how are they set, and why not the others?

use iostack_model::{Engine, NameAct, StatCall};

use super::draft::Draft;
use crate::options::value::{Set, ValueError, bad, refused, switch};

/// The values of `ioengine` that are done.
pub(super) const ENGINES: &str = "psync, sync, vsync, pvsync, pvsync2, libaio, posixaio, io_uring, mmap, null, falloc, \
     ftruncate, filecreate, fileopen, filestat, filedelete, dircreate, dirstat, dirdelete";

/// Those that are not, and why.
const OTHER_ENGINES: &[(&str, &str)] = &[
    ("solarisaio windowsaio guasi", "it is another system's"),
    (
        "io_uring_cmd sg mtd libzbc",
        "commands pass the block layer by, which is what is measured here; ioengine=io_uring asks the same of the block \
         device of that drive (/dev/nvme0n1 for /dev/ng0n1)",
    ),
    ("splice", "pvsync2 takes an offset with each call"),
    (
        "net netsplice rdma http nbd nfs libiscsi libhdfs rados rbd gfapi gfapi_async ime_psync \
         ime_psyncv ime_aio librpma_apm_client librpma_apm_server librpma_gpspm_client \
         librpma_gpspm_server",
        "it asks another machine, without a file or device here; mount or attach what it offers",
    ),
    (
        "libpmem libpmem2 dev-dax pmemblk libcufile dfs xnvme libblkio cpp_null",
        "it needs a library that is not here; mmap reaches persistent memory through a file",
    ),
    ("e4defrag", "it moves blocks of ext4's files from one place to another, and reads and writes nothing"),
    ("cpuio exec", "it does no I/O; run the program beside iostack"),
];

pub(super) fn set_ioengine(draft: &mut Draft, text: &str) -> Set {
    draft.job.engine = Engine::named_by_fio(text).map_or_else(|| refuse_engine(text), Ok)?;
    Ok(())
}

fn refuse_engine<T>(name: &str) -> Result<T, ValueError> {
    let other = OTHER_ENGINES.iter().find(|(names, _)| names.split(' ').any(|other| other == name));
    let why = other.map_or_else(String::new, |(_, why)| format!("{why}; "));
    refused(format!("{why}use one of {ENGINES}"))
}

pub(super) fn set_stat_call(draft: &mut Draft, text: &str) -> Set {
    let typed = match text {
        "stat" => StatCall::Stat,
        "lstat" => StatCall::Lstat,
        "statx" => StatCall::Statx,
        _ => return bad("give stat, lstat or statx"),
    };
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

/// A switch of `io_uring`, which says so with other engines.
pub(super) fn set_ring(draft: &mut Draft, text: &str, pick: fn(&mut Engine) -> Option<&mut bool>) -> Set {
    let on = switch(text)?;
    match pick(&mut draft.job.engine) {
        Some(switch) => *switch = on,
        None if on => return bad(format!("needs ioengine=io_uring, not {}", draft.job.engine.name())),
        None => {}
    }
    Ok(())
}
