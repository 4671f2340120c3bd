//! From what is asked to what boots.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::counts::{self, Round};
use crate::devices::{Device, Store};
use crate::disk::Disk;
use crate::guest::{Find, MODULES, Message, MountPlan, PLAN, Plan, Work};
use crate::host::bootable::bootable;
use crate::host::build::{self, hashed};
use crate::host::cache::Cache;
use crate::host::filesystem::FileSystem;
use crate::host::image::Image;
use crate::host::kernel::Kernel;
use crate::host::machine::{self, Accelerator, Boot, Scratch};
use crate::host::mailbox::{DiskShape, Drives};
use crate::host::modules::{self, Module, Modules};
use crate::host::packages::Say;
use crate::host::programs;
use crate::host::qemu::Qemu;
use crate::host::snapshot::identity;
use crate::host::tool::Tool;
use crate::outside::BroughtBy;
use crate::run_files::RunFiles;
use crate::symbols::kallsyms;
use crate::targets::LabFlags;
use crate::words::{
    SCHEDULERS, append, capacity, check_options, disks, memory, options, parameters, scheduler_module,
    settings,
};
use crate::{LabError, Raid};

/// Everything about a boot but the host's part.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The device's name.
    pub device: String,
    /// Options of its driver, over the device's own.
    pub options: Vec<(String, String)>,
    /// Changes of the numbers of a simulated drive.
    pub drive: Vec<(String, String)>,
    /// Flags that need no reading: layers, depth and name of a disk, sizes, modules.
    pub flags: LabFlags,
    /// True when the content of the simulated drives stays, file system and all.
    pub keeps: bool,
    /// A series such as `6.1`, or a folder.
    pub kernel: String,
    /// A file system between.
    pub file_system: Option<String>,
    /// Name of the I/O scheduler.
    pub scheduler: String,
    /// The others can be chosen while it runs.
    pub other_schedulers: bool,
    /// Folder of the driver's source, instead of ours or the kernel's.
    pub source: Option<PathBuf>,
    /// The processor's mitigations, as the kernel would choose them.
    pub mitigations: bool,
    /// Tracepoints to enable, `block:block_rq_issue`.
    pub tracepoints: Vec<String>,
    /// Instructions of the emulated processor a microsecond of the guest, times 1,000; `None`: an instruction is a
    /// nanosecond.
    pub khz: Option<u32>,
    /// Provider of simulated drives.
    pub brought_by: BroughtBy,
    /// Several disks are one.
    pub raid: Option<Raid>,
    /// Packages whose programs the guest has.
    pub programs: Vec<String>,
    /// Files of the user's that the guest has, where programs start.
    pub files: Vec<PathBuf>,
    /// Source of the processors.
    pub accelerator: Accelerator,
    /// Number of processors.
    pub processors: u32,
    /// Longest silence of the guest; see [`Boot::limit`].
    pub limit: Duration,
}

impl Default for Request {
    fn default() -> Self {
        Request {
            device: "null_blk".to_owned(),
            options: Vec::new(),
            drive: Vec::new(),
            flags: LabFlags::default(),
            keeps: false,
            kernel: "6.1".to_owned(),
            file_system: None,
            scheduler: "none".to_owned(),
            other_schedulers: false,
            source: None,
            mitigations: false,
            tracepoints: Vec::new(),
            khz: None,
            brought_by: BroughtBy::default(),
            raid: None,
            programs: Vec::new(),
            files: Vec::new(),
            accelerator: Accelerator::Exact,
            processors: 1,
            limit: Duration::from_mins(3),
        }
    }
}

impl Request {
    /// Layers between the kernel's file system and the simulated drives, each with the flag that asks for it.
    pub fn between(&self) -> Vec<(String, String)> {
        let pair = |name: &str, value: String| (name.to_owned(), value);
        let raid = self.raid.map(|raid| pair("--raid", raid.to_string()));
        let depth = self.flags.drive_depth.map(|depth| pair("--drive-depth", depth.to_string()));
        let layers = self.flags.layer.iter().map(|layer| pair("--layer", layer.clone()));
        raid.into_iter().chain(depth).chain(layers).collect()
    }
}

/// The lab, ready to boot.
pub struct Lab<'a> {
    /// Cache of what was fetched and built.
    pub cache: Cache,
    /// Emulator that boots the machines.
    pub qemu: Qemu,
    say: Say<'a>,
    stop: &'a AtomicBool,
}

