//! What does a fio command line ask?
//!
//! ```text
//!   --output-format=json --bs=4k --name=a --rw=randread --name=b job.fio
//!   └ of fio itself      └ global └ [a]   └ its option  └ [b]    └ after them, behind the globals
//! ```
//!
//! As fio reads it (`parse_cmd_line` in fio's `init.c`): `--name` begins a job; what stands before the first holds for
//! all, and for the first job file; words without a dash are job files; a value follows `=` or is the next word. Start
//! reading at [`parse_fio_command`].

use std::io;
use std::path::{Path, PathBuf};

use super::lexer::{FilePlace, Section, TypedOption};
use super::own::{FioAsked, FioInstead, OWN, REFUSED, Takes};
use super::{FioParser, JobFile, JobFileError, ParseContext, Problem, lexer, others, table};
use crate::options::option::suggest;
use crate::options::value::{ValueError, bad, refused};

/// Command line of fio: jobs, and options of fio itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioCommand {
    /// Those of the command line, then those of the files.
    pub file: JobFile,
    /// Options of fio itself.
    pub asked: FioAsked,
}

/// The jobs of a command line without the program's name, and what it asks of fio itself. `read` gives a job file's text.
pub fn parse_fio_command(
    words: &[String],
    context: &ParseContext,
    read: &dyn Fn(&Path) -> io::Result<String>,
) -> Result<FioCommand, JobFileError> {
    let mut line = CommandLine::default();
    line.words(words);
    let CommandLine { sections, asked, problems } = line;
    if matches!(&asked.instead, Some(instead) if !matches!(instead, FioInstead::Parse | FioInstead::Show)) {
        return Ok(FioCommand { file: JobFile::default(), asked });
    }
    let mut parser = FioParser::new(context, problems);
    let mut global: Vec<TypedOption> = Vec::new();
    let mut drafts = parser.sections(sections, &mut global);
    for (number, path) in asked.files.iter().enumerate() {
        let text = match read(path) {
            Ok(text) => text,
            Err(error) => {
                let what = format!("cannot read the job file: {error}");
                parser.problems.push(Problem { path: path.clone(), line: 0, what });
                continue;
            }
        };
        // A file knows nothing of the file before it, and begins when that has ended.
        if number > 0 {
            global.clear();
        }
        let (sections, problems) = lexer::sections(&text, path, context);
        parser.problems.extend(problems);
        let mut of_file = parser.sections(sections, &mut global);
        if let Some(first) = of_file.first_mut().filter(|_| number > 0) {
            first.draft.job.stonewall = true;
        }
        drafts.extend(of_file);
    }
    let nothing = place().problem("no job in it; begin one with --name=job1, or name a job file");
    Ok(FioCommand { file: parser.file(drafts, nothing)?, asked })
}

/// Name of the place of a problem that stands in no file.
const COMMAND_LINE: &str = "command line";

/// A command line that is being read.
#[derive(Default)]
struct CommandLine {
    sections: Vec<Section>,
    asked: FioAsked,
    problems: Vec<Problem>,
}

fn place() -> FilePlace {
    FilePlace { path: PathBuf::from(COMMAND_LINE), line: 0 }
}

impl CommandLine {
    fn words(&mut self, words: &[String]) {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(option) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
                self.asked.files.push(PathBuf::from(word));
                continue;
            };
            let option = option.strip_prefix('-').unwrap_or(option);
            if option.is_empty() {
                self.asked.files.extend(words.by_ref().map(PathBuf::from));
                return;
            }
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None if takes(name_of(option)) == Takes::Value => (option, words.next().cloned()),
                None => (option, None),
            };
            self.option(name_of(name), value);
        }
    }

    fn option(&mut self, name: &str, value: Option<String>) {
        let own = OWN.iter().find(|own| own.name == name);
        let done = match (own, &value) {
            (None, _) => match REFUSED.iter().find(|(refused, ..)| *refused == name) {
                Some((.., why)) => refused(*why),
                None => return self.of_a_job(name, value),
            },
            (Some(own), None) if own.takes == Takes::Value => bad("a value is missing"),
            (Some(own), Some(_)) if own.takes == Takes::Nothing => bad("it takes no value"),
            (Some(own), _) => (own.set)(&mut self.asked, value.as_deref().unwrap_or_default()),
        };
        if let Err(ValueError::Bad(what) | ValueError::Refused(what)) = done {
            let value = value.map_or_else(String::new, |value| format!("={value}"));
            self.problems.push(place().problem(format!("`--{name}{value}`: {what}")));
        }
    }

    fn of_a_job(&mut self, name: &str, value: Option<String>) {
        if !super::knows(name) {
            let own = OWN.iter().map(|own| own.name);
            let near = suggest(name, own.chain(super::names()));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `--{near}`?"));
            return self.problems.push(place().problem(format!("no option `--{name}`{near}")));
        }
        let section = |name: &str| Section { name: name.to_owned(), place: place(), options: Vec::new() };
        match &value {
            Some(job) if name == "name" => self.sections.push(section(job)),
            _ if self.sections.is_empty() => self.sections.push(section("global")),
            _ => {}
        }
        let last = self.sections.last_mut().expect("there is one now");
        last.options.push(TypedOption { name: name.to_owned(), value, place: place() });
    }
}

