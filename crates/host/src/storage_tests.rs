//! The storage of this very machine; stored machines are in `chain_tests.rs`.

use super::*;
use crate::testing::Tree;

#[test]
fn compression_is_known_by_the_mount_options() {
    let cases = [
        ("btrfs", "rw,compress=zstd:3,space_cache", true),
        ("btrfs", "rw,compress-force=lzo", true),
        ("btrfs", "rw,compress", true),
        ("btrfs", "rw,compress=no", false),
        ("btrfs", "rw,nodatacow", false),
        ("f2fs", "rw,compress_algorithm=lz4,compress_extension=*", true),
        ("f2fs", "rw,compress_algorithm=lz4", false),
        ("zfs", "rw", true),
        ("ext4", "rw,compress", false),
    ];
    for (kind, options, compresses_it) in cases {
        assert_eq!(compresses(kind, options), compresses_it, "{kind} {options}");
    }
}

#[test]
fn a_file_here_has_a_file_system_with_space() {
    let tree = Tree::new(&[("data", "x")]);
    let storage_of = |path: &Path| storage(path).expect("it is readable");
    let of_file = storage_of(&tree.at("data"));
    let file_system = of_file.file_system.clone().expect("every file is in one");
    assert!(tree.path().starts_with(&file_system.mount_point), "{file_system:?}");
    assert!(file_system.total.0 >= file_system.free.0 && file_system.total.0 > 0);
    assert!(of_file.devices.iter().all(|device| device.size.0 > 0 && device.logical_block.0 >= 512));
    // The space moves meanwhile, the rest does not.
    assert_eq!(storage_of(&tree.at("not-yet")).devices, of_file.devices);
}

#[test]
fn a_path_in_a_directory_that_is_missing_is_refused_by_name() {
    let error = storage(Path::new("/no/such/file")).expect_err("it is missing").to_string();
    assert!(error.contains("`/no/such/file`"), "{error}");
}

#[test]
fn what_the_kernel_makes_up_has_no_devices() {
    let storage = storage(Path::new("/proc/self/stat")).expect("it is readable");
    assert_eq!(storage.file_system.expect("proc").kind, "proc");
    assert!(storage.devices.is_empty());
}
