//! Which format is this?

use std::io::BufRead;

use super::TraceFormat;
use super::blkparse::is_device;
use super::error::{TraceError, shown};
use super::parsed::direction;

/// Lines that are looked at: a few remarks may stand in front.
const LINES: usize = 20;

fn of_line(line: &str) -> Option<TraceFormat> {
    if line.starts_with("fio version ") {
        return Some(TraceFormat::FioIolog);
    }
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    if words.len() >= 6 && is_device(words[0]) {
        return Some(TraceFormat::Blkparse);
    }
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if fields.len() >= 6 && fields[0].eq_ignore_ascii_case("timestamp") {
        return Some(TraceFormat::MsrCsv);
    }
    let is_whole = |text: &str| text.parse::<u64>().is_ok();
    if fields.len() >= 5 && direction(fields[3]).is_ok() {
        // Where the one has the time in seconds, the other has the first byte.
        let is_msr = fields.len() >= 6 && is_whole(fields[4]) && is_whole(fields[5]) && !is_whole(fields[1]);
        let is_msr = is_msr || fields[3].len() > 1;
        return Some(if is_msr { TraceFormat::MsrCsv } else { TraceFormat::Spc });
    }
    let is_number = |text: &&str| text.parse::<f64>().is_ok();
    (words.len() == 5
        && words[..4].iter().all(is_number)
        && u32::from_str_radix(words[4].trim_start_matches("0x"), 16).is_ok())
    .then_some(TraceFormat::Disksim)
}

impl TraceFormat {
    /// The format that the first lines of a file are written in; `None` when none fits.
    pub fn detect(first_lines: &str) -> Option<TraceFormat> {
        first_lines.lines().take(LINES).find_map(of_line)
    }

    /// The same, of what a reader gives next; nothing is taken from it.
    pub fn detect_in(reader: &mut dyn BufRead, name: &str) -> Result<TraceFormat, TraceError> {
        let bytes = reader.fill_buf().map_err(|error| {
            TraceError::new(format!("cannot be read: {error}"), "see whether it is there and may be read")
                .at(name, 0)
        })?;
        if bytes.starts_with(&[0x1f, 0x8b]) {
            let remedy = "unpack it first (gunzip -k keeps the packed one)";
            return Err(TraceError::new("it is compressed", remedy).at(name, 1));
        }
        let text = String::from_utf8_lossy(bytes);
        TraceFormat::detect(&text).ok_or_else(|| {
            let names: Vec<&str> = TraceFormat::ALL.iter().map(|format| format.name()).collect();
            let what = match text.lines().next() {
                Some(line) => format!("`{}` does not tell which format this is", shown(line)),
                None => "it is empty".to_owned(),
            };
            TraceError::new(what, format!("name the format: {}", names.join(", "))).at(name, 1)
        })
    }
}
