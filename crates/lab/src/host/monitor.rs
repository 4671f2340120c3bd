//! Words with a running emulator: its monitor, QMP, a line of JSON each way.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};

/// Time between two looks at something that ends soon.
const LOOK: Duration = Duration::from_millis(2);

/// Our end of the monitor.
pub(super) struct Monitor(BufReader<UnixStream>);

impl Monitor {
    /// Greets it. An answer that takes longer than `patience` is an error.
    pub(super) fn open(stream: UnixStream, patience: Duration) -> io::Result<Monitor> {
        stream.set_read_timeout(Some(patience))?;
        let mut monitor = Monitor(BufReader::new(stream));
        monitor.ask("qmp_capabilities", &json!({}))?;
        // The machine's memory is a file of ours.
        let alone = json!({"capabilities": [{"capability": "x-ignore-shared", "state": true}]});
        monitor.ask("migrate-set-capabilities", &alone)?;
        Ok(monitor)
    }

    /// Answer to a command. What the emulator tells unasked is passed over.
    pub(super) fn ask(&mut self, command: &str, arguments: &Value) -> io::Result<Value> {
        let line = json!({"execute": command, "arguments": arguments}).to_string();
        self.0.get_mut().write_all((line + "\n").as_bytes())?;
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line)? == 0 {
                return Err(io::Error::other(format!("the emulator ended at {command}")));
            }
            let mut told: Value = serde_json::from_str(&line)?;
            if let Some(answer) = told.get_mut("return") {
                return Ok(answer.take());
            }
            if let Some(error) = told.get("error") {
                return Err(io::Error::other(format!("{command}: {}", error["desc"])));
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
