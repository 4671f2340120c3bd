//! Do job files as people write them work, and does no text whatever make the parsers fall over?

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use iostack_model::Bytes;
use iostack_workload::{
    JobFile, JobFileError, ParseContext, Plan, Rng, parse_fio, parse_toml, region, validate,
};

/// The job files of a folder with this extension; the folder stands below the crate's.
fn job_files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|own| own == extension)).collect();
    files.sort();
    files
}

fn corpus() -> Vec<PathBuf> {
    job_files("tests/corpus", "fio")
}

fn parse_text(text: &str, path: &Path, lenient: bool) -> Result<JobFile, JobFileError> {
    let env = |name: &str| (name == "DEVICE").then(|| "/dev/nvme0n1".to_owned());
    let include = |path: &Path| {
        // What a mutated name leads to need not exist, but must not lead out of the corpus.
        if path.is_absolute() && !path.starts_with(env!("CARGO_MANIFEST_DIR")) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        fs::read_to_string(path)
    };
    parse_fio(text, path, &ParseContext { env: &env, include: &include, lenient, cpus: 4 })
}

fn parse(path: &Path, lenient: bool) -> Result<JobFile, JobFileError> {
    parse_text(&fs::read_to_string(path).expect("readable"), path, lenient)
}

#[test]
fn the_corpus_parses_and_its_jobs_can_be_planned() {
    let files = corpus();
    assert!(files.len() >= 15, "only {} files", files.len());
    let mut jobs = 0;
    for path in &files {
        let file = parse(path, false).unwrap_or_else(|error| panic!("{error}"));
        assert!(file.skipped.is_empty());
        for job in &file.jobs {
            let size = Bytes::gib(100);
            validate(job, size, Bytes(512))
                .unwrap_or_else(|error| panic!("{} [{}]: {error}", path.display(), job.name));
            let region = region(job, size, 1, 0).expect("valid");
            let mut ops = Vec::new();
            Plan::new(job, region, 1, 0).expect("valid").fill(&mut ops, 100);
            assert!(!ops.is_empty());
            assert_eq!(job.file_names(0).len(), job.file_count as usize);
            jobs += 1;
        }
    }
    println!("{} files, {jobs} jobs", files.len());
}

#[test]
fn fio_accepts_the_corpus_too() {
    if Command::new("fio").arg("--version").output().is_err() {
        println!("SKIPPED fio_accepts_the_corpus_too: fio is not installed");
        return;
    }
    for path in corpus().iter().chain(&job_files("../../jobs", "fio")) {
        // fio looks for includes in its working directory; its parser opens nothing else.
        let output = Command::new("fio")
            .arg("--parse-only")
            .arg(path)
            .current_dir(path.parent().expect("in a folder"))
            .env("DEVICE", "/dev/nvme0n1")
            .output()
            .expect("fio runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", path.display());
    }
}

#[test]
fn the_files_to_copy_from_parse() {
    let [toml, fio] = ["toml", "fio"].map(|extension| job_files("../../jobs", extension));
    assert!(toml.len() >= 4 && fio.len() >= 2, "{toml:?} {fio:?}");
    for path in toml.iter().chain(&fio) {
        let text = fs::read_to_string(path).expect("readable");
        let native = path.extension().is_some_and(|extension| extension == "toml");
        let file = if native { parse_toml(&text, path) } else { parse_text(&text, path, false) };
        for job in file.unwrap_or_else(|error| panic!("{error}")).jobs {
            validate(&job, Bytes::gib(100), Bytes(512))
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

#[test]
fn fios_own_examples_parse() {
    let files = job_files("/usr/share/doc/fio/examples", "fio");
    if files.is_empty() {
        println!("SKIPPED fios_own_examples_parse: no /usr/share/doc/fio/examples on this machine");
        return;
    }
    let (mut strict, mut lenient) = (0, 0);
    for path in &files {
        strict += usize::from(parse(path, false).is_ok());
        lenient += usize::from(parse(path, true).is_ok());
        if let Err(error) = parse(path, false) {
            println!("{error}");
        }
    }
    println!("{} files: {strict} strictly, {lenient} leniently", files.len());
    assert!(strict * 3 >= files.len(), "{strict} of {}", files.len());
    assert!(lenient * 3 >= files.len() * 2, "{lenient} of {}", files.len());
}

/// Texts that parsers may stumble over.
const PIECES: &str = "= [ ] : , / % - \\ \" ; # \n ${ } $ncpus ( ) * 0x µ é \0 999999999999999999999 -1 0 kib include include= \
     [global]\n [a]\n zipf: zoned: bssplit= numjobs=9\n 4k/ \r\n \u{feff} [[job]]\n [defaults]\n";

fn mutated(text: &str, rng: &mut Rng) -> String {
    String::from_utf8_lossy(&crate::mutated(text.as_bytes(), PIECES, rng)).into_owned()
}

#[test]
fn no_text_makes_the_fio_parser_panic() {
    let seed = 20_260_601;
    let mut rng = Rng::from_seed(seed);
    let (mut parsed, mut refused) = (0, 0);
    for path in corpus() {
        let text = fs::read_to_string(&path).expect("readable");
        for round in 0..200 {
            let text = mutated(&text, &mut rng);
            match parse_text(&text, &path, round % 2 == 0) {
                Ok(file) => {
                    parsed += 1;
                    for job in file.jobs.iter().take(4) {
                        // Whatever was made of it is either refused or can be planned.
                        let _ = validate(job, Bytes::gib(1), Bytes(512));
                    }
                }
                Err(error) => {
                    refused += 1;
                    assert!(
                        !error.problems.is_empty() && !error.to_string().is_empty(),
                        "seed {seed}: {text}"
                    );
                }
            }
        }
    }
    println!("seed {seed}: {parsed} parsed, {refused} refused");
    assert!(parsed > 500 && refused > 500, "{parsed} {refused}: the mutations test nothing");
}

#[test]
fn no_text_makes_the_toml_parser_panic() {
    let base = "[defaults]\nblock_size = \"4k\"\nruntime = '10s'\n[[job]]\nname = \"a\"\nqueue_depth = 32\n\
                distribution = \"hot:90/10\"\ncpus = [0, 1]\nsize = 50.5\n[[job]]\nengine = \"io_uring\"\npoll = true\n\
                rate = 0x10\ndata = \"pattern:0xab\"\n";
    let mut rng = Rng::from_seed(7);
    let mut parsed = 0;
    for _ in 0..4000 {
        let text = mutated(base, &mut rng);
        match parse_toml(&text, Path::new("x.toml")) {
            Ok(_) => parsed += 1,
            Err(error) => assert!(!error.problems.is_empty(), "{text}"),
        }
    }
    assert!((50..3950).contains(&parsed), "{parsed} of 4000 parsed");
}
