/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between kernels, by the answers to the questions in probe.c. */
#ifndef TMERGE_COMPAT_H
#define TMERGE_COMPAT_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/hrtimer.h>

#ifndef HAVE_HEADERS
#error "the probes of Kbuild do not compile: are the kernel's headers complete?"
#endif

#ifdef HAVE_BLK_MODE
#define TMERGE_MODE_WRITE	BLK_OPEN_WRITE
#define tmerge_mode_t		blk_mode_t
#else
#define TMERGE_MODE_WRITE	FMODE_WRITE
#define tmerge_mode_t		fmode_t
#endif

/* Merging is every blk-mq queue's default where the flag is gone. */
#ifdef HAVE_MQ_SHOULD_MERGE
#define TMERGE_MQ_FLAGS	BLK_MQ_F_SHOULD_MERGE
#else
#define TMERGE_MQ_FLAGS	0
#endif

/* Sectors of 512 bytes in one command of the request layer: 1 MiB. */
#define TMERGE_MAX_SECTORS	2048
#define TMERGE_PAGE_BYTES	4096

#ifdef HAVE_LIMITS_AT_ALLOC

static inline struct queue_limits tmerge_limits(void)
{
	struct queue_limits limits = {
		.logical_block_size = SECTOR_SIZE,
		.physical_block_size = TMERGE_PAGE_BYTES,
		.max_hw_sectors = TMERGE_MAX_SECTORS,
		.max_segments = 256,
	};

	return limits;
}

static inline struct gendisk *tmerge_alloc_bio_disk(void)
{
	struct queue_limits limits = tmerge_limits();

	return blk_alloc_disk(&limits, NUMA_NO_NODE);
}

static inline struct gendisk *tmerge_alloc_mq_disk(struct blk_mq_tag_set *set,
						   void *data)
{
	struct queue_limits limits = tmerge_limits();

	return blk_mq_alloc_disk(set, &limits, data);
}

#else /* !HAVE_LIMITS_AT_ALLOC */

static inline void tmerge_set_limits(struct request_queue *queue)
{
	blk_queue_logical_block_size(queue, SECTOR_SIZE);
	blk_queue_physical_block_size(queue, TMERGE_PAGE_BYTES);
	blk_queue_max_hw_sectors(queue, TMERGE_MAX_SECTORS);
	blk_queue_max_segments(queue, 256);
}

static inline struct gendisk *tmerge_alloc_bio_disk(void)
{
	struct gendisk *disk = blk_alloc_disk(NUMA_NO_NODE);

	if (!disk)
		return ERR_PTR(-ENOMEM);
	tmerge_set_limits(disk->queue);
	return disk;
}

static inline struct gendisk *tmerge_alloc_mq_disk(struct blk_mq_tag_set *set,
						   void *data)
{
	struct gendisk *disk = blk_mq_alloc_disk(set, data);

	if (!IS_ERR(disk))
		tmerge_set_limits(disk->queue);
	return disk;
}

#endif /* HAVE_LIMITS_AT_ALLOC */

/* A queue is non-rotational by default where the flag is gone. */
static inline void tmerge_set_nonrot(struct request_queue *queue)
{
#ifdef HAVE_NONROT_FLAG
	blk_queue_flag_set(QUEUE_FLAG_NONROT, queue);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, queue);
#endif
}

static inline unsigned int tmerge_freeze(struct request_queue *queue)
{
#ifdef HAVE_FREEZE_MEMFLAGS
	return blk_mq_freeze_queue(queue);
#else
	blk_mq_freeze_queue(queue);
	return 0;
#endif
}

static inline void tmerge_unfreeze(struct request_queue *queue,
				   unsigned int flags)
{
#ifdef HAVE_FREEZE_MEMFLAGS
	blk_mq_unfreeze_queue(queue, flags);
#else
	blk_mq_unfreeze_queue(queue);
#endif
}

static inline void
tmerge_timer_setup(struct hrtimer *timer,
		   enum hrtimer_restart (*expired)(struct hrtimer *))
{
#ifdef HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	timer->function = expired;
#endif
}

#endif /* TMERGE_COMPAT_H */
