//! Single devices against their closed forms.

mod cloud;
mod dram;
mod guide;
mod hdd;
mod raid0;
