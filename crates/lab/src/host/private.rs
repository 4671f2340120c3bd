//! Who could have put it there? The lab executes and boots what lies in its folders, so nobody else may write to them.
//!
//! A folder is private when it is ours and only ours to write to, and none above it can be taken from under it. Start
//! reading at [`folder`].

use std::fs::{self, DirBuilder, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use iostack_host::{effective_group, effective_user};

use crate::{LabError, ensure};

/// Rights of the group and of others to write.
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
/// Entries are removed and renamed by their owners only, as in `/tmp`.
const STICKY: u32 = 0o1000;

/// The private folder at this path, made if need be; its path without links.
pub(super) fn folder(path: &Path) -> Result<PathBuf, LabError> {
    let path = &std::path::absolute(path).map_err(LabError::file("find", path))?;
    let refused = |why: String| {
        LabError::Lacks(format!(
            "`{}` is not private ({why}), and what lies there is executed; name a folder of your own in IOSTACK_CACHE, or \
             remove what others may have written and close it to them (chmod 700)",
            path.display()
        ))
    };
    let is_link = fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink());
    ensure(!is_link, || refused("it is a link".to_owned()))?;
    let us = Us::now();
    // First what is there already: nothing is made in a folder of somebody else's.
    let there = path.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let above = seen(&there.canonicalize().map_err(LabError::file("find", there))?)?;
    above.iter().find_map(|folder| us.doubt_above(folder)).map_or(Ok(()), |why| Err(refused(why)))?;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(LabError::file("make", path))?;
    let path = path.canonicalize().map_err(LabError::file("find", path))?;
    us.doubt(&seen(&path)?).map_or(Ok(()), |why| Err(refused(why)))?;
    // One that was made before folders were private: ours, and nobody could write to it.
    fs::set_permissions(&path, Permissions::from_mode(0o700))
        .map_err(LabError::file("make private", &path))?;
    Ok(path)
}

/// A new private folder, which was not there before.
pub(super) fn new_folder(path: &Path) -> Result<bool, LabError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(LabError::file("make", path)(error)),
    }
}

/// True for a folder, and no link, that is ours.
pub(super) fn is_ours(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_dir() && data.uid() == effective_user())
}

/// A folder as it was found.
#[derive(Clone, Debug)]
struct FolderSeen {
    path: PathBuf,
    user: u32,
    group: u32,
    mode: u32,
}

/// The folder and all above it.
fn seen(path: &Path) -> Result<Vec<FolderSeen>, LabError> {
    let look = |folder: &Path| {
        let data = fs::symlink_metadata(folder).map_err(LabError::file("look at", folder))?;
        Ok(FolderSeen { path: folder.to_owned(), user: data.uid(), group: data.gid(), mode: data.mode() })
    };
    path.ancestors().map(look).collect()
}

/// This process's user, and who could do anything anyway: root, and who owns the folder of all (in a container not always
/// root).
struct Us {
    user: u32,
    group: u32,
    root: u32,
}

impl Us {
    fn now() -> Us {
        let (user, group) = (effective_user(), effective_group());
        Us { user, group, root: fs::metadata("/").map_or(0, |data| data.uid()) }
    }

    /// Reason why a folder, the first of these, the others above it, is not private.
    fn doubt(&self, folders: &[FolderSeen]) -> Option<String> {
        let (folder, above) = folders.split_first()?;
        if folder.user != self.user {
            return Some(format!("it belongs to user {}", folder.user));
        }
        if folder.mode & (GROUP_WRITES | OTHERS_WRITE) != 0 {
            return Some("others can write to it".to_owned());
        }
        above.iter().find_map(|folder| self.doubt_above(folder))
    }

