//! `iostack-dkms`: the sources of the drivers, which DKMS builds for each kernel that the machine has.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::deb::Deb;
use super::{PackageSource, place};
use crate::process;

pub(super) const NAME: &str = "iostack-dkms";

/// Name of the drivers for DKMS, in `kernel/dkms.conf` and `xtask/debian/`.
const MODULES: &str = "iostack-drivers";

/// Lays the sources out and packages them.
pub(super) fn package(source: &PackageSource) -> Result<Vec<PathBuf>> {
    let root = source.fresh(NAME)?;
    let folder = root.join("usr/src").join(format!("{MODULES}-{}", source.version));
    // Those that git knows: a build in the tree leaves others beside them.
    let mut list = Command::new("git");
    let list = process::text(list.args(["ls-files", "-z", "kernel"]).current_dir(&source.root))?;
    let files: Vec<&str> = list.split('\0').filter(|path| !path.is_empty()).collect();
    ensure!(files.contains(&"kernel/dkms.conf"), "git knows no kernel/dkms.conf");
    for path in files {
        let below = path.strip_prefix("kernel/").context("git was asked for kernel/")?;
        place(&source.root.join(path), &folder.join(below))?;
    }
    Ok(vec![Deb::new(source, NAME, &[])?.build("all", &root)?])
}
