//! What do the values of single fio options mean? The longer answers; the short ones stand in the table.

use iostack_model::{
    Access, BlockSizes, Bytes, Direction, Distribution, FileOrder, Follow, MemoryPolicy, Mix, Nanos, Order,
    Preferred, PreferredSize, RangeSync, Steadiness, SteadyFigure, SteadyLimit, Think, Verify, VerifyMode,
};

use super::draft::Draft;
use super::units::{microseconds, size, time};
use crate::Rng;
use crate::options::value::{
    Set, ValueError, bad, cpu_list, distribution, one_of, positive, refused, size_shares, switch, sync_flags,
    up_to, whole,
};

pub(super) const SECOND: u64 = 1_000_000_000;

/// A number of blocks, also with a unit: `1k` is 1024 of them.
pub(super) fn many(text: &str) -> Result<u32, ValueError> {
    let Bytes(blocks) = size(text, 1024)?;
    u32::try_from(blocks).or_else(|_| bad("give a number below 4g"))
}

pub(super) fn above_zero(number: u64) -> Option<u64> {
    Some(number).filter(|&number| number > 0)
}

pub(super) fn set_rw(draft: &mut Draft, text: &str) -> Set {
    let (word, tail) = text.split_once(':').unwrap_or((text, ""));
    let both = Mix { read: 0, write: 50, trim: 50 };
    let words = [
        ("read", (Mix::READ, false)),
        ("write", (Mix::WRITE, false)),
        ("rw", (Mix::reads(50), false)),
        ("randread", (Mix::READ, true)),
        ("randwrite", (Mix::WRITE, true)),
        ("randrw", (Mix::reads(50), true)),
        ("trim", (Mix::TRIM, false)),
        ("randtrim", (Mix::TRIM, true)),
        ("trimwrite", (both, false)),
        ("randtrimwrite", (both, true)),
    ];
    let (mix, random) = one_of(if word == "readwrite" { "rw" } else { word }, &words)?;
    draft.job.mix = mix;
    let kb_base = draft.kb_base;
    let more = |text: &str| size(text, kb_base).map(|Bytes(more)| more);
    draft.job.follow = Follow::NONE;
    draft.job.access = if random {
        if !tail.is_empty() {
            draft.job.follow.run = u32::try_from(more(tail)?).unwrap_or(0);
            if draft.job.follow.run == 0 {
                return bad("give how many I/Os share one random place, like randread:8");
            }
        }
        Access::PERMUTATION
    } else {
        match tail.strip_prefix('-') {
            Some(back) => Access::Backward { step: Bytes(more(back)?) },
            None if tail.is_empty() || more(tail)? == 0 => Access::Sequential,
            None => Access::Strided { gap: Bytes(more(tail)?) },
        }
    };
    Ok(())
}

pub(super) fn set_percentage_random(draft: &mut Draft, text: &str) -> Set {
    for (kept, typed) in
        draft.job.follow.random.iter_mut().zip(by_direction(text, |part| whole(part, 0, 100))?)
    {
        *kept = typed.map_or(*kept, |percent| percent as u8);
    }
    Ok(())
}

pub(super) fn set_file_service(draft: &mut Draft, text: &str) -> Set {
    let (order, every) = text.split_once(':').unwrap_or((text, "1"));
    if matches!(order, "zipf" | "pareto" | "normal" | "gauss") {
        return refused("all files are alike here; give random, sequential or roundrobin");
    }
    let (random, sequential) = (FileOrder::Random, FileOrder::Sequential);
    let words = [("random", random), ("sequential", sequential), ("roundrobin", FileOrder::Turns)];
    draft.job.file_turns.order = one_of(order, &words)?;
    draft.job.file_turns.every = positive(every)?;
    Ok(())
}

/// Sets the percent of reads of a job that does both.
pub(super) fn set_reads(draft: &mut Draft, percent: Result<u64, ValueError>) -> Set {
    let percent = percent?;
    let mix = &mut draft.job.mix;
    if mix.read > 0 && mix.write > 0 {
        *mix = Mix::reads(percent as u8);
    }
    Ok(())
}

pub(super) fn set_norandommap(draft: &mut Draft, text: &str) -> Set {
    let drawn = if switch(text)? { Order::Independent } else { Order::Permutation };
    if let Access::Random { order, distribution: Distribution::Uniform } = &mut draft.job.access {
        *order = drawn;
    }
    Ok(())
}

