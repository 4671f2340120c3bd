//! Each form by the grammar of who reads it.

use iostack_model::answers::{Basis, Check, DeviceCard, DeviceNumber};
use iostack_model::{Access, Bytes, Distribution, Job, Mix, Nanos, Order, TargetKind, TargetName};

use super::*;
use crate::fixture;

/// Lines of the kernel's: `MAJ:MIN key=value ..`.
fn keys(line: &str) -> Vec<(&str, &str)> {
    let mut words = line.split(' ');
    let (major, minor) = words.next().and_then(|word| word.split_once(':')).expect("a device");
    assert!(major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok(), "{line}");
    words.map(|word| word.split_once('=').expect("key=value")).collect()
}

#[test]
fn lines_of_the_kernel_have_its_keys_and_whole_numbers() {
    let told = iocost(&fixture::check(), Some("259:0"));
    let lines: Vec<&str> = told.text.lines().filter(|line| !line.starts_with('#')).collect();
    let [model, qos] = lines[..] else { panic!("two lines: {}", told.text) };
    for (key, value) in keys(model) {
        match key {
            "ctrl" => assert_eq!(value, "user"),
            "model" => assert_eq!(value, "linear"),
            "rbps" | "rseqiops" | "rrandiops" | "wbps" | "wseqiops" | "wrandiops" => {
                assert!(value.parse::<u64>().is_ok_and(|value| value > 0), "{key}={value}");
            }
            _ => panic!("the kernel knows no `{key}`"),
        }
    }
    for (key, value) in keys(qos) {
        match key {
            "enable" => assert_eq!(value, "1"),
            "ctrl" => assert_eq!(value, "user"),
            "rlat" | "wlat" => assert!(value.parse::<u64>().is_ok(), "{key}={value}"),
            "rpct" | "wpct" => assert_eq!(value, "95.00"),
            _ => panic!("the kernel knows no `{key}`"),
        }
    }
    for key in ["rbps", "rrandiops", "wbps", "wrandiops"] {
        assert!(keys(model).iter().any(|(known, _)| *known == key), "{key}: {model}");
    }
    let unnamed = iocost(&fixture::check(), None);
    assert!(unnamed.text.contains("MAJ:MIN ctrl=user"), "{}", unnamed.text);
    assert!(unnamed.unsaid[0].contains("MAJ:MIN"), "{:?}", unnamed.unsaid);
}

/// A check that only read.
fn reads() -> Check {
    let mut check = fixture::check();
    for step in &mut check.steps {
        step.points.retain(|point| !point.outcome.job.mix.destroys());
    }
    check.summary.cells.retain(|cell| cell.direction == iostack_model::Direction::Read);
    check
}

#[test]
fn what_was_not_measured_is_left_to_the_kernel_and_said() {
    let told = iocost(&reads(), Some("8:0"));
    assert!(!told.text.contains("wbps=") && told.text.contains("rbps="), "{}", told.text);
    for key in ["wbps", "wseqiops", "wrandiops", "wlat"] {
        assert!(told.unsaid.iter().any(|line| line.starts_with(key)), "{key}: {:?}", told.unsaid);
    }
}

#[test]
fn seastar_gets_all_four_figures_of_a_mount_point_or_a_reason() {
    let told = seastar(&fixture::check()).expect("a file system was checked");
    let mut lines = told.text.lines();
    assert_eq!(lines.next(), Some("disks:"));
    let mount = lines.next().and_then(|line| line.strip_prefix("  - mountpoint: ")).expect("a mount point");
    assert!(mount.starts_with("\"/") && mount.ends_with('"'), "{mount}");
    let mut seen = Vec::new();
    for line in lines {
        let (key, value) =
            line.strip_prefix("    ").and_then(|line| line.split_once(": ")).expect("key: value");
        assert!(value.parse::<u64>().is_ok_and(|value| value > 0), "{line}");
        seen.push(key);
    }
    assert_eq!(seen[..4], ["read_iops", "read_bandwidth", "write_iops", "write_bandwidth"]);
    assert!(seen[4..].iter().all(|key| key.ends_with("_saturation_length")), "{seen:?}");
    let error = seastar(&reads()).expect_err("nothing was written");
    assert!(error.contains("write_iops, write_bandwidth") && error.contains("check a directory"), "{error}");
    let mut raw = fixture::check();
    raw.storage.file_system = None;
    raw.target = TargetName { kind: TargetKind::Block, path: "/dev/sdz".into() };
    let error = seastar(&raw).expect_err("mounted nowhere");
    assert!(error.contains("/dev/sdz") && error.contains("mount point"), "{error}");
}

