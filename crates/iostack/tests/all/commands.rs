//! Does every command in README.md and docs/*.md work as it is typed, and does every link lead somewhere?
//!
//!   page ──► commands ──► TRIALS ──► run in a folder of its own: exit code, and the lines that the page shows
//!                              └──► not run: `--help` must name each of its flags
//!
//! A command that no row of `TRIALS` fits fails the test. Start reading there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::shared::{IOSTACK, Room, iostack, names, printed, root, said};
use Trial::{Flags, Run};

/// Treatment of a command.
#[derive(Clone, Copy)]
enum Trial {
    /// It is cheap, and says the same each time: it is run, and ends with 0.
    Run,
    /// It needs a device, root, a running program, a boot or minutes: its flags are looked up in the help.
    Flags,
}

/// Words of "page: command"; the first row whose words are in it decides.
const TRIALS: &[(&str, Trial)] = &[
    ("docs/repro.md: ", Flags),  // written by `iostack repro`, and run by it
    ("experiments/lab/", Flags), // written by `iostack repro --lab`
    ("/dev/", Flags),
    ("/mnt/", Flags),
    ("sudo ", Flags),
    ("iostack lab ", Flags),
    ("lab:", Flags),
    ("my-linux.toml", Flags),
    ("my.toml", Flags), // fitted to what its reader measured
    ("--prediction ", Flags),
    ("--rank", Flags),
    ("check.json", Flags),
    ("mix.json", Flags),
    ("iostack check", Flags),
    ("iostack probe", Flags),
    ("iostack cost", Flags),
    ("iostack repro", Flags),
    ("iostack doctor", Run),
    ("iostack fio ", Run),
    ("iostack fleet ", Flags), // tried by python/tests/test_fleet_command.py
    ("iostack options", Run),
    ("iostack --version", Run),
    ("iostack manual", Flags), // into the reader's own folder
    ("iostack schema", Run),
    ("iostack serve", Flags), // a disk for whoever reads
    ("iostack sim ", Run),
    ("iostack history", Flags), // of what its reader keeps
    ("iostack why", Flags),     // of this host
    ("iostack compare ", Run),
    ("iostack report ", Run),
    ("sim:", Run),
];

/// Folders of the project that commands name.
const FOLDERS: [&str; 4] = ["jobs", "crates", "experiments", "kernel"];

/// Flags and signs behind which a file is named that the command writes.
const WRITES: [&str; 9] =
    [">", "-o", "--output", "--html", "--write", "--save-reference", "--timeline", "--perfetto", "--folded"];

/// Name and text of README.md, of each page of docs/ and of those that only the book has, in order.
fn pages() -> BTreeMap<String, String> {
    let pages = |folder: &'static str| {
        let pages = names(&root().join(folder)).into_iter().filter(|name| name.contains('.'));
        pages.map(move |name| format!("{folder}/{name}"))
    };
    let all = pages("docs").chain(pages("experiments/lab")).chain(["README.md".to_owned()]);
    all.map(|name| (name.clone(), std::fs::read_to_string(root().join(name)).expect("UTF-8"))).collect()
}

/// A command as a page has it, and what the page shows of its output.
struct Typed {
    place: String,
    text: String,
    shown: Vec<String>,
}

impl Typed {
    fn trial(&self, page: &str) -> Option<Trial> {
        let words = format!("{page}: {} ", self.text);
        TRIALS.iter().find(|(part, _)| words.contains(part)).map(|&(_, trial)| trial)
    }
}

/// The command on a line: in a block of output behind `$ `, in others and indented as it is, in a table as its cell.
fn command<'a>(line: &'a str, fence: Option<&str>) -> Option<&'a str> {
    let typed = match fence {
        Some("text") => line.strip_prefix("$ ")?,
        Some(_) => line.trim_start().trim_start_matches("$ "),
        None if line.starts_with('|') => line.split("| `").nth(1)?.split("` |").next()?,
        None => line.strip_prefix("    ")?,
    };
    (typed.starts_with("iostack ") || typed.starts_with("sudo iostack ")).then_some(typed)
}

fn commands(page: &str, text: &str) -> Vec<Typed> {
    let mut found: Vec<Typed> = Vec::new();
    let (mut fence, mut shows) = (None, false);
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            fence = if fence.is_none() { Some(language) } else { None };
            shows = false;
        } else if let Some(typed) = command(line, fence) {
            let mut whole = typed.to_owned();
            while whole.ends_with('\\') {
                whole.pop();
                whole += lines.next().expect("a command goes on").0.trim();
            }
            let text = whole.split(" #").next().expect("at least one").trim().to_owned();
            found.push(Typed { place: format!("{page}:{number}"), text, shown: Vec::new() });
            shows = fence == Some("text");
        } else if let (true, Some(last)) = (shows, found.last_mut()) {
            last.shown.push(line.to_owned());
        }
    }
    found
}

