//! From counts, symbols and layers to the cost of one I/O.
