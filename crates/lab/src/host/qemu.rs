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

/// First version with which they were seen to take turns: 10.0.2. Version 7.2 stands still at the second one's start.
const TURNS_SINCE: u32 = 10;

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
        Qemu::of_tool(Tool::find(cache, PROGRAM, PACKAGE, say)?)
    }

    fn of_tool(tool: Tool) -> Result<Qemu, LabError> {
        let act = "start the emulator";
        let text =
            output(tool.command().arg("--version"), act, "; remove the cache's folder `tool` and try again")?;
        Ok(Qemu { tool, version: version_of(&text).unwrap_or_default() })
    }

    /// One that lets several processors take turns under a clock of instructions, in which all is as repeatable as with one:
    /// this, or a newer one of the distribution's backports.
    pub fn with_turns(&self, cache: &Cache, say: Say<'_>) -> Result<Qemu, LabError> {
        if takes_turns(&self.version) {
            return Ok(self.clone());
        }
        let newer = Tool::of_backports(cache, PROGRAM, PACKAGE, say)?;
        let newer = newer.map(Qemu::of_tool).transpose()?.filter(|newer| takes_turns(&newer.version));
        newer.ok_or_else(|| {
            LabError::Lacks(format!(
                "several processors that take turns want QEMU {TURNS_SINCE} or newer, and here is {}; install it, or leave \
                 out --processors",
                self.version
            ))
        })
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

fn takes_turns(version: &str) -> bool {
    version
        .split('.')
        .next()
        .and_then(|major| major.parse().ok())
        .is_some_and(|major: u32| major >= TURNS_SINCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_take_turns_from_version_10_on() {
        let said = "QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1~bpo12+1)\nCopyright";
        assert_eq!(version_of(said).as_deref(), Some("10.0.2"));
        let turns = ["7.2.22", "9.2.0", "10.0.2", "11.0", "", "ten"].map(takes_turns);
        assert_eq!(turns, [false, false, true, true, false, false]);
    }
}
