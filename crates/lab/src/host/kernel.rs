//! Which kernel boots?

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::cache::Cache;
use super::packages::{Packages, Say, no_package};
use crate::{LabError, ensure};

/// A kernel with what belongs to it.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Release, such as `6.1.0-53-amd64`.
    pub release: String,
    /// The image that the emulator boots.
    pub image: PathBuf,
    /// Folder of its modules.
    pub modules: PathBuf,
    /// Folder to build modules against; `None` where there is none.
    pub headers: Option<PathBuf>,
}

/// MiB that a kernel with headers takes while it is unpacked.
const KERNEL_MIB: u64 = 600;

/// Drivers that no device of the lab needs: two thirds of a kernel package.
const WITHOUT: &str = include_str!("unneeded.txt");

impl Kernel {
    /// The kernel that was asked for: a series such as `6.1`, fetched when it is not there yet, or a folder.
    pub fn choose(cache: &Cache, asked: &str, say: Say<'_>) -> Result<Kernel, LabError> {
        if is_series(asked) {
            return Kernel::series(cache, asked, say);
        }
        // A release of packages, such as a file of costs names.
        if asked.starts_with(|first: char| first.is_ascii_digit()) && !Path::new(asked).exists() {
            return Kernel::packaged(cache, asked, say);
        }
        Kernel::folder(Path::new(asked))
    }

    fn series(cache: &Cache, series: &str, say: Say<'_>) -> Result<Kernel, LabError> {
        if let Some(kernel) = newest_cached(cache, series)? {
            return Ok(kernel);
        }
        let prefix = format!("linux-image-{series}.");
        let (_, names) = Packages::find(cache, &prefix, say)?;
        let releases = names.iter().filter_map(|name| plain_release(name));
        let release = releases.max_by_key(|release| numbers(release)).ok_or_else(|| {
            no_package(&format!("{prefix}*-amd64"), "name another series, or a folder, with --kernel")
        })?;
        Kernel::packaged(cache, release, say)
    }

    /// The kernel of this very release.
    fn packaged(cache: &Cache, release: &str, say: Say<'_>) -> Result<Kernel, LabError> {
        if let Some(place) = cache.entry(&format!("kernel/{release}")) {
            return Kernel::unpacked(&place, release);
        }
        let (packages, _) = Packages::find(cache, &format!("linux-image-{release}"), say)?;
        let headers = format!("linux-headers-{release}");
        let mut wanted = vec![format!("linux-image-{release}"), headers.clone()];
        let needed = packages.depends(&headers)?;
        wanted.extend(needed.into_iter().filter(|name| is_header_package(name)));
        // A tool of the headers reads object files with it; programs do not bring it.
        let missing = packages.missing_for(&headers).unwrap_or_default();
        wanted.extend(missing.into_iter().filter(|name| name.starts_with("libelf")));
        let place = cache.place(&format!("kernel/{release}"), KERNEL_MIB, |folder| {
            packages.unpack(&wanted, folder, &WITHOUT.lines().collect::<Vec<_>>(), say)
        })?;
        Kernel::unpacked(&place, release)
    }

    /// A kernel whose packages were unpacked in `root`.
    fn unpacked(root: &Path, release: &str) -> Result<Kernel, LabError> {
        let headers = root.join(format!("usr/src/linux-headers-{release}"));
        let kernel = Kernel {
            release: release.to_owned(),
            image: root.join(format!("boot/vmlinuz-{release}")),
            modules: first_folder(&[root.join("lib/modules"), root.join("usr/lib/modules")]).join(release),
            headers: headers.is_dir().then_some(headers),
        };
        kernel.checked(root)
    }