/// `60/1g:40/9g`: percent of the accesses, and bytes.
fn zones_by_bytes(text: &str, kb_base: u64) -> Result<Vec<(f64, Bytes)>, ValueError> {
    let zone = |part: &str| match part.split_once('/') {
        Some((percent, bytes)) => Ok((f64::from(up_to::<100>(percent)?), size(bytes, kb_base)?)),
        None => bad("give zones like 60/1g:40/9g"),
    };
    text.split(':').map(zone).collect()
}

/// Seconds, or a range of them of which the seed takes one.
pub(super) fn set_start_delay(draft: &mut Draft, text: &str) -> Set {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (time(first, SECOND)?, time(last, SECOND)?);
    let span = last.0.saturating_sub(first.0);
    draft.job.start_delay = Nanos(first.0 + Rng::from_seed(draft.job.seed).below(span.saturating_add(1)));
    Ok(())
}

/// Sets the goal of a steady rate: `iops:0.3%`, `bw_slope:0.1%`.
pub(super) fn set_steady(draft: &mut Draft, text: &str) -> Set {
    let (criterion, limit) = text.split_once(':').unwrap_or((text, ""));
    let (figure, limit_of): (_, fn(f64) -> SteadyLimit) = match criterion {
        "iops" => (SteadyFigure::Iops, SteadyLimit::Deviation),
        "iops_slope" => (SteadyFigure::Iops, SteadyLimit::Slope),
        "bw" => (SteadyFigure::Bandwidth, SteadyLimit::Deviation),
        "bw_slope" => (SteadyFigure::Bandwidth, SteadyLimit::Slope),
        _ => return bad("give iops, iops_slope, bw or bw_slope with a limit, like iops:0.3%"),
    };
    let Some(limit) = limit.strip_suffix('%') else {
        return refused("give the limit in percent of the mean, like iops:0.3%");
    };
    let Some(percent) = limit.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent >= 0.0)
    else {
        return bad("give a limit like 0.3%");
    };
    let (window, after) = (Nanos(0), Nanos(0));
    draft.job.until_steady = Some(Steadiness { figure, limit: limit_of(percent), window, after });
    Ok(())
}

pub(super) fn set_numa_memory(draft: &mut Draft, text: &str) -> Set {
    let (policy, nodes) = text.split_once(':').unwrap_or((text, ""));
    let policy = match policy {
        "default" => MemoryPolicy::Default,
        "prefer" => MemoryPolicy::Prefer,
        "bind" => MemoryPolicy::Bind,
        "interleave" => MemoryPolicy::Interleave,
        "local" => MemoryPolicy::Local,
        _ => return bad("give default, local, prefer:NODE, bind:NODES or interleave:NODES"),
    };
    let alone = matches!(policy, MemoryPolicy::Default | MemoryPolicy::Local);
    let nodes = if alone { Vec::new() } else { cpu_list(nodes)? };
    draft.job.host.numa.memory = Some((policy, nodes));
    Ok(())
}

/// Up to three values separated by commas: reads, writes, trims. As in fio, the last one given holds for those left
/// out, and one left empty says nothing.
pub(super) fn by_direction<T: Clone>(
    text: &str,
    read: impl Fn(&str) -> Result<T, ValueError>,
) -> Result<[Option<T>; 3], ValueError> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() > Direction::ALL.len() {
        return bad("give at most three values: for reads, writes and trims");
    }
    let mut values = [None, None, None];
    let mut last = None;
    for (index, value) in values.iter_mut().enumerate() {
        match parts.get(index) {
            Some(&"") => {}
            Some(part) => {
                *value = Some(read(part)?);
                last.clone_from(value);
            }
            None => value.clone_from(&last),
        }
    }
    Ok(values)
}

type SizeShares = Vec<(Bytes, u8)>;

fn set_sizes(draft: &mut Draft, text: &str, read: impl Fn(&str) -> Result<SizeShares, ValueError>) -> Set {
    let [reads, writes, trims] = by_direction(text, read)?;
    let BlockSizes { read, write, trim } = &mut draft.job.block_sizes;
    for (sizes, typed) in [(read, reads), (write, writes), (trim, trims)] {
        if let Some(typed) = typed {
            *sizes = typed;
        }
    }
    Ok(())
}

pub(super) fn set_bs(draft: &mut Draft, text: &str) -> Set {
    let kb_base = draft.kb_base;
    // As in fio: where there is no comma, the next mark of a list stands between reads, writes and trims.
    let marks = [',', ':', '-'];
    let mark = marks.into_iter().find(|&mark| text.contains(mark)).unwrap_or(',');
    set_sizes(draft, &text.replace(mark, ","), |part| match size(part, kb_base)? {
        Bytes(0) => bad("a block has at least 1 byte"),
        bytes => Ok(vec![(bytes, 100)]),
    })
}

