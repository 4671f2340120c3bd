//! Seastar's `io_properties.yaml` (doc/io-properties-file.md of scylladb/seastar).

use std::path::PathBuf;

use iostack_model::answers::Check;
use iostack_model::{Direction, TargetKind};

use super::{Exported, measured};

/// One disk. An error says why there is none: Seastar wants all four figures and a mount point.
pub fn seastar(check: &Check) -> Result<Exported, String> {
    let target = &check.target;
    let mount: PathBuf = match (&check.storage.file_system, target.kind) {
        (Some(system), _) => system.mount_point.clone(),
        (None, TargetKind::Directory) => target.path.clone(),
        _ => {
            return Err(format!(
                "`{target}` is mounted nowhere, and Seastar names a mount point; check a directory on it: iostack check DIR"
            ));
        }
    };
    let mut lines = Vec::new();
    let mut missing = Vec::new();
    for (direction, word) in [(Direction::Read, "read"), (Direction::Write, "write")] {
        let figures = [
            (format!("{word}_iops"), measured::iops(check, direction, false)),
            (format!("{word}_bandwidth"), measured::bandwidth(check, direction)),
        ];
        for (key, value) in figures {
            match value {
                Some(value) => lines.push(format!("    {key}: {value}\n")),
                None => missing.push(key),
            }
        }
    }
    if !missing.is_empty() {
        return Err(format!(
            "the check of `{target}` did not measure {}, which Seastar wants; check a directory, where it may write",
            missing.join(", ")
        ));
    }
    for (direction, word) in [(Direction::Read, "read"), (Direction::Write, "write")] {
        if let Some(size) = measured::saturation(check, direction) {
            lines.push(format!("    {word}_saturation_length: {}\n", size.0));
        }
    }
    // A text of JSON is one of YAML, whatever is in it.
    let mount = serde_json::Value::from(mount.display().to_string());
    let text = format!("disks:\n  - mountpoint: {mount}\n{}", lines.concat());
    let unsaid = "duplex is not said: reads and writes were measured apart";
    Ok(Exported { text, unsaid: vec![unsaid.to_owned()] })
}
