//! What is written, when is it on the medium, and is it there?

use iostack_model::Data;

use super::{Row, flag, value};
use crate::fio::set::{many, set_sync, set_sync_range, set_verify};
use crate::fio::units::size;
use crate::options::value::{bad, count, pattern, refused, switch, up_to, whole};

pub(super) const ROWS: &[Row] = &[
    value("fsync", "fsync after so many writes", "32", put!(job.sync.fsync_every, count)),
    value("fdatasync", "fdatasync after so many writes", "32", put!(job.sync.fdatasync_every, count)),
    value(
        "sync_file_range",
        "sync_file_range after so many writes: wait_before, write, wait_after",
        "write:8",
        set_sync_range,
    ),
    value("end_fsync", "fsync once when the job ends", "1", put!(job.sync.end_fsync, switch)),
    value("fsync_on_close", "fsync once when the job ends", "1", put!(job.sync.end_fsync, switch)),
    value("sync", "Each write is on the medium before it returns", "0, 1, dsync", set_sync),
    value(
        "verify",
        "Prove that data comes back; crc32c does it, whatever checksum is named",
        "crc32c, md5",
        set_verify,
    ),
    value("do_verify", "Read back what was written", "1", put!(do_verify, switch)),
    flag("verify_only", "Check what an earlier job wrote", put!(verify_only, switch)),
    value(
        "verify_backlog",
        "Read back what was written whenever so many blocks wait for it, not only at the end",
        "1024",
        put!(verify_backlog, many),
    ),
    value(
        "verify_backlog_batch",
        "So many of them at a time; default all",
        "64",
        put!(verify_backlog_batch, many),
    ),
    value("verify_fatal", "Stop at the first block that does not verify", "1", put!(verify_fatal, switch)),
    value(
        "trim_percentage",
        "Percent of what a verifying job writes that is trimmed along the way, with trim_backlog",
        "10",
        put!(trims.percent, up_to::<100>),
    ),
    value(
        "trim_verify_zero",
        "What was trimmed must read as zeroes; 0: it is not read",
        "1",
        put!(trims.read_zeroes, switch),
    ),
    value("trim_backlog", "Trim after so many writes", "64", put!(trims.writes, many)),
    value(
        "trim_backlog_batch",
        "At most so many blocks at a time; default as many as trim_backlog",
        "16",
        put!(trims.blocks, many),
    ),
    flag("zero_buffers", "Write zeroes", |draft, text| {
        draft.job.data = if switch(text)? { Data::Zeroes } else { Data::Random };
        Ok(())
    }),
    value("buffer_compress_percentage", "Percent of each write that compresses away", "50", |draft, text| {
        draft.job.data = Data::Compressible(whole(text, 0, 100)? as u8);
        Ok(())
    }),
    value("buffer_compress_chunk", "In pieces of so many bytes; 0: of whole blocks", "4k", |draft, text| {
        let chunk = size(text, draft.kb_base)?.0;
        let Ok(chunk) = u32::try_from(chunk) else { return bad("give a size below 4g") };
        if let Data::Compressible(percent) = draft.job.data {
            draft.job.data = Data::CompressibleBy(percent, chunk);
        }
        Ok(())
    })
    .leaning_on("buffer_compress_percentage"),
    value(
        "dedupe_percentage",
        "Percent of the blocks of 4 KiB that were written before",
        "50",
        put!(repeated.percent, up_to::<100>),
    ),
    value(
        "dedupe_mode",
        "What they repeat: one block at each place of the buffers, or one of a set",
        "repeat, working_set",
        |draft, text| {
            draft.by_set = match text {
                "repeat" => false,
                "working_set" => true,
                _ => return bad("give repeat or working_set"),
            };
            Ok(())
        },
    ),
    value(
        "dedupe_working_set_percentage",
        "Blocks of the set, in percent of the region's; default 5",
        "50",
        |draft, text| {
            draft.repeated.set_percent = whole(text, 1, 100)? as u8;
            Ok(())
        },
    ),
    value("dedupe_global", "Jobs with one randseed share their set", "1", put!(repeated.shared, switch)),
    value(
        "verify_pattern",
        "What verify=pattern writes, or what stands between the headers",
        "0xdeadbeef",
        |draft, text| {
            if text.contains('%') {
                return refused("the headers of the other checksums hold the offset; use crc32c");
            }
            draft.job.data = Data::Pattern(pattern(text)?);
            Ok(())
        },
    ),
    value("buffer_pattern", "Bytes that writes repeat", "0xdeadface", |draft, text| {
        draft.job.data = Data::Pattern(pattern(text)?);
        Ok(())
    }),
];