pub(super) fn set_bssplit(draft: &mut Draft, text: &str) -> Set {
    let kb_base = draft.kb_base;
    draft.job.any_multiple = false;
    set_sizes(draft, text, |part| size_shares(part, |text| size(text, kb_base)))
}

/// More sizes than this cannot have a whole percent each.
const RANGE_STEPS: u64 = 100;

pub(super) fn set_bsrange(draft: &mut Draft, text: &str) -> Set {
    let (kb_base, any_size) = (draft.kb_base, draft.job.any_size);
    let range = |part: &str| {
        let Some((a, b)) = part.split_once(['-', ':']) else { return bad("give a range like 4k-16k") };
        let (a, b) = (size(a, kb_base)?.0, size(b, kb_base)?.0);
        if a.min(b) == 0 { bad("a block has at least 1 byte") } else { Ok((a.min(b), a.max(b))) }
    };
    let ranges = by_direction(text, range)?;
    let is_wide = ranges.iter().flatten().any(|(least, most)| most / least > RANGE_STEPS);
    draft.job.any_multiple = is_wide && !any_size;
    set_sizes(draft, text, |part| {
        let (least, most) = range(part)?;
        let steps = most / least;
        if any_size || is_wide {
            let most = if any_size { most } else { least * steps };
            return Ok(vec![(Bytes(least), 50), (Bytes(most), 50)]);
        }
        let share = |step: u64| (100 * step / steps - 100 * (step - 1) / steps) as u8;
        Ok((1..=steps).map(|step| (Bytes(least * step), share(step))).collect())
    })
}

pub(super) fn set_think_time(draft: &mut Draft, text: &str) -> Set {
    let time = microseconds(text)?;
    let think = draft.job.think.unwrap_or(Think { time, every: 1, spin: Nanos(0) });
    let think = Think { time, spin: think.spin.min(time), ..think };
    draft.job.think = (time.0 > 0).then_some(think);
    Ok(())
}

pub(super) fn set_distribution(draft: &mut Draft, text: &str) -> Set {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    if text.contains(',') {
        return refused("reads, writes and trims share one distribution; give one");
    }
    let typed = match kind {
        "random" => Distribution::Uniform,
        "zoned_abs" => {
            draft.zones_by_bytes = zones_by_bytes(rest, draft.kb_base)?;
            Distribution::Uniform
        }
        "zoned" => distribution(kind, rest)?,
        "zipf" | "pareto" | "normal" | "gauss" => {
            let (number, centre) = rest.split_once(':').unwrap_or((rest, ""));
            if !centre.is_empty() {
                return refused(
                    "the centre is not chosen; hot blocks are scattered, normal has its centre in the middle",
                );
            }
            distribution(kind, number)?
        }
        _ => return bad("give random, zipf:1.2, pareto:0.2, normal:20 or zoned:60/10:40/90"),
    };
    if let Access::Random { order, distribution } = &mut draft.job.access {
        if typed != Distribution::Uniform {
            *order = Order::Independent;
        }
        *distribution = typed;
    }
    Ok(())
}

/// The names that fio knows, from 1: those of `errno-base.h`.
const ERRORS: &str = "EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK \
     EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK \
     EPIPE EDOM ERANGE";

/// `EAGAIN,ENOSPC:122,EILSEQ`: of reads, of writes, of proofs. One list does not hold for those behind it.
pub(super) fn set_ignored_errors(draft: &mut Draft, text: &str) -> Set {
    let known = |typed: &str| (1..).zip(ERRORS.split(' ')).find(|(_, known)| *known == typed);
    let error = |typed: &str| match known(typed) {
        Some((number, _)) => Ok(number),
        None => whole(typed, 1, 4095)
            .map(|number| number as i32)
            .or_else(|_| bad("give errors like ENOSPC or 28")),
    };
    let mut lists = text.split(',').map(str::trim);
    for ignored in &mut draft.job.ignored_errors {
        let list = lists.next().unwrap_or_default();
        *ignored = list.split(':').filter(|typed| !typed.is_empty()).map(error).collect::<Result<_, _>>()?;
    }
    match lists.next() {
        None | Some("") => Ok(()),
        Some(_) => refused("data that does not verify is always a fault; give errors of reads and of writes"),
    }
}

