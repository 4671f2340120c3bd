//! `--stages` and `--layers` in the guest, on the subsystems that this machine may lack: 97 reads are counted as 97.

use super::outcome;
use crate::turn::turn_or_skip;

/// Runs 97 reads, traced, and holds what was seen to it.
fn traced(device: &str, looks: &[&str]) {
    let on = format!("lab:{device}");
    let job =
        ["--pattern", "random", "--io-count", "97", "--ramp", "0s", "--size", "8m", "--json", "--quiet"];
    let all = [&["run", "--on", &on], &job[..], looks].concat();
    let outcome = outcome(&all);
    let stages = &outcome["stages"];
    assert_eq!((&stages["ios"], &stages["matched"], &stages["lost"]), (&97.into(), &97.into(), &0.into()));
    if looks.contains(&"--layers") {
        assert!(outcome["layers"].is_object(), "{outcome}");
    }
}

#[test]
fn ninety_seven_reads_of_a_scsi_disk_are_traced_as_97() {
    let _turn = turn_or_skip!("ninety_seven_reads_of_a_scsi_disk_are_traced_as_97", "6.1");
    traced("scsi_ram", &["--stages"]);
}

#[test]
#[ignore = "slow: three boots"]
fn ninety_seven_reads_of_sata_and_nvme_disks_are_traced_as_97() {
    let _turn = turn_or_skip!("ninety_seven_reads_of_sata_and_nvme_disks_are_traced_as_97", "6.1");
    traced("scsi_ram", &["--stages", "--layers"]);
    traced("ata_ram", &["--stages"]);
    traced("nvme", &["--stages"]);
}