/// A room with what the commands of a page need.
fn furnished(page: &str, text: &str) -> Room {
    let room = Room::new(&page.replace('/', "-"));
    let link = |from: &Path, name: &str| {
        std::os::unix::fs::symlink(from, room.0.join(name)).expect("a link of our own");
    };
    room.folder("bin");
    link(Path::new(IOSTACK), "bin/iostack");
    for folder in FOLDERS {
        link(&root().join(folder), folder);
    }
    for (name, seed) in [("before.json", 1), ("after.json", 2)] {
        let run = format!("iostack run --on sim:zero --io-count 1000 --seed {seed} --json --output {name}");
        assert!(in_shell(&room, &run).status.success(), "{run}");
    }
    room.file("check.json", "{}"); // of a command that nobody runs here
    for block in text.split("```toml\n").skip(1) {
        if let Some(name) = block.strip_prefix("name = \"").and_then(|rest| rest.split('"').next()) {
            room.file(&format!("{name}.toml"), block.split("```").next().expect("its text"));
        }
    }
    room
}

/// Runs it in a shell, with at most 20 s of CPU time.
fn in_shell(room: &Room, text: &str) -> Output {
    let path = format!("{}:{}", room.path("bin"), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -t 20; {text}")]).current_dir(&room.0).env("PATH", path);
    shell.stdin(Stdio::null()).output().expect("sh is there")
}

/// Runs a command and compares what it prints; the error says what is wrong.
fn run(typed: &Typed, room: &Room) -> Result<(), String> {
    let output = in_shell(room, &typed.text);
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, said(&output)));
    }
    let text = printed(&output);
    let (mut lines, mut left_out) = (text.lines(), false);
    for line in &typed.shown {
        if line == "..." {
            left_out = true;
            continue;
        }
        let same = if left_out { lines.any(|other| other == line) } else { lines.next() == Some(line) };
        if !same {
            return Err(format!("it does not print, or not here: {line}"));
        }
        left_out = false;
    }
    Ok(())
}

/// Looks its long flags up in the help; the error names a missing one.
fn flags(typed: &Typed, helps: &mut BTreeMap<String, String>) -> Result<(), String> {
    let words: Vec<&str> =
        typed.text.split_whitespace().skip_while(|&word| word != "iostack").skip(1).collect();
    let depth = if matches!(words[0], "sim" | "lab") { 2 } else { 1 };
    let name = words[..depth].join(" ");
    let help = helps
        .entry(name.clone())
        .or_insert_with(|| printed(&iostack(&[&words[..depth], &["--help"]].concat())));
    if help.is_empty() {
        return Err(format!("there is no command `{name}`"));
    }
    let named: BTreeSet<&str> = help.split(|sign: char| !sign.is_alphanumeric() && sign != '-').collect();
    let flags = words.iter().take_while(|&&word| word != "--").filter(|word| word.starts_with("--"));
    let mut flags = flags.map(|word| word.split('=').next().expect("at least one"));
    let unknown = flags.find(|flag| !named.contains(flag));
    unknown.map_or(Ok(()), |flag| Err(format!("`iostack {name} --help` does not name {flag}")))
}

/// A file that the command reads, and that is neither here nor written by a command above it.
fn files(typed: &Typed, room: &Room, written: &mut BTreeSet<String>) -> Result<(), String> {
    let words: Vec<&str> = typed.text.split_whitespace().collect();
    for (index, word) in words.iter().enumerate() {
        let file =
            word.rsplit(['=', ':']).next().expect("at least one").trim_matches('\'').trim_start_matches("./");
        let in_project = FOLDERS.iter().any(|folder| file.starts_with(&format!("{folder}/")));
        let ends = [".toml", ".fio", ".json", ".spc", ".log", ".txt"].iter().any(|end| file.ends_with(end));
        if index > 0 && WRITES.contains(&words[index - 1]) {
            written.insert(file.to_owned());
        } else if (in_project || ends) && !room.0.join(file).exists() && !written.contains(file) {
            return Err(format!("there is no `{file}`"));
        }
    }
    Ok(())
}

#[test]
fn every_command_of_the_pages_works_as_it_is_typed() {
    let (mut ran, mut looked_up, mut wrong) = (0, 0, Vec::new());
    let mut helps = BTreeMap::new();
    for (page, text) in pages() {
        let room = furnished(&page, &text);
        let mut written = BTreeSet::new();
        for typed in commands(&page, &text) {
            let done = files(&typed, &room, &mut written).and_then(|()| match typed.trial(&page) {
                Some(Run) => run(&typed, &room).inspect(|()| ran += 1),
                Some(Flags) => flags(&typed, &mut helps).inspect(|()| looked_up += 1),
                None => Err("no row of TRIALS says what to do with it".to_owned()),
            });
            if let Err(what) = done {
                wrong.push(format!("{}: {}\n    {what}", typed.place, typed.text));
            }
        }
    }
    println!("{ran} commands ran, the flags of {looked_up} were looked up");
    assert!(wrong.is_empty(), "{} commands fail:\n{}", wrong.len(), wrong.join("\n"));
    assert!(ran > 30 && looked_up > 100, "{ran} ran, {looked_up} were looked up: are the pages read?");
}

#[test]
fn every_link_and_image_of_the_pages_leads_to_a_file() {
    let mut seen = 0;
    for (page, text) in pages() {
        let folder = root().join(if page == "README.md" { "" } else { "docs" });
        let prose = text.split("```").step_by(2).collect::<String>();
        for link in prose.split("](").skip(1) {
            let target = link.split(')').next().expect("at least one").split('#').next().expect("one");
            let here = target.is_empty() || target.starts_with("http");
            assert!(here || folder.join(target).exists(), "{page}: the link to `{target}` leads nowhere");
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen} links: are the pages read?");
}
