/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Can requests travel together? Temporal merging of reads and writes, for C.
 *
 *     struct iostack_merge_options options = { .policy = "auto", .flags = IOSTACK_MERGE_DIRECT };
 *     struct iostack_merge_file *file;
 *     int error = iostack_merge_open("table.sst", &options, &file);
 *     if (error < 0)
 *             return error;
 *     struct iostack_merge_request group[2] = {
 *             { .buffer = first,  .length = 4096, .offset = 0 },
 *             { .buffer = second, .length = 4096, .offset = 81920 },
 *     };
 *     if (iostack_merge_read_many(file, group, 2) != 0)
 *             ... each group[i].result says 4096, or why not ...
 *     iostack_merge_close(file);
 *
 * What holds for every function here:
 *
 * - Lengths and offsets are bytes. Direct I/O wants both, and addresses, as multiples of the device's block.
 * - A negative value is -errno; `errno` itself is not touched on purpose, but what is called inside may change it.
 *   -EINVAL: a null pointer, an unknown name or flag, a length above SSIZE_MAX, an offset or an end above INT64_MAX, buffers to
 *   read into that overlap. -EIO: the device said so, or there was a bug in the library (no panic crosses this border; its text is on
 *   standard error). -ECANCELED: the library gave the request up before the device had it.
 * - Calls return when their memory is no longer in use, whatever happens. A call that a signal interrupts goes on; one that the
 *   kernel cannot interrupt is not interrupted here either.
 * - No function is a cancellation point: pthread_cancel acts at the thread's next one after it. With the asynchronous type
 *   (PTHREAD_CANCEL_ASYNCHRONOUS) a thread must not call them.
 * - Any number of threads may use one file at once; only iostack_merge_close wants to be the last and alone. Writes that overlap
 *   and are in flight together may land in any order, as with pwrite.
 * - After fork the child may use the file, by rings of its own, if no other thread of the parent was inside a call at that
 *   moment; else it opens the file again. The parent goes on as before. Not for signal handlers.
 *
 * Link with -liostack_merge. One header for one version of the library: compare iostack_merge_abi() with IOSTACK_MERGE_ABI.
 */
#ifndef IOSTACK_MERGE_H
#define IOSTACK_MERGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with any structure, number or meaning in this file. */
#define IOSTACK_MERGE_ABI 2u

/* Flags of iostack_merge_options. */
#define IOSTACK_MERGE_WRITE 1u	/* also for writing; ignored by iostack_merge_over, where the descriptor says it */
#define IOSTACK_MERGE_DIRECT 2u	/* around the page cache (O_DIRECT); ignored by iostack_merge_over likewise */
#define IOSTACK_MERGE_COUNT 4u	/* count for iostack_merge_stats; threads that meet then share words, 10 to 100 ns a batch */

/* A file that is open; only pointers to it are passed around. */
struct iostack_merge_file;

/* How a file is opened. All zero is the default. */
struct iostack_merge_options {
	const char *policy;  /* a name of iostack_merge_policy; null is "auto" */
	const char *backend; /* "best", "io_uring", "libaio", "pread" or "tmerge"; null is "best" */
	uint64_t flags;	     /* IOSTACK_MERGE_*; others are refused */
};

/* One read or write of a group. */
struct iostack_merge_request {
	void *buffer;	 /* where the data go to or come from; a write leaves it alone */
	size_t length;	 /* bytes */
	uint64_t offset; /* bytes from the beginning of the file */
	int64_t result;	 /* set by the call: the length when all of it was done, else -errno */
};

/* What was sent to the device since a file was opened with IOSTACK_MERGE_COUNT, by all threads. */
struct iostack_merge_stats {
	uint64_t requests;  /* reads and writes; the rest of a short one is another */
	uint64_t batches;   /* batches they went in; a plain call is a batch of one */
	uint64_t batch_max; /* requests in the largest batch */
};

/* The ABI of the library that was linked. Never fails. */
uint32_t iostack_merge_abi(void);

/* Its version, like "0.1.0". A constant: not to be freed. Never fails. */
const char *iostack_merge_version(void);

/* Name of the index-th policy, from 0; null after the last. A constant: not to be freed. */
const char *iostack_merge_policy(size_t index);

/*
 * Opens a file or block device that exists. Options may be null: read through the page cache, policy "auto".
 * 0 and a file in *file, or -errno (ENOENT, EACCES, ..) and null in it.
 */
int iostack_merge_open(const char *path, const struct iostack_merge_options *options, struct iostack_merge_file **file);

/*
 * The same over a descriptor that is open. It is duplicated: the caller's own stays the caller's, to close at any time.
 * 0 and a file in *file, or -errno (EBADF, EMFILE, ..) and null in it.
 */
int iostack_merge_over(int descriptor, const struct iostack_merge_options *options, struct iostack_merge_file **file);

/*
 * Closes it. No other thread may be in a call with it, nor use it afterwards. 0; -EINVAL for null.
 */
int iostack_merge_close(struct iostack_merge_file *file);

/*
 * Reads at an offset, as pread does: bytes that came, fewer than asked at the end of the file, 0 beyond it; or -errno.
 */
int64_t iostack_merge_read_at(struct iostack_merge_file *file, void *buffer, size_t length, uint64_t offset);

/*
 * Writes at an offset, as pwrite does: bytes that were taken, which may be fewer than asked; or -errno.
 */
int64_t iostack_merge_write_at(struct iostack_merge_file *file, const void *buffer, size_t length, uint64_t offset);

/*
 * Fills every buffer from its offset, as one batch where the device and the backend can. Buffers must not overlap.
 * 0 when all are full; above 0 so many failed and say why in their result (-ENODATA: the file ended before the length was
 * reached), all others are full; or -errno, and no result was set.
 */
int64_t iostack_merge_read_many(struct iostack_merge_file *file, struct iostack_merge_request *requests, size_t count);

/*
 * Writes every buffer at its offset, as one batch, in any order.
 * 0 when all were written; above 0 so many failed and say why in their result, all others were written, and of those that
 * failed a part may be; or -errno, and nothing was written or set.
 */
int64_t iostack_merge_write_many(struct iostack_merge_file *file, struct iostack_merge_request *requests, size_t count);

/*
 * What was sent so far, into *stats. Counters are read one by one: exact when nobody is in a call.
 * 0; -EINVAL for null, or for a file opened without IOSTACK_MERGE_COUNT.
 */
int iostack_merge_stats(struct iostack_merge_file *file, struct iostack_merge_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* IOSTACK_MERGE_H */
