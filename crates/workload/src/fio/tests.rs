//! Do job files mean what fio takes them to mean?

use std::collections::HashMap;

use iostack_model::*;

use super::engines::ENGINES;
use super::*;

fn parse_with(text: &str, lenient: bool) -> Result<JobFile, JobFileError> {
    let includes: HashMap<&Path, &str> = HashMap::from([
        (Path::new("dir/more.fio"), "bs=16k\niodepth=7\n"),
        (Path::new("dir/sections.fio"), "[b]\n"),
        (Path::new("dir/loop.fio"), "include loop.fio\n"),
    ]);
    let include = |path: &Path| {
        includes
            .get(path)
            .map(|&text| text.to_owned())
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    };
    let set = [("SIZE", "64m"), ("EMPTY", "")];
    let env = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
    parse_fio(text, Path::new("dir/a.fio"), &ParseContext { env: &env, include: &include, lenient, cpus: 6 })
}

fn jobs(text: &str) -> Vec<Job> {
    parse_with(text, false).unwrap_or_else(|error| panic!("{error}")).jobs
}

pub(super) fn job(options: &str) -> Job {
    let text = format!("[a]\n{}\n", options.replace(' ', "\n"));
    jobs(&text).remove(0)
}

fn problems(text: &str) -> Vec<String> {
    parse_with(text, false).expect_err("must be refused").problems.iter().map(Problem::to_string).collect()
}

pub(super) fn problem(options: &str) -> String {
    problems(&format!("[a]\n{}\n", options.replace(' ', "\n"))).join("\n")
}

const fn once() -> Access {
    Access::Random { order: Order::Permutation, distribution: Distribution::Uniform }
}

#[test]
fn a_section_that_says_nothing_is_fios_default() {
    let job = job("size=1m");
    assert_eq!((job.name.as_str(), job.mix, &job.access), ("a", Mix::READ, &Access::Sequential));
    assert_eq!((job.engine, job.direct, job.queue_depth), (Engine::Psync, false, 1));
    assert_eq!(job.options, [("size".to_owned(), "1m".to_owned())]);
}

#[test]
fn globals_hold_for_the_sections_behind_them() {
    let text = "[global]\nbs=8k\n[a]\nrw=randread\n[global]\niodepth=4\nbs=16k\n[b]\nbs=32k\n";
    let jobs = jobs(text);
    assert_eq!((&jobs[0].block_sizes, jobs[0].queue_depth), (&BlockSizes::all(Bytes::kib(8)), 1));
    assert_eq!((&jobs[1].block_sizes, jobs[1].queue_depth), (&BlockSizes::all(Bytes::kib(32)), 4));
    assert_eq!((&jobs[0].access, &jobs[1].access), (&once(), &Access::Sequential));
    let names =
        |options: &[(String, String)]| options.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&jobs[1].options_global), ["bs", "iodepth", "bs"]);
    assert_eq!(names(&jobs[1].options), ["bs"]);
}

#[test]
fn comments_blanks_and_spaces_are_no_matter() {
    let job = jobs("; c\n\n  [ a ] # x\n rw = randread ; y\n\tbs=4k#z\n").remove(0);
    assert_eq!((job.name.as_str(), &job.access), ("a", &once()));
}

#[test]
fn includes_variables_and_keywords_are_put_in_place() {
    let job = jobs("[a]\ninclude more.fio\nsize=${SIZE}\nnumjobs=2*$ncpus\ngroup_reporting\n").remove(0);
    assert_eq!((&job.block_sizes, job.queue_depth), (&BlockSizes::all(Bytes::kib(16)), 7));
    assert_eq!((job.size, job.threads), (Some(Amount::Bytes(Bytes::mib(64))), 12));
    assert!(problem("filename=${NOPE}/x").contains("`NOPE` is not set"));
    assert!(problem("filename=${EMPTY}/x").contains("`EMPTY` is not set"), "that would be `/x`");
    assert!(problem("filename=${SIZE").contains("not closed"));
    assert!(
        problems("[a]\ninclude nothing.fio\n")[0]
            .starts_with("dir/a.fio:2: cannot include `dir/nothing.fio`")
    );
    assert!(problems("[a]\ninclude sections.fio\n")[0].starts_with("dir/sections.fio:1: an included file"));
    assert!(problems("[a]\ninclude loop.fio\n")[0].contains("16 includes"));
}

