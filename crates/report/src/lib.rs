//! What do we tell people?