/// Tags that `MQSim` reads.
const TAGS: &str = "Execution_Parameter_Set Host_Parameter_Set PCIe_Lane_Bandwidth PCIe_Lane_Count Device_Parameter_Set Seed \
    Enabled_Preconditioning Memory_Type HostInterface_Type IO_Queue_Depth Queue_Fetch_Size Caching_Mechanism \
    Data_Cache_Capacity Address_Mapping Ideal_Mapping_Table Plane_Allocation_Scheme Overprovisioning_Ratio \
    GC_Block_Selection_Policy Preferred_suspend_erase_time_for_read Preferred_suspend_write_time_for_read \
    Flash_Channel_Count Flash_Channel_Width Channel_Transfer_Rate Chip_No_Per_Channel Flash_Comm_Protocol \
    Flash_Parameter_Set Flash_Technology CMD_Suspension_Support Page_Read_Latency_LSB Page_Read_Latency_CSB \
    Page_Read_Latency_MSB Page_Program_Latency_LSB Page_Program_Latency_CSB Page_Program_Latency_MSB \
    Block_Erase_Latency Suspend_Erase_Time Suspend_Program_Time Die_No_Per_Chip Plane_No_Per_Die Block_No_Per_Plane \
    Page_No_Per_Block Page_Capacity MQSim_IO_Scenarios IO_Scenario IO_Flow_Parameter_Set_Synthetic Priority_Class \
    Device_Level_Data_Caching_Mode Channel_IDs Chip_IDs Die_IDs Plane_IDs Initial_Occupancy_Percentage \
    Working_Set_Percentage Synthetic_Generator_Type Read_Percentage Address_Distribution Percentage_of_Hot_Region \
    Generated_Aligned_Addresses Address_Alignment_Unit Request_Size_Distribution Average_Request_Size \
    Variance_Request_Size Average_No_of_Reqs_in_Queue Stop_Time Total_Requests_To_Generate";

/// Reads XML whose elements have no attributes: each closes, in order, and `MQSim` knows it. Elements with text: tag and text.
fn elements(xml: &str) -> Vec<(String, String)> {
    let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"us-ascii\"?>\n").expect("a declaration");
    let (mut open, mut found): (Vec<&str>, _) = (Vec::new(), Vec::new());
    let mut pieces = body.split('<');
    assert_eq!(pieces.next(), Some(""));
    for piece in pieces {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "closed out of order");
            assert_eq!(text.trim(), "", "text behind `{tag}`");
        } else {
            assert!(TAGS.split_whitespace().any(|known| known == tag), "MQSim reads no `{tag}`");
            open.push(tag);
            if !text.trim().is_empty() {
                found.push((tag.to_owned(), text.to_owned()));
            }
        }
    }
    assert!(open.is_empty(), "{open:?} stay open");
    found
}

fn card(numbers: &[(&str, &str)]) -> DeviceCard {
    let number = |&(key, value): &(&str, &str)| DeviceNumber {
        key: key.to_owned(),
        value: value.to_owned(),
        meaning: "a number".to_owned(),
        basis: Basis::Assumed,
        source: String::new(),
    };
    let whole: DeviceCard = fixture::answer::<iostack_model::answers::DevicePicture>("show-drive").card;
    DeviceCard { kind: "flash".to_owned(), numbers: numbers.iter().map(number).collect(), ..whole }
}

const DRIVE: [(&str, &str); 19] = [
    ("flash.capacity", "1GiB"),
    ("flash.over_provisioning", "12.5%"),
    ("flash.channels", "2"),
    ("flash.chips", "2"),
    ("flash.dies", "1"),
    ("flash.planes", "2"),
    ("flash.page", "16KiB"),
    ("flash.pages_per_block", "256"),
    ("flash.read", "77us"),
    ("flash.program", "820us"),
    ("flash.erase", "3ms"),
    ("flash.suspend", "both"),
    ("flash.suspend_time", "50us"),
    ("flash.queue_depth", "1024"),
    ("flash.order", "cwdp"),
    ("channel.rate", "800MB/s"),
    ("link.rate", "3360MB/s"),
    ("gc.policy", "cost-benefit"),
    ("controller.read", "6us"),
];

