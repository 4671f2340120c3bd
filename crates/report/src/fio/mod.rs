//! What do fio's readers expect?
