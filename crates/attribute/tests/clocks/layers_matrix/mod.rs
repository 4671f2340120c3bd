//! Is every kernel sample of real work classified? Loads of ours on every engine and file system that this machine has,
//! and programs that are not ours.

mod places;
mod programs;
mod work;
