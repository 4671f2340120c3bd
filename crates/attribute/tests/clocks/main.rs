//! Clocks by layer of real loads. Apart from `all`, because the clocks of a process are those of all its threads: loads of
//! other tests beside these would be counted.

#[path = "../all/common.rs"]
mod common;
mod layers;
mod layers_matrix;
