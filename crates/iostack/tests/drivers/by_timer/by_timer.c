// SPDX-License-Identifier: GPL-2.0
/* A disk in memory that answers some time later. */
#include <linux/blk-mq.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#define CAPACITY (32 << 20)

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#define new_disk() blk_mq_alloc_disk(&tags, NULL)
#else
#define new_disk() blk_mq_alloc_disk(&tags, NULL, NULL)
#endif

static unsigned int delay_us = 20;
module_param(delay_us, uint, 0644);
MODULE_PARM_DESC(delay_us, "Microseconds until a request is answered");

static struct blk_mq_tag_set tags;
static struct gendisk *disk;
static char *store;

static void by_timer_transfer(struct request *rq)
{
	char *at = store + (blk_rq_pos(rq) << SECTOR_SHIFT);
	struct req_iterator iter;
	struct bio_vec piece;

	rq_for_each_segment(piece, rq, iter) {
		if (op_is_write(req_op(rq)))
			memcpy_from_bvec(at, &piece);
		else
			memcpy_to_bvec(&piece, at);
		at += piece.bv_len;
	}
}

static enum hrtimer_restart by_timer_due(struct hrtimer *timer)
{
	struct request *rq = blk_mq_rq_from_pdu(timer);

	by_timer_transfer(rq);
	blk_mq_end_request(rq, BLK_STS_OK);
	return HRTIMER_NORESTART;
}

static blk_status_t by_timer_queue(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *data)
{
	struct hrtimer *timer = blk_mq_rq_to_pdu(data->rq);

	blk_mq_start_request(data->rq);
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer->function = by_timer_due;
	hrtimer_start(timer, ns_to_ktime(delay_us * NSEC_PER_USEC), HRTIMER_MODE_REL);
	return BLK_STS_OK;
}

static const struct blk_mq_ops by_timer_ops = {
	.queue_rq = by_timer_queue,
};

static const struct block_device_operations by_timer_fops = {
	.owner = THIS_MODULE,
};

static int __init by_timer_init(void)
{
	int error = -ENOMEM;

	store = vzalloc(CAPACITY);
	if (!store)
		return error;
	tags.ops = &by_timer_ops;
	tags.nr_hw_queues = 1;
	tags.queue_depth = 64;
	tags.numa_node = NUMA_NO_NODE;
	tags.cmd_size = sizeof(struct hrtimer);
	error = blk_mq_alloc_tag_set(&tags);
	if (error)
		goto no_tags;
	disk = new_disk();
	if (IS_ERR(disk)) {
		error = PTR_ERR(disk);
		goto no_disk;
	}
	disk->fops = &by_timer_fops;
	strscpy(disk->disk_name, "bytimer", sizeof(disk->disk_name));
	set_capacity(disk, CAPACITY >> SECTOR_SHIFT);
	error = add_disk(disk);
	if (!error)
		return 0;
	put_disk(disk);
no_disk:
	blk_mq_free_tag_set(&tags);
no_tags:
	vfree(store);
	return error;
}

static void __exit by_timer_exit(void)
{
	del_gendisk(disk);
	put_disk(disk);
	blk_mq_free_tag_set(&tags);
	vfree(store);
}

module_init(by_timer_init);
module_exit(by_timer_exit);
MODULE_DESCRIPTION("A disk in memory that answers some time later");
MODULE_LICENSE("GPL");
