//! How are values read? Shared by both vocabularies; each problem says what would be right.

use std::str::FromStr;

use iostack_model::{Access, Bytes, Distribution, Engine, Mix, Order, Zone};

/// Reason why a value was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueError {
    /// It makes no sense; what would.
    Bad(String),
    /// It makes sense, but is not done; why, and what to do instead.
    Refused(String),
}

pub(crate) type Set = Result<(), ValueError>;

pub(crate) fn bad<T>(problem: impl Into<String>) -> Result<T, ValueError> {
    Err(ValueError::Bad(problem.into()))
}

pub(crate) fn refused<T>(why: impl Into<String>) -> Result<T, ValueError> {
    Err(ValueError::Refused(why.into()))
}

/// Anything that says itself what is wrong with a text, like `Bytes` and `Nanos`.
pub(crate) fn parsed<T: FromStr<Err: std::fmt::Display>>(value: &str) -> Result<T, ValueError> {
    value.trim().parse().or_else(|error: T::Err| bad(error.to_string()))
}

/// Assigns a field of a job or of the draft of one: what was read, `kb` with the draft's base of units, `not` the opposite, `of` one of
/// these words, `=` this whatever is typed; `=>` a field of a part that may be missing.
macro_rules! put {
    ($($field:ident).+ => $part:ident, $read:expr) => {
        |job, text| {
            let value = $read(text)?;
            job.$($field).+.iter_mut().for_each(|part| part.$part = value);
            Ok(())
        }
    };
    ($($field:ident).+ $([$index:literal])?, kb $read:expr) => {
        |job, text| {
            job.$($field).+ $([$index])? = $read(text, job.kb_base)?.into();
            Ok(())
        }
    };
    ($($field:ident).+, of $words:expr) => {
        |job, text| $crate::options::value::assign(&mut job.$($field).+, $crate::options::value::one_of(text, &$words))
    };
    ($($field:ident).+, not $read:expr) => {
        |job, text| {
            job.$($field).+ = !$read(text)?;
            Ok(())
        }
    };
    ($($field:ident).+ = $value:expr) => {
        |job, _| {
            job.$($field).+ = $value.into();
            Ok(())
        }
    };
    ($($field:ident).+, $read:expr) => {
        |job, text| {
            job.$($field).+ = $read(text)?.into();
            Ok(())
        }
    };
}
pub(crate) use put;

/// Assigns what was read.
pub(crate) fn assign<T>(place: &mut T, read: Result<impl Into<T>, ValueError>) -> Set {
    *place = read?.into();
    Ok(())
}

/// The meaning of one of these words.
pub(crate) fn one_of<T: Clone>(text: &str, words: &[(&str, T)]) -> Result<T, ValueError> {
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text.trim()) {
        return Ok(value.clone());
    }
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let (last, others) = known.split_last().expect("a list of words has one");
    bad(format!("give {} or {last}", others.join(", ")))
}

/// `O_SYNC` and `O_DSYNC` of writes.
pub(crate) fn sync_flags(text: &str) -> Result<(bool, bool), ValueError> {
    one_of(text, &[("none", (false, false)), ("sync", (true, false)), ("dsync", (false, true))])
}

/// The switches of `io_uring`: fixed buffers, registered files, polling, a polling submitter; `None` of other engines.
pub(crate) fn ring_switches(engine: &mut Engine) -> Option<[&mut bool; 4]> {
    match engine {
        Engine::IoUring { fixed_buffers, registered_files, poll, submit_poll } => {
            Some([fixed_buffers, registered_files, poll, submit_poll])
        }
        _ => None,
    }
}

/// A whole number from `least` to `most`.
pub(crate) fn whole(value: &str, least: u64, most: u64) -> Result<u64, ValueError> {
    match value.trim().parse::<u64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ if most == u64::MAX => bad(format!("give a whole number, {least} or more")),
        _ => bad(format!("give a whole number from {least} to {most}")),
    }
}

