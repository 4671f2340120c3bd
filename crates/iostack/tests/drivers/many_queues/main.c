// SPDX-License-Identifier: GPL-2.0
/* A disk in memory with several hardware queues. */
#include <linux/blk-mq.h>
#include <linux/module.h>
#include <linux/version.h>
#include "store.h"

#define CAPACITY (32 << 20)

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#define new_disk() blk_mq_alloc_disk(&tags, NULL)
#else
#define new_disk() blk_mq_alloc_disk(&tags, NULL, NULL)
#endif

static unsigned int queues = 4;
module_param(queues, uint, 0444);
MODULE_PARM_DESC(queues, "Hardware queues");

static struct blk_mq_tag_set tags;
static struct gendisk *disk;

static blk_status_t many_queues_queue(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *data)
{
	blk_mq_start_request(data->rq);
	store_transfer(data->rq);
	blk_mq_complete_request(data->rq);
	return BLK_STS_OK;
}

static void many_queues_complete(struct request *rq)
{
	blk_mq_end_request(rq, BLK_STS_OK);
}

static const struct blk_mq_ops many_queues_ops = {
	.queue_rq = many_queues_queue,
	.complete = many_queues_complete,
};

static const struct block_device_operations many_queues_fops = {
	.owner = THIS_MODULE,
};

static int __init many_queues_init(void)
{
	int error;

	error = store_init(CAPACITY);
	if (error)
		return error;
	tags.ops = &many_queues_ops;
	tags.nr_hw_queues = queues;
	tags.queue_depth = 32;
	tags.numa_node = NUMA_NO_NODE;
	error = blk_mq_alloc_tag_set(&tags);
	if (error)
		goto no_tags;
	disk = new_disk();
	if (IS_ERR(disk)) {
		error = PTR_ERR(disk);
		goto no_disk;
	}
	disk->fops = &many_queues_fops;
	strscpy(disk->disk_name, "manyqueues", sizeof(disk->disk_name));
	set_capacity(disk, CAPACITY >> SECTOR_SHIFT);
	error = add_disk(disk);
	if (!error)
		return 0;
	put_disk(disk);
no_disk:
	blk_mq_free_tag_set(&tags);
no_tags:
	store_exit();
	return error;
}

static void __exit many_queues_exit(void)
{
	del_gendisk(disk);
	put_disk(disk);
	blk_mq_free_tag_set(&tags);
	store_exit();
}

module_init(many_queues_init);
module_exit(many_queues_exit);
MODULE_DESCRIPTION("A disk in memory with several hardware queues");
MODULE_LICENSE("GPL");