#[test]
fn a_drive_of_mqsim_holds_what_the_sheet_says() {
    let told = mqsim(&card(&DRIVE)).expect("flash");
    let found = elements(&told.text);
    let value = |tag: &str| found.iter().find(|(known, _)| known == tag).map(|(_, text)| text.as_str());
    for (tag, wanted) in [
        ("Overprovisioning_Ratio", "0.1250"),
        ("Flash_Channel_Count", "2"),
        ("Channel_Transfer_Rate", "800"),
        ("PCIe_Lane_Bandwidth", "0.840000"),
        ("HostInterface_Type", "NVME"),
        ("Plane_Allocation_Scheme", "CWDP"),
        ("Page_Read_Latency_MSB", "77000"),
        ("Block_Erase_Latency", "3000000"),
        ("Suspend_Program_Time", "50000"),
        ("CMD_Suspension_Support", "PROGRAM_ERASE"),
        ("Page_Capacity", "16384"),
        // 1.125 GiB over 8 planes of blocks of 4 MiB.
        ("Block_No_Per_Plane", "36"),
    ] {
        assert_eq!(value(tag), Some(wanted), "{tag}");
    }
    for word in ["gc.policy=cost-benefit", "controller.read=6us"] {
        assert!(told.unsaid.iter().any(|line| line.starts_with(word)), "{word}: {:?}", told.unsaid);
    }
    let disk = DeviceCard { kind: "hdd".to_owned(), ..card(&DRIVE) };
    assert!(mqsim(&disk).expect_err("a disk").contains("of kind hdd"));
}

#[test]
fn a_load_of_mqsim_has_sizes_in_sectors_and_says_what_it_has_not() {
    let job = Job {
        mix: Mix::reads(70),
        queue_depth: 8,
        threads: 2,
        engine: iostack_model::Engine::Libaio,
        ..Job::default()
    };
    let told = mqsim_workload(&card(&DRIVE), &job);
    let found = elements(&told.text);
    let value = |tag: &str| found.iter().find(|(known, _)| known == tag).map(|(_, text)| text.as_str());
    for (tag, wanted) in [
        ("Read_Percentage", "70"),
        ("Average_Request_Size", "8"),
        ("Average_No_of_Reqs_in_Queue", "16"),
        ("Channel_IDs", "0,1"),
        ("Address_Distribution", "RANDOM_UNIFORM"),
        ("Device_Level_Data_Caching_Mode", "TURNED_OFF"),
    ] {
        assert_eq!(value(tag), Some(wanted), "{tag}");
    }
    assert_eq!(told.unsaid, Vec::<String>::new());
    let zipf = Access::Random { order: Order::Independent, distribution: Distribution::Zipf { theta: 1.1 } };
    let odd = mqsim_workload(&card(&DRIVE), &Job { access: zipf, ..job });
    assert!(odd.unsaid[0].contains("Zipf"), "{:?}", odd.unsaid);
}

fn of_job(job: &Job, kind: TargetKind, path: &str) -> Exported {
    let target = TargetName { kind, path: path.into() };
    fio_job(&[FioLoad { name: "a [load]".to_owned(), job, target: &target }])
}

#[test]
fn a_job_file_has_an_option_for_each_part_of_the_load() {
    let job = Job {
        mix: Mix::reads(70),
        engine: iostack_model::Engine::IoUring {
            fixed_buffers: true,
            registered_files: false,
            poll: false,
            submit_poll: false,
        },
        queue_depth: 16,
        threads: 4,
        runtime: Some(Nanos::millis(1500)),
        time_based: true,
        size: Some(iostack_model::Amount::Bytes(Bytes::mib(64))),
        ..Job::default()
    };
    let told = of_job(&job, TargetKind::Directory, "/data");
    for line in [
        "[a  load]",
        "directory=/data",
        "rw=randrw",
        "rwmixread=70",
        "bs=4096,4096,4096",
        "ioengine=io_uring",
        "fixedbufs=1",
        "iodepth=16",
        "numjobs=4",
        "direct=1",
        "norandommap=1",
        "size=67108864",
        "runtime=1500000us",
        "time_based=1",
    ] {
        assert!(told.text.lines().any(|known| known == line), "{line}: {}", told.text);
    }
    assert_eq!(told.unsaid, Vec::<String>::new());
}

#[test]
fn a_job_file_names_no_target_that_it_would_destroy_and_no_simulated_one() {
    let (read, write) = (Job::default(), Job { mix: Mix::WRITE, ..Job::default() });
    let told = of_job(&read, TargetKind::Block, "/dev/sdz");
    assert!(told.text.contains("\nfilename=/dev/sdz\n"), "{}", told.text);
    let told = of_job(&write, TargetKind::Block, "/dev/sdz");
    assert!(!told.text.contains("sdz") && told.unsaid[0].contains("/dev/sdz"), "{told:?}");
    let told = of_job(&read, TargetKind::Sim, "x25e");
    assert!(!told.text.contains("x25e") && told.unsaid[0].contains("sim:x25e"), "{told:?}");
}

#[test]
fn what_a_job_file_does_not_say_is_named() {
    let job = Job {
        zones: Some(iostack_model::Zones { size: Bytes(1), range: Bytes(2), skip: Bytes(3) }),
        ..Job::default()
    };
    let told = of_job(&job, TargetKind::File, "/data/file");
    assert_eq!(told.unsaid.len(), 1, "{:?}", told.unsaid);
    assert!(told.unsaid[0].contains("zones = {"), "{:?}", told.unsaid);
}
