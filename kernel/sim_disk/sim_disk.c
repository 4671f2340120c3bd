// SPDX-License-Identifier: GPL-2.0
/*
 * sim_disk: disks whose other end is a simulated drive outside of the machine.
 *
 *   block layer ──queue_rq──► mailbox ──doorbell──► emulator ──► model of a drive
 *   block layer ◄──complete── hrtimer ◄──"look again at"────────────┘
 *
 * The doorbell is a NOP that the emulator's plugin knows.  While it is answered the processor stands still and with it
 * every clock of the machine, so that what the model and its data take costs nothing in here: what is left is what a
 * driver of hardware does, too.  Data are moved by the other end.  On any other machine nobody answers, and the module
 * does not load.  Start reading at sim_disk_queue_rq(), which submits, and sim_disk_interrupt(), which completes.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/blk-mq.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/spinlock.h>

#include "mailbox.h"

#define DISKS_MAX	8
#define DEPTH_MAX	1024
#define SEGMENTS_MAX	128

static unsigned long long mailbox;
module_param(mailbox, ullong, 0444);
MODULE_PARM_DESC(mailbox, "Physical address of the mailbox, in memory that the kernel does not use");

static unsigned long long capacity[DISKS_MAX];
static unsigned int disk_count;
module_param_array(capacity, ullong, &disk_count, 0444);
MODULE_PARM_DESC(capacity, "Bytes of each disk");

static unsigned int block[DISKS_MAX];
module_param_array(block, uint, NULL, 0444);
MODULE_PARM_DESC(block, "Bytes of each disk's logical block (0: 512)");

static bool rotates[DISKS_MAX];
module_param_array(rotates, bool, NULL, 0444);
MODULE_PARM_DESC(rotates, "Whether each disk rotates");

static unsigned int queue_depth = 256;
module_param(queue_depth, uint, 0444);
MODULE_PARM_DESC(queue_depth, "Requests that each disk accepts at the same time");

static int begin(const char *text, const struct kernel_param *parameter);
static const struct kernel_param_ops begin_operations = { .set = begin };
module_param_cb(begin, &begin_operations, NULL, 0200);
MODULE_PARM_DESC(begin, "Written to: a measurement begins");

/**
 * struct sim_disk - one disk
 * @tags: its requests
 * @disk: what the block layer knows
 */
struct sim_disk {
	struct blk_mq_tag_set tags;
	struct gendisk *disk;
};

static struct sim_disk disks[DISKS_MAX];
static struct mailbox *box;
static struct hrtimer interrupt;
/* Who has it has the mailbox. */
static DEFINE_SPINLOCK(box_lock);

static blk_status_t *status_of(struct request *request)
{
	return blk_mq_rq_to_pdu(request);
}

/* Rings the other end and, when it wants to be rung again, says when.  With box_lock. */
static u64 ring(bool completions)
{
	box->take_completions = completions;
	box->now = ktime_get_ns();
	asm volatile(MAILBOX_DOORBELL ::: "memory");
	box->words = 0;
	return box->next;
}

/* Has the timer ring then, and not when it was to before.  With box_lock. */
static void arm(u64 next)
{
	if (next != MAILBOX_NEVER)
		hrtimer_start(&interrupt, ns_to_ktime(next), HRTIMER_MODE_ABS_HARD);
}

static u32 operation(const struct request *request)
{
	switch (req_op(request)) {
	case REQ_OP_READ:
		return MAILBOX_READ;
	case REQ_OP_WRITE:
		return MAILBOX_WRITE;
	case REQ_OP_DISCARD:
		return MAILBOX_TRIM;
	case REQ_OP_WRITE_ZEROES:
		return MAILBOX_ZERO;
	case REQ_OP_FLUSH:
		return MAILBOX_FLUSH;
	default:
		return MAILBOX_NOTHING;
	}
}

/* Where the request's data lie, neighbours as one.  Returns how many places, or 0 if they are too many. */
static u32 put_places(struct request *request, struct mailbox_place *places)
{
	struct req_iterator each;
	struct bio_vec piece;
	u32 count = 0;

	rq_for_each_bvec(piece, request, each) {
		u64 address = page_to_phys(piece.bv_page) + piece.bv_offset;

		if (count && places[count - 1].address + places[count - 1].bytes == address) {
			places[count - 1].bytes += piece.bv_len;
			continue;
		}
		if (count == SEGMENTS_MAX)
			return 0;
		places[count].address = address;
		places[count].bytes = piece.bv_len;
		count++;
	}
	return count;
}