/// Outcome of a boot.
#[derive(Debug, Default)]
pub struct Booted {
    /// Release of the kernel.
    pub release: String,
    /// Modules that were built from a folder or from our own source.
    pub built: Vec<String>,
    /// Counts of the plugin, one round a measure.
    pub rounds: Vec<Round>,
    /// Time-stamp differences of each measure's counted I/Os.
    pub ticks: Vec<Vec<u64>>,
    /// Names of the guest's addresses; empty when nothing was counted.
    pub kallsyms: String,
    /// Text of `/proc/iomem`.
    pub iomem: String,
    /// Warnings and worse in the kernel's log.
    pub complaints: Vec<String>,
}

impl Booted {
    fn begun(kernel: &Kernel, modules: &[Loaded]) -> Booted {
        let built = modules.iter().filter(|module| module.is_built);
        Booted {
            release: kernel.release.clone(),
            built: built.map(|module| module.name.clone()).collect(),
            ..Booted::default()
        }
    }
}

/// A module that the guest loads.
struct Loaded {
    name: String,
    bytes: Vec<u8>,
    parameters: String,
    /// It was built here, and is not the kernel's.
    is_built: bool,
}

#[derive(Default)]
struct BootHeard {
    booted: Booted,
    sections: Vec<(String, Vec<(String, u64)>)>,
    symbols: Option<String>,
}

impl BootHeard {
    fn take(&mut self, message: &Message) {
        match message {
            Message::Ticks(ticks) => self.booted.ticks.push(ticks.clone()),
            Message::Iomem(text) => self.booted.iomem.clone_from(text),
            Message::Complaints(lines) => self.booted.complaints.clone_from(lines),
            Message::Sections(modules) => self.sections.clone_from(modules),
            Message::Symbols(text) => self.symbols = Some(text.clone()),
            _ => {}
        }
    }

    /// Adds what the plugin wrote to `out`, and the names of all addresses; those of the kernel are kept.
    fn counted(self, modules: Vec<Loaded>, kept: &Path, out: Option<&Path>) -> Result<Booted, LabError> {
        let Some(out) = out else { return Ok(self.booted) };
        keep(kept, self.symbols.as_deref().unwrap_or_default())?;
        let files: Vec<_> = modules.into_iter().map(|module| (module.name, module.bytes)).collect();
        let kallsyms = kallsyms(&self.symbols.unwrap_or_default(), &files, &self.sections)?;
        Ok(Booted { kallsyms, rounds: counts::read(out)?, ..self.booted })
    }
}

/// A guest on the host's own processor is up in a second or two.
const KVM_PATIENCE: Duration = Duration::from_secs(25);

