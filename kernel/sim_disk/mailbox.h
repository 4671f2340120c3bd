/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two ends say to each other.  The other end is crates/lab/src/host/mailbox.rs.
 *
 * One side speaks at a time: the processor stands still from the doorbell to its answer.  All numbers are little endian,
 * addresses are physical, moments are of CLOCK_MONOTONIC.
 */
#ifndef SIM_DISK_MAILBOX_H
#define SIM_DISK_MAILBOX_H

#include <linux/types.h>

/* nopl 0x105AC020(%rax), as the plugin knows it. */
#define MAILBOX_DOORBELL	".byte 0x0f, 0x1f, 0x80; .long 0x105AC020"

#define MAILBOX_BYTES		65536
#define MAILBOX_NEVER		(~0ULL)
/* The other end writes it at the first doorbell. */
#define MAILBOX_ANSWERED	0x786f426c69614d20ULL

#define MAILBOX_NOTHING		0
#define MAILBOX_READ		1
#define MAILBOX_WRITE		2
#define MAILBOX_TRIM		3
#define MAILBOX_ZERO		4
#define MAILBOX_FLUSH		5
#define MAILBOX_BEGIN		6	/* a measurement begins; of all disks, and never through */

/**
 * struct mailbox_place - memory of a request
 * @address: physical
 * @bytes: length
 */
struct mailbox_place {
	u64 address;
	u64 bytes;
};

/**
 * struct mailbox_request - what is asked of a disk
 * @operation: MAILBOX_READ and so on
 * @through: it is safe when it is answered
 * @disk: which, from 0
 * @tag: its name until it is through
 * @offset: first byte
 * @bytes: length
 * @places: how many follow
 * @place: where its data lie, in their order
 */
struct mailbox_request {
	u16 operation;
	u16 through;
	u32 disk;
	u32 tag;
	u32 places;
	u64 offset;
	u64 bytes;
	struct mailbox_place place[];
};

/**
 * struct mailbox_completion - a request that is through
 * @disk: which
 * @error: 0, or an error number above 0
 * @tag: as it was given
 */
struct mailbox_completion {
	u16 disk;
	u16 error;
	u32 tag;
};

/**
 * struct mailbox - all of it
 * @now: of the doorbell
 * @take_completions: the driver takes what is through
 * @words: how much of @request is filled, in u64
 * @answered: MAILBOX_ANSWERED
 * @next: ring again then, ns; MAILBOX_NEVER
 * @completions: how many, after a doorbell with @take_completions
 * @completion: they
 * @request: what is asked, one struct mailbox_request behind the other
 */
struct mailbox {
	/* of the driver */
	u64 now;
	u32 take_completions;
	u32 words;
	/* of the other end */
	u64 answered;
	u64 next;
	u32 completions;
	u32 unused;
	struct mailbox_completion completion[256];
	/* of the driver */
	u64 request[(MAILBOX_BYTES - 40 - 256 * 8) / 8];
};

#endif
