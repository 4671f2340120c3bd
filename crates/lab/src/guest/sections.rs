//! Which functions does the kernel have, and where are the sections of its modules?

use std::fs;
use std::path::Path;

use super::near_side::failed;

/// The kernel's own functions; modules' have their module behind them.
pub(super) fn symbols() -> Result<String, String> {
    let path = "/proc/kallsyms";
    let all = fs::read_to_string(path).map_err(failed("read", path))?;
    let functions = all.lines().filter(|line| {
        let kind = line.split(' ').nth(1);
        matches!(kind, Some("t" | "T" | "w" | "W")) && !line.ends_with(']')
    });
    Ok(functions.collect::<Vec<_>>().join("\n"))
}

/// Addresses of each loaded module's sections.
pub(super) fn sections() -> Vec<(String, Vec<(String, u64)>)> {
    let mut modules = Vec::new();
    for entry in fs::read_dir("/sys/module").into_iter().flatten().flatten() {
        let found = sections_of(&entry.path());
        if !found.is_empty() {
            modules.push((entry.file_name().to_string_lossy().into_owned(), found));
        }
    }
    modules
}

/// Addresses of the sections of the module with this folder below `/sys/module`.
pub(super) fn sections_of(module: &Path) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for section in fs::read_dir(module.join("sections")).into_iter().flatten().flatten() {
        let text = fs::read_to_string(section.path()).unwrap_or_default();
        if let Ok(address) = u64::from_str_radix(text.trim().trim_start_matches("0x"), 16) {
            found.push((section.file_name().to_string_lossy().into_owned(), address));
        }
    }
    found
}
