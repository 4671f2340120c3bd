//! What do the tests share? The program, what it says, a folder for each test, and children that do not outlive theirs.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

pub(crate) const IOSTACK: &str = env!("CARGO_BIN_EXE_iostack");

/// The program with these arguments.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(IOSTACK);
    command.args(arguments);
    command
}

pub(crate) fn iostack(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the binary was built")
}

/// Runs the words of a line in a folder.
pub(crate) fn iostack_in(folder: &Path, line: &str) -> Output {
    let words: Vec<&str> = line.split_whitespace().collect();
    command(&words).current_dir(folder).output().expect("the binary was built")
}

/// Text on stderr.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Text on stdout.
pub(crate) fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Text on both.
pub(crate) fn heard(output: &Output) -> String {
    printed(output) + &said(output)
}

/// Exit 2, and stderr names every one of `words`.
pub(crate) fn refused(output: &Output, words: &[&str]) {
    let talk = said(output);
    assert_eq!(output.status.code(), Some(2), "{talk}");
    for word in words {
        assert!(talk.contains(word), "`{word}` is missing in: {talk}");
    }
}

/// False, said aloud, where fio is not installed.
pub(crate) fn has_fio(test: &str) -> bool {
    let found = Command::new("fio").arg("--version").output().is_ok();
    if !found {
        println!("SKIPPED {test}: fio is not installed");
    }
    found
}

/// Names of the commands that a help lists between its usage and its options, without `help`.
pub(crate) fn listed_commands(help: &str) -> Vec<String> {
    let blocks = help.split("\n\n").skip_while(|block| !block.starts_with("Usage:")).skip(1);
    let lists = blocks.take_while(|block| !block.starts_with("Arguments:") && !block.starts_with("Options:"));
    let rows = lists.flat_map(str::lines).filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let is_name =
        |word: &&str| word.starts_with(|letter: char| letter.is_ascii_lowercase()) && *word != "help";
    rows.filter(is_name).map(str::to_owned).collect()
}

/// Schema that `iostack schema` prints of a command's JSON.
pub(crate) fn schema(name: &str) -> Value {
    let output = iostack(&[&["schema"], &name.split_whitespace().collect::<Vec<_>>()[..]].concat());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{name}: {error}: {}", said(&output)))
}

/// Holds JSON that the command `typed` printed to a schema.
pub(crate) fn holds(name: &str, json: &Value, typed: &str) {
    let found = iostack_testkit::schema::faults(&schema(name), json);
    assert!(found.is_empty(), "{typed}: {found:#?}");
}

/// Root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a directory").map(|entry| entry.expect("readable"));
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A directory of one test, removed at its end. No two tests may give it one name.
pub(crate) struct Room(pub(crate) PathBuf);

impl Room {
    pub(crate) fn new(test: &str) -> Room {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("the target directory is ours");
        Room(path)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.0.join(name), content).expect("a file of our own");
        self.path(name)
    }

    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(&path).expect("a new folder");
        path
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A command that runs until it is dropped. The lab's machine ends with it.
pub(crate) struct Started(pub(crate) Child);

impl Started {
    /// Begins it; both streams are kept for [`Started::end`].
    pub(crate) fn heard(command: &mut Command) -> Started {
        Started::by(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    pub(crate) fn by(command: &mut Command) -> Started {
        Started(command.spawn().expect("the binary was built"))
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.0.id().to_string()]).status();
        assert!(sent.expect("every system has kill").success());
    }

    /// Waits until it has a handler for SIGINT: bit 1 of the signals that it catches (proc(5), `SigCgt`).
    pub(crate) fn until_it_listens(&self) {
        let path = format!("/proc/{}/status", self.0.id());
        for _ in 0..3000 {
            let status = fs::read_to_string(&path).expect("it runs");
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("proc(5)");
            if u64::from_str_radix(caught.trim(), 16).expect("hexadecimal") & 0b10 != 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("SIGINT was never heard");
    }

    /// Exit code, stdout and stderr, as far as they were not read yet.
    pub(crate) fn end(mut self) -> (Option<i32>, String, String) {
        let (mut data, mut talk) = (String::new(), String::new());
        self.0.stdout.take().expect("piped").read_to_string(&mut data).expect("text");
        if let Some(mut stderr) = self.0.stderr.take() {
            stderr.read_to_string(&mut talk).expect("text");
        }
        (self.0.wait().expect("it ends").code(), data, talk)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
