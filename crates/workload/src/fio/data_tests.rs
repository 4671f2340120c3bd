//! Do the options of what is written, and of its proof, mean what fio takes them to mean?

use iostack_model::*;

use super::tests::{job, problem};

#[test]
fn a_backlog_is_read_back_whole_unless_said_otherwise() {
    let backlog =
        |more: &str| job(&format!("rw=write verify=crc32c {more}")).verify.expect("it was said").backlog;
    assert_eq!(backlog(""), None);
    assert_eq!(backlog("verify_backlog=0 verify_backlog_batch=4"), None);
    assert_eq!(backlog("verify_backlog=1k"), Some(Backlog { writes: 1024, reads: 1024 }));
    assert_eq!(backlog("verify_backlog=8"), Some(Backlog { writes: 8, reads: 8 }));
    assert_eq!(backlog("verify_backlog_batch=3 verify_backlog=8"), Some(Backlog { writes: 8, reads: 3 }));
    assert_eq!(backlog("verify_backlog=8 do_verify=0"), None, "as in fio");
    assert_eq!(job("rw=read verify=crc32c verify_backlog=8").verify.expect("said").backlog, None);
    assert!(problem("verify_state_load=1").contains("how far an earlier job came is not kept"));
}

#[test]
fn trims_need_a_percentage_and_a_backlog_as_in_fio() {
    let trims =
        |more: &str| job(&format!("rw=write verify=crc32c {more}")).verify.expect("it was said").trims;
    assert_eq!(trims("trim_percentage=50"), None);
    assert_eq!(trims("trim_backlog=8"), None);
    let all = Trims { percent: 50, writes: 8, blocks: 8, read_zeroes: true };
    assert_eq!(trims("trim_backlog=8 trim_percentage=50"), Some(all));
    let some = Trims { blocks: 3, read_zeroes: false, ..all };
    assert_eq!(
        trims("trim_backlog=8 trim_percentage=50 trim_backlog_batch=3 trim_verify_zero=0"),
        Some(some)
    );
}

#[test]
fn preferred_ios_are_of_the_real_time_class_unless_said_otherwise() {
    let preferred = |more: &str| job(&format!("rw=randrw ioengine=libaio {more}")).host.preferred;
    assert_eq!(preferred("cmdprio_percentage=0 cmdprio=3"), None);
    let all = Preferred { percent: [20, 20], io_class: 1, ..Preferred::default() };
    assert_eq!(preferred("cmdprio_percentage=20"), Some(all));
    let reads = Preferred { percent: [20, 0], io_class: 2, io_level: 3, ..Preferred::default() };
    assert_eq!(preferred("cmdprio=3 cmdprio_class=2 cmdprio_percentage=20,0"), Some(reads));
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
    assert!(problem("ioengine=libaio cmdprio_bssplit=64k").contains("sizes with shares"));
}

#[test]
fn errors_to_ignore_are_names_or_numbers_of_reads_and_of_writes() {
    let ignored = |typed: &str| job(&format!("rw=randrw ignore_error={typed}")).ignored_errors;
    assert_eq!(ignored("EAGAIN"), [vec![11], vec![]], "of reads alone, as in fio");
    assert_eq!(ignored(",ENOSPC:EIO"), [vec![], vec![28, 5]]);
    assert_eq!(ignored("EPERM:122,ERANGE"), [vec![1, 122], vec![34]]);
    assert!(problem("ignore_error=,,EILSEQ").contains("does not verify"));
    assert!(problem("ignore_error=ENOSUCH").contains("like ENOSPC or 28"));
}

#[test]
fn a_pattern_may_be_of_several_kinds_in_a_row() {
    let data = |typed: &str| job(&format!("rw=write buffer_pattern={typed}")).data;
    let expected = |bytes: &[u8]| Data::Pattern(bytes.to_vec());
    assert_eq!(data("\"abcd\"-120xdeadface"), expected(b"abcd\xf4\xff\xff\xff\xde\xad\xfa\xce"));
    assert_eq!(data("255"), expected(&[255]));
    assert_eq!(data("256"), expected(&[0, 1]));
    assert_eq!(data("0"), expected(&[0]));
    assert_eq!(data("0x10x2"), expected(&[1, 2]));
}

