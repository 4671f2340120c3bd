//! The emulator: the machine's own, or fetched.

use std::path::Path;
use std::process::Command;

use super::cache::Cache;
use super::command::output;
use super::packages::Say;
use super::tool::Tool;
use crate::LabError;

const PROGRAM: &str = "qemu-system-x86_64";
const PACKAGE: &str = "qemu-system-x86";

/// An emulator that runs.
#[derive(Clone, Debug)]
pub struct Qemu {
    tool: Tool,
    /// Version of the emulator, such as `7.2.22`.
    pub version: String,
}

impl Qemu {
    /// The installed one if there is one, else the distribution's, unpacked in the cache.
    pub fn choose(cache: &Cache, say: Say<'_>) -> Result<Qemu, LabError> {
        let tool = Tool::find(cache, PROGRAM, PACKAGE, say)?;
        let act = "start the emulator";
        let text =
            output(tool.command().arg("--version"), act, "; remove the cache's folder `tool` and try again")?;
        Ok(Qemu { tool, version: version_of(&text).unwrap_or_default() })
    }

    /// File of the program.
    pub fn program(&self) -> &Path {
        self.tool.program()
    }

    /// A command line that begins with the program, its libraries and its firmware.
    pub fn command(&self) -> Command {
        let mut command = self.tool.command();
        if let Some(root) = self.tool.root() {
            command.env("QEMU_MODULE_DIR", root.join("usr/lib/x86_64-linux-gnu/qemu"));
            for folder in ["usr/share/qemu", "usr/share/seabios"] {
                command.arg("-L").arg(root.join(folder));
            }
        }
        command
    }
}

/// Version in `QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)`.
fn version_of(text: &str) -> Option<String> {
    let word = text.lines().next()?.split(' ').nth(3)?;
    Some(word.trim().to_owned())
}
