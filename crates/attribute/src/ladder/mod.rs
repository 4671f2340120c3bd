//! What may be measured here, and what lifts it?
