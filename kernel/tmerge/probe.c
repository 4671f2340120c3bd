// SPDX-License-Identifier: GPL-2.0
/*
 * Questions to the kernel's headers. Kbuild compiles this file once for each
 * PROBE_x and defines HAVE_x where it compiles. It is not part of the module.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>

#ifdef PROBE_HEADERS
int probe(void);
int probe(void)
{
	return 0;
}
#endif

#ifdef PROBE_LIMITS_AT_ALLOC
struct gendisk *probe(struct queue_limits *limits);
struct gendisk *probe(struct queue_limits *limits)
{
	return blk_alloc_disk(limits, NUMA_NO_NODE);
}
#endif

#ifdef PROBE_NONROT_FLAG
int probe(void);
int probe(void)
{
	return QUEUE_FLAG_NONROT;
}
#endif

#ifdef PROBE_FREEZE_MEMFLAGS
void probe(struct request_queue *q);
void probe(struct request_queue *q)
{
	unsigned int flags = blk_mq_freeze_queue(q);

	blk_mq_unfreeze_queue(q, flags);
}
#endif

#ifdef PROBE_BLK_MODE
blk_mode_t probe(void);
blk_mode_t probe(void)
{
	return BLK_OPEN_WRITE;
}
#endif

#ifdef PROBE_HRTIMER_SETUP
void probe(struct hrtimer *timer, enum hrtimer_restart (*fn)(struct hrtimer *));
void probe(struct hrtimer *timer, enum hrtimer_restart (*fn)(struct hrtimer *))
{
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
}
#endif

#ifdef PROBE_MQ_SHOULD_MERGE
int probe(void);
int probe(void)
{
	return BLK_MQ_F_SHOULD_MERGE;
}
#endif
