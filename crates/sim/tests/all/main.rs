//! Is what the simulator says true, from its sheets to whole platforms?

mod catalogue;
mod chance;
mod devices;
mod flash;
mod ftl_amplification;
mod ftl_limits;
mod ftl_nothing_lost;
mod host;
mod load;
mod parts;
mod run;
mod sheets;