/// [`whole`] for fields of 32 bits.
pub(crate) fn within<const LEAST: u32, const MOST: u32>(value: &str) -> Result<u32, ValueError> {
    whole(value, u64::from(LEAST), u64::from(MOST)).map(|number| number as u32)
}

/// A number of 32 bits from 1 on.
pub(crate) fn positive(value: &str) -> Result<u32, ValueError> {
    within::<1, { u32::MAX }>(value)
}

/// A number of 32 bits.
pub(crate) fn count(value: &str) -> Result<u32, ValueError> {
    within::<0, { u32::MAX }>(value)
}

/// A text as it was typed.
#[expect(clippy::unnecessary_wraps, reason = "a reader of values, like those that may refuse")]
pub(crate) fn text<T: for<'a> From<&'a str>>(value: &str) -> Result<T, ValueError> {
    Ok(T::from(value))
}

/// A number from 0 to `MOST`.
pub(crate) fn up_to<const MOST: u8>(value: &str) -> Result<u8, ValueError> {
    whole(value, 0, u64::from(MOST)).map(|number| number as u8)
}

/// A number of 64 bits.
pub(crate) fn any(value: &str) -> Result<u64, ValueError> {
    whole(value, 0, u64::MAX)
}

/// A finite number from `least` on.
pub(crate) fn number(value: &str, least: f64) -> Result<f64, ValueError> {
    match value.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number >= least => Ok(number),
        _ => bad(format!("give a number, {least} or more")),
    }
}

/// Events per second: a number above 0 that may end in `k` or `m` (thousands, millions).
pub(crate) fn per_second(value: &str) -> Result<f64, ValueError> {
    let lower = value.trim().to_ascii_lowercase();
    let (digits, factor) = match lower.strip_suffix(['k', 'm']) {
        Some(digits) if lower.ends_with('k') => (digits, 1e3),
        Some(digits) => (digits, 1e6),
        None => (lower.as_str(), 1.0),
    };
    match number(digits, 0.0).map(|rate| rate * factor) {
        Ok(rate) if rate > 0.0 => Ok(rate),
        _ => bad("give I/Os per second, like 500 or 20k"),
    }
}

/// `true`, `yes`, `on`, `1`, or nothing at all; `false`, `no`, `off`, `0`.
pub(crate) fn switch(value: &str) -> Result<bool, ValueError> {
    match value.trim().to_ascii_lowercase().as_str() {
        "" | "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => bad("give true or false"),
    }
}

