//! What does a thread wait for? By the functions of the kernel in which it sleeps.

use iostack_model::answers::WaitCause;

/// A function, and for what a thread waits in it.
pub(crate) type Rule = (&'static str, WaitCause, &'static str);

/// Functions in which a thread waits, and for what; the first function of a stack that is in the table decides.
const WAITS: [Rule; 37] = [
    ("jbd2_log_wait_commit", WaitCause::Journal, "for a commit of the journal"),
    ("jbd2_complete_transaction", WaitCause::Journal, "for a commit of the journal"),
    ("wait_transaction_locked", WaitCause::Journal, "for a transaction that is being committed"),
    ("wait_transaction_switching", WaitCause::Journal, "for a transaction that is being committed"),
    ("add_transaction_credits", WaitCause::Journal, "for room in the journal"),
    ("jbd2_log_do_checkpoint", WaitCause::Journal, "for room in the journal"),
    ("do_get_write_access", WaitCause::Journal, "for a block that the journal writes"),
    ("xlog_wait_on_iclog", WaitCause::Journal, "for the log of XFS"),
    ("xlog_force_lsn", WaitCause::Journal, "for the log of XFS"),
    ("xfs_log_force_seq", WaitCause::Journal, "for the log of XFS"),
    ("xlog_cil_force_seq", WaitCause::Journal, "for the log of XFS"),
    ("xlog_grant_head_wait", WaitCause::Journal, "for room in the log of XFS"),
    ("btrfs_sync_log", WaitCause::Journal, "for the log tree of btrfs"),
    ("btrfs_commit_transaction", WaitCause::Journal, "for a transaction of btrfs"),
    ("wait_current_trans", WaitCause::Journal, "for a transaction of btrfs"),
    ("balance_dirty_pages", WaitCause::WriteBack, "since too many pages are dirty"),
    ("blkcg_maybe_throttle_current", WaitCause::CgroupLimit, "since the limit of its cgroup is reached"),
    ("ioc_rqos_throttle", WaitCause::CgroupLimit, "since its share of the device (io.cost) is used up"),
    ("iolatency_throttle", WaitCause::CgroupLimit, "since another cgroup's latency is protected"),
    ("mem_cgroup_handle_over_high", WaitCause::Memory, "since its cgroup has too much memory"),
    ("try_to_free_mem_cgroup_pages", WaitCause::Memory, "for memory of its cgroup to be freed"),
    ("do_try_to_free_pages", WaitCause::Memory, "for memory to be freed"),
    ("reclaim_throttle", WaitCause::Memory, "for memory to be freed"),
    ("do_swap_page", WaitCause::Memory, "for a page that was swapped out"),
    ("wbt_wait", WaitCause::Scheduler, "since write-back throttling lets no more writes through"),
    ("blk_mq_get_tag", WaitCause::Tag, "for a free request of the device"),
    ("rwsem_down_write_slowpath", WaitCause::Lock, "for a lock that others hold"),
    ("rwsem_down_read_slowpath", WaitCause::Lock, "for a lock that others hold"),
    ("__mutex_lock", WaitCause::Lock, "for a lock that others hold"),
    ("mutex_lock", WaitCause::Lock, "for a lock that others hold"),
    ("percpu_rwsem_wait", WaitCause::Frozen, "since the file system is frozen"),
    ("throttle_cfs_rq_work", WaitCause::CgroupLimit, "since the CPU time of its cgroup is used up"),
    ("__rwsem_down_read_failed", WaitCause::Lock, "for a lock that others hold"),
    ("folio_wait_stable", WaitCause::WriteBack, "for the page to be written"),
    ("wait_sb_inodes", WaitCause::WriteBack, "for everything dirty of a file system"),
    ("__wb_wait_for_completion", WaitCause::WriteBack, "for the kernel's write-back"),
    ("wb_wait_for_completion", WaitCause::WriteBack, "for the kernel's write-back"),
];

/// Name of a function without what compilers add where they cut it: `name.part.0`, `name.isra.0`.
pub(crate) fn bare(function: &str) -> &str {
    function.split('.').next().unwrap_or("")
}

/// The first function of the stack that says what it waits for.
pub(crate) fn rule(stack: &[String]) -> Option<&'static Rule> {
    stack.iter().find_map(|function| WAITS.iter().find(|(name, ..)| *name == bare(function)))
}

/// A function that waits, or locks, for whoever calls it.
pub(crate) fn is_lock(function: &str) -> bool {
    ["schedule", "mutex", "rwsem", "down_", "lock", "wait_for", "finish_wait"]
        .iter()
        .any(|part| function.contains(part))
}

/// Functions below those of `WAITS`, most of which wait for an I/O; only for whom that is not told otherwise.
const BELOW: [Rule; 11] = [
    ("blk_throtl_dispatch_work_fn", WaitCause::CgroupLimit, "since the limit of its cgroup is reached"),
    ("__reserve_bytes", WaitCause::WriteBack, "for room in btrfs that write-back makes"),
    ("btrfs_wait_block_group_cache_progress", WaitCause::Device, "for what btrfs reads of its free space"),
    ("folio_wait_writeback", WaitCause::WriteBack, "for pages that are being written"),
    ("folio_wait_bit_common", WaitCause::Device, "for a page under I/O"),
    ("__wait_on_buffer", WaitCause::Device, "for a block of metadata"),
    ("__lock_buffer", WaitCause::Device, "for a block of metadata"),
    ("__sync_dirty_buffer", WaitCause::Device, "for a block of metadata"),
    ("bit_wait_io", WaitCause::Device, "for a block of metadata"),
    ("xfs_buf_iowait", WaitCause::Device, "for a block of metadata"),
    ("submit_bio_wait", WaitCause::Device, "for a bio that it sent"),
];

/// The row of these that comes first and whose function is on the stack.
pub(crate) fn rule_below(stack: &[String]) -> Option<&'static Rule> {
    BELOW.iter().find(|(name, ..)| stack.iter().any(|function| bare(function) == *name))
}
