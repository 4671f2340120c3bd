/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What watch.bpf.c shares with its reader in src/watch/kernel.rs, which repeats it word by word.
 *
 * Moments are CLOCK_MONOTONIC in ns; 0 was not seen.
 */
#ifndef IOSTACK_WATCH_H
#define IOSTACK_WATCH_H

#include "kernel.h"

/* How the owner of an I/O was found; the order is that of `How` in the model. */
enum how {
	HOW_SELF,
	HOW_IO_WORKER,	/* io_uring's worker of a process */
	HOW_WRITE_BACK,	/* who dirtied the file last */
	HOW_JOURNAL,	/* the process with most handles in the transaction */
	HOW_WORK,	/* who queued the work */
	HOW_THROTTLED,	/* held back by a cgroup's limit; who waits for it */
	HOW_METADATA,	/* blocks of a file system's own, written back: not told */
	HOW_RECLAIM,	/* a thread of the kernel that frees memory */
	HOW_KERNEL,	/* a thread of the kernel, for nobody we know */
	HOW_BEFORE,	/* under way when we came, or its place was taken */
};

enum io_kind { IO_READ, IO_AHEAD, IO_WRITE, IO_META, IO_FLUSH, IO_DISCARD, IO_SWAP, IO_OTHER };

struct owner {
	/* Number of its control group; its hierarchy in the upper 16 bits. */
	__u64 cgroup;
	/* Thread group; of HOW_KERNEL the kernel's thread. */
	__u32 process;
	__u32 how;
};

struct fold_key {
	struct owner owner;
	__u32 device;
	__u32 kind;
};

/* Sums of one owner, device and kind on one CPU. */
struct fold {
	__u64 ios;
	__u64 bytes;
	/* From the first bio to the issue, and from there to the end. */
	__u64 queue;
	__u64 device;
	__u64 slowest;
};

struct wait_key {
	__u64 cgroup;
	__u32 process;
	__u32 unused;
};

/* Sleeps of the threads of one process that nothing but the awaited event ends. */
struct wait {
	__u64 sleeps;
	__u64 slept;
	/* Woken, and without a CPU. */
	__u64 runnable;
	/* What the kernel's threads spent on a CPU for it. */
	__u64 worked;
};

#define CELLS 128
#define DEVICES 128

/* I/Os by latency, four cells to the octave. */
struct heat {
	__u64 cells[CELLS];
};

enum told { TOLD_IO = 1, TOLD_WAIT = 2, TOLD_FLUSH = 3, TOLD_DISCARD = 4 };

#define FRAMES 24
#define ENDED_BITS 24

/* A slow I/O, a long sleep, a flush or a discard. */
struct told_event {
	__u64 what;
	struct owner owner;
	__u32 device;
	/* For a sleep 1: a thread of the kernel. */
	__u32 kind;
	__u64 bytes;
	/* Others of the device that ended since it was queued: bios, and from bit ENDED_BITS on sectors. */
	__u64 ended;
	/* Since when a cgroup's limit held it back; its way, for a sleep: asleep, woken, on a CPU. */
	__u64 held;
	__u64 queue;
	__u64 insert;
	__u64 issue;
	__u64 complete;
	/* Others of the device in flight when it was queued. */
	__u64 in_flight;
	/* For a sleep: its thread, the stack that woke it and 1, who woke it, who had its CPU before. */
	__u32 thread;
	__u32 cpu;
	__u32 wake_stack;
	__u32 unused;
	char name[16];
	char waker_name[16];
	char behind_name[16];
	__u64 frames[FRAMES];
};

#endif
