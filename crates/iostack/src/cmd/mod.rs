//! One file a command.

pub(crate) mod ab;
pub(crate) mod attach;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod cost;
pub(crate) mod doctor;
pub(crate) mod fio;
pub(crate) mod fleet;
pub(crate) mod history;
pub(crate) mod iolat;
pub(crate) mod lab;
pub(crate) mod layers;
pub(crate) mod manual;
pub(crate) mod merge;
pub(crate) mod options;
pub(crate) mod report;
pub(crate) mod repro;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod sim;
pub(crate) mod stages;
pub(crate) mod studied;
pub(crate) mod watch;
pub(crate) mod why;
