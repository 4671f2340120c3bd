//! Does the program do what its pages, its help and fio's manual say? One module a question; what measures time stands in `alone`.

mod advice;
mod bad_input;
mod cli;
mod commands;
mod digests;
mod docs;
mod fio_files;
mod fio_status;
mod follow;
mod foreign;
mod interrupted;
mod lab;
mod manual;
mod outputs;
mod predict;
mod repro;
mod safety;
mod schema;
mod serve;
mod shared;
mod sweep;
mod targets;
mod turn;
