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
	__u64 queue;
	/* Of the bio that ended last: */
	__u64 insert;
	__u64 issue;
	__u64 doorbell;
	__u64 irq;
	__u64 complete;
	/* O_DIRECT; only for a foreign process. */
	__u64 direct;
	/* Lane of the thread that began it; only for a foreign process. */
	__u64 lane;
	__u64 unused[4];
};

enum carrier { CARRIER_CALL = 1, CARRIER_URING = 2, CARRIER_LIBAIO = 3 };

/* One thread of the subject. */
struct lane {
	/* Last woken, last put on a CPU, last gone to sleep of its own will. */
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
	/* For a foreign process: the system call it is in, its entry, and a pointer argument of it. */
	__u64 call;
	__u64 entry;
	__u64 argument;
	__u64 unused[5];
};

/* What a system call is to us. */
enum call { CALL_NONE, CALL_MOVE, CALL_SYNC, CALL_SUBMIT, CALL_GETEVENTS, CALL_URING };

/* In `counters`. */
enum counter { LOST_BIOS, LOST_CHAIN, LOST_RECORDS, LOST_LANES, LOST_FLIGHTS, NEXT_LANE, COUNTERS };

enum record_kind { RECORD_DEVICE = 1, RECORD_IO = 2 };

/* In the ring buffer: a finished bio of a device, or a finished I/O of a foreign process. */
struct record {
	__u64 kind;
	__u64 device;
	/* 1: ended in a request with others; 2: was split. */
	__u64 flags;
	struct slot slot;
	__u64 waking;
	__u64 on;
	__u64 off;
	__u64 exit;
};

#endif
