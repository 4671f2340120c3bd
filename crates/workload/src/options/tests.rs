//! Do the words mean what the tables say?

use iostack_model::*;

use super::*;

fn set(options: &[(&str, &str)]) -> Result<Job, OptionError> {
    let mut job = Job::default();
    for (name, value) in options {
        set_option(&mut job, name, value)?;
    }
    Ok(job)
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
    job.verify = Some(Verify::of(VerifyMode::WriteThenRead));
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
fn flags_make_the_job_they_describe() {
    let job = set(&[
        ("pattern", "random"),
        ("read-percent", "70"),
        ("block_size", "4k/60:64k/40"),
        ("queue_depth", "32"),
        ("engine", "io_uring"),
        ("fixed_buffers", "true"),
        ("poll", ""),
        ("rate", "20k"),
        ("arrival", "poisson"),
        ("runtime", "30s"),
        ("distribution", "hot:90/10"),
        ("--size", "50%"),
    ])
    .expect("all sound");
    assert_eq!(job.mix, Mix::reads(70));
    assert_eq!(job.block_sizes.write, [(Bytes(4096), 60), (Bytes(65_536), 40)]);
    assert_eq!(job.rate, Some(Rate { iops: 20_000.0, arrival: Arrival::Poisson }));
    assert_eq!(
        job.engine,
        Engine::IoUring { fixed_buffers: true, registered_files: false, poll: true, submit_poll: false }
    );
    let zones = vec![
        Zone { access_percent: 90.0, size_percent: 10.0 },
        Zone { access_percent: 10.0, size_percent: 90.0 },
    ];
    let hot = Access::Random { order: Order::Independent, distribution: Distribution::Zoned(zones) };
    assert_eq!(job.access, hot);
    assert_eq!(job.size, Some(Amount::Percent(50.0)));
    assert_eq!(job.options.first(), Some(&("pattern".to_owned(), "random".to_owned())));
    assert_eq!(job.options.len(), 12);
}

#[test]
fn fio_names_work_one_at_a_time() {
    let job =
        set(&[("rwmixread", "80"), ("rw", "randrw"), ("bs", "8k"), ("iodepth", "16"), ("norandommap", "1")])
            .expect("all sound");
    assert_eq!((job.mix, job.queue_depth), (Mix::reads(80), 16));
    assert_eq!(job.access, Access::UNIFORM);
    assert_eq!(job.block_sizes, BlockSizes::all(Bytes(8192)));
}

#[test]
fn a_typo_is_answered_with_the_nearest_name() {
    for (typed, meant) in [
        ("block_siez", "block_size"),
        ("iodeph", "iodepth"),
        ("qeue_depth", "queue_depth"),
        ("ioengin", "ioengine"),
    ] {
        let error = set(&[(typed, "1")]).unwrap_err();
        assert_eq!(error, OptionError::Unknown { name: typed.into(), suggestion: Some(meant.into()) });
        assert_eq!(error.to_string(), format!("no option `{typed}`; did you mean `{meant}`?"));
    }
    assert_eq!(set(&[("xyzzy", "1")]).unwrap_err().to_string(), "no option `xyzzy`");
}

#[test]
fn a_mix_is_a_word_or_percents() {
    let cases = [
        ("write", Mix::WRITE),
        ("trim", Mix::TRIM),
        ("70", Mix::reads(70)),
        ("70/30", Mix::reads(70)),
        ("60/30/10", Mix { read: 60, write: 30, trim: 10 }),
    ];
    for (typed, mix) in cases {
        assert_eq!(set(&[("mix", typed)]).map(|job| job.mix).as_ref(), Ok(&mix), "{typed}");
    }
}

#[test]
fn both_limits_of_steadiness_and_their_time_are_named() {
    let goal = set(&[("until_steady", "excursion:20%, slope:10%, over:5m")]).expect("valid").until_steady;
    let goal = goal.expect("it was set");
    assert_eq!(goal.limit, SteadyLimit::Snia { excursion: 20.0, slope: 10.0 });
    assert_eq!(goal.window, Nanos::secs(300));
    for wrong in
        ["excursion:20%", "excursion:20,slope:10%,over:5m", "excursion:20%,slope:10%,over:0", "20%,10%,5m"]
    {
        assert!(set(&[("until_steady", wrong)]).is_err(), "{wrong}");
    }
}

#[test]
fn nonsense_values_are_refused_and_leave_the_job_alone() {
    let bad = [
        ("pattern", "backwards"),
        ("read_percent", "101"),
        ("mix", "50/50/50"),
        ("mix", "50/60"),
        ("block_size", "4x"),
        ("block_size", "0"),
        ("block_size", "4k/60:64k/50"),
        ("block_size", "4k/60:64k/30"),
        ("queue_depth", "0"),
        ("queue_depth", "4294967296"),
        ("runtime", "10"),
        ("runtime", "soon"),
        ("rate", "0"),
        ("rate", "-5"),
        ("arrival", "poisson"),
        ("engine", "solarisaio"),
        ("fixed_buffers", "true"),
        ("distribution", "zipf:0"),
        ("distribution", "hot:190/10"),
        ("distribution", "zoned:60/10:30/20"),
        ("verify_fatal", "1"),
        ("data", "pattern:0x"),
        ("cpus", "3-1"),
        ("cpus", "0-99999999"),
        ("percentiles", "50:101"),
        ("size", "120%"),
        ("loops", "0"),
    ];
    for (name, value) in bad {
        let mut job = Job::default();
        let error = set_option(&mut job, name, value).expect_err(&format!("{name}={value}"));
        assert!(error.to_string().starts_with(&format!("`{name}={value}`")), "{error}");
        assert_eq!(job, Job::default());
    }
}

#[test]
fn blanks_share_what_is_left() {
    let job = set(&[("block_size", "4k/50:8k:16k/:32k/")]).expect("sound");
    let shares: Vec<u8> = job.block_sizes.read.iter().map(|&(_, share)| share).collect();
    assert_eq!(shares, [50, 16, 17, 17]);
}

#[test]
fn patterns_are_bytes_as_they_stand() {
    let bytes = |text: &str| match set(&[("data", &format!("pattern:{text}"))]).map(|job| job.data) {
        Ok(Data::Pattern(bytes)) => bytes,
        other => panic!("{other:?}"),
    };
    assert_eq!(bytes("0xdeadface"), [0xde, 0xad, 0xfa, 0xce]);
    assert_eq!(bytes("0xabc"), [0x0a, 0xbc]);
    assert_eq!(bytes("\"ab\"0x0c13"), [b'a', b'b', 0x0c, 0x13]);
}
