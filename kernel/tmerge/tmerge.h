/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The user-space door to tmerge's extended command: several discontiguous
 * reads and writes under one doorbell.
 */
#ifndef TMERGE_H
#define TMERGE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Entries that one command may hold at most; batch_max may allow fewer. */
#define TMERGE_ENTRIES_MAX	256

/* Bytes of one entry at most. */
#define TMERGE_LENGTH_MAX	0x100000U

/* The operations of an entry. */
#define TMERGE_READ	0
#define TMERGE_WRITE	1

/**
 * struct tmerge_entry - one contiguous range of an extended command
 * @offset: first byte on the device, a multiple of 512
 * @buffer: address of the caller's memory
 * @length: bytes, a multiple of 512, from 512 to TMERGE_LENGTH_MAX
 * @op: TMERGE_READ or TMERGE_WRITE
 * @result: written by the kernel: @length, or a negative errno: -EINVAL for a
 *	malformed entry, -EFAULT for memory that is not there, -EBADF for a
 *	write through a descriptor opened for reading, -ENODATA for an injected
 *	medium error
 * @reserved: must be 0
 *
 * Entries are performed in order. A failed entry stops no other entry. After
 * a write that failed with -EFAULT, its range holds old or new data.
 */
struct tmerge_entry {
	__u64 offset;
	__u64 buffer;
	__u32 length;
	__u32 op;
	__s32 result;
	__u32 reserved;
};

/**
 * struct tmerge_command - the argument of TMERGE_IOC_RUN
 * @entries: address of an array of struct tmerge_entry
 * @count: entries in it, from 1 to the module's batch_max
 * @flags: must be 0
 * @reserved: must be 0
 */
struct tmerge_command {
	__u64 entries;
	__u32 count;
	__u32 flags;
	__u64 reserved[2];
};

/*
 * Run one extended command on an open /dev/tmerge0 and wait until it is done.
 * Returns the number of entries that succeeded; or fails as a whole, with no
 * entry performed: EINVAL (count, flags or reserved), E2BIG (more entries
 * than batch_max), EFAULT (the array could not be read) or ENOMEM. EFAULT also
 * says that the entries were performed but their results could not be written.
 */
#define TMERGE_IOC_RUN	_IOWR(0xE7, 0x40, struct tmerge_command)

#endif /* TMERGE_H */
