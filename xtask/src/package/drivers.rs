//! `iostack-dkms`: the sources of the drivers, which DKMS builds for each kernel that the machine has.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::deb::Deb;
use super::{Source, place};
use crate::process;

pub(super) const NAME: &str = "iostack-dkms";

/// Name of the drivers for DKMS, in `kernel/dkms.conf`.
const MODULES: &str = "iostack-drivers";

const LICENCES: &str = "\
Files: usr/src/*
Copyright: The iostack authors
License: GPL-2.0-only
 On Debian systems, the text of the GNU General Public License, version 2, is in
 /usr/share/common-licenses/GPL-2.

";

/// Lays the sources out and packages them.
pub(super) fn package(source: &Source) -> Result<Vec<PathBuf>> {
    let root = source.fresh(NAME)?;
    let version = source.version;
    let folder = root.join("usr/src").join(format!("{MODULES}-{version}"));
    // Those that git knows: a build in the tree leaves others beside them.
    let mut list = Command::new("git");
    let list = process::text(list.args(["ls-files", "-z", "kernel"]).current_dir(&source.root))?;
    let files: Vec<&str> = list.split('\0').filter(|path| !path.is_empty()).collect();
    ensure!(files.contains(&"kernel/dkms.conf"), "git knows no kernel/dkms.conf");
    for path in files {
        let below = path.strip_prefix("kernel/").context("git was asked for kernel/")?;
        place(&source.root.join(path), &folder.join(below))?;
    }
    let deb = Deb {
        name: NAME,
        architecture: "all",
        section: "kernel",
        fields: &[("Depends", "dkms (>= 2.8)"), ("Enhances", "iostack")],
        summary: "block devices in memory that show what a kernel layer costs (DKMS)",
        description: &[
            "The sources of scsi_ram, ata_ram and tmerge: a SCSI disk, a SATA disk and a",
            "DRAM-SSD in memory, whose parts can be switched off one by one. DKMS builds",
            "them for each installed kernel that has its headers. Nothing loads them by",
            "itself.",
        ],
        licences: LICENCES,
        overrides: &[],
        control: &[("postinst", postinst(version)), ("prerm", prerm(version))],
    };
    Ok(vec![deb.build(source, &root)?])
}

/// Script as `dh_dkms` writes it: DKMS brings the one that adds, builds and installs.
fn postinst(version: &str) -> String {
    format!(
        "#!/bin/sh\nset -e\nif [ \"$1\" = configure ]; then\n\
         \t/usr/lib/dkms/common.postinst {MODULES} {version} /usr/share/{NAME} \"\" \"$2\"\nfi\n"
    )
}

/// Removes the modules of every kernel; those of a package that was never built are no error.
fn prerm(version: &str) -> String {
    format!(
        "#!/bin/sh\nset -e\ncase \"$1\" in\nremove | upgrade | deconfigure)\n\
         \tdkms remove -m {MODULES} -v {version} --all || true\n\t;;\nesac\n"
    )
}