impl<'a> Lab<'a> {
    /// Finds the emulator, fetching it where it is not installed.
    pub fn open(say: Say<'a>, stop: &'a AtomicBool) -> Result<Lab<'a>, LabError> {
        if !cfg!(target_arch = "x86_64") {
            return Err(LabError::Lacks(format!(
                "the lab emulates an x86-64 machine and runs this program in it, and this is a program for {}; use the \
                 x86-64 build on an x86-64 machine",
                std::env::consts::ARCH
            )));
        }
        let cache = Cache::open()?;
        let qemu = Qemu::choose(&cache, say)?;
        Ok(Lab { cache, qemu, say, stop })
    }

    /// Fetches and builds what the request needs, without booting.
    pub fn up(&self, request: &Request) -> Result<Kernel, LabError> {
        let kernel = Kernel::choose(&self.cache, &request.kernel, self.say)?;
        build::plugin(&self.cache, self.say)?;
        if kernel.headers.is_some() {
            for name in build::OWN_DRIVERS {
                build::driver(&self.cache, &kernel, name, None, self.say)?;
            }
        }
        Ok(kernel)
    }

    /// True when the host's processor can run the guest. Tried once after each boot of the host: a device that opens is no
    /// proof.
    pub fn has_kvm(&self, request: &Request) -> bool {
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let file = self.cache.root().join("kvm");
        if let Some(told) = fs::read_to_string(&file).ok().and_then(|text| told_before(&text, &boot_id)) {
            return told;
        }
        if fs::File::options().read(true).write(true).open("/dev/kvm").is_err() {
            return false;
        }
        (self.say)("trying whether this machine runs guests itself");
        let trial = Request {
            device: "null_blk".to_owned(),
            kernel: request.kernel.clone(),
            accelerator: Accelerator::Kvm,
            limit: KVM_PATIENCE,
            ..Request::default()
        };
        let works = self.boot(&trial, Work::Nothing, None, &mut |_| {}).is_ok();
        (self.say)(if works { "it does" } else { "it does not; the guest is emulated" });
        // Without the note the next run tries again.
        let _ = fs::write(&file, format!("{} {works}\n", boot_id.trim()));
        works
    }

    /// Boots and does the work, with the drives of a simulated device; `hear` gets each message.
    pub fn boot(
        &self,
        request: &Request,
        work: Work,
        mut drives: Option<&mut dyn Drives>,
        hear: &mut dyn FnMut(&Message),
    ) -> Result<Booted, LabError> {
        let shapes = drives.as_deref().map(Drives::shapes).unwrap_or_default();
        let device = Device::with_source(&request.device, request.source.as_deref())?;
        let kernel = Kernel::choose(&self.cache, &request.kernel, self.say)?;
        let qemu = self.emulator(request, drives.is_some())?;
        let scratch = Scratch::new()?;
        let (counts, interactive) = (matches!(work, Work::Cost(_)), matches!(work, Work::Shell));
        let mut files = own_files(request)?;
        let capacity_mib = capacity(request, &shapes)?;
        let disk = Disk::for_boot(request, device, capacity_mib, scratch.path("disk"), !counts)?;
        let first =
            drives.as_mut().filter(|_| !shapes.is_empty()).map(|first| &mut **first as &mut dyn Drives);
        let place = disk.prepare(&self.cache, &mut files, first, self.say)?;
        let modules =
            self.modules(request, device, &kernel, &options(request, device, capacity_mib, &shapes))?;
        add_modules(&mut files, &modules);
        let symbols = self.cache.root().join("symbols").join(kernel.identity()?);
        let known_symbols = fs::read_to_string(&symbols).ok();
        let plan = plan(request, &modules, place, (counts && known_symbols.is_none(), &shapes), work)?;
        files.add(PLAN, serde_json::to_vec(&plan).expect("a plan is plain data"));
        let plugin =
            (counts || drives.is_some()).then(|| build::plugin(&self.cache, self.say)).transpose()?;
        let has_shell = interactive || !request.programs.is_empty();
        let base = || self.base(request, has_shell);
        let base_name = format!("{has_shell} {:?}", request.programs);
        let base_bytes = if request.programs.is_empty() { 0 } else { self.base_bytes(&base_name, &base)? };
        let memory_mib = memory(request, device, capacity_mib, base_bytes)?;
        let is_kept = !interactive && !request.flags.fresh_boot && request.accelerator != Accelerator::Kvm;
        let boot = Boot {
            qemu: &qemu,
            scratch: &scratch,
            stop: self.stop,
            kernel: bootable(&self.cache, &kernel)?,
            base: &base,
            base_name,
            files,
            kept_in: is_kept.then_some(&self.cache),
            few_clocks: !shapes.is_empty() && request.processors == 1,
            append: append(request, drives.is_some(), &plan.work),
            devices: disk.words(),
            plugged: device.plugged,
            memory_mib,
            processors: request.processors,
            accelerator: if drives.is_some() { Accelerator::Exact } else { request.accelerator },
            plugin: plugin.as_deref(),
            counts: counts.then(|| scratch.path("counts")),
            limit: request.limit,
            interactive,
            say: self.say,
        };
        let booted = Booted::begun(&kernel, &modules);
        let heard = BootHeard { symbols: known_symbols, booted, ..BootHeard::default() };
        run(&boot, drives, heard, hear)?.counted(modules, &symbols, boot.counts.as_deref())
    }

    /// The emulator, one that lets processors take turns if it must.
    fn emulator(&self, request: &Request, has_drives: bool) -> Result<Qemu, LabError> {
        let is_exact = has_drives || request.accelerator == Accelerator::Exact;
        if is_exact && request.processors > 1 {
            self.qemu.with_turns(&self.cache, self.say)
        } else {
            Ok(self.qemu.clone())
        }
    }

    /// Files with which every such machine boots.
    fn base(&self, request: &Request, has_shell: bool) -> Result<Image, LabError> {
        let mut image = Image::with_this_program(&self.cache)?;
        if has_shell {
            self.add_shell(&mut image)?;
        }
        if !request.programs.is_empty() {
            image.tree(&programs::folder(&self.cache, &request.programs, self.say)?)?;
        }
        Ok(image)
    }

    /// Bytes of those files, known without making them once they were made.
    fn base_bytes(&self, name: &str, base: &dyn Fn() -> Result<Image, LabError>) -> Result<u64, LabError> {
        let known =
            self.cache.root().join("base").join(hashed(&(name, identity(Path::new("/proc/self/exe"))?)));
        if let Some(bytes) = fs::read_to_string(&known).ok().and_then(|text| text.parse().ok()) {
            return Ok(bytes);
        }
        let bytes = base()?.bytes();
        keep(&known, &bytes.to_string()).map(|()| bytes)
    }

    fn add_shell(&self, image: &mut Image) -> Result<(), LabError> {
        let busybox = Tool::find(&self.cache, "busybox", "busybox-static", self.say)?;
        let path = busybox.program();
        image.program("/bin/busybox", &fs::read(path).map_err(LabError::file("read", path))?);
        Ok(())
    }

    /// Every module to load, the driver last.
    fn modules(
        &self,
        request: &Request,
        device: &Device,
        kernel: &Kernel,
        options: &str,
    ) -> Result<Vec<Loaded>, LabError> {
        let driver = device.module(&request.device);
        let source = request.source.as_deref();
        let built = if device.own || source.is_some() {
            build::driver(&self.cache, kernel, &driver, source, self.say)?
        } else {
            Vec::new()
        };
        let known = Modules::of_kernel(kernel).with(&built)?;
        // Asked for by name at run time, where a program would load it: here there is none.
        let mut wanted = vec!["crc32c_generic", "crc32c_intel", "crct10dif_generic"];
        let others = if request.other_schedulers { &SCHEDULERS[..] } else { &[] };
        let schedulers = others.iter().copied().chain([&*request.scheduler]);
        wanted.extend(schedulers.filter_map(scheduler_module));
        // If it is a SCSI host: no module depends on the driver of its disks.
        wanted.extend((device.store == Store::Unknown).then_some("sd_mod"));
        wanted.retain(|name| known.has(name));
        wanted.extend(device.modules.iter().map(String::as_str));
        wanted.extend(request.raid.map(Raid::module));
        wanted.extend(request.flags.module.iter().map(String::as_str));
        if let Some(name) = &request.file_system {
            wanted.extend(FileSystem::named(name)?.modules.iter().map(String::as_str));
        }
        wanted.push(&driver);
        let mut loaded = Vec::new();
        for Module { name, bytes } in known.order(&wanted)? {
            let mut parameters = parameters(&name).to_owned();
            if name == driver {
                check_options(request, &name, &modules::parameters(&bytes))?;
                options.clone_into(&mut parameters);
            }
            let is_built = built.iter().any(|(built, _)| *built == name);
            loaded.push(Loaded { name, bytes, parameters, is_built });
        }
        Ok(loaded)
    }
}

