//! `MQSim`'s `ssdconfig.xml` and `workload.xml`, from a sheet of a flash drive and a job.
//!
//! Names of tags are those that `MQSim` reads (`src/exec/*_Parameter_Set.cpp` of `CMU-SAFARI/MQSim`), misspelt where it misspells
//! them. What its model has and ours has not is left to its defaults.

use iostack_model::answers::{DeviceCard, DeviceNumber};
use iostack_model::{Access, Bytes, Direction, Distribution, Job, Nanos, Order};

use super::Exported;

/// Unit of sizes in a workload.
const SECTOR: u64 = 512;
/// Keys that the files say, or that `MQSim` has no other value for.
const SAID: [&str; 25] = [
    "flash.capacity",
    "flash.over_provisioning",
    "flash.channels",
    "flash.chips",
    "flash.dies",
    "flash.planes",
    "flash.page",
    "flash.pages_per_block",
    "flash.sector",
    "flash.read",
    "flash.program",
    "flash.erase",
    "flash.suspend",
    "flash.suspend_time",
    "flash.queue_depth",
    "flash.order",
    "flash.state",
    "channel.rate",
    "link.rate",
    "link.duplex",
    "buffer.size",
    "gc.policy",
    "gc.choices",
    "gc.free_low",
    "gc.free_high",
];

/// Numbers of a card, read by key.
struct Numbers<'a>(&'a [DeviceNumber]);

impl Numbers<'_> {
    fn text(&self, key: &str) -> &str {
        self.0.iter().find(|number| number.key == key).map_or("", |number| &number.value)
    }

    fn count(&self, key: &str) -> u64 {
        self.text(key).parse().unwrap_or(1).max(1)
    }

    fn bytes(&self, key: &str) -> u64 {
        self.text(key).parse::<Bytes>().map_or(0, |bytes| bytes.0)
    }

    fn ns(&self, key: &str) -> u64 {
        self.text(key).parse::<Nanos>().map_or(0, |time| time.0)
    }

    fn rate(&self, key: &str) -> u64 {
        self.text(key).strip_suffix("/s").and_then(|text| text.parse::<Bytes>().ok()).map_or(0, |rate| rate.0)
    }

    fn share(&self, key: &str) -> f64 {
        let share = self.text(key).strip_suffix('%').and_then(|text| text.parse::<f64>().ok());
        share.unwrap_or(0.0) / 100.0
    }
}

/// An element with elements inside, indented.
fn element(name: &str, inside: &[(&str, String)]) -> String {
    around(name, &tags(inside))
}

/// An element a line.
fn tags(inside: &[(&str, String)]) -> String {
    inside.iter().fold(String::new(), |all, (tag, value)| all + &format!("<{tag}>{value}</{tag}>\n"))
}

fn around(name: &str, inside: &str) -> String {
    let inside = inside.lines().fold(String::new(), |all, line| all + "  " + line + "\n");
    format!("<{name}>\n{inside}</{name}>\n")
}

fn document(root: &str, inside: &str) -> String {
    format!("<?xml version=\"1.0\" encoding=\"us-ascii\"?>\n{}", around(root, inside))
}

/// The drive. An error says why it is none that `MQSim` could be.
pub fn mqsim(card: &DeviceCard) -> Result<Exported, String> {
    if card.kind != "flash" {
        return Err(format!(
            "`{}` is of kind {}, and MQSim simulates flash; name a flash drive of `iostack sim list`",
            card.name, card.kind
        ));
    }
    let numbers = Numbers(&card.numbers);
    let mut unsaid = unsaid(&card.numbers);
    let lanes = 4;
    let link = numbers.rate("link.rate");
    let link = if link > 0 {
        link
    } else {
        unsaid.push("link.rate: the sheet has none, and MQSim needs one; 16 GB/s is written".to_owned());
        16_000_000_000
    };
    let host = [
        ("PCIe_Lane_Bandwidth", format!("{:.6}", link as f64 / 1e9 / f64::from(lanes))),
        ("PCIe_Lane_Count", lanes.to_string()),
    ];
    let mut device = tags(&drive(&numbers, &mut unsaid));
    device += &element("Flash_Parameter_Set", &cells(&numbers));
    let inside = element("Host_Parameter_Set", &host) + &around("Device_Parameter_Set", &device);
    Ok(Exported { text: document("Execution_Parameter_Set", &inside), unsaid })
}

