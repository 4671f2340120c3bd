//! Does an SSD answer as its parts say it must, and does it lose nothing?

mod closed_forms;
mod common;
mod safety;
mod writing;