static blk_status_t put(const struct sim_disk *sim, struct request *request)
{
	struct mailbox_request *to = (void *)(box->request + box->words);
	bool data = req_op(request) == REQ_OP_READ || req_op(request) == REQ_OP_WRITE;

	to->operation = operation(request);
	if (to->operation == MAILBOX_NOTHING)
		return BLK_STS_NOTSUPP;
	to->through = !!(request->cmd_flags & REQ_FUA);
	to->disk = sim - disks;
	to->tag = request->tag;
	to->offset = (u64)blk_rq_pos(request) << SECTOR_SHIFT;
	to->bytes = req_op(request) == REQ_OP_FLUSH ? 0 : blk_rq_bytes(request);
	to->places = data ? put_places(request, to->place) : 0;
	if (data && !to->places)
		return BLK_STS_IOERR;
	box->words += (sizeof(*to) + to->places * sizeof(to->place[0])) / sizeof(u64);
	return BLK_STS_OK;
}

static bool is_full(void)
{
	u32 most = sizeof(struct mailbox_request) + SEGMENTS_MAX * sizeof(struct mailbox_place);

	return box->words + most / sizeof(u64) > ARRAY_SIZE(box->request);
}

static blk_status_t sim_disk_queue_rq(struct blk_mq_hw_ctx *queue, const struct blk_mq_queue_data *asked)
{
	struct request *request = asked->rq;
	blk_status_t status;
	unsigned long flags;

	blk_mq_start_request(request);
	spin_lock_irqsave(&box_lock, flags);
	status = put(queue->queue->queuedata, request);
	if (box->words && (asked->last || is_full()))
		arm(ring(false));
	spin_unlock_irqrestore(&box_lock, flags);
	return status;
}

static int begin(const char *text, const struct kernel_param *parameter)
{
	struct mailbox_request *to;
	unsigned long flags;

	if (!box)
		return -ENODEV;
	spin_lock_irqsave(&box_lock, flags);
	to = (void *)(box->request + box->words);
	memset(to, 0, sizeof(*to));
	to->operation = MAILBOX_BEGIN;
	box->words += sizeof(*to) / sizeof(u64);
	arm(ring(false));
	spin_unlock_irqrestore(&box_lock, flags);
	return 0;
}

/* The block layer had announced more, and has none. */
static void sim_disk_commit_rqs(struct blk_mq_hw_ctx *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&box_lock, flags);
	if (box->words)
		arm(ring(false));
	spin_unlock_irqrestore(&box_lock, flags);
}

/* What is through, one mailbox full; completing it may submit.  Returns how many. */
static u32 complete_some(void)
{
	static struct mailbox_completion through[ARRAY_SIZE(box->completion)];
	u32 count, i;

	spin_lock(&box_lock);
	arm(ring(true));
	count = min_t(u32, box->completions, ARRAY_SIZE(through));
	memcpy(through, box->completion, count * sizeof(through[0]));
	spin_unlock(&box_lock);
	for (i = 0; i < count; i++) {
		struct request *request;

		request = blk_mq_tag_to_rq(disks[through[i].disk].tags.tags[0], through[i].tag);
		if (WARN_ON_ONCE(!request))
			continue;
		*status_of(request) = errno_to_blk_status(-(int)through[i].error);
		blk_mq_complete_request(request);
	}
	return count;
}

/* Something is due at the other end: a completion, or that it looks again. */
static enum hrtimer_restart sim_disk_interrupt(struct hrtimer *timer)
{
	while (complete_some() == ARRAY_SIZE(box->completion))
		;
	return HRTIMER_NORESTART;
}

static void sim_disk_complete(struct request *request)
{
	blk_mq_end_request(request, *status_of(request));
}

static const struct blk_mq_ops operations = {
	.queue_rq = sim_disk_queue_rq,
	.commit_rqs = sim_disk_commit_rqs,
	.complete = sim_disk_complete,
};

static const struct block_device_operations disk_operations = {
	.owner = THIS_MODULE,
};

#ifdef HAVE_MQ_SHOULD_MERGE
#define QUEUE_FLAGS	BLK_MQ_F_SHOULD_MERGE
#else
#define QUEUE_FLAGS	0
#endif

/* Queues of a disk that does not rotate: one for each processor, all with the same tags. */
#ifdef HAVE_SHARED_TAGS
#define QUEUES	num_online_cpus()
#else
#define QUEUES	1
#endif

/* Bytes of one request, and of one TRIM, at most. */
#define REQUEST_BYTES_MAX	(1U << 20)
#define TRIM_BYTES_MAX		(1U << 30)

