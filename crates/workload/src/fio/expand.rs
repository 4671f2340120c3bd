//! What do `${VARIABLE}` and `$ncpus` stand for?
//!
//! fio puts nothing in place of a variable that is not set, so `filename=${DEVICE}/x` becomes `/x`. That has cost people
//! data; we refuse instead.

use std::path::Path;

use super::ParseContext;

/// The page size of every machine this is built for (x86-64, and arm64 as distributed).
const PAGE_SIZE: &str = "4096";

/// Replaces variables and keywords in a value, or says what is wrong.
pub(super) fn expand(value: &str, context: &ParseContext) -> Result<String, String> {
    let mut expanded = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((name, after)) = behind.split_once('}') else {
            return Err("`${` is not closed by `}`".to_owned());
        };
        expanded.push_str(before);
        match (context.env)(name).filter(|text| !text.is_empty()) {
            Some(text) => expanded.push_str(&text),
            None => {
                return Err(format!("the environment variable `{name}` is not set; set it and try again"));
            }
        }
        rest = after;
    }
    expanded.push_str(rest);
    if expanded.contains("$mb_memory") {
        return Err("`$mb_memory` is not known; write the size".to_owned());
    }
    let keywords = expanded.contains("$ncpus") || expanded.contains("$pagesize");
    let number = expanded.replace("$ncpus", &context.cpus.to_string()).replace("$pagesize", PAGE_SIZE);
    if keywords || number.starts_with('(') { calculate(&number) } else { Ok(number) }
}

/// A pattern with the content of the files that it names, as in `'pattern.bin'`, in their place.
pub(super) fn with_files(pattern: String, context: &ParseContext) -> Result<String, String> {
    let Some((before, named)) = pattern.split_once('\'') else { return Ok(pattern) };
    let Some((name, behind)) = named.split_once('\'') else {
        return Err("a file's name stands between two `'`".to_owned());
    };
    let read =
        (context.include)(Path::new(name)).map_err(|error| format!("cannot read `{name}`: {error}"))?;
    let digit = |byte: u8| char::from_digit(u32::from(byte), 16).unwrap_or_default();
    let bytes: String = read.bytes().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    Ok(format!("{before}0x{bytes}{}", with_files(behind.to_owned(), context)?))
}

/// A product of whole numbers, in parentheses or not: the arithmetic that job files use with keywords. Anything
/// else stays as it is, for the option to judge.
fn calculate(text: &str) -> Result<String, String> {
    let inner = text.trim().strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    if !inner.contains('*') {
        return Ok(inner.trim().to_owned());
    }
    let factors: Option<Vec<u64>> = inner.split('*').map(|factor| factor.trim().parse().ok()).collect();
    factors
        .and_then(|factors| factors.into_iter().try_fold(1u64, u64::checked_mul))
        .map(|product| product.to_string())
        .ok_or_else(|| format!("cannot calculate `{text}`; only products of whole numbers, like 2*$ncpus"))
}
