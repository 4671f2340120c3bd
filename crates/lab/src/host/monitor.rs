//! Words with a running emulator: its monitor, QMP, a line of JSON each way.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};

/// Time between two looks at something that ends soon.
const LOOK: Duration = Duration::from_millis(2);

/// An answer that takes longer is nudged: one emulator of some twenty, on a busy machine, gave none in three minutes.
const NUDGE: Duration = Duration::from_secs(2);

/// Nudges after which an answer is not waited for any more.
const NUDGES_MOST: u32 = 30;

/// Our end of the monitor.
pub(super) struct Monitor {
    stream: BufReader<UnixStream>,
    /// Questions so far; the number of each comes back with its answer.
    asked: u64,
}

impl Monitor {
    /// Greets the emulator.
    pub(super) fn open(stream: UnixStream) -> io::Result<Monitor> {
        stream.set_read_timeout(Some(NUDGE))?;
        let mut monitor = Monitor { stream: BufReader::new(stream), asked: 0 };
        monitor.ask("qmp_capabilities", &json!({}))?;
        // The machine's memory is a file of ours.
        let alone = json!({"capabilities": [{"capability": "x-ignore-shared", "state": true}]});
        monitor.ask("migrate-set-capabilities", &alone)?;
        Ok(monitor)
    }

    /// Answer to a command. What the emulator tells unasked is passed over.
    pub(super) fn ask(&mut self, command: &str, arguments: &Value) -> io::Result<Value> {
        self.asked += 1;
        self.send(&json!({"execute": command, "arguments": arguments, "id": self.asked}))?;
        loop {
            let mut told = self.told(command)?;
            if told["id"] != self.asked {
                continue;
            }
            return match told.get("error") {
                Some(error) => Err(io::Error::other(format!("{command}: {}", error["desc"]))),
                None => Ok(told["return"].take()),
            };
        }
    }

    fn send(&mut self, words: &Value) -> io::Result<()> {
        self.stream.get_mut().write_all(format!("{words}\n").as_bytes())
    }

    /// The next that it tells.
    fn told(&mut self, command: &str) -> io::Result<Value> {
        let (mut line, mut nudges) = (String::new(), 0);
        loop {
            match self.stream.read_line(&mut line) {
                Ok(0) => return Err(io::Error::other(format!("the emulator ended at {command}"))),
                Ok(_) => return Ok(serde_json::from_str(&line)?),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && nudges < NUDGES_MOST => {
                    nudges += 1;
                    self.send(&json!({"execute": "query-status", "id": "nudge"}))?;
                }
                Err(error) => return Err(io::Error::other(format!("no answer to {command}: {error}"))),
            }
        }
    }

    /// Waits until the machine stands.
    pub(super) fn stands(&mut self) -> io::Result<()> {
        while self.ask("query-status", &json!({}))?["running"] == true {
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// True when devices have moved, false when they still do.
    pub(super) fn has_moved(&mut self) -> io::Result<bool> {
        let told = self.ask("query-migrate", &json!({}))?;
        match told["status"].as_str() {
            Some("completed") => Ok(true),
            Some("failed" | "cancelled") => {
                let why = told["error-desc"].as_str().unwrap_or("its devices do not move");
                Err(io::Error::other(why.to_owned()))
            }
            _ => {
                std::thread::sleep(LOOK);
                Ok(false)
            }
        }
    }
}
