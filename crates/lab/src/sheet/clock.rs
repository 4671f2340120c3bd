//! How many clocks does an instruction take on a real machine? What `check` measured, over what the lab counted.

use iostack_model::answers::{Check, Cost};
use iostack_model::{Storage, TargetKind};

/// Label of the measurement that is one read, alone, by psync.
const ALONE: &str = "psync, depth 1";

/// Time that a real machine took for a read that the lab counts, too.
#[derive(Clone, Debug, PartialEq)]
pub struct RealRead {
    /// Parts that have to be counted for it.
    pub parts: Vec<&'static str>,
    /// Clocks of its time-stamp counter.
    clocks: f64,
    /// Context switches an I/O.
    switches: f64,
    /// Kernel that it ran.
    pub release: String,
}

/// The read of a check, or why none of it can be compared with a count.
pub fn real_read(check: &Check) -> Result<RealRead, String> {
    let target = &check.target;
    if matches!(target.kind, TargetKind::Sim | TargetKind::Lab) {
        return Err(format!("it is of {target}, whose clocks nobody measured; check a real drive"));
    }
    let Storage { file_system, devices } = &check.storage;
    let driver = devices.last().map_or("none", |device| device.driver.as_str());
    let plain = devices.iter().all(|device| device.role == "disk" || device.role == "partition");
    let mut parts = match driver {
        "nvme" if plain => vec!["psync", "sleep"],
        "sd" if plain => vec!["psync", "scsi", "sleep"],
        _ => {
            let roles: Vec<&str> = devices.iter().map(|device| device.role.as_str()).collect();
            let what = if devices.is_empty() { "no block device".to_owned() } else { roles.join(" on ") };
            return Err(format!(
                "its storage is {what} (driver {driver}), which the lab does not count; check an NVMe or a SCSI or SATA drive"
            ));
        }
    };
    match file_system.as_ref().filter(|_| target.kind != TargetKind::Block).map(|one| one.kind.as_str()) {
        None => {}
        Some("ext4") => parts.push("ext4"),
        Some("xfs") => parts.push("xfs"),
        Some(other) => {
            return Err(format!("its file lay on {other}; check the block device itself, or ext4 or xfs"));
        }
    }
    let alone = check.summary.costs.iter().find(|cost| cost.label == ALONE);
    match alone {
        Some(&Cost { clocks_per_io, switches_per_io, .. }) if clocks_per_io > 0.0 => Ok(RealRead {
            parts,
            clocks: clocks_per_io,
            switches: switches_per_io,
            release: check.machine.kernel.release.clone(),
        }),
        _ => Err(format!(
            "it has no clocks of an I/O of `{ALONE}`; run `iostack check` with its step of engines"
        )),
    }
}

impl RealRead {
    /// Clocks of an instruction, and the words for it; `None` where a count is lacking. `of` has the instructions of a
    /// part's number.
    pub fn cpi(&self, of: &dyn Fn(&str, &str) -> Option<f64>) -> Option<(f64, String)> {
        let read = of(if self.parts.contains(&"scsi") { "scsi" } else { "psync" }, "read")?;
        let switch = of("sleep", "os.switch_out")? + of("sleep", "os.switch_in")? + of("sleep", "os.wake")?;
        let file_system = self.parts.iter().find(|part| ["ext4", "xfs"].contains(part));
        let through = file_system.map_or(Some(0.0), |part| of(part, "fs.clocks"))?;
        let instructions = read + switch * self.switches + through;
        let cpi = self.clocks / instructions;
        Some((
            cpi,
            format!("{:.0} clocks of a read measured over {instructions:.0} instructions", self.clocks),
        ))
    }
}

#[cfg(test)]
mod tests {
    use iostack_model::answers::Summary;
    use iostack_model::{BlockDevice, FileSystem, TargetName};

    use super::*;

    fn check(driver: &str, role: &str, kind: TargetKind, clocks_per_io: f64) -> Check {
        let mut check: Check =
            serde_json::from_str(include_str!("../../../report/tests/data/check.json")).expect("a check");
        let device =
            BlockDevice { driver: driver.to_owned(), role: role.to_owned(), ..BlockDevice::default() };
        check.storage = Storage { file_system: None, devices: vec![device] };
        check.target = TargetName { kind, path: "/dev/x".into() };
        let alone = Cost { clocks_per_io, switches_per_io: 0.5, ..check.summary.costs[0].clone() };
        check.summary = Summary { costs: vec![alone], ..check.summary };
        check
    }

    #[test]
    fn the_clocks_of_a_read_and_half_its_switches_are_shared_by_its_instructions() {
        let read = real_read(&check("nvme", "disk", TargetKind::Block, 16_500.0)).expect("a drive");
        let counted =
            [("read", 5000.0), ("os.switch_out", 300.0), ("os.switch_in", 300.0), ("os.wake", 400.0)];
        let of = |_: &str, key: &str| counted.iter().find(|one| one.0 == key).map(|one| one.1);
        let (cpi, how) = read.cpi(&of).expect("all are counted");
        assert!((cpi - 3.0).abs() < 1e-12, "{cpi}");
        assert_eq!(how, "16500 clocks of a read measured over 5500 instructions");
        assert_eq!(read.cpi(&|part, key| of(part, key).filter(|_| part != "sleep")), None);
    }

    #[test]
    fn what_the_lab_does_not_count_is_refused() {
        let refused = |check: &Check| real_read(check).expect_err("no drive");
        assert!(refused(&check("nvme", "disk", TargetKind::Sim, 9.0)).contains("nobody measured"));
        let looped = refused(&check("loop", "loop", TargetKind::Block, 9.0));
        assert!(looped.starts_with("its storage is loop (driver loop)"), "{looped}");
        assert!(refused(&check("nvme", "dm", TargetKind::Block, 9.0)).contains("does not count"));
        assert!(refused(&check("nvme", "disk", TargetKind::Block, 0.0)).contains("no clocks of an I/O"));
        let mut on_btrfs = check("nvme", "disk", TargetKind::Directory, 9.0);
        on_btrfs.storage.file_system = Some(FileSystem { kind: "btrfs".to_owned(), ..FileSystem::default() });
        assert!(refused(&on_btrfs).contains("lay on btrfs"));
        on_btrfs.target.kind = TargetKind::Block;
        assert!(real_read(&on_btrfs).is_ok(), "around the file system");
    }
}
