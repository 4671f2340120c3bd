// SPDX-License-Identifier: GPL-2.0
/* A disk in memory with blocks of 4 KiB, and discards. */
#include <linux/blk-mq.h>
#include <linux/module.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#define CAPACITY (32 << 20)

static struct blk_mq_tag_set tags;
static struct gendisk *disk;
static char *store;

static void four_k_transfer(struct request *rq)
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

static blk_status_t four_k_queue(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *data)
{
	struct request *rq = data->rq;

	blk_mq_start_request(rq);
	/* What was discarded may read as anything. */
	if (req_op(rq) == REQ_OP_DISCARD)
		memset(store + (blk_rq_pos(rq) << SECTOR_SHIFT), 0xff, blk_rq_bytes(rq));
	else
		four_k_transfer(rq);
	blk_mq_end_request(rq, BLK_STS_OK);
	return BLK_STS_OK;
}

static const struct blk_mq_ops four_k_ops = {
	.queue_rq = four_k_queue,
};

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
static struct gendisk *new_disk(void)
{
	struct gendisk *made = blk_mq_alloc_disk(&tags, NULL);

	if (!IS_ERR(made)) {
		blk_queue_logical_block_size(made->queue, 4096);
		blk_queue_max_discard_sectors(made->queue, CAPACITY >> SECTOR_SHIFT);
		made->queue->limits.discard_granularity = 4096;
	}
	return made;
}
#else
static struct gendisk *new_disk(void)
{
	struct queue_limits limits = {
		.logical_block_size = 4096,
		.max_hw_discard_sectors = CAPACITY >> SECTOR_SHIFT,
		.discard_granularity = 4096,
	};

	return blk_mq_alloc_disk(&tags, &limits, NULL);
}
#endif

static const struct block_device_operations four_k_fops = {
	.owner = THIS_MODULE,
};

static int __init four_k_init(void)
{
	int error = -ENOMEM;

	store = vzalloc(CAPACITY);
	if (!store)
		return error;
	tags.ops = &four_k_ops;
	tags.nr_hw_queues = 1;
	tags.queue_depth = 64;
	tags.numa_node = NUMA_NO_NODE;
	error = blk_mq_alloc_tag_set(&tags);
	if (error)
		goto no_tags;
	disk = new_disk();
	if (IS_ERR(disk)) {
		error = PTR_ERR(disk);
		goto no_disk;
	}
	disk->fops = &four_k_fops;
	strscpy(disk->disk_name, "fourk", sizeof(disk->disk_name));
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

static void __exit four_k_exit(void)
{
	del_gendisk(disk);
	put_disk(disk);
	blk_mq_free_tag_set(&tags);
	vfree(store);
}

module_init(four_k_init);
module_exit(four_k_exit);
MODULE_DESCRIPTION("A disk in memory with blocks of 4 KiB, and discards");
MODULE_LICENSE("GPL");