#[test]
fn rw_is_direction_and_order() {
    assert_eq!(job("rw=randrw rwmixread=70").mix, Mix::reads(70));
    assert_eq!(job("rwmixwrite=10 rw=rw").mix, Mix::reads(90));
    assert_eq!(job("rwmixread=70 rw=randwrite").mix, Mix::WRITE);
    assert_eq!(job("rw=read:12k").access, Access::Strided { gap: Bytes::kib(12) });
    assert_eq!(job("rw=trimwrite").mix, Mix { read: 0, write: 50, trim: 50 });
    assert_eq!(job("norandommap rw=randread").access, Access::UNIFORM);
    assert_eq!(job("random_generator=lfsr rw=randread norandommap").access, job("rw=randread").access);
    let zipf = Access::Random { order: Order::Independent, distribution: Distribution::Zipf { theta: 1.2 } };
    assert_eq!(job("random_distribution=zipf:1.2 rw=randread").access, zipf);
    assert_eq!(job("random_distribution=zipf:1.2 rw=read").access, Access::Sequential);
    assert_eq!(job("rw=randread:8").follow, Follow { run: 8, ..Follow::NONE });
    assert_eq!(
        job("rw_sequencer=identical rw=randread:8").follow,
        Follow { run: 8, again: true, ..Follow::NONE }
    );
    assert_eq!(job("percentage_random=20,70 rw=randrw").follow.random, [20, 70, 70]);
    assert_eq!(job("rw=read:-8k").access, Access::Backward { step: Bytes::kib(8) });
    assert!(problem("rw=randread:0").contains("like randread:8"));
    assert!(problem("rw=randomread").contains("give read, write"));
}

#[test]
fn block_sizes_are_given_by_direction() {
    let all = |size| vec![(Bytes(size), 100)];
    let sizes = job("bs=4k,8k").block_sizes;
    assert_eq!((sizes.read, sizes.write, sizes.trim), (all(4096), all(8192), all(8192)));
    let sizes = job("bs=4k,,16k").block_sizes;
    assert_eq!((sizes.read, sizes.write, sizes.trim), (all(4096), all(4096), all(16_384)));
    let sizes = job("bssplit=4k/60:64k/,8k/").block_sizes;
    assert_eq!((sizes.read, sizes.write), (vec![(Bytes(4096), 60), (Bytes(65_536), 40)], all(8192)));
    let sizes = job("bsrange=4k-16k").block_sizes.read;
    assert_eq!(sizes, [(Bytes(4096), 25), (Bytes(8192), 25), (Bytes(12_288), 25), (Bytes(16_384), 25)]);
    assert!(problem("bs=0").contains("at least 1 byte"));
    let three = job("bssplit=4k/1:8k/2:16k/97").block_sizes.read;
    assert_eq!(three, [(Bytes(4096), 1), (Bytes(8192), 2), (Bytes(16_384), 97)]);
    assert_eq!(job("bssplit=4k/100:8k/").block_sizes.read, [(Bytes(4096), 100), (Bytes(8192), 0)]);
    for (given, sum) in [("4k/60:8k/39", "99 %"), ("4k/60:8k/41", "101 %"), ("4k/60:8k/41:16k/", "101 %")] {
        let said = problem(&format!("bssplit={given}"));
        assert!(said.contains(&format!("the shares add up to {sum}; make them add up to 100")), "{said}");
    }
    let any = job("bsrange=512-1m bs_unaligned");
    assert!(any.any_size);
    assert_eq!(any.block_sizes.write, [(Bytes(512), 50), (Bytes::mib(1), 50)]);
}

