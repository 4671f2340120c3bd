//! What is written, when is it on the medium, and is it there?

use iostack_model::Data;

use super::{Row, row};
use crate::fio::set::{many, set_sync, set_sync_range, set_verify};
use crate::fio::units::size;
use crate::options::value::{assign, bad, count, pattern, put, refused, switch, up_to, whole};

pub(super) const ROWS: &[Row] = &[
    row("fsync", put!(job.sync.fsync_every, count)).says("fsync after so many writes", "32"),
    row("fdatasync", put!(job.sync.fdatasync_every, count)).says("fdatasync after so many writes", "32"),
    row("sync_file_range", set_sync_range)
        .says("sync_file_range after so many writes: wait_before, write, wait_after", "write:8"),
    row("end_fsync", put!(job.sync.end_fsync, switch)).says("fsync once when the job ends", "1"),
    row("fsync_on_close", put!(job.sync.end_fsync, switch)).says("fsync once when the job ends", "1"),
    row("sync", set_sync).says("Each write is on the medium before it returns", "0, 1, dsync"),
    row("verify", set_verify)
        .says("Prove that data comes back; crc32c does it, whatever checksum is named", "crc32c, md5"),
    row("do_verify", put!(reads_nothing_back, not switch)).says("Read back what was written", "1"),
    row("verify_only", put!(verify_only, switch)).says("Check what an earlier job wrote", "1").alone(),
    row("verify_backlog", put!(verify_backlog, many))
        .says("Read back what was written whenever so many blocks wait for it, not only at the end", "1024"),
    row("verify_backlog_batch", put!(verify_backlog_batch, many))
        .says("So many of them at a time; default all", "64"),
    row("verify_fatal", put!(job.verify => fatal, switch))
        .says("Stop at the first block that does not verify", "1")
        .leaning_on("verify"),
    row("trim_percentage", put!(trims.percent, up_to::<100>)).says(
        "Percent of what a verifying job writes that is trimmed along the way, with trim_backlog",
        "10",
    ),
    row("trim_verify_zero", put!(trims.read_zeroes, switch))
        .says("What was trimmed must read as zeroes; 0: it is not read", "1"),
    row("trim_backlog", put!(trims.writes, many)).says("Trim after so many writes", "64"),
    row("trim_backlog_batch", put!(trims.blocks, many))
        .says("At most so many blocks at a time; default as many as trim_backlog", "16"),
    row("zero_buffers", |draft, text| {
        draft.job.data = if switch(text)? { Data::Zeroes } else { Data::Random };
        Ok(())
    })
    .says("Write zeroes", "1")
    .alone(),
    row("buffer_compress_percentage", |draft, text| {
        assign(&mut draft.job.data, Ok(Data::Compressible(whole(text, 0, 100)? as u8)))
    })
    .says("Percent of each write that compresses away", "50"),
    row("buffer_compress_chunk", |draft, text| {
        let chunk = size(text, draft.kb_base)?.0;
        let Ok(chunk) = u32::try_from(chunk) else { return bad("give a size below 4g") };
        if let Data::Compressible(percent) = draft.job.data {
            draft.job.data = Data::CompressibleBy(percent, chunk);
        }
        Ok(())
    })
    .says("In pieces of so many bytes; 0: of whole blocks", "4k")
    .leaning_on("buffer_compress_percentage"),
    row("dedupe_percentage", put!(repeated.percent, up_to::<100>))
        .says("Percent of the blocks of 4 KiB that were written before", "50"),
    row("dedupe_mode", put!(by_set, of [("repeat", false), ("working_set", true)])).says(
        "What they repeat: one block at each place of the buffers, or one of a set",
        "repeat, working_set",
    ),
    row("dedupe_working_set_percentage", |draft, text| {
        assign(&mut draft.repeated.set_percent, Ok(whole(text, 1, 100)? as u8))
    })
    .says("Blocks of the set, in percent of the region's; default 5", "50"),
    row("dedupe_global", put!(repeated.shared, switch)).says("Jobs with one randseed share their set", "1"),
    row("verify_pattern", |draft, text| {
        if text.contains('%') {
            return refused("the headers of the other checksums hold the offset; use crc32c");
        }
        assign(&mut draft.job.data, Ok(Data::Pattern(pattern(text)?)))
    })
    .says("What verify=pattern writes, or what stands between the headers", "0xdeadbeef"),
    row("buffer_pattern", |draft, text| assign(&mut draft.job.data, Ok(Data::Pattern(pattern(text)?))))
        .says("Bytes that writes repeat", "0xdeadface"),
];
