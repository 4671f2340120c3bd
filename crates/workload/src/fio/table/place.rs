//! In which files, and with what of the machine?

use std::path::PathBuf;

use iostack_model::{Advice, Preferred};

use super::{Row, value};
use crate::fio::set::{by_direction, colon_list, set_file_service, set_numa_memory, set_preferred_sizes};
use crate::fio::units::size;
use crate::options::value::{bad, cpu_list, refused, switch, up_to, whole, whole_u32};

pub(super) const ROWS: &[Row] = &[
    value("filename", "Files or devices to use, separated by `:`", "/dev/nvme0n1", |draft, text| {
        draft.filenames = colon_list(text);
        if text.contains("$job") || text.contains("$filenum") {
            return bad("$jobname, $jobnum and $filenum stand for something in filename_format only");
        }
        Ok(())
    }),
    value("directory", "Where files are made", "/mnt/test", |draft, text| {
        draft.directories = colon_list(text).into_iter().map(PathBuf::from).collect();
        Ok(())
    }),
    value("filename_format", "Names of the files made", "$jobname.$jobnum.$filenum", |draft, text| {
        draft.filename_format = Some(text.to_owned());
        Ok(())
    }),
    value("nrfiles", "Files each thread makes", "4", |draft, text| {
        draft.job.file_count = whole_u32(text, 1, u32::from(u16::MAX))?;
        Ok(())
    })
    .or(&["nr_files"]),
    value(
        "file_service_type",
        "Which file comes next: roundrobin, random or sequential; after N I/Os",
        "random, roundrobin:8",
        set_file_service,
    ),
    value("create_only", "Make the files, and do nothing else", "1", put!(job.beforehand.is_all, switch)),
    value("pre_read", "Read the files into the page cache first", "1", put!(job.beforehand.reads, switch)),
    value("allow_file_create", "Make files that are missing", "1", |draft, text| {
        draft.job.beforehand.makes_none = !switch(text)?;
        Ok(())
    }),
    value(
        "fill_device",
        "Go on to the end of the device, or of the file that is there, whatever size says",
        "1",
        put!(fills, switch),
    )
    .or(&["fill_fs"]),
    value(
        "fadvise_hint",
        "Tell the kernel the order of buffered I/O",
        "0, 1, random, sequential",
        |draft, text| {
            draft.job.beforehand.advice = match text {
                "0" | "none" => None,
                "1" => Some(Advice::ByAccess),
                "random" => Some(Advice::Random),
                "sequential" => Some(Advice::Sequential),
                _ => return bad("give 0, 1, random or sequential"),
            };
            Ok(())
        },
    ),
    value("uid", "Number of the user as whom the threads open files and do I/O", "1000", |draft, text| {
        draft.job.host.user = Some(whole_u32(text, 0, u32::MAX - 1)?);
        Ok(())
    }),
    value("gid", "Number of their group", "1000", |draft, text| {
        draft.job.host.group = Some(whole_u32(text, 0, u32::MAX - 1)?);
        Ok(())
    }),
    value(
        "mem",
        "Buffers in huge pages of 2 MiB, or not",
        "malloc, shm, mmap, shmhuge, mmaphuge",
        |draft, text| {
            draft.job.host.huge_pages = match text.split_once(':').map_or(text, |(kind, _)| kind) {
                "malloc" | "shm" | "mmap" | "mmapshared" => false,
                "shmhuge" | "mmaphuge" => true,
                "cudamalloc" => {
                    return refused("no memory of a graphics processor is used; give malloc or mmaphuge");
                }
                _ => return bad("give malloc, shm, mmap, mmapshared, shmhuge or mmaphuge"),
            };
            Ok(())
        },
    )
    .or(&["iomem"]),
    value(
        "write_hint",
        "How long what is written will live",
        "none, short, medium, long, extreme",
        |draft, text| {
            let known =
                ["none", "short", "medium", "long", "extreme"].iter().position(|known| *known == text);
            draft.job.host.write_hint = match (known, text) {
                (Some(at), _) => Some(at as u8 + 1),
                (None, "0") => None,
                _ => return bad("give none, short, medium, long or extreme"),
            };
            Ok(())
        },
    ),
    value(
        "atomic",
        "Writes are done whole or not at all; with libaio or pvsync2, and direct",
        "1",
        put!(job.host.flags.atomic, switch),
    ),
    value(
        "uncached",
        "Leave nothing in the page cache; with libaio or pvsync2",
        "1",
        put!(job.host.flags.uncached, switch),
    ),
    value(
        "nowait",
        "Fail instead of waiting; with libaio or pvsync2",
        "1",
        put!(job.host.flags.nowait, switch),
    ),
    value(
        "unlink_each_loop",
        "Remove them between two passes: nothing where there is one; refused with loops",
        "1",
        put!(unlinks_each_loop, switch),
    ),
    value("unlink", "Remove the files this job made", "1", put!(job.unlink, switch)),
    value(
        "ioscheduler",
        "Scheduler of the disk below while the job runs; put back afterwards",
        "none",
        |draft, text| {
            // The names of before multiple queues.
            let name = match text {
                "noop" => "none",
                "deadline" => "mq-deadline",
                name => name,
            };
            draft.job.host.scheduler = Some(name.to_owned());
            Ok(())
        },
    ),
    value("lockmem", "Memory that each thread locks, so that less is left", "1g", put_size!(job.host.locked)),
    value(
        "numa_cpu_nodes",
        "Nodes whose CPUs the threads may use",
        "0,1",
        put!(job.host.numa.cpu_nodes, cpu_list),
    ),
    value(
        "numa_mem_policy",
        "Where the threads' memory lies: local, prefer:0, bind:0-1, interleave:0-1",
        "local, prefer:0",
        set_numa_memory,
    ),
    value("nice", "Of the threads: -20, preferred, to 19", "10", |draft, text| {
        draft.job.host.priority.nice = match text.parse() {
            Ok(nice @ -20..=19) => nice,
            _ => return bad("give -20 to 19"),
        };
        Ok(())
    }),
    value(
        "prio",
        "Among disk requests: 0, preferred, to 7",
        "3",
        put!(job.host.priority.io_level, up_to::<7>),
    ),
    value(
        "prioclass",
        "Class of disk requests: 1 real time, 2 best effort, 3 idle",
        "2",
        put!(job.host.priority.io_class, up_to::<3>),
    ),
    value(
        "cmdprio_percentage",
        "Percent of the reads, and of the writes, that carry cmdprio_class and cmdprio; with libaio or io_uring",
        "10, 30,0",
        |draft, text| {
            let [reads, writes, _] = by_direction(text, |part| Ok(whole(part, 0, 100)? as u8))?;
            let percent = [reads.unwrap_or(0), writes.unwrap_or(0)];
            draft.job.host.preferred =
                (percent != [0, 0]).then(|| Preferred { percent, io_class: 1, ..Preferred::default() });
            Ok(())
        },
    ),
    value(
        "cmdprio_bssplit",
        "Percent of the I/Os of each size that carry cmdprio_class and cmdprio, or a class and level of their own",
        "64k/100:1024k/0, 64k/25/1/1:64k/75/3/2",
        set_preferred_sizes,
    ),
    value("cmdprio_class", "Their class, as in prioclass", "1", |draft, text| {
        let class = whole(text, 0, 3)? as u8;
        draft.job.host.preferred.iter_mut().for_each(|preferred| preferred.io_class = class);
        Ok(())
    })
    .leaning_on("cmdprio_percentage"),
    value("cmdprio", "Their level, as in prio", "0", |draft, text| {
        let level = whole(text, 0, 7)? as u8;
        draft.job.host.preferred.iter_mut().for_each(|preferred| preferred.io_level = level);
        Ok(())
    })
    .leaning_on("cmdprio_percentage"),
    value("cpus_allowed", "CPUs the threads may use", "0-3,6", put!(job.cpus, cpu_list)),
    value("cpumask", "The same as a bit mask", "0xf", |draft, text| {
        let mask = size(text, 1024)?.0;
        let cpus: Vec<u32> = (0..u64::BITS).filter(|bit| mask >> bit & 1 == 1).collect();
        draft.job.cpus = if cpus.is_empty() { return bad("the mask names no CPU") } else { Some(cpus) };
        Ok(())
    }),
    value("cpus_allowed_policy", "All CPUs for each thread, or one each", "shared, split", |draft, text| {
        draft.job.cpus_split = match text {
            "shared" => false,
            "split" => true,
            _ => return bad("give shared or split"),
        };
        Ok(())
    }),
];
