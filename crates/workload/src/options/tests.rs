//! Do the words mean what the tables say?

use iostack_model::*;

use super::*;

#[test]
fn words_mean_what_the_file_says_and_nonsense_leaves_the_job_alone() {
    crate::meanings::check("src/options/meanings.txt", |options| {
        let mut job = Job::default();
        for option in options.split(' ') {
            let (name, value) = option.split_once('=').expect("an option has a value");
            let before = job.clone();
            if let Err(error) = set_option(&mut job, name, value) {
                assert_eq!(job, before);
                return Err(error.to_string());
            }
        }
        Ok(job)
    });
}

#[test]
fn every_example_of_a_supported_option_is_accepted() {
    for option in options_reference().iter().filter(|option| option.status == Status::Supported) {
        for example in option.example.split(", ") {
            for name in option.aliases.iter().chain([&option.name]) {
                match option.dialect {
                    Dialect::Native => accepted_by_flag(name, example),
                    Dialect::Fio => accepted_by_fio_parser(name, example),
                }
            }
        }
        assert!(!option.meaning.is_empty() && !option.meaning.ends_with('.'), "{}", option.name);
    }
}

fn accepted_by_flag(name: &str, example: &str) {
    let mut job = Job { engine: Engine::IO_URING, access: Access::UNIFORM, ..Job::default() };
    job.rate = Some(Rate { iops: 1.0, arrival: Arrival::Regular });
    job.verify = Some(Verify::of_mode(VerifyMode::WriteThenRead));
    set_option(&mut job, name, example).unwrap_or_else(|error| panic!("{name}={example}: {error}"));
}

fn accepted_by_fio_parser(name: &str, example: &str) {
    let text = format!(
        "[first]\nsize=1g\n[a]\nioengine=io_uring\nverify=crc32c\nsize=1g\nzonesize=1g\n{name}={example}\n"
    );
    let include = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let context = crate::ParseContext { env: &|_| None, include: &include, lenient: false, cpus: 8 };
    crate::parse_fio(&text, "a.fio".as_ref(), &context).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn no_name_stands_twice_in_a_table() {
    for dialect in [Dialect::Native, Dialect::Fio] {
        let mut names: Vec<&str> = Vec::new();
        for option in options_reference().iter().filter(|option| option.dialect == dialect) {
            names.push(option.name);
            names.extend(option.aliases);
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(all > 50);
    }
}

#[test]
fn a_typo_is_answered_with_the_nearest_name() {
    for (typed, meant) in [
        ("block_siez", "block_size"),
        ("iodeph", "iodepth"),
        ("qeue_depth", "queue_depth"),
        ("ioengin", "ioengine"),
    ] {
        let error = set_option(&mut Job::default(), typed, "1").expect_err(typed);
        assert_eq!(error, OptionError::Unknown { name: typed.into(), suggestion: Some(meant.into()) });
        assert_eq!(error.to_string(), format!("no option `{typed}`; did you mean `{meant}`?"));
    }
    let error = set_option(&mut Job::default(), "xyzzy", "1").expect_err("no word");
    assert_eq!(error.to_string(), "no option `xyzzy`");
}
