//! System calls and memory shared with the kernel: the only unsafe code of this crate.