/// `64k/25/1/1:64k/75/3/2,1m/0`: size, percent, and perhaps class and level; of reads, of writes.
pub(super) fn set_preferred_sizes(draft: &mut Draft, text: &str) -> Set {
    let kb_base = draft.kb_base;
    let level = |text: Option<&&str>, most| whole(text.unwrap_or(&"100"), 0, most).map(|number| number as u8);
    let one = |part: &str| {
        let parts: Vec<&str> = part.split('/').map(str::trim).collect();
        let priority = match parts.len() {
            2 => None,
            4 => Some((level(parts.get(2), 3)?, level(parts.get(3), 7)?)),
            _ => return bad("give sizes with shares, like 64k/25 or 64k/25/1/0"),
        };
        Ok(PreferredSize { size: size(parts[0], kb_base)?, percent: level(parts.get(1), 100)?, priority })
    };
    let [reads, writes, _] =
        by_direction(text, |list| list.split(':').map(one).collect::<Result<Vec<_>, _>>())?;
    let by_size = [reads.unwrap_or_default(), writes.unwrap_or_default()];
    draft.job.host.preferred = Some(Preferred { io_class: 1, by_size, ..Preferred::default() });
    Ok(())
}

pub(super) fn set_sync(draft: &mut Draft, text: &str) -> Set {
    let word = match text {
        "0" => "none",
        "1" => "sync",
        word => word,
    };
    (draft.job.sync.o_sync, draft.job.sync.o_dsync) = sync_flags(word)?;
    Ok(())
}

/// `wait_before,write:8`: what is done, and after how many writes.
pub(super) fn set_sync_range(draft: &mut Draft, text: &str) -> Set {
    let (kinds, every) = text.split_once(':').unwrap_or((text, "1"));
    let (mut range, every) = (RangeSync::default(), positive(every)?);
    for kind in kinds.split(',') {
        *(match kind.trim() {
            "wait_before" => &mut range.wait_before,
            "write" => &mut range.write,
            "wait_after" => &mut range.wait_after,
            _ => {
                return bad(
                    "give wait_before, write and wait_after, and a number of writes, like wait_before,write:8",
                );
            }
        }) = true;
    }
    draft.job.sync.range = Some(RangeSync { every, ..range });
    Ok(())
}

/// Checksums of fio's. Which one does not change what is asked of the storage: ours is crc32c.
const CHECKSUMS: &str = "crc32c, crc32c-intel, crc7, crc16, crc32, crc64, md5, sha1, sha256, sha512, sha3-224, sha3-256, \
     sha3-384, sha3-512, xxhash, meta";

pub(super) fn set_verify(draft: &mut Draft, text: &str) -> Set {
    let verify = draft.job.verify.unwrap_or(Verify::of_mode(VerifyMode::WriteThenRead));
    draft.job.verify = match text {
        "0" | "none" => None,
        "null" => return refused("it checks nothing; leave verify out"),
        // `pattern_hdr`: headers with the pattern between them.
        "pattern" | "pattern_hdr" => Some(Verify { pattern: text == "pattern", ..verify }),
        checksum if CHECKSUMS.split(", ").any(|known| known == checksum) => {
            Some(Verify { pattern: false, ..verify })
        }
        _ => return bad(format!("give one of {CHECKSUMS}")),
    };
    Ok(())
}

/// `read,write`: what of a trace is left out.
pub(super) fn set_replay_skip(draft: &mut Draft, text: &str) -> Set {
    let mut skip = [false; 4];
    for word in text.split(',').map(str::trim) {
        match ["read", "write", "trim", "sync"].iter().position(|known| *known == word) {
            Some(at) => skip[at] = true,
            None => return bad("give read, write, trim, sync, separated by commas"),
        }
    }
    draft.job.recorded.get_or_insert_default().skip = skip;
    Ok(())
}

/// Names separated by `:`; a name's own colon is written `\:`.
pub(super) fn colon_list(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    for part in text.split_inclusive(':') {
        let name = part.strip_suffix(':').unwrap_or(part);
        let (name, escaped) =
            name.strip_suffix('\\').map_or((name, false), |name| (name, part.ends_with(':')));
        // The list begins with one name and only grows.
        let Some(last) = names.last_mut() else { break };
        last.push_str(name);
        if escaped {
            last.push(':');
        } else if name.len() < part.len() && part.ends_with(':') {
            names.push(String::new());
        } else if part.ends_with('\\') {
            last.push('\\');
        }
    }
    names.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}