/// Numbers of the sheet that change what a drive does and have no tag.
fn unsaid(numbers: &[DeviceNumber]) -> Vec<String> {
    let idle = ["", "none", "no", "0"];
    let said = |number: &&DeviceNumber| SAID.contains(&number.key.as_str());
    let usual = |number: &&DeviceNumber| number.basis == iostack_model::answers::Basis::Usual;
    let left = numbers
        .iter()
        .filter(|number| !said(number) && !usual(number) && !idle.contains(&number.value.as_str()));
    left.map(|number| {
        format!("{}={}: MQSim has no word for it ({})", number.key, number.value, number.meaning)
    })
    .collect()
}

fn drive(numbers: &Numbers<'_>, unsaid: &mut Vec<String>) -> Vec<(&'static str, String)> {
    let policy = match numbers.text("gc.policy") {
        "greedy" => "GREEDY",
        "choices" => "RGA",
        "fifo" => "FIFO",
        "random" => "RANDOM",
        other => {
            unsaid.push(format!("gc.policy={other}: MQSim has none such; GREEDY is written"));
            "GREEDY"
        }
    };
    // NCQ has 32 places.
    let interface = if numbers.count("flash.queue_depth") <= 32 { "SATA" } else { "NVME" };
    let buffer = numbers.bytes("buffer.size").max(numbers.bytes("flash.page"));
    vec![
        ("Seed", "1".to_owned()),
        ("Enabled_Preconditioning", (numbers.text("flash.state") != "fresh").to_string()),
        ("Memory_Type", "FLASH".to_owned()),
        ("HostInterface_Type", interface.to_owned()),
        ("IO_Queue_Depth", numbers.count("flash.queue_depth").to_string()),
        ("Queue_Fetch_Size", numbers.count("flash.queue_depth").to_string()),
        ("Caching_Mechanism", "ADVANCED".to_owned()),
        ("Data_Cache_Capacity", buffer.to_string()),
        ("Address_Mapping", "PAGE_LEVEL".to_owned()),
        ("Ideal_Mapping_Table", "true".to_owned()),
        ("Plane_Allocation_Scheme", numbers.text("flash.order").to_uppercase()),
        ("Overprovisioning_Ratio", format!("{:.4}", numbers.share("flash.over_provisioning"))),
        ("GC_Block_Selection_Policy", policy.to_owned()),
        ("Preferred_suspend_erase_time_for_read", numbers.ns("flash.suspend_time").to_string()),
        ("Preferred_suspend_write_time_for_read", numbers.ns("flash.suspend_time").to_string()),
        ("Flash_Channel_Count", numbers.count("flash.channels").to_string()),
        ("Flash_Channel_Width", "1".to_owned()),
        ("Channel_Transfer_Rate", (numbers.rate("channel.rate") / 1_000_000).to_string()),
        ("Chip_No_Per_Channel", numbers.count("flash.chips").to_string()),
        ("Flash_Comm_Protocol", "NVDDR2".to_owned()),
    ]
}

fn cells(numbers: &Numbers<'_>) -> Vec<(&'static str, String)> {
    let suspends = match numbers.text("flash.suspend") {
        "erase" => "ERASE",
        "program" => "PROGRAM",
        "both" => "PROGRAM_ERASE",
        _ => "NONE",
    };
    let (read, program) = (numbers.ns("flash.read"), numbers.ns("flash.program"));
    let mut cells =
        vec![("Flash_Technology", "SLC".to_owned()), ("CMD_Suspension_Support", suspends.to_owned())];
    // One time for all pages of a cell.
    let bits = [
        ("Page_Read_Latency_LSB", read),
        ("Page_Read_Latency_CSB", read),
        ("Page_Read_Latency_MSB", read),
        ("Page_Program_Latency_LSB", program),
        ("Page_Program_Latency_CSB", program),
        ("Page_Program_Latency_MSB", program),
        ("Block_Erase_Latency", numbers.ns("flash.erase")),
        ("Suspend_Erase_Time", numbers.ns("flash.suspend_time")),
        ("Suspend_Program_Time", numbers.ns("flash.suspend_time")),
        ("Die_No_Per_Chip", numbers.count("flash.dies")),
        ("Plane_No_Per_Die", numbers.count("flash.planes")),
        ("Block_No_Per_Plane", blocks(numbers)),
        ("Page_No_Per_Block", numbers.count("flash.pages_per_block")),
        ("Page_Capacity", numbers.bytes("flash.page")),
    ];
    cells.extend(bits.map(|(tag, value)| (tag, value.to_string())));
    cells
}

