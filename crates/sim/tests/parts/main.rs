//! Single devices against their closed forms.

mod closed;
mod cloud;
mod dram;
mod guide;
mod hdd;
mod raid0;