#[test]
fn the_engine_has_its_switches_in_any_order() {
    let uring =
        Engine::IoUring { fixed_buffers: true, registered_files: true, poll: true, submit_poll: true };
    assert_eq!(job("hipri fixedbufs=1 registerfiles ioengine=io_uring sqthread_poll=1").engine, uring);
    assert_eq!(job("hipri ioengine=pvsync2").engine, Engine::Pvsync2 { hipri: true });
    assert!(problem("ioengine=libaio fixedbufs").contains("needs ioengine=io_uring, not libaio"));
    assert!(problem("ioengine=solarisaio").contains("another system's; use one of psync"));
}

#[test]
fn a_rate_is_the_one_at_which_no_direction_exceeds_its_own() {
    let iops = |options: &str| job(options).rate.expect("open loop").iops;
    assert!((iops("rw=randread rate_iops=1000") - 1000.0).abs() < 1e-9);
    assert!((iops("rw=read bs=64k rate=1m") - 16.0).abs() < 1e-9);
    assert!((iops("rate=4m rw=rw bs=4k") - 2048.0).abs() < 1e-9);
    assert!((iops("rate_iops=700,100 rw=rw rwmixread=70") - 1000.0 / 3.0).abs() < 1e-9);
    let poisson = job("rw=read rate_iops=10 rate_process=poisson").rate;
    assert_eq!(poisson, Some(Rate { iops: 10.0, arrival: Arrival::Poisson }));
    assert_eq!(job("rate_iops=0").rate, None);
}

#[test]
fn times_are_seconds_and_pauses_microseconds() {
    let job = job("runtime=30 ramp_time=5 startdelay=2m thinktime=100 thinktime_blocks=8 time_based");
    assert_eq!(
        (job.runtime, job.ramp, job.start_delay),
        (Some(Nanos::secs(30)), Nanos::secs(5), Nanos::secs(120))
    );
    assert_eq!(job.think, Some(Think { time: Nanos::micros(100), every: 8, spin: Nanos(0) }));
    assert!(job.time_based);
}

#[test]
fn the_part_of_a_pause_that_burns_cpu_is_microseconds_too_and_no_more_than_the_pause() {
    let think = |options: &str| job(options).think.expect("it pauses");
    assert_eq!(think("thinktime=100 thinktime_spin=30").spin, Nanos::micros(30));
    assert_eq!(think("thinktime_spin=30ms thinktime=100ms").spin, Nanos::millis(30));
    assert_eq!(think("thinktime=100 thinktime_spin=100").spin, Nanos::micros(100));
    assert_eq!(think("thinktime=100 thinktime_spin=101").spin, Nanos::micros(100), "fio cuts it as well");
}

#[test]
fn verification_says_when() {
    let mode = |options: &str| job(options).verify.map(|verify| verify.mode);
    assert_eq!(mode("rw=write verify=crc32c"), Some(VerifyMode::WriteThenRead));
    assert_eq!(mode("rw=write do_verify=0 verify=crc32c-intel"), Some(VerifyMode::WriteOnly));
    assert_eq!(mode("rw=read verify=crc32c"), Some(VerifyMode::ReadOnly));
    assert_eq!(mode("rw=write verify=0"), None);
    let only = job("rw=randwrite verify=crc32c verify_only");
    assert_eq!((only.mix, only.verify.map(|verify| verify.mode)), (Mix::READ, Some(VerifyMode::ReadOnly)));
    assert!(problem("rw=write verify=pattern").contains("needs verify_pattern"));
    let by_pattern = job("rw=write verify_pattern=0x5a verify=pattern");
    assert!(
        by_pattern.verify.is_some_and(|verify| verify.pattern)
            && by_pattern.data == Data::Pattern(vec![0x5a])
    );
    assert!(problem("rw=write verify=pattern verify_pattern=%o").contains("hold the offset"));
    assert!(problem("verify_only").contains("needs verify=crc32c"));
}