    /// A folder of the user's: either laid out as packages are (`boot/`, `lib/modules/`), or a tree in which a kernel
    /// was built and its modules installed with `INSTALL_MOD_PATH=.`.
    fn folder(root: &Path) -> Result<Kernel, LabError> {
        let lacks = |missing: &str| no_kernel(root, missing);
        let root = &root.canonicalize().map_err(|_| lacks("the folder does not exist"))?;
        if let Ok(release) = fs::read_to_string(root.join("include/config/kernel.release")) {
            let release = release.trim().to_owned();
            let kernel = Kernel {
                image: root.join("arch/x86/boot/bzImage"),
                modules: root.join("lib/modules").join(&release),
                headers: Some(root.clone()),
                release,
            };
            return kernel.checked(root);
        }
        let boot = fs::read_dir(root.join("boot")).map_err(|_| {
            lacks("it has neither include/config/kernel.release (a built tree) nor boot/ (unpacked packages)")
        })?;
        let mut releases: Vec<String> = boot
            .flatten()
            .filter_map(|entry| Some(entry.file_name().to_str()?.strip_prefix("vmlinuz-")?.to_owned()))
            .collect();
        releases.sort_by_key(|release| numbers(release));
        let release = releases.pop().ok_or_else(|| lacks("no boot/vmlinuz-*"))?;
        Kernel::unpacked(root, &release)
    }

    /// A name for what is found out about this very image.
    pub(crate) fn identity(&self) -> Result<String, LabError> {
        let data = fs::metadata(&self.image).map_err(LabError::file("read", &self.image))?;
        let made = data.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(format!("{}-{}-{}", self.release, data.len(), made.unwrap_or_default().as_secs()))
    }

    fn checked(self, root: &Path) -> Result<Kernel, LabError> {
        let missing =
            |path: &Path, remedy: &str| no_kernel(root, &format!("`{}` is missing{remedy}", path.display()));
        ensure(self.image.is_file(), || missing(&self.image, ""))?;
        let remedy = "; run `make modules_install INSTALL_MOD_PATH=.` there";
        ensure(self.modules.is_dir(), || missing(&self.modules, remedy)).map(|()| self)
    }
}

fn no_kernel(folder: &Path, missing: &str) -> LabError {
    LabError::Lacks(format!("`{}` holds no kernel that the lab could boot: {missing}", folder.display()))
}

/// `6.1`: two numbers and a dot.
fn is_series(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 2 && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

/// The release of an ordinary 64-bit image package: `linux-image-6.1.0-53-amd64`.
fn plain_release(package: &str) -> Option<&str> {
    let release = package.strip_prefix("linux-image-")?;
    let flavours = ["-rt-", "-cloud-", "-dbg", "unsigned"];
    (release.ends_with("-amd64") && !flavours.iter().any(|flavour| release.contains(flavour)))
        .then_some(release)
}

/// The numbers of a release, for its age.
fn numbers(release: &str) -> Vec<u64> {
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

fn is_header_package(name: &str) -> bool {
    name.starts_with("linux-headers-") || name.starts_with("linux-kbuild-")
}

fn newest_cached(cache: &Cache, series: &str) -> Result<Option<Kernel>, LabError> {
    let Some(folder) = cache.entry("kernel") else { return Ok(None) };
    let entries = fs::read_dir(&folder).map_err(LabError::file("read", &folder))?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let of_series = names.filter(|name| name.starts_with(&format!("{series}.")));
    let newest = of_series.max_by_key(|name| numbers(name));
    newest.map(|release| Kernel::unpacked(&folder.join(&release), &release)).transpose()
}

fn first_folder(paths: &[PathBuf]) -> PathBuf {
    paths.iter().find(|path| path.is_dir()).unwrap_or(&paths[0]).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_images_count_and_the_newest_wins() {
        let names = [
            "linux-image-6.1.0-9-amd64",
            "linux-image-6.1.0-53-amd64",
            "linux-image-6.1.0-54-rt-amd64",
            "linux-image-6.1.0-55-cloud-amd64",
            "linux-image-6.1.0-53-amd64-dbg",
            "linux-image-6.1.0-56-amd64-unsigned",
        ];
        let newest = names.iter().filter_map(|name| plain_release(name)).max_by_key(|name| numbers(name));
        assert_eq!(newest, Some("6.1.0-53-amd64"));
    }

    #[test]
    fn a_series_is_two_numbers() {
        assert!(is_series("6.12") && is_series("6.1"));
        assert!(!is_series("6") && !is_series("6.1.3") && !is_series("./linux") && !is_series("6."));
    }
}
