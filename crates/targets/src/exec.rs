//! A program in the lab's machine: what it writes comes back as it writes it.
//!
//! ```text
//!   near side: order ──► far side: furnish, start ──► lines, how far it is ──► near side: who hears
//! ```

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use iostack_lab::guest::{self, Message, Ready};
use iostack_lab::host::programs::HOME;
use iostack_lab::{Lab, Request};
use iostack_model::Nanos;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::outside::{self, Outside};
use crate::read_json;

/// How the order is told from a job.
const NAME: &str = "exec";

/// Where programs are.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How far it is is told this often, of the machine's own time.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// What stands for the place of the disk in a command.
const PLACE: &str = "{}";

/// What a program said and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Its exit code, or 128 and the signal that ended it.
    pub code: i32,
    /// How long it ran, by the machine's clock.
    pub elapsed: Nanos,
}

/// Who hears what a program does.
pub trait Listener {
    /// A line of its standard output, or of its standard error.
    fn line(&mut self, text: &str, error: bool);

    /// It runs since so long, by the machine's clock.
    fn runs(&mut self, elapsed: Nanos);

    /// The guest is up, with this kernel; or what it complained of.
    fn says(&mut self, text: &str);
}

/// Boots and runs the command on the request's device; gives how it ended, and its drive where that is simulated.
pub fn execute(
    lab: &Lab<'_>,
    request: &Request,
    seed: u64,
    command: &[String],
    listener: &mut dyn Listener,
) -> anyhow::Result<(Ended, Option<Outside>)> {
    let mut drive = Outside::of(request, seed)?;
    let order = json!({ NAME: command });
    let mut ended = None;
    let booted =
        lab.boot_with(request, guest::Work::Job(order), outside::drives(&mut drive), &mut |message| {
            let Message::Value { name, value } = message else {
                if let Message::Hello { release } = message {
                    listener.says(&format!("Linux {release} is up"));
                }
                return;
            };
            match (name.as_str(), value) {
                ("out", Value::String(line)) => listener.line(line, false),
                ("error", Value::String(line)) => listener.line(line, true),
                ("runs", Value::Number(ns)) => listener.runs(Nanos(ns.as_u64().unwrap_or_default())),
                ("ended", value) => ended = read_json::<Ended>(&value.to_string()).ok(),
                _ => {}
            }
        })?;
    for line in &booted.complaints {
        listener.says(&format!("the guest's kernel complained: {line}"));
    }
    let ended = ended.ok_or_else(|| anyhow::anyhow!("the guest did not say how the program ended"))?;
    if let Some(drive) = &mut drive {
        drive.over(ended.elapsed.0);
    }
    Ok((ended, drive))
}

/// True when the order is this one.
pub(crate) fn is_meant(order: &Value) -> bool {
    order.get(NAME).is_some()
}

/// The far side: runs it.
pub(crate) fn run(order: &Value, ready: &Ready) -> Result<(), String> {
    let words: Vec<String> =
        order[NAME].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    let place = ready.folder.as_deref().unwrap_or(&ready.path);
    guest::furnish()?;
    crate::lab::settle(ready)?;
    let started = Instant::now();
    let mut child = command(&words, place)?;
    let streams = [
        child.stdout.take().map(|stream| relay(stream, "out")),
        child.stderr.take().map(|stream| relay(stream, "error")),
    ];
    let (tell, told) = channel();
    // Whoever waits is woken by nothing else.
    let waits = thread::spawn(move || tell.send((child.wait(), started.elapsed())));
    let (status, elapsed) = loop {
        match told.recv_timeout(TELL_EVERY) {
            Ok(ended) => break ended,
            Err(_) => value("runs", json!(started.elapsed().as_nanos() as u64)),
        }
    };
    let _it_has_sent = waits.join();
    let status = status.map_err(|error| format!("cannot wait for `{}`: {error}", words[0]))?;
    // What it left running would hold its output open, and the file system.
    guest::end_others();
    for stream in streams.into_iter().flatten() {
        let _it_cannot_panic = stream.join();
    }
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    value("ended", json!(Ended { code, elapsed: Nanos(elapsed.as_nanos() as u64) }));
    Ok(())
}

fn command(words: &[String], place: &Path) -> Result<std::process::Child, String> {
    let place_text = place.to_string_lossy();
    let words: Vec<String> = words.iter().map(|word| word.replace(PLACE, &place_text)).collect();
    let [program, arguments @ ..] = &words[..] else { return Err("no command was given".to_owned()) };
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", PATH).env("HOME", HOME).env("LANG", "C.UTF-8");
    command.env("IOSTACK_DISK", place).current_dir(HOME).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    child.map_err(|error| {
        format!("cannot start `{program}` in the guest: {error}; is its package named with --with?")
    })
}

/// Tells each line as it comes.
fn relay(stream: impl Read + Send + 'static, name: &'static str) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while stream.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            let text = String::from_utf8_lossy(&line);
            value(name, json!(text.strip_suffix('\n').unwrap_or(&text)));
            line.clear();
        }
    })
}

fn value(name: &str, value: Value) {
    guest::tell(&Message::Value { name: name.to_owned(), value });
}