/// fio's short names, and as much of a long one as no other begins with (`getopt_long_only(3)`).
fn name_of(typed: &str) -> &str {
    match typed {
        "h" => "help",
        "v" => "version",
        other => whole_name(other),
    }
}

fn whole_name(typed: &str) -> &str {
    let own = OWN.iter().map(|own| own.name).chain(REFUSED.iter().map(|(name, ..)| *name));
    let mut begun: Vec<&str> = own.chain(super::names()).filter(|name| name.starts_with(typed)).collect();
    begun.sort_unstable();
    begun.dedup();
    if let [one] = begun[..] { one } else { typed }
}

/// Says how an option without `=` gets its value.
fn takes(name: &str) -> Takes {
    let own = OWN.iter().map(|own| (own.name, own.takes));
    let all = own.chain(REFUSED.iter().map(|(name, takes, _)| (*name, *takes)));
    if let Some((_, takes)) = all.into_iter().find(|(known, _)| *known == name) {
        return takes;
    }
    let alone = table::find(name).map_or_else(|| others::may_stand_alone(name), |row| row.may_stand_alone);
    // A log's prefix may be left out in a file; at a command line it is the next word.
    let log = name.starts_with("write_") && name.ends_with("_log");
    if alone && !log || !super::knows(name) { Takes::Maybe } else { Takes::Value }
}

#[cfg(test)]
mod tests {
    use iostack_model::{Bytes, Direction, Engine, Mix, Nanos};

    use super::super::own::FioFormat;
    use super::*;