/// Blocks of a plane, so that all planes together hold what the sheet says.
fn blocks(numbers: &Numbers<'_>) -> u64 {
    let planes = ["flash.channels", "flash.chips", "flash.dies", "flash.planes"];
    let planes: u64 = planes.iter().map(|key| numbers.count(key)).product();
    let block = numbers.bytes("flash.page").max(1) * numbers.count("flash.pages_per_block");
    let physical = numbers.bytes("flash.capacity") as f64 * (1.0 + numbers.share("flash.over_provisioning"));
    (physical / (planes * block) as f64).ceil() as u64
}

/// The load of a job on this drive.
pub fn mqsim_workload(card: &DeviceCard, job: &Job) -> Exported {
    let numbers = Numbers(&card.numbers);
    let mut unsaid = Vec::new();
    let all =
        |key: &str| (0..numbers.count(key)).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    let addresses = addresses(job, &mut unsaid);
    let direction = if job.mix.read > 0 { Direction::Read } else { Direction::Write };
    let sizes = job.block_sizes.of(direction);
    let size = sizes.first().map_or(0, |(size, _)| size.0);
    if sizes.len() > 1 || job.block_sizes.smallest() != job.block_sizes.largest() {
        unsaid.push(format!("several sizes: MQSim has one mean; {} is written", Bytes(size)));
    }
    if job.mix.trim > 0 {
        unsaid.push(format!("{} % trims: MQSim has none; they are written as writes", job.mix.trim));
    }
    if job.rate.is_some() || job.think.is_some() {
        unsaid.push("rates and pauses: a flow of MQSim keeps a depth".to_owned());
    }
    let caches = if numbers.bytes("buffer.size") > 0 { "WRITE_CACHE" } else { "TURNED_OFF" };
    let stop = job.runtime.map_or(1_000_000_000, |time| time.0);
    let flow = [
        ("Priority_Class", "HIGH".to_owned()),
        ("Device_Level_Data_Caching_Mode", caches.to_owned()),
        ("Channel_IDs", all("flash.channels")),
        ("Chip_IDs", all("flash.chips")),
        ("Die_IDs", all("flash.dies")),
        ("Plane_IDs", all("flash.planes")),
        (
            "Initial_Occupancy_Percentage",
            if numbers.text("flash.state") == "fresh" { "0" } else { "100" }.to_owned(),
        ),
        ("Working_Set_Percentage", "100".to_owned()),
        ("Synthetic_Generator_Type", "QUEUE_DEPTH".to_owned()),
        ("Read_Percentage", job.mix.read.to_string()),
        ("Address_Distribution", addresses.to_owned()),
        ("Percentage_of_Hot_Region", "0".to_owned()),
        ("Generated_Aligned_Addresses", "true".to_owned()),
        ("Address_Alignment_Unit", (size / SECTOR).max(1).to_string()),
        ("Request_Size_Distribution", "FIXED".to_owned()),
        ("Average_Request_Size", (size / SECTOR).max(1).to_string()),
        ("Variance_Request_Size", "0".to_owned()),
        ("Seed", job.seed.to_string()),
        ("Average_No_of_Reqs_in_Queue", job.in_flight().to_string()),
        ("Stop_Time", stop.to_string()),
        ("Total_Requests_To_Generate", job.io_count.unwrap_or(0).to_string()),
    ];
    let flow = around("IO_Scenario", &element("IO_Flow_Parameter_Set_Synthetic", &flow));
    Exported { text: document("MQSim_IO_Scenarios", &flow), unsaid }
}

/// `MQSim`'s word for where I/Os go.
fn addresses(job: &Job, unsaid: &mut Vec<String>) -> &'static str {
    match &job.access {
        Access::Random { distribution: Distribution::Uniform, order } => {
            if *order == Order::Permutation {
                unsaid.push("each block once: MQSim draws each place anew".to_owned());
            }
            "RANDOM_UNIFORM"
        }
        Access::Sequential => "STREAMING",
        other => {
            unsaid.push(format!("access {other:?}: MQSim has none such; RANDOM_UNIFORM is written"));
            "RANDOM_UNIFORM"
        }
    }
}