    /// Reason why a folder could be taken away and another put in its place.
    fn doubt_above(&self, folder: &FolderSeen) -> Option<String> {
        let path = folder.path.display();
        if ![self.user, 0, self.root].contains(&folder.user) {
            return Some(format!("`{path}` belongs to user {}", folder.user));
        }
        let group = folder.mode & GROUP_WRITES != 0 && ![self.group, 0].contains(&folder.group);
        let open = group || folder.mode & OTHERS_WRITE != 0;
        (open && folder.mode & STICKY == 0).then(|| format!("others can write to `{path}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Us = Us { user: 0, group: 0, root: 0 };
    const ALICE: Us = Us { user: 1000, group: 1000, root: 0 };

    /// A folder below another, each with owner, group and mode.
    fn doubt(us: &Us, folders: [(u32, u32, u32); 2]) -> Option<String> {
        let seen = |(user, group, mode)| FolderSeen { path: "/place".into(), user, group, mode };
        us.doubt(&folders.map(seen))
    }

    #[test]
    fn a_folder_is_private_when_only_we_can_write_to_it_or_replace_it() {
        assert_eq!(doubt(&ALICE, [(1000, 1000, 0o700), (1000, 1000, 0o755)]), None);
        assert_eq!(doubt(&ALICE, [(1000, 1000, 0o755), (0, 0, 0o1777)]), None, "a folder of ours in /tmp");
        assert_eq!(doubt(&ALICE, [(1000, 1000, 0o700), (1000, 1000, 0o775)]), None, "a group of our own");
        assert_eq!(doubt(&ROOT, [(0, 0, 0o700), (0, 0, 0o775)]), None);
        let said = |us, folders| doubt(us, folders).expect("a doubt");
        assert!(said(&ROOT, [(1000, 0, 0o700), (0, 0, 0o755)]).contains("it belongs to user 1000"));
        assert!(said(&ALICE, [(0, 0, 0o700), (0, 0, 0o755)]).contains("it belongs to user 0"));
        for mode in [0o720, 0o702, 0o1777] {
            assert!(
                said(&ROOT, [(0, 0, mode), (0, 0, 0o755)]).contains("others can write to it"),
                "{mode:o}"
            );
        }
        assert!(said(&ROOT, [(0, 0, 0o700), (1000, 0, 0o755)]).contains("`/place` belongs to user 1000"));
        for mode in [0o757, 0o775] {
            let text = said(&ROOT, [(0, 0, 0o700), (0, 1000, mode)]);
            assert!(text.contains("others can write to `/place`"), "{mode:o}: {text}");
        }
    }

    #[test]
    fn a_folder_is_made_private_and_what_others_can_write_to_is_refused() {
        let base = std::env::temp_dir().join(format!("iostack-private-{}", std::process::id()));
        let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o7777;
        let place = folder(&base.join("deep/lab")).expect("the folder for temporary files is sticky");
        assert_eq!((mode(&place), mode(&base)), (0o700, 0o700));
        fs::set_permissions(&place, Permissions::from_mode(0o755)).expect("ours");
        assert_eq!(folder(&place).map(|path| mode(&path)).expect("nobody could write to it"), 0o700);
        std::os::unix::fs::symlink(&place, base.join("link")).expect("ours");
        let error = folder(&base.join("link")).expect_err("a link").to_string();
        assert!(error.contains("it is a link") && error.contains("IOSTACK_CACHE"), "{error}");
        fs::set_permissions(&place, Permissions::from_mode(0o777)).expect("ours");
        let error = folder(&place).expect_err("anybody can write to it").to_string();
        assert!(error.contains("others can write to `"), "{error}");
        fs::set_permissions(base.join("deep"), Permissions::from_mode(0o777)).expect("ours");
        let error = folder(&base.join("deep/new")).expect_err("anybody can replace it").to_string();
        assert!(error.contains("others can write to"), "{error}");
        assert!(!base.join("deep/new").exists(), "nothing is made there");
        assert!(!new_folder(&base).expect("it can be asked"), "it is there");
        fs::remove_dir_all(&base).expect("ours");
    }
}
