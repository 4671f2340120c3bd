//! In which files, and with what of the machine?

use std::path::PathBuf;

use iostack_model::{Advice, Preferred};

use super::{Row, row};
use crate::fio::set::{by_direction, colon_list, set_file_service, set_numa_memory, set_preferred_sizes};
use crate::fio::units::size;
use crate::options::value::{
    assign, bad, cpu_list, one_of, put, refused, switch, text, up_to, whole, within,
};

/// Lifetimes in the order of their numbers, from 1.
const LIFETIMES: [(&str, u8); 5] = [("none", 1), ("short", 2), ("medium", 3), ("long", 4), ("extreme", 5)];

pub(super) const ROWS: &[Row] = &[
    row("filename", |draft, text| {
        draft.filenames = colon_list(text);
        if text.contains("$job") || text.contains("$filenum") {
            return bad("$jobname, $jobnum and $filenum stand for something in filename_format only");
        }
        Ok(())
    })
    .says("Files or devices to use, separated by `:`", "/dev/nvme0n1"),
    row("directory", |draft, text| {
        draft.directories = colon_list(text).into_iter().map(PathBuf::from).collect();
        Ok(())
    })
    .says("Where files are made", "/mnt/test"),
    row("filename_format", put!(filename_format, text::<String>))
        .says("Names of the files made", "$jobname.$jobnum.$filenum"),
    row("nrfiles", put!(job.file_count, within::<1, 65535>)).says("Files each thread makes", "4").or(&["nr_files"]),
    row("file_service_type", set_file_service)
        .says("Which file comes next: roundrobin, random or sequential; after N I/Os", "random, roundrobin:8"),
    row("create_only", put!(job.beforehand.is_all, switch)).says("Make the files, and do nothing else", "1"),
    row("pre_read", put!(job.beforehand.reads, switch))
        .says("Read the files into the page cache first", "1"),
    row("allow_file_create", put!(job.beforehand.makes_none, not switch))
        .says("Make files that are missing", "1"),
    row("fill_device", put!(fills, switch))
        .says("Go on to the end of the device, or of the file that is there, whatever size says", "1")
        .or(&["fill_fs"]),
    row("fadvise_hint", |draft, text| {
        let (random, sequential) = (Some(Advice::Random), Some(Advice::Sequential));
        let words = [("0", None), ("1", Some(Advice::ByAccess)), ("random", random), ("sequential", sequential)];
        draft.job.beforehand.advice = if text == "none" { None } else { one_of(text, &words)? };
        Ok(())
    })
    .says("Tell the kernel the order of buffered I/O", "0, 1, random, sequential"),
    row("uid", put!(job.host.user, within::<0, { u32::MAX - 1 }>))
        .says("Number of the user as whom the threads open files and do I/O", "1000"),
    row("gid", put!(job.host.group, within::<0, { u32::MAX - 1 }>))
        .says("Number of their group", "1000"),
    row("mem", |draft, text| {
        draft.job.host.huge_pages = match text.split_once(':').map_or(text, |(kind, _)| kind) {
            "malloc" | "shm" | "mmap" | "mmapshared" => false,
            "shmhuge" | "mmaphuge" => true,
            "cudamalloc" => {
                return refused("no memory of a graphics processor is used; give malloc or mmaphuge");
            }
            _ => return bad("give malloc, shm, mmap, mmapshared, shmhuge or mmaphuge"),
        };
        Ok(())
    })
    .says("Buffers in huge pages of 2 MiB, or not", "malloc, shm, mmap, shmhuge, mmaphuge")
    .or(&["iomem"]),
    row("write_hint", |draft, text| {
        draft.job.host.write_hint = if text == "0" { None } else { Some(one_of(text, &LIFETIMES)?) };
        Ok(())
    })
    .says("How long what is written will live", "none, short, medium, long, extreme"),
    row("atomic", put!(job.host.flags.atomic, switch))
        .says("Writes are done whole or not at all; with libaio or pvsync2, and direct", "1"),
    row("uncached", put!(job.host.flags.uncached, switch))
        .says("Leave nothing in the page cache; with libaio or pvsync2", "1"),
    row("nowait", put!(job.host.flags.nowait, switch))
        .says("Fail instead of waiting; with libaio or pvsync2", "1"),
    row("unlink_each_loop", put!(unlinks_each_loop, switch))
        .says("Remove them between two passes: nothing where there is one; refused with loops", "1"),
    row("unlink", put!(job.unlink, switch)).says("Remove the files this job made", "1"),
    row("ioscheduler", |draft, text| {
        // The names of before multiple queues.
        let name = match text {
            "noop" => "none",
            "deadline" => "mq-deadline",
            name => name,
        };
        assign(&mut draft.job.host.scheduler, Ok(name.to_owned()))
    })
    .says("Scheduler of the disk below while the job runs; put back afterwards", "none"),
    row("lockmem", put!(job.host.locked, kb size))
        .says("Memory that each thread locks, so that less is left", "1g"),
    row("numa_cpu_nodes", put!(job.host.numa.cpu_nodes, cpu_list))
        .says("Nodes whose CPUs the threads may use", "0,1"),
    row("numa_mem_policy", set_numa_memory)
        .says("Where the threads' memory lies: local, prefer:0, bind:0-1, interleave:0-1", "local, prefer:0"),
    row("nice", |draft, text| {
        draft.job.host.priority.nice = match text.parse() {
            Ok(nice @ -20..=19) => nice,
            _ => return bad("give -20 to 19"),
        };
        Ok(())
    })
    .says("Of the threads: -20, preferred, to 19", "10"),
    row("prio", put!(job.host.priority.io_level, up_to::<7>))
        .says("Among disk requests: 0, preferred, to 7", "3"),
    row("prioclass", put!(job.host.priority.io_class, up_to::<3>))
        .says("Class of disk requests: 1 real time, 2 best effort, 3 idle", "2"),
    row("cmdprio_percentage", |draft, text| {
        let [reads, writes, _] = by_direction(text, |part| Ok(whole(part, 0, 100)? as u8))?;
        let percent = [reads.unwrap_or(0), writes.unwrap_or(0)];
        draft.job.host.preferred =
            (percent != [0, 0]).then(|| Preferred { percent, io_class: 1, ..Preferred::default() });
        Ok(())
    })
    .says("Percent of the reads, and of the writes, that carry cmdprio_class and cmdprio; with libaio or io_uring", "10, 30,0"),
    row("cmdprio_bssplit", set_preferred_sizes)
        .says("Percent of the I/Os of each size that carry cmdprio_class and cmdprio, or a class and level of their own", "64k/100:1024k/0, 64k/25/1/1:64k/75/3/2"),
    row("cmdprio_class", put!(job.host.preferred => io_class, up_to::<3>))
        .says("Their class, as in prioclass", "1")
        .leaning_on("cmdprio_percentage"),
    row("cmdprio", put!(job.host.preferred => io_level, up_to::<7>))
        .says("Their level, as in prio", "0")
        .leaning_on("cmdprio_percentage"),
    row("cpus_allowed", put!(job.cpus, cpu_list)).says("CPUs the threads may use", "0-3,6"),
    row("cpumask", |draft, text| {
        let mask = size(text, 1024)?.0;
        let cpus: Vec<u32> = (0..u64::BITS).filter(|bit| mask >> bit & 1 == 1).collect();
        draft.job.cpus = if cpus.is_empty() { return bad("the mask names no CPU") } else { Some(cpus) };
        Ok(())
    })
    .says("The same as a bit mask", "0xf"),
    row("cpus_allowed_policy", put!(job.cpus_split, of [("shared", false), ("split", true)]))
        .says("All CPUs for each thread, or one each", "shared, split"),
];
