//! The crate's only unsafe code: hints to the kernel and to the processor.
#![expect(unsafe_code, reason = "madvise has no safe wrapper in std, nor has a prefetch")]

/// Asks for huge pages where the kernel gives them only on request. Tables that are visited at random then miss the
/// address cache less often: 64 GiB of simulated flash is written 1.4 times as fast. A refusal costs nothing else.
pub(super) fn use_huge_pages(table: &mut [u32]) {
    const HUGE: usize = 2 << 20;
    let start = table.as_mut_ptr();
    let skipped = start.addr().next_multiple_of(HUGE) - start.addr();
    let length = size_of_val(table).saturating_sub(skipped) / HUGE * HUGE;
    if length == 0 {
        return;
    }
    let first = start.wrapping_byte_add(skipped);
    // SAFETY: the range lies in `table`, which is borrowed for the call, and MADV_HUGEPAGE changes no byte of it.
    unsafe { libc::madvise(first.cast(), length, libc::MADV_HUGEPAGE) };
}

/// Asks the processor for an entry that is needed soon. Where it knows no such hint, the entry is waited for when it is needed.
#[inline]
pub(super) fn bring_near<T>(table: &[T], index: usize) {
    let entry = table.as_ptr().wrapping_add(index);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads and writes nothing, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(entry.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = entry;
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_table_is_as_it_was() {
        for entries in [0, 1, 1000, 3 << 20] {
            let mut table = vec![7u32; entries];
            super::use_huge_pages(&mut table);
            assert!(table.len() == entries && table.iter().all(|&entry| entry == 7));
        }
    }
}