#[test]
fn compressible_pieces_have_the_length_that_was_asked() {
    let data = |typed: &str| job(&format!("rw=write {typed}")).data;
    assert_eq!(
        data("buffer_compress_chunk=4k buffer_compress_percentage=50"),
        Data::CompressibleBy(50, 4096)
    );
    assert_eq!(data("buffer_compress_chunk=0 buffer_compress_percentage=50"), Data::CompressibleBy(50, 0));
    assert_eq!(data("buffer_compress_chunk=4k"), Data::Random, "as in fio");
}

#[test]
fn what_repeats_may_be_of_a_set_and_compress_too() {
    let data = |typed: &str| job(&format!("rw=write {typed}")).data;
    let repeated = Repeated { percent: 30, ..Repeated::default() };
    assert_eq!(
        data("dedupe_percentage=30 dedupe_mode=working_set"),
        Data::Repeated(Repeated { set_percent: 5, ..repeated }),
        "as in fio"
    );
    assert_eq!(
        data(
            "dedupe_mode=working_set dedupe_percentage=30 dedupe_global=1 dedupe_working_set_percentage=50 buffer_compress_percentage=40"
        ),
        Data::Repeated(Repeated { set_percent: 50, shared: true, compressible: 40, chunk: 512, ..repeated })
    );
}

#[test]
fn a_wide_range_of_sizes_is_of_multiples_and_a_dash_in_bs_is_none() {
    let wide = job("rw=read bsrange=512-2m");
    assert!(wide.any_multiple);
    assert_eq!(wide.block_sizes.read, [(Bytes(512), 50), (Bytes(2 << 20), 50)]);
    let narrow = job("rw=read bsrange=4k-400k");
    assert!(!narrow.any_multiple && narrow.block_sizes.read.len() == 100);
    assert!(job("rw=read bsrange=4k-404k").any_multiple);
    let sizes = job("rw=rw blocksize=4k-512k").block_sizes;
    assert_eq!((sizes.read, sizes.write), (vec![(Bytes(4096), 100)], vec![(Bytes(512 << 10), 100)]));
    let by_order = |typed: &str| job(&format!("bs_is_seq_rand=1 bs=64k,4k {typed}")).block_sizes;
    assert_eq!(by_order("rw=randread").read, [(Bytes(4096), 100)]);
    assert_eq!(by_order("rw=write").write, [(Bytes(64 << 10), 100)]);
}

#[test]
fn no_option_of_fios_is_unknown_and_other_names_of_it_mean_the_same() {
    assert_eq!(
        job("rw=read ratemin=1m ratecycle=500").demand,
        job("rw=read rate_min=1m rate_cycle=500").demand
    );
    assert_eq!(job("rw=read nr_files=3").file_count, 3);
    assert_eq!(job("rw=read fileoffset=4k").offset, Amount::Bytes(Bytes(4096)));
    for old in ["threads=4", "verifysort=1", "unlink_each_loop=1"] {
        job(&format!("rw=read {old}"));
    }
    for (option, why) in [
        ("rwmixcycle=500", "takes it no longer"),
        ("sprandom=1", "write it full"),
        ("hostname=here", "asks another machine"),
        ("cmd_type=nvme", "pass the block layer by"),
        ("fdp=1", "NVMe commands"),
        ("cgroup=slow", "systemd-run --scope"),
        ("unlink_each_loop=1 loops=2", "jobs with unlink and stonewall"),
        ("ioengine=io_uring_cmd", "ioengine=io_uring asks the same"),
    ] {
        let problem = problem(option);
        assert!(problem.contains(why), "{option}: {problem}");
    }
}