    fn parse(line: &str) -> Result<FioCommand, JobFileError> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let context =
            ParseContext { env: &|_| None, include: &|_| Ok(String::new()), lenient: false, cpus: 2 };
        parse_fio_command(&words, &context, &|path| match path.to_str() {
            Some("a.fio") => Ok("[global]\niodepth=3\n[x]\nrw=write\n[y]\n".to_owned()),
            Some("b.fio") => Ok("[z]\n".to_owned()),
            Some("ring.fio") => Ok("[r]\nioengine=io_uring\n".to_owned()),
            _ => Err(io::ErrorKind::NotFound.into()),
        })
    }

    fn problems(line: &str) -> Vec<String> {
        parse(line).expect_err(line).problems.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn a_name_begins_a_job_and_what_stands_before_holds_for_all() {
        let command = parse("--bs=8k --name=a --rw=randread --numjobs 2 -iodepth=4 --name b --bs=16k");
        let jobs = command.expect("three").file.jobs;
        let seen: Vec<_> = jobs
            .iter()
            .map(|job| (job.name.as_str(), job.block_sizes.largest(), job.queue_depth, job.thread_first))
            .collect();
        let kib = |kib: u64| Bytes(kib << 10);
        assert_eq!(seen, [("a", kib(8), 4, 0), ("a", kib(8), 4, 1), ("b", kib(16), 1, 0)]);
        assert_eq!(jobs[0].options_global, [("bs".to_owned(), "8k".to_owned())]);
        let jobs = parse("--name=global --rw=write --name=c").expect("one").file.jobs;
        assert_eq!((jobs.len(), jobs[0].mix), (1, Mix::WRITE));
    }

    #[test]
    fn as_much_of_a_name_as_no_other_begins_with_is_enough() {
        let jobs = parse("--nam=a --iodepth=4 --blocksize_r=4k-8k --minim").expect("one").file.jobs;
        assert_eq!(
            (jobs[0].name.as_str(), jobs[0].queue_depth),
            ("a", 4),
            "iodepth is whole, though others begin with it"
        );
        assert!(problems("--name=a --iod=4")[0].contains("no option `--iod`"));
    }

    #[test]
    fn files_come_behind_and_the_globals_hold_for_the_first() {
        let jobs = parse("a.fio --bs=8k b.fio --name=w").expect("four").file.jobs;
        let seen: Vec<_> = jobs
            .iter()
            .map(|job| {
                (
                    job.name.as_str(),
                    job.block_sizes.of(Direction::Read)[0].0.0,
                    job.queue_depth,
                    job.stonewall,
                )
            })
            .collect();
        assert_eq!(
            seen,
            [("w", 8192, 1, false), ("x", 8192, 3, false), ("y", 8192, 3, false), ("z", 4096, 1, true)]
        );
        let jobs = parse("a.fio --name=w --bs=8k").expect("three").file.jobs;
        let sizes: Vec<u64> = jobs.iter().map(|job| job.block_sizes.largest().0).collect();
        assert_eq!(sizes, [8192, 4096, 4096], "what stands behind a name is its own");
        let jobs = parse("--bs=8k a.fio b.fio").expect("three").file.jobs;
        let sizes: Vec<u64> = jobs.iter().map(|job| job.block_sizes.largest().0).collect();
        assert_eq!(sizes, [8192, 8192, 4096]);
        // What it refines stands in the file.
        let engine = parse("--fixedbufs ring.fio").expect("one").file.jobs[0].engine;
        assert!(matches!(engine, Engine::IoUring { fixed_buffers: true, .. }), "{engine:?}");
    }

    #[test]
    fn a_switch_takes_no_word_but_a_value_does() {
        let jobs = parse("--name=a --thread --time_based --runtime 5 --ioengine libaio a.fio").expect("it");
        assert_eq!(jobs.asked.files, [PathBuf::from("a.fio")]);
        let job = &jobs.file.jobs[0];
        assert!(job.time_based && job.engine == Engine::Libaio, "{job:?}");
        let files = parse("--name=a -- a.fio").expect("it").asked.files;
        assert_eq!(files, [PathBuf::from("a.fio")]);
    }

    #[test]
    fn the_switches_are_those_that_fio_takes_without_a_value() {
        let help = |name: &str| std::process::Command::new("fio").arg(format!("--cmdhelp={name}")).output();
        if help("bs").is_err() {
            println!("SKIPPED the_switches_are_those_that_fio_takes_without_a_value: fio is not installed");
            return;
        }
        let mut seen = 0;
        for name in super::super::names() {
            let said = String::from_utf8(help(name).expect("it ran before").stdout).expect("text");
            // Options of single engines are told elsewhere.
            let Some(kind) = said.lines().find_map(|line| line.trim().strip_prefix("type: ")) else {
                continue;
            };
            assert_eq!(kind.starts_with("empty or"), takes(name) == Takes::Maybe, "{name}: {kind}");
            seen += 1;
        }
        assert!(seen > 150, "{seen} options");
    }

    #[test]
    fn what_is_asked_of_fio_itself_is_no_jobs() {
        let asked =
            parse("--output-format=json,normal --output x --eta=never --section=a --section b --name=a");
        let asked = asked.expect("it").asked;
        assert_eq!(asked.formats, [FioFormat::Json, FioFormat::Normal]);
        assert_eq!(asked.output, Some(PathBuf::from("x")));
        assert_eq!(asked.sections, ["a", "b"]);
        assert!(asked.quiet);
        let formats = parse("--append-terse --name=a").expect("it").asked.formats;
        assert_eq!(formats, [FioFormat::Normal, FioFormat::Terse]);
        let asked = parse("--minimal --status-interval=1 --name=a").expect("it").asked;
        assert_eq!((asked.formats, asked.status_every), (vec![FioFormat::Terse], Some(Nanos::secs(1))));
        for (line, instead) in [
            ("--version", FioInstead::Version),
            ("-h", FioInstead::Help),
            ("--cmdhelp=bs", FioInstead::OptionHelp("bs".to_owned())),
            ("--cmdhelp", FioInstead::OptionHelp(String::new())),
            ("--showcmd a.fio", FioInstead::Show),
        ] {
            assert_eq!(parse(line).expect(line).asked.instead, Some(instead), "{line}");
        }
    }

    #[test]
    fn all_problems_of_a_line_are_said_at_once() {
        assert_eq!(
            problems("--name=a --iodeph=4 --client=host --bs=4x --output-format=xml nowhere.fio"),
            [
                "command line: `--client=host`: jobs run on this machine; start iostack on each, by ssh",
                "command line: `--output-format=xml`: give normal, terse, json or json+",
                "command line: `bs=4x`: give a size like 512, 4k, 1m, 2g or 0x1000",
                "command line: no option `--iodeph`; did you mean `--iodepth`?",
                "nowhere.fio: cannot read the job file: entity not found",
            ]
        );
        let unread = "nowhere.fio: cannot read the job file: entity not found";
        assert_eq!(problems("nowhere.fio"), [unread], "told once");
        assert_eq!(
            problems("--rw=read"),
            ["command line: no job in it; begin one with --name=job1, or name a job file"]
        );
        for (every, said) in [("9ms", "give 10ms or more"), ("0", "give 10ms or more")] {
            let line = format!("--name=a --status-interval={every}");
            assert_eq!(problems(&line), [format!("command line: `--status-interval={every}`: {said}")]);
        }
        assert_eq!(problems("--name=a --output"), ["command line: `--output`: a value is missing"]);
        assert_eq!(problems("--name=a --minimal=1"), ["command line: `--minimal=1`: it takes no value"]);
    }
}
