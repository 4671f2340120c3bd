//! The far side: runs what was ordered, in the guest.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use iostack_model::Nanos;
use serde_json::{Value, json};

use super::why::why;
use super::{ExecOrder, Piece, ProgramEnd, crash};
use crate::guest::{self, KernelLog, Ready};
use crate::host::programs::HOME;
use crate::targets::value;
use iostack_target::read_json;

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Time between two messages of progress, by the machine's own clock.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Word of a command that the place of the disk replaces.
const PLACE: &str = "{}";

/// Files that are to be brought back, and what was said before a power cut.
const RESULTS: &str = "/var/results";
pub(super) const SAID: &str = "/var/said";

/// Bytes of a file that are sent at once.
const PIECE: usize = 32 << 10;

/// True when the order is for this.
pub(crate) fn is_meant(order: &Value) -> bool {
    order.get("exec").is_some()
}

/// Does what is ordered.
pub(crate) fn run(order: &Value, ready: &Ready) -> Result<(), String> {
    let order: ExecOrder = read_json(&order.to_string()).map_err(|error| error.to_string())?;
    let place = ready.folder.as_deref().unwrap_or(&ready.path);
    guest::furnish()?;
    fs::create_dir_all(RESULTS).map_err(|error| format!("cannot make `{RESULTS}`: {error}"))?;
    if let Some(check) = &order.crash {
        return crash::look_at_all(check, ready);
    }
    let mut ended = ProgramEnd::default();
    if let Some(check) = &order.check {
        let said: String = order.said.iter().flat_map(|line| [line, "\n"]).collect();
        fs::write(SAID, said).map_err(|error| format!("cannot write `{SAID}`: {error}"))?;
        let words = ["sh", "-c", check].map(str::to_owned);
        ended = watched(&words, place, &order)?;
        value("checked", json!(ended.code));
    }
    if !order.exec.is_empty() && ended.code == 0 {
        crate::targets::settle()?;
        ended = watched(&order.exec, place, &order)?;
    }
    if order.results {
        send(Path::new(RESULTS), "")?;
    }
    value("ended", json!(ended));
    Ok(())
}

/// Starts it, and hears from the kernel why it failed when it did.
fn watched(words: &[String], place: &Path, order: &ExecOrder) -> Result<ProgramEnd, String> {
    let ended = started(words, place, order.cuts, order.record, None)?;
    ended.ok_or_else(|| "it has no limit".to_owned())
}

/// The same; none when it did not end within the limit, and was ended. With `stamped` its lines come with their moments.
pub(super) fn started(
    words: &[String],
    place: &Path,
    cuts: u32,
    stamped: bool,
    limit: Option<Duration>,
) -> Result<Option<ProgramEnd>, String> {
    let mut log = KernelLog::from_now();
    let ended = watch(command(words, place, cuts)?, &words[0], stamped, limit)?;
    Ok(ended.map(|ended| ProgramEnd { why: why(ended.code, &log.messages()), ..ended }))
}

/// Waits until the child has ended, and with it all that it left running.
fn watch(
    mut child: Child,
    name: &str,
    stamped: bool,
    limit: Option<Duration>,
) -> Result<Option<ProgramEnd>, String> {
    let started = Instant::now();
    let streams = [
        child.stdout.take().map(|stream| relay(stream, "out", stamped)),
        child.stderr.take().map(|stream| relay(stream, "error", false)),
    ];
    let (tell, told) = channel();
    // Whoever waits is woken by nothing else.
    let waits = thread::spawn(move || tell.send((child.wait(), started.elapsed())));
    let (status, elapsed) = loop {
        match told.recv_timeout(TELL_EVERY) {
            Ok(ended) => break ended,
            Err(_) if limit.is_some_and(|limit| started.elapsed() >= limit) => {
                crate::sys::guest::kill_others();
                return Ok(None);
            }
            Err(_) => value("runs", json!(started.elapsed().as_nanos() as u64)),
        }
    };
    let _it_has_sent = waits.join();
    let status = status.map_err(|error| format!("cannot wait for `{name}`: {error}"))?;
    // What it left running would hold its output open, and the file system.
    crate::sys::guest::kill_others();
    for stream in streams.into_iter().flatten() {
        let _it_cannot_panic = stream.join();
    }
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    Ok(Some(ProgramEnd { code, elapsed: Nanos(elapsed.as_nanos() as u64), why: None }))
}

fn command(words: &[String], place: &Path, cuts: u32) -> Result<Child, String> {
    let place_text = place.to_string_lossy();
    let words: Vec<String> = words.iter().map(|word| word.replace(PLACE, &place_text)).collect();
    let [program, arguments @ ..] = &words[..] else { return Err("no command was given".to_owned()) };
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", PATH).env("HOME", HOME).env("LANG", "C.UTF-8");
    // Nobody runs here who would tell device mapper that a disk is there.
    command.env("DM_DISABLE_UDEV", "1");
    command.env("IOSTACK_DISK", place).env("IOSTACK_RESULTS", RESULTS).env("IOSTACK_SAID", SAID);
    command.env("IOSTACK_CUTS", cuts.to_string()).current_dir(HOME).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    child.map_err(|error| {
        format!("cannot start `{program}` in the guest: {error}; is its package named with --with?")
    })
}

/// Tells each line as it comes.
fn relay(stream: impl Read + Send + 'static, name: &'static str, stamped: bool) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while stream.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            let text = String::from_utf8_lossy(&line);
            let text = text.strip_suffix('\n').unwrap_or(&text);
            value(name, if stamped { json!([text, iostack_host::monotonic_ns()]) } else { json!(text) });
            line.clear();
        }
    })
}

/// Sends the files of the folder and of those in it; links are left out.
fn send(folder: &Path, below: &str) -> Result<(), String> {
    let of = |error: std::io::Error| format!("cannot read `{}`: {error}", folder.display());
    let mut entries = fs::read_dir(folder).map_err(of)?.collect::<Result<Vec<_>, _>>().map_err(of)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = format!("{below}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().map_err(of)?;
        if kind.is_dir() {
            send(&entry.path(), &format!("{path}/"))?;
        } else if kind.is_file() {
            send_file(&entry.path(), &path).map_err(of)?;
        }
    }
    Ok(())
}

fn send_file(from: &Path, path: &str) -> std::io::Result<()> {
    let mut file = File::open(from)?;
    let (mut piece, mut first) = (Vec::new(), true);
    loop {
        piece.clear();
        file.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
        // An empty file is one, too.
        if piece.is_empty() && !first {
            return Ok(());
        }
        first = false;
        value("file", json!(Piece::encode(path.to_owned(), &piece)));
    }
}
