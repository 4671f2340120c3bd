//! CPU time was counted by samples or by the kernel's tick, not bracketed.

use iostack_model::{Caveat, Clocks};

use crate::{Doubt, PLAIN};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "inexact_clocks",
    how: "without BPF, CPU time is a number of samples or the kernel's tick account",
    remedy: "`iostack doctor` says what makes it exact.",
    says: |caveat| {
        let Caveat::InexactClocks { how } = caveat else { return None };
        Some(format!("CPU time was not bracketed: {how}."))
    },
    ..PLAIN
};

/// Doubt of clocks that were not had exactly.
pub fn of_clocks(clocks: &Clocks) -> Option<Caveat> {
    (!clocks.exact).then(|| Caveat::InexactClocks { how: clocks.how.clone() })
}