#ifdef HAVE_FEATURES
static struct gendisk *sim_disk_alloc(struct sim_disk *sim, unsigned int block_bytes, bool rotating)
{
	struct queue_limits limits = {
		.logical_block_size = block_bytes,
		.max_hw_sectors = REQUEST_BYTES_MAX >> SECTOR_SHIFT,
		.max_segments = SEGMENTS_MAX,
		.max_segment_size = UINT_MAX,
		.max_hw_discard_sectors = TRIM_BYTES_MAX >> SECTOR_SHIFT,
		.discard_granularity = block_bytes,
		.max_write_zeroes_sectors = TRIM_BYTES_MAX >> SECTOR_SHIFT,
		.features = BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA | (rotating ? BLK_FEAT_ROTATIONAL : 0),
	};

	return blk_mq_alloc_disk(&sim->tags, &limits, sim);
}
#else
static struct gendisk *sim_disk_alloc(struct sim_disk *sim, unsigned int block_bytes, bool rotating)
{
	struct gendisk *disk = blk_mq_alloc_disk(&sim->tags, sim);

	if (IS_ERR(disk))
		return disk;
	blk_queue_logical_block_size(disk->queue, block_bytes);
	blk_queue_max_hw_sectors(disk->queue, REQUEST_BYTES_MAX >> SECTOR_SHIFT);
	blk_queue_max_segments(disk->queue, SEGMENTS_MAX);
	blk_queue_max_segment_size(disk->queue, UINT_MAX);
	blk_queue_max_discard_sectors(disk->queue, TRIM_BYTES_MAX >> SECTOR_SHIFT);
	disk->queue->limits.discard_granularity = block_bytes;
	blk_queue_max_write_zeroes_sectors(disk->queue, TRIM_BYTES_MAX >> SECTOR_SHIFT);
	blk_queue_write_cache(disk->queue, true, true);
	if (!rotating)
		blk_queue_flag_set(QUEUE_FLAG_NONROT, disk->queue);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, disk->queue);
	return disk;
}
#endif

static int sim_disk_add(unsigned int number)
{
	struct sim_disk *sim = &disks[number];
	int error;

	sim->tags.ops = &operations;
	sim->tags.nr_hw_queues = rotates[number] ? 1 : QUEUES;
	sim->tags.queue_depth = queue_depth;
	sim->tags.numa_node = NUMA_NO_NODE;
	sim->tags.cmd_size = sizeof(blk_status_t);
	sim->tags.flags = QUEUE_FLAGS;
	if (sim->tags.nr_hw_queues > 1)
		sim->tags.flags |= BLK_MQ_F_TAG_HCTX_SHARED;
	error = blk_mq_alloc_tag_set(&sim->tags);
	if (error)
		return error;
	sim->disk = sim_disk_alloc(sim, block[number] ?: SECTOR_SIZE, rotates[number]);
	if (IS_ERR(sim->disk)) {
		error = PTR_ERR(sim->disk);
		goto free_tags;
	}
	sim->disk->fops = &disk_operations;
	snprintf(sim->disk->disk_name, DISK_NAME_LEN, "sim%u", number);
	set_capacity(sim->disk, capacity[number] >> SECTOR_SHIFT);
	error = add_disk(sim->disk);
	if (!error)
		return 0;
	put_disk(sim->disk);
free_tags:
	blk_mq_free_tag_set(&sim->tags);
	sim->disk = NULL;
	return error;
}

static void sim_disk_end(void)
{
	unsigned int number;

	for (number = 0; number < DISKS_MAX && disks[number].disk; number++) {
		del_gendisk(disks[number].disk);
		put_disk(disks[number].disk);
		blk_mq_free_tag_set(&disks[number].tags);
	}
	hrtimer_cancel(&interrupt);
	memunmap(box);
}

static int __init sim_disk_init(void)
{
	unsigned int number;
	int error = 0;

	BUILD_BUG_ON(sizeof(struct mailbox) != MAILBOX_BYTES);
	if (!disk_count || !queue_depth || queue_depth > DEPTH_MAX) {
		pr_err("it wants capacity=BYTES, and a queue_depth of 1 to %u\n", DEPTH_MAX);
		return -EINVAL;
	}
	box = memremap(mailbox, MAILBOX_BYTES, MEMREMAP_WB);
	if (!box)
		return -ENOMEM;
#ifdef HAVE_HRTIMER_SETUP
	hrtimer_setup(&interrupt, sim_disk_interrupt, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
#else
	hrtimer_init(&interrupt, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	interrupt.function = sim_disk_interrupt;
#endif
	ring(false);
	if (box->answered != MAILBOX_ANSWERED) {
		pr_err("nobody answers; it is for the machine of `iostack lab`\n");
		error = -ENODEV;
	}
	for (number = 0; number < disk_count && !error; number++)
		error = sim_disk_add(number);
	if (error)
		sim_disk_end();
	return error;
}

static void __exit sim_disk_exit(void)
{
	sim_disk_end();
}

module_init(sim_disk_init);
module_exit(sim_disk_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Disks that a simulated drive outside of the machine answers for");
