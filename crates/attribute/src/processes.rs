//! Which processes are there, and what did they read and write?

use std::collections::HashMap;
use std::path::Path;

use iostack_host::TaskStat;

/// A process and all that it and its children started and that still run, as `/proc` tells it now.
pub fn descendants(first: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let stat = TaskStat::of_task(Path::new(&format!("/proc/{pid}")));
        if let Some(parent) = stat.and_then(|stat| stat.field(4)) {
            children.entry(parent as u32).or_default().push(pid);
        }
    }
    let mut found = vec![first];
    let mut next = 0;
    while let Some(process) = found.get(next) {
        found.extend(children.remove(process).into_iter().flatten());
        next += 1;
    }
    found
}

/// Read and write calls that a process and the children it waited for made up to now (`/proc/PID/io`); `None` when that
/// may not be read.
pub fn calls(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let field =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    Some(field("syscr:")? + field("syscw:")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_of_a_child_is_found_and_a_parent_is_not() {
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "sleep 60 & echo $!; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let mut line = String::new();
        let out = shell.stdout.as_mut().expect("piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("it tells");
        let grandchild = line.trim().parse::<u32>().expect("a number");
        let (ours, below) = (descendants(std::process::id()), descendants(shell.id()));
        let _sent = std::process::Command::new("kill").args([line.trim()]).status();
        let _ended = shell.wait();
        assert!(ours.contains(&grandchild) && ours.contains(&shell.id()), "{ours:?}");
        assert_eq!(below, [shell.id(), grandchild]);
    }
}
