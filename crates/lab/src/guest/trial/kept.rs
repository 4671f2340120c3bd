//! What did the driver take, and has not given back now that it is unloaded?
//!
//! The kernel says which function each piece of memory was taken by: of slabs by `alloc_traces`, with the whole stack, of
//! the rest by `vmallocinfo`. A function of a module that is gone has no name there, only an address. How much memory is
//! free says nothing of a driver: caches of the kernel come and go by tens of MiB.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::guest::MODULES;
use crate::guest::near_side::failed;
use crate::guest::sections::sections_of;
use crate::symbols::functions;

/// Folder in which the kernel tells of slabs; each that was asked for on its command line has a folder.
const SLABS: &str = "/sys/kernel/debug/slab";

/// Bytes behind which an address is not of the function before it.
const FUNCTION_MOST: u64 = 64 << 10;

/// Bytes by what took them: kind of memory, function of the driver.
pub(super) type KeptBytes = BTreeMap<String, u64>;

/// Addresses of the driver's functions, each time that it was loaded.
#[derive(Default)]
pub(super) struct DriverAddresses(BTreeMap<u64, String>);

impl DriverAddresses {
    /// Looks where the module is now.
    pub(super) fn note(&mut self, module: &str) -> Result<(), String> {
        let path = format!("{MODULES}/{module}.ko");
        let bytes = fs::read(&path).map_err(failed("read", &path))?;
        let sections = sections_of(&Path::new("/sys/module").join(module));
        let all = functions(module, &bytes, &sections, |_| true).map_err(|error| error.to_string())?;
        // Other names for the two functions that have their own, too.
        let (others, own): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(_, name)| ["init_module", "cleanup_module"].contains(&name.as_str()));
        self.0.extend(others.into_iter().chain(own));
        Ok(())
    }

    /// The function of the driver at an address that has no name, `0xffffffffc0123456`.
    fn name(&self, word: &str) -> Option<&str> {
        let address = u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()?;
        let (start, name) = self.0.range(..=address).next_back()?;
        (address - start < FUNCTION_MOST).then_some(name)
    }
}

/// Bytes that the driver keeps; `None` where the kernel does not say it. Only while the driver is unloaded.
pub(super) fn kept(places: &DriverAddresses) -> Option<KeptBytes> {
    let mut kept = KeptBytes::new();
    for slab in fs::read_dir(SLABS).ok()?.flatten() {
        let name = slab.file_name().to_string_lossy().into_owned();
        let traces = fs::read_to_string(slab.path().join("alloc_traces")).ok()?;
        let size = fs::read_to_string(format!("/sys/kernel/slab/{name}/object_size")).ok()?;
        for (function, objects) in of_slab(&traces, places) {
            *kept.entry(format!("{name} by {function}")).or_default() +=
                objects * size.trim().parse().unwrap_or(0);
        }
    }
    for (function, bytes) in of_vmalloc(&fs::read_to_string("/proc/vmallocinfo").ok()?, places) {
        *kept.entry(format!("vmalloc by {function}")).or_default() += bytes;
    }
    Some(kept)
}

/// Objects by function of the driver: `COUNT FUNCTION age=..`, its stack below, an empty line.
fn of_slab(traces: &str, places: &DriverAddresses) -> Vec<(String, u64)> {
    let record = |text: &str| {
        let mut lines = text.trim_start_matches('\n').lines();
        let head: Vec<&str> = lines.next()?.split_whitespace().collect();
        let mut frames = head.get(1).copied().into_iter().chain(lines.map(str::trim));
        let owner = frames.find_map(|word| places.name(word))?;
        Some((owner.to_owned(), head.first()?.parse().ok()?))
    };
    traces.split("\n\n").filter_map(record).collect()
}

/// Bytes by function of the driver: `FROM-UNTIL BYTES FUNCTION ..`.
fn of_vmalloc(text: &str, places: &DriverAddresses) -> Vec<(String, u64)> {
    let area = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some((places.name(words.get(2)?)?.to_owned(), words[1].parse().ok()?))
    };
    text.lines().filter_map(area).collect()
}

/// Memory that is taken with each load: it grew from the first look to the second and again to the third. What the kernel
/// keeps once, for the next time, does not.
pub(super) fn growing(looks: &[KeptBytes; 3]) -> KeptBytes {
    let of = |look: &KeptBytes, name: &str| look.get(name).copied().unwrap_or(0);
    let [first, second, third] = looks;
    let grows = |(name, bytes): (&String, &u64)| {
        let (begin, middle) = (of(first, name), of(second, name));
        (begin < middle && middle < *bytes).then(|| (name.clone(), bytes - begin))
    };
    third.iter().filter_map(grows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> DriverAddresses {
        let at = |address, name: &str| (address, name.to_owned());
        DriverAddresses(
            [at(0xffff_ffff_c000_0000, "leaky_queue"), at(0xffff_ffff_c010_0000, "leaky_init")].into(),
        )
    }

    #[test]
    fn objects_are_the_drivers_when_a_nameless_function_of_it_is_in_their_stack() {
        let traces = "\n     15 alloc_workqueue+0x1/0x2 age=1/2/3 pid=1 cpus=0\n        __kmalloc+0x1/0x2\n        \
                      0xffffffffc0100010\n        do_one_initcall+0x1/0x2\n\n      4 0xffffffffc0000020 age=1 pid=1\n\n      \
                      9 scsi_alloc+0x1/0x2 age=1 pid=1\n        0xffffffffc0900000\n\n      7 kobject_init+0x1/0x2 age=1\n";
        let found = of_slab(traces, &places());
        assert_eq!(found, [("leaky_init".to_owned(), 15), ("leaky_queue".to_owned(), 4)]);
    }

    #[test]
    fn areas_of_the_driver_are_told_from_the_kernels() {
        let text = "0xffffc90000000000-0xffffc90000005000   20480 dup_task_struct+0x1/0x2 pages=4 vmalloc\n\
                    0xffffc90000005000-0xffffc90001006000 16781312 0xffffffffc0100020 pages=4096 vmalloc N0=4096\n\
                    0xffffc90002000000-0xffffc90002002000    8192 unpurged vm_area\n";
        assert_eq!(of_vmalloc(text, &places()), [("leaky_init".to_owned(), 16_781_312)]);
    }

    #[test]
    fn only_what_grows_twice_is_left_behind() {
        let look = |a: u64, b: u64, c: u64| {
            KeptBytes::from([("a", a), ("b", b), ("c", c)].map(|(name, n)| (name.to_owned(), n)))
        };
        let looks = [look(64, 64, 64), look(128, 64, 65), look(192, 128, 65)];
        assert_eq!(growing(&looks), KeptBytes::from([("a".to_owned(), 128)]));
        let from_nothing = [KeptBytes::new(), look(1, 0, 0), look(2, 1, 0)];
        assert_eq!(growing(&from_nothing), KeptBytes::from([("a".to_owned(), 2)]));
    }
}