#[test]
fn sizes_add_up_as_fio_adds_them() {
    let nested = job("nrfiles=4 filesize=1m size=2m");
    assert_eq!((nested.size, nested.io_limit), (Some(Amount::Bytes(Bytes::mib(4))), Some(Bytes::mib(2))));
    let behind = job("filesize=1m offset=256k nrfiles=2");
    assert_eq!(behind.size, Some(Amount::Bytes(Bytes::kib(1536))), "the offset is taken off each file");
    assert_eq!(job("size=50%").size, Some(Amount::Percent(50.0)));
    assert_eq!(job("size=50%%").size, Some(Amount::Percent(50.0)), "as generators of job files write it");
    assert_eq!(job("size=1g io_size=50%").io_limit, Some(Bytes::mib(512)));
    assert_eq!(job("kb_base=1000 size=1k").size, Some(Amount::Bytes(Bytes(1000))));
    assert_eq!(job("size=1kib").size, Some(Amount::Bytes(Bytes(1000))));
}

#[test]
fn clones_are_threads_of_one_report_or_jobs_of_their_own() {
    let together = jobs("[a]\nnumjobs=3\ngroup_reporting\n");
    assert_eq!((together.len(), together[0].threads), (1, 3));
    let apart = jobs("[a]\nnumjobs=3\nstonewall\ncpus_allowed=0,2\ncpus_allowed_policy=split\n");
    assert_eq!(apart.iter().map(|job| job.thread_first).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(apart.iter().map(|job| job.report_group).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(apart.iter().map(|job| job.stonewall).collect::<Vec<_>>(), [true, false, false]);
    let cpus: Vec<_> = apart.iter().map(|job| job.cpus.clone()).collect();
    assert_eq!(cpus, [Some(vec![0]), Some(vec![2]), Some(vec![0])]);
    assert!(problem("numjobs=5000").contains("more than 4096"));
}

#[test]
fn report_groups_end_at_a_stonewall() {
    let text =
        "[global]\ngroup_reporting\n[a]\n[b]\n[c]\nstonewall\n[d]\n[e]\nnew_group\n[f]\ngroup_reporting=0\n";
    let groups: Vec<u32> = jobs(text).iter().map(|job| job.report_group).collect();
    assert_eq!(groups, [0, 0, 1, 1, 2, 3]);
}

#[test]
fn a_grouped_job_joins_the_report_before_it_as_in_fio() {
    let groups: Vec<u32> = jobs("[a]\nnumjobs=2\n[b]\ngroup_reporting\nnumjobs=2\n[c]\n")
        .iter()
        .map(|job| job.report_group)
        .collect();
    assert_eq!(groups, [0, 1, 1, 2]);
}

#[test]
fn a_section_has_its_own_name_whatever_a_global_section_says() {
    let all = jobs("[global]\nname=all\ndirectory=/m\n[w]\n[r]\nname=other\nnumjobs=2\nwrite_bw_log\n");
    let names: Vec<&str> = all.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["w", "other", "r"], "clones have the section's name in fio");
    let files: Vec<String> = all.iter().flat_map(|job| job.file_names(0)).collect();
    assert_eq!(files, ["w.0.0", "r.0.0", "r.1.0"]);
    let logs: Vec<_> = all[1..].iter().map(|job| job.logs.bandwidth.clone()).collect();
    assert_eq!(logs, [Some("other".into()), Some("r".into())]);
    assert_eq!(all[0].options_global[0], ("name".to_owned(), "all".to_owned()));
    assert!(all[0].options.is_empty());
}

#[test]
fn sections_draw_different_numbers() {
    let jobs = jobs("[a]\n[b]\n[c]\nrandseed=1\n");
    assert_ne!(jobs[0].seed, jobs[1].seed);
    assert_ne!(jobs[0].seed, jobs[2].seed);
}

#[test]
fn files_are_named_placed_and_escaped() {
    let paths = |options: &str| job(options).files;
    assert_eq!(
        paths("filename=/dev/a:/dev/b\\:c:d"),
        [Path::new("/dev/a"), Path::new("/dev/b:c"), Path::new("d")]
    );
    assert_eq!(paths("filename=x directory=/m:/n"), [Path::new("/m/x")]);
    assert!(problem("filename=$jobname.x").contains("filename_format"));
    let formatted =
        jobs("[a]\ndirectory=/m:/n\nfilename_format=$jobname-$jobnum-$filenum\nnrfiles=2\nnumjobs=2\n");
    assert_eq!(formatted[1].files, [Path::new("/n/a-1-0"), Path::new("/n/a-1-1")]);
    let made = job("directory=/m nrfiles=3");
    assert_eq!((made.files.len(), made.directory, made.file_count), (0, Some("/m".into()), 3));
    assert_eq!(job("nrfiles=2 file_service_type=random").file_turns.order, FileOrder::Random);
    assert_eq!(job("nrfiles=2 file_service_type=roundrobin:8").file_turns.every, 8);
    assert!(problem("file_service_type=zipf:1.2").contains("all files are alike"));
}

#[test]
fn logs_without_a_prefix_have_the_jobs_name() {
    let logs =
        jobs("[global]\nwrite_bw_log\nwrite_lat_log=x\nlog_avg_msec=500\n[a]\nname=n\n").remove(0).logs;
    assert_eq!((logs.bandwidth, logs.latency), (Some("n".into()), Some("x".into())));
    assert_eq!((logs.iops, logs.average), (None, Nanos::millis(500)));
}

#[test]
fn what_refines_an_option_waits_for_it_whatever_section_it_stands_in() {
    let text =
        "[global]\nrwmixread=70\nhipri\nthinktime_blocks=8\n[a]\nrw=randrw\nthinktime=5\nioengine=io_uring\n";
    let job = jobs(text).remove(0);
    assert_eq!(job.mix, Mix::reads(70));
    assert!(matches!(job.engine, Engine::IoUring { poll: true, .. }), "{:?}", job.engine);
    assert_eq!(job.think.map(|think| (think.time, think.every)), Some((Nanos::micros(5), 8)));
    // Typed at a command, one after the other.
    let mut job = Job::default();
    for (name, value) in [("thinktime", "5"), ("thinktime_blocks", "8"), ("thinktime", "7")] {
        set_one(&mut job, name, value).expect("it is done");
        job.options.push((name.to_owned(), value.to_owned()));
    }
    assert_eq!(job.think.map(|think| (think.time, think.every)), Some((Nanos::micros(7), 8)));
    assert_eq!(
        problems("[global]\nfixedbufs\n[a]\n[b]\nioengine=libaio\n"),
        [
            "dir/a.fio:2: `fixedbufs=`: needs ioengine=io_uring, not libaio",
            "dir/a.fio:2: `fixedbufs=`: needs ioengine=io_uring, not psync",
        ]
    );
}

#[test]
fn what_the_storage_must_keep_to_is_said_in_fios_units() {
    let demand = job("rate_min=1m,2m rate_iops_min=100 rate_cycle=500 max_latency=30ms").demand;
    assert_eq!(demand.bytes, [1 << 20, 2 << 20, 2 << 20]);
    assert_eq!(
        (demand.iops, demand.cycle, demand.latency),
        ([100; 3], Nanos::millis(500), Nanos::millis(30))
    );
    assert_eq!(job("max_latency=50").demand.latency, Nanos::micros(50));
    assert!(problem("nice=20").contains("-20 to 19") && job("nice=-20").host.priority.nice == -20);
}

#[test]
fn a_depth_bounds_its_batches_and_its_low_water() {
    let batch = |options| job(options).batch;
    assert_eq!(
        batch("iodepth=4 iodepth_batch=16 iodepth_batch_complete_min=9"),
        Batch { submit: 4, complete_min: 4 }
    );
    assert_eq!(batch("iodepth=16 iodepth_low=6"), Batch { submit: 1, complete_min: 10 });
    assert_eq!(batch("iodepth=16 iodepth_low=16"), Batch { submit: 1, complete_min: 1 });
}

#[test]
fn zones_are_strided_or_given_in_bytes() {
    let zones = job("zonemode=strided zonesize=1m zoneskip=2m").zones.expect("strided");
    assert_eq!((zones.size, zones.range, zones.skip), (Bytes::mib(1), Bytes::mib(1), Bytes::mib(2)));
    let wide = job("zonemode=strided zonesize=1m zonerange=4m").zones.expect("strided");
    assert_eq!((wide.size, wide.range), (Bytes::mib(1), Bytes::mib(4)));
    assert_eq!(job("zonesize=1m").zones, None, "without the mode, as in fio");
    let zbd = job("zonemode=zbd zonesize=1m zonecapacity=768k job_max_open_zones=2 max_open_zones=4");
    let pointers = zbd.write_pointers.expect("zoned");
    assert_eq!((pointers.zone, pointers.capacity, pointers.open_most), (Bytes::mib(1), Bytes(768 << 10), 2));
    assert!(problem("zonemode=zbd").contains("needs zonesize"));
    assert!(problem("zonemode=zbd zonesize=1m zonecapacity=2m").contains("larger than zonesize"));
    assert!(problem("zonemode=strided").contains("needs zonesize"));
    let by_bytes = job("rw=randread size=1m random_distribution=zoned_abs:60/256k:40/256k");
    let Access::Random { order: Order::Independent, distribution: Distribution::Zoned(zones) } =
        by_bytes.access
    else {
        panic!("{:?}", by_bytes.access)
    };
    assert_eq!(zones.iter().map(|zone| zone.size_percent).collect::<Vec<_>>(), [25.0, 25.0, 50.0]);
    assert!(problem("rw=randread random_distribution=zoned_abs:100/1m").contains("needs `size`"));
    assert!(
        problem("rw=randread size=1m random_distribution=zoned_abs:100/2m").contains("larger than `size`")
    );
}

#[test]
fn a_job_is_steady_over_a_time_that_is_given() {
    let goal = job("ss=bw_slope:0.1% ss_dur=30 ss_ramp=5").until_steady.expect("a duration is given");
    assert_eq!((goal.figure, goal.limit), (SteadyFigure::Bandwidth, SteadyLimit::Slope(0.1)));
    assert_eq!((goal.window, goal.after), (Nanos::secs(30), Nanos::secs(5)));
    assert_eq!(job("ss=iops:1%").until_steady, None, "as in fio");
    assert!(problem("ss=iops:500").contains("in percent") && problem("ss=iops:-1%").contains("like 0.3%"));
    assert!(problem("ss=lat:1%").contains("iops_slope"));
}

#[test]
fn one_option_more_leaves_what_a_job_had() {
    let mut job = job(
        "rw=write verify=pattern verify_pattern=0x5a ss=iops:1% ss_dur=9 exitall zonemode=strided zonesize=1m",
    );
    let before = job.clone();
    set_one(&mut job, "ramp_time", "3").expect("it fits");
    assert_eq!(job, Job { ramp: Nanos::secs(3), ..before });
}

#[test]
fn a_range_of_delays_is_drawn_within() {
    let delay = job("startdelay=2-5").start_delay;
    assert!((Nanos::secs(2)..=Nanos::secs(5)).contains(&delay), "{delay}");
    assert_eq!(job("startdelay=3").start_delay, Nanos::secs(3));
}

#[test]
fn what_an_option_refines_is_an_option_that_refines_none() {
    for row in table::rows().filter(|row| !row.leans_on.is_empty()) {
        let leader = table::rows().find(|other| other.name == row.leans_on);
        assert!(leader.is_some_and(|leader| leader.leans_on.is_empty()), "{}: {}", row.name, row.leans_on);
    }
}

#[test]
fn all_problems_are_said_at_once_each_with_its_line() {
    let text = "bs=1\n[global]\niodeph=4\nbs=4x\n[a]\nioengine=rbd\nrw\ncgroup=slow\n[b]\nverify=null\n[\n";
    let all = problems(text);
    let starts = [
        "dir/a.fio:1: `bs=1` stands before the first section",
        "dir/a.fio:3: no option `iodeph`; did you mean `iodepth`?",
        "dir/a.fio:4: `bs=4x`: give a size like 512, 4k",
        "dir/a.fio:6: `ioengine=rbd` is not supported: it asks another machine",
        "dir/a.fio:7: `rw=`: a value is missing, like rw=randread",
        "dir/a.fio:8: `cgroup=slow` is not supported: all threads are of one process",
        "dir/a.fio:10: `verify=null` is not supported: it checks nothing",
        "dir/a.fio:11: `[` is no section",
    ];
    assert_eq!(all.len(), starts.len(), "{all:#?}");
    for (problem, start) in all.iter().zip(starts) {
        assert!(problem.starts_with(start), "{problem}");
    }
}

#[test]
fn lenient_leaves_out_what_is_refused_but_not_nonsense() {
    let text = "[global]\ncgroup=slow\n[a]\nfoo=1\nsize=1m\nclocksource=cpu\n[b]\nverify=null\n";
    let file = parse_with(text, true).expect("lenient");
    let skipped: Vec<String> = file.skipped.iter().map(Skipped::to_string).collect();
    assert_eq!(skipped.len(), 3, "{skipped:?}");
    assert!(skipped[0].starts_with("line 2: `cgroup=slow` left out: all threads are of one process"));
    assert_eq!(file.jobs.len(), 2);
    assert!(file.jobs[0].options.iter().all(|(name, _)| name != "cgroup" && name != "foo"));
    parse_with("[a]\nbs=4x\n", true).expect_err("nonsense stays an error");
    parse_with("[global]\nbs=4k\n", true).expect_err("no job");
}

#[test]
fn options_that_must_be_at_their_default_may_say_so() {
    let plain = job(
        "zonemode=none verify_backlog=0 io_submit_mode=inline mem=malloc unified_rw_reporting=none thread",
    );
    assert_eq!(plain.queue_depth, 1);
    assert_eq!(job("exitall").ends, Ends::Beside);
    assert_eq!((job("exit_what=all").ends, job("exit_what=all exitall").ends), (Ends::Itself, Ends::All));
}

#[test]
fn a_job_waits_only_for_one_before_it_that_is_done_when_it_ends() {
    let waits = |text: &str| problems(text).join("\n");
    assert!(waits("[a]\nwait_for=b\n[b]\n").contains("no job before it has this name"));
    assert!(waits("[a]\nwait_for=a\n").contains("which is itself"));
    let proved = "[a]\nrw=write\nverify=crc32c\nsize=1m\n[b]\nwait_for=a\nsize=1m\n";
    assert!(waits(proved).contains("reads back what it wrote"));
    assert_eq!(jobs(&proved.replace("[b]", "[b]\nstonewall"))[1].wait_for.as_deref(), Some("a"));
}

#[test]
fn each_engine_of_fio_is_done_or_refused_with_its_reason() {
    // `fio --enghelp` of 3.33, and what newer ones have besides.
    let all = "cpuio mmap sync psync vsync pvsync pvsync2 null net netsplice ftruncate filecreate filestat filedelete \
               exec posixaio falloc e4defrag splice gfapi gfapi_async mtd sg io_uring io_uring_cmd nbd libaio rdma rados \
               rbd pmemblk dev-dax libpmem fileopen dircreate dirstat dirdelete";
    for engine in all.split_whitespace() {
        let text = format!("[a]\nioengine={engine}\nsize=1m\n");
        match parse_with(&text, false) {
            Ok(file) => assert!(ENGINES.contains(file.jobs[0].engine.name()), "{engine}"),
            Err(error) => {
                let said = error.to_string();
                let (_, why) = said.split_once("is not supported: ").expect("it is refused");
                assert!(!why.starts_with("use one of"), "{engine}: {why}");
            }
        }
    }
    assert!(problem("ioengine=libaoi").contains("not supported: use one of psync"));
}

#[test]
fn a_line_that_is_not_utf_8_is_told_by_its_number_and_a_comment_may_be_so() {
    let text = fio_text(b"[a]\nrw=read\n; caf\xe9\nfilename=caf\xe9\n");
    let said = problems(&text);
    assert!(said.len() == 1 && said[0].contains(":4: not UTF-8; convert the file"), "{said:?}");
    parse_with(&text.replace("filename=caf\u{fffd}", "size=1m"), false).expect("only a comment");
}
