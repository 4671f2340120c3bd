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

fn job(options: &str) -> Job {
    let text = format!("[a]\n{}\n", options.replace(' ', "\n"));
    jobs(&text).remove(0)
}

fn problems(text: &str) -> Vec<String> {
    parse_with(text, false).expect_err("must be refused").problems.iter().map(Problem::to_string).collect()
}

#[test]
fn globals_hold_for_the_sections_behind_them() {
    let text = "[global]\nbs=8k\n[a]\nrw=randread\n[global]\niodepth=4\nbs=16k\n[b]\nbs=32k\n";
    let jobs = jobs(text);
    assert_eq!((&jobs[0].block_sizes, jobs[0].queue_depth), (&BlockSizes::all(Bytes::kib(8)), 1));
    assert_eq!((&jobs[1].block_sizes, jobs[1].queue_depth), (&BlockSizes::all(Bytes::kib(32)), 4));
    assert_eq!((&jobs[0].access, &jobs[1].access), (&Access::PERMUTATION, &Access::Sequential));
    let names =
        |options: &[(String, String)]| options.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&jobs[1].options_global), ["bs", "iodepth", "bs"]);
    assert_eq!(names(&jobs[1].options), ["bs"]);
}

#[test]
fn comments_blanks_and_spaces_are_no_matter() {
    let job = jobs("; c\n\n  [ a ] # x\n rw = randread ; y\n\tbs=4k#z\n").remove(0);
    assert_eq!((job.name.as_str(), &job.access), ("a", &Access::PERMUTATION));
}

#[test]
fn includes_variables_and_keywords_are_put_in_place() {
    let job = jobs("[a]\ninclude more.fio\nsize=${SIZE}\nnumjobs=2*$ncpus\ngroup_reporting\n").remove(0);
    assert_eq!((&job.block_sizes, job.queue_depth), (&BlockSizes::all(Bytes::kib(16)), 7));
    assert_eq!((job.size, job.threads), (Some(Amount::Bytes(Bytes::mib(64))), 12));
    assert!(
        problems("[a]\ninclude nothing.fio\n")[0]
            .starts_with("dir/a.fio:2: cannot include `dir/nothing.fio`")
    );
    assert!(problems("[a]\ninclude sections.fio\n")[0].starts_with("dir/sections.fio:1: an included file"));
    assert!(problems("[a]\ninclude loop.fio\n")[0].contains("16 includes"));
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
fn clones_have_files_of_their_own_where_a_format_names_them() {
    let formatted =
        jobs("[a]\ndirectory=/m:/n\nfilename_format=$jobname-$jobnum-$filenum\nnrfiles=2\nnumjobs=2\n");
    assert_eq!(formatted[1].files, [Path::new("/n/a-1-0"), Path::new("/n/a-1-1")]);
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
}

#[test]
fn a_line_that_is_not_utf_8_is_told_by_its_number_and_a_comment_may_be_so() {
    let text = fio_text(b"[a]\nrw=read\n; caf\xe9\nfilename=caf\xe9\n");
    let said = problems(&text);
    assert!(said.len() == 1 && said[0].contains(":4: not UTF-8; convert the file"), "{said:?}");
    parse_with(&text.replace("filename=caf\u{fffd}", "size=1m"), false).expect("only a comment");
}

#[test]
fn a_priority_by_size_is_drawn_from_the_shares_of_its_size() {
    let typed = "rw=randrw ioengine=libaio cmdprio_bssplit=64k/25/1/1:64k/75/3/2:1m/0,4k/100 cmdprio=5 cmdprio_class=2";
    let preferred = job(typed).host.preferred.expect("it was said");
    let of = |direction: usize, length: u32| {
        (0..100).map(|draw| preferred.io(direction, length, draw)).collect::<Vec<_>>()
    };
    let (first, second, own) = (1 << 13 | 1, 3 << 13 | 2, 2 << 13 | 5);
    assert_eq!(of(0, 65536), [vec![first; 25], vec![second; 75]].concat());
    assert_eq!(of(0, 1 << 20), [0; 100]);
    assert_eq!(of(0, 4096), [0; 100], "not a size of reads");
    assert_eq!(of(1, 4096), [own; 100]);
}

#[test]
fn options_mean_what_fio_takes_them_to_mean() {
    crate::meanings::check("src/fio/meanings.txt", |options| {
        let text = format!("[a]\n{}\n", options.replace(' ', "\n"));
        parse_with(&text, false).map(|mut file| file.jobs.remove(0)).map_err(|error| error.to_string())
    });
}
