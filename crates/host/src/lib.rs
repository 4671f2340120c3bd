//! What machine is this, and can it be measured?