/// `0-3,5`: CPU numbers and spans of them.
pub(crate) fn cpu_list(value: &str) -> Result<Vec<u32>, ValueError> {
    const MOST: u32 = 8191;
    let mut cpus = Vec::new();
    for part in value.split([',', ':']).map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) else {
            return bad("give CPU numbers, like 0,2 or 0-3");
        };
        if first > last || last > MOST {
            return bad(format!("`{part}` is no span of CPU numbers from 0 to {MOST}"));
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// Numbers from 0 to 100, separated by `:` or `,`.
pub(crate) fn percentiles(value: &str) -> Result<Vec<f64>, ValueError> {
    let list: Result<Vec<f64>, _> = value.split([':', ',']).map(|part| part.trim().parse::<f64>()).collect();
    match list {
        Ok(mut list) if list.iter().all(|p| (0.0..=100.0).contains(p)) => {
            list.sort_by(f64::total_cmp);
            list.dedup();
            Ok(list)
        }
        _ => bad("give percentiles from 0 to 100, like 50:99:99.9"),
    }
}

/// Sizes with shares: `4k`, `4k/60:64k/40`, `4k/60:64k/`; blanks share what is left, so the shares make 100.
pub(crate) fn size_shares(
    value: &str,
    size: impl Fn(&str) -> Result<Bytes, ValueError>,
) -> Result<Vec<(Bytes, u8)>, ValueError> {
    let mut shares: Vec<(Bytes, Option<u64>)> = Vec::new();
    for part in value.split(':') {
        let (typed, share) = part.split_once('/').unwrap_or((part, ""));
        let bytes = size(typed.trim())?;
        if bytes.0 == 0 {
            return bad("a block has at least 1 byte");
        }
        let share = share.trim().trim_end_matches('%');
        shares.push((bytes, if share.is_empty() { None } else { Some(whole(share, 0, 100)?) }));
    }
    let given: u64 = shares.iter().filter_map(|&(_, share)| share).sum();
    let blanks = shares.iter().filter(|(_, share)| share.is_none()).count() as u64;
    if given > 100 || (blanks == 0 && given < 100) {
        return bad(format!("the shares add up to {given} %; make them add up to 100"));
    }
    let mut blank = 0;
    let fill = |(bytes, share): (Bytes, Option<u64>)| {
        let share = share.unwrap_or_else(|| {
            blank += 1;
            // Rounded so that the parts add up to the whole.
            (100 - given) * blank / blanks - (100 - given) * (blank - 1) / blanks
        });
        (bytes, share as u8)
    };
    Ok(shares.into_iter().map(fill).collect())
}

/// `read`, `write`, `trim`, `70`, `70/30` or `70/20/10`: reads, writes, trims.
pub(crate) fn mix(value: &str) -> Result<Mix, ValueError> {
    for (word, mix) in [("read", Mix::READ), ("write", Mix::WRITE), ("trim", Mix::TRIM)] {
        if value.trim() == word {
            return Ok(mix);
        }
    }
    let parts: Result<Vec<u8>, _> = value.split('/').map(|part| part.trim().parse::<u8>()).collect();
    match parts.as_deref() {
        Ok([read]) if *read <= 100 => Ok(Mix::reads(*read)),
        Ok([read, write]) if u32::from(*read) + u32::from(*write) == 100 => Ok(Mix::reads(*read)),
        Ok([read, write, trim]) if u32::from(*read) + u32::from(*write) + u32::from(*trim) == 100 => {
            Ok(Mix { read: *read, write: *write, trim: *trim })
        }
        _ => bad(
            "write read, write, trim, or percents of reads, writes and trims that add up to 100, like 70/30",
        ),
    }
}

/// The random access that a word describes: `uniform`, `permutation`, `zipf:1.2`, `pareto:0.2`, `normal:20`, `hot:90/10`,
/// `zoned:60/10:40/90`.
pub(crate) fn access(value: &str) -> Result<Access, ValueError> {
    let (kind, rest) = value.split_once(':').unwrap_or((value, ""));
    let (order, distribution) = match (kind.trim(), rest) {
        ("uniform" | "random", "") => (Order::Independent, Distribution::Uniform),
        ("permutation", "") => (Order::Permutation, Distribution::Uniform),
        ("hot", rest) => {
            let hot = zones(&format!("{rest}:"))?;
            (Order::Independent, Distribution::Zoned(hot))
        }
        (kind, rest) => (Order::Independent, distribution(kind, rest)?),
    };
    Ok(Access::Random { order, distribution })
}

/// The distributions that fio has too, with the number behind the colon.
pub(crate) fn distribution(kind: &str, rest: &str) -> Result<Distribution, ValueError> {
    let bounded = |range: &str, holds: fn(f64) -> bool| match rest.trim().parse::<f64>() {
        Ok(number) if holds(number) => Ok(number),
        _ => bad(format!("give {kind}:N with N {range}")),
    };
    match kind {
        "zipf" => {
            let theta = bounded("above 0 and below 100, like zipf:1.2", |n| n > 0.0 && n < 100.0)?;
            Ok(Distribution::Zipf { theta })
        }
        "pareto" => {
            let h = bounded("between 0 and 1, like pareto:0.2", |n| n > 0.0 && n < 1.0)?;
            Ok(Distribution::Pareto { h })
        }
        "normal" | "gauss" => {
            let deviation_percent =
                bounded("above 0 and at most 100, like normal:20", |n| n > 0.0 && n <= 100.0)?;
            Ok(Distribution::Normal { deviation_percent })
        }
        "zoned" => Ok(Distribution::Zoned(zones(rest)?)),
        _ => {
            bad("give uniform, permutation, zipf:1.2, pareto:0.2, normal:20, hot:90/10 or zoned:60/10:40/90")
        }
    }
}

/// `60/10:30/20:10/`: percent of accesses over percent of the region. A blank takes what is left, and so does a last
/// part that is empty altogether.
fn zones(text: &str) -> Result<Vec<Zone>, ValueError> {
    const EXPECTED: &str = "give accesses/size in percent that each add up to 100, like 60/10:40/90";
    const MOST: usize = 256;
    let mut zones: Vec<Zone> = Vec::new();
    let (mut accesses_left, mut size_left) = (100.0, 100.0);
    for part in text.split(':') {
        let (access, size) = part.split_once('/').unwrap_or((part, ""));
        let percent = |text: &str, left: f64| match text.trim() {
            "" => Ok(left),
            text => text.parse::<f64>().or_else(|_| bad(EXPECTED)),
        };
        let zone =
            Zone { access_percent: percent(access, accesses_left)?, size_percent: percent(size, size_left)? };
        let sound = |share: f64| (0.0..=100.0).contains(&share);
        if !sound(zone.access_percent) || !sound(zone.size_percent) || zones.len() == MOST {
            return bad(EXPECTED);
        }
        accesses_left = f64::max(accesses_left - zone.access_percent, 0.0);
        size_left = f64::max(size_left - zone.size_percent, 0.0);
        zones.push(zone);
    }
    let sums = zones.iter().fold((0.0, 0.0), |sum, z| (sum.0 + z.access_percent, sum.1 + z.size_percent));
    if (sums.0 - 100.0f64).abs() > 0.01 || (sums.1 - 100.0f64).abs() > 0.01 {
        return bad(EXPECTED);
    }
    zones.retain(|zone| zone.size_percent > 0.0);
    Ok(zones)
}

/// Bytes as fio writes them: `0xdeadface` (as the bytes stand there), `"text"`, a decimal number (its bytes from the lowest), or several
/// in a row.
pub(crate) fn pattern(value: &str) -> Result<Vec<u8>, ValueError> {
    const EXPECTED: &str = "give bytes like 0xdeadface, \"text\" or 165";
    let mut bytes = Vec::new();
    let mut rest = value.trim();
    while !rest.is_empty() {
        if let Some(text) = rest.strip_prefix('"') {
            let Some((text, behind)) = text.split_once('"') else { return bad(EXPECTED) };
            bytes.extend_from_slice(text.as_bytes());
            rest = behind;
        } else if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            // The 0 of the next `0x` is no digit of this one.
            let end = if hex[end..].starts_with(['x', 'X']) { end.saturating_sub(1) } else { end };
            let digits = if end % 2 == 1 { format!("0{}", &hex[..end]) } else { hex[..end].to_owned() };
            for pair in digits.as_bytes().chunks(2) {
                let pair = std::str::from_utf8(pair).unwrap_or_default();
                bytes.push(u8::from_str_radix(pair, 16).or_else(|_| bad(EXPECTED))?);
            }
            rest = if end == 0 { return bad(EXPECTED) } else { &hex[end..] };
        } else {
            // Also in front of `0x`, whose 0 is no digit of it.
            let digits = rest.find("0x").or(rest.find("0X")).unwrap_or(rest.len());
            let number = &rest[..digits];
            let end = number.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(number.len());
            let number: i32 = number[..end].parse().or_else(|_| bad(EXPECTED))?;
            let all = number.to_le_bytes();
            let used = all.iter().rposition(|&byte| byte != 0).map_or(1, |last| last + 1);
            bytes.extend_from_slice(&all[..used]);
            rest = &rest[end..];
        }
    }
    if bytes.is_empty() { bad(EXPECTED) } else { Ok(bytes) }
}
