//! What did a run that was killed leave behind? Put right before the next one measures anything.

use iostack_model::{TargetKind, TargetName};

/// Puts changed settings back.
pub(super) fn settings(say: &dyn Fn(&str)) {
    for restored in iostack_host::restore_leftovers() {
        say(&restored);
    }
}

/// Removes scratch files from where the target is.
pub(super) fn files(target: &TargetName, say: &dyn Fn(&str)) {
    let folder = match target.kind {
        TargetKind::Directory => Some(target.path.as_path()),
        TargetKind::File => target.path.parent(),
        TargetKind::Block | TargetKind::Sim | TargetKind::Lab => None,
    };
    for path in folder.map(iostack_host::sweep).unwrap_or_default() {
        say(&format!("removed `{}`, left by a run that was killed", path.display()));
    }
}
