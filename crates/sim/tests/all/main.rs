//! Are devices, their sheets and their flash translation layer what they are said to be?

mod catalogue;
mod devices;
mod flash;
mod ftl_amplification;
mod ftl_limits;
mod ftl_nothing_lost;
mod load;
mod parts;
mod sheets;
