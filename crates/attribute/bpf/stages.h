/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the programs of stages.bpf.c share with their reader in src/stages/kernel.rs, which repeats it word by word.
 *
 * Stamps are CLOCK_MONOTONIC in ns; 0 was not seen.
 */
#ifndef IOSTACK_STAGES_H
#define IOSTACK_STAGES_H

#include "kernel.h"

/*
 * One I/O. Its entry makes it active. The reader of its own load makes and clears it; for a foreign process the
 * programs do.
 */
struct slot {
	__u64 entry;
	/* Counts the I/Os of this slot, so that a bio of an earlier one is told apart. */
	__u64 sequence;
	/* Bios queued, and those of them that ended. */
	__u64 bios;
	__u64 ended;
	/* Of its bios, the first to get so far. */
	__u64 queue;
	__u64 insert;
	__u64 issue;
	__u64 doorbell;
	/* Of the bio that ended last: */
	__u64 irq;
	__u64 complete;
	/* O_DIRECT; only for a foreign process. */
	__u64 direct;
	/* Lane of the thread that began it. */
	__u64 lane;
	/* Time between its first bio and its last in which none of them was out. */
	__u64 gap;
	/* Of the time without a bio out before the last one was queued: its thread was ready, and another had the CPU. */
	__u64 preempted_before;
	/* Its thread's `preempted` when a bio of it was last queued or ended, or at its entry. */
	__u64 preempted_last;
	/* Asleep while no bio of it was out, until a thread of the journal woke it; of that, before the last bio. */
	__u64 journal;
	__u64 journal_before;
	/* Asleep while no bio of it was out, whoever woke it; of that, before the last bio. */
	__u64 slept;
	__u64 slept_before;
	/* For a foreign process: its kind, and the bytes of its bios, or of its result where that tells. */
	__u64 kind;
	__u64 bytes;
	/* Woken and without a CPU while no bio of it was out; of that, before the last bio. */
	__u64 switched;
	__u64 switched_before;
	/* Asleep while bios of it were out, none of which came back. */
	__u64 beside;
};

/* Kinds of calls; the order is that of `CallKind` in the model. */
enum call_kind { KIND_READ, KIND_WRITE, KIND_COPY, KIND_SYNC, KIND_METADATA, KIND_FAULT };

#define WAIT_FRAMES 20

/* Where a thread slept inside an I/O while no bio of it was out, the innermost function first; how often and how long. */
struct wait_key {
	__u64 frames[WAIT_FRAMES];
};

struct wait {
	__u64 sleeps;
	__u64 time;
};

enum carrier { CARRIER_CALL = 1, CARRIER_URING = 2, CARRIER_LIBAIO = 3 };

/* One thread of the subject. */
struct lane {
	/* Last woken, put on a CPU after that, last gone to sleep of its own will. */
	__u64 waking;
	__u64 on;
	__u64 off;
	/* Its own slots. */
	__u64 slot_first;
	__u64 slot_count;
	__u64 carrier;
	/* libaio: address of the first control block. */
	__u64 blocks;
	/* io_uring: the slot whose I/O is being submitted, or 0; a key of `flights` for a foreign process. */
	__u64 current;
	/* For a foreign process: the system call it is in, its entry, and a pointer argument of it or its rule. */
	__u64 call;
	__u64 entry;
	__u64 argument;
	/* Time in which it was ready, and another thread had the CPU it was moved off; since when that is so, 0 not now. */
	__u64 preempted;
	__u64 out;
	/* 1: gone to sleep, and not woken yet. */
	__u64 asleep;
	/* A foreign process's: the exit of the call whose I/Os were handed over, and the number of that call, while the
	 * thread may be on its way back to user space. 1 in `returning`: it was moved off its CPU there. */
	__u64 exit;
	__u64 number;
	__u64 returning;
	/* Address of what it saved on entering the kernel. */
	__u64 registers;
	/* Its process, as the reader numbers it. */
	__u64 process;
	/* Its last page fault, until it makes a call that is followed. */
	__u64 fault;
};

/* What a system call is to us. */
enum call { CALL_NONE, CALL_SPAN, CALL_SUBMIT, CALL_GETEVENTS, CALL_URING, CALL_FAULT };

/* In `counters`. */
enum counter { LOST_BIOS, LOST_CHAIN, LOST_RECORDS, LOST_LANES, LOST_FLIGHTS, NEXT_LANE, COUNTERS };

enum record_kind {
	RECORD_DEVICE = 1,
	RECORD_IO = 2,
	/* I/Os handed over at `slot.entry` came back to user space only at `exit`. */
	RECORD_RETURN = 3,
};

/* In the ring buffer: a finished bio of a device, or a finished I/O of a foreign process. */
struct record {
	__u64 kind;
	/* Which device; or the lane of the thread that the I/O came back to. */
	__u64 device;
	/* 1: ended in a request with others; 2: was split. */
	__u64 flags;
	struct slot slot;
	__u64 waking;
	__u64 on;
	__u64 off;
	__u64 exit;
	/* The thread's, at the exit. */
	__u64 preempted;
	/* Its process, as the reader numbers it, and the name of that. */
	__u64 process;
	char name[16];
};

#endif