/// Runs the machine, and hears it.
fn run(
    boot: &Boot<'_>,
    drives: Option<&mut dyn Drives>,
    mut heard: BootHeard,
    hear: &mut dyn FnMut(&Message),
) -> Result<BootHeard, LabError> {
    machine::run(boot, drives, &mut |message| {
        heard.take(message);
        hear(message);
    })?;
    Ok(heard)
}

/// Adds the files of modules, where the guest looks for them.
fn add_modules(files: &mut RunFiles, modules: &[Loaded]) {
    for one in modules {
        files.add(format!("{MODULES}/{}.ko", one.name), one.bytes.clone());
    }
}

/// Files of the user's for the guest.
fn own_files(request: &Request) -> Result<RunFiles, LabError> {
    let mut files = RunFiles::default();
    for file in &request.files {
        files.add(programs::place_of(file)?, fs::read(file).map_err(LabError::file("read", file))?);
    }
    Ok(files)
}

/// Plan of the guest.
fn plan(
    request: &Request,
    modules: &[Loaded],
    place: Option<MountPlan>,
    (symbols, shapes): (bool, &[DiskShape]),
    work: Work,
) -> Result<Plan, LabError> {
    let device = Device::with_source(&request.device, request.source.as_deref())?;
    let modules = modules.iter().map(|one| (one.name.clone(), one.parameters.clone())).collect();
    let find = request.flags.disk.clone().map_or_else(|| device.find.clone(), Find::Name);
    let raid = request.raid;
    // Emulated adapters take time of the host, which in exact time passes as none or as much.
    let is_dependable = request.accelerator != Accelerator::Exact || !shapes.is_empty();
    Ok(Plan {
        modules,
        find,
        disks: disks(shapes),
        raid,
        settings: settings(request, device),
        place,
        symbols,
        gives_up_s: is_dependable.then_some(request.limit.as_secs()),
        work,
    })
}

/// Keeps a text for the next time, whole or not at all.
fn keep(path: &Path, text: &str) -> Result<(), LabError> {
    if path.exists() {
        return Ok(());
    }
    let folder = path.parent().expect("a file in the cache");
    fs::create_dir_all(folder).map_err(LabError::file("make", folder))?;
    let partial = path.with_extension(format!("partial-{}", std::process::id()));
    fs::write(&partial, text).map_err(LabError::file("write", &partial))?;
    fs::rename(&partial, path).map_err(LabError::file("rename to", path))
}

/// Result that was noted since the host booted.
fn told_before(text: &str, boot_id: &str) -> Option<bool> {
    let (id, works) = text.trim().split_once(' ')?;
    (id == boot_id.trim()).then(|| works.parse().ok())?
}
