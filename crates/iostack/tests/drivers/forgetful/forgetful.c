// SPDX-License-Identifier: GPL-2.0
/* A disk that reports success at once and keeps nothing. */
#include <linux/blk-mq.h>
#include <linux/module.h>
#include <linux/version.h>

#define CAPACITY (32 << 20)

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#define new_disk() blk_mq_alloc_disk(&tags, NULL)
#else
#define new_disk() blk_mq_alloc_disk(&tags, NULL, NULL)
#endif

static struct blk_mq_tag_set tags;
static struct gendisk *disk;

static blk_status_t forgetful_queue(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *data)
{
	blk_mq_start_request(data->rq);
	blk_mq_end_request(data->rq, BLK_STS_OK);
	return BLK_STS_OK;
}

static const struct blk_mq_ops forgetful_ops = {
	.queue_rq = forgetful_queue,
};

static const struct block_device_operations forgetful_fops = {
	.owner = THIS_MODULE,
};

static int __init forgetful_init(void)
{
	int error;

	tags.ops = &forgetful_ops;
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
	disk->fops = &forgetful_fops;
	strscpy(disk->disk_name, "forgetful", sizeof(disk->disk_name));
	set_capacity(disk, CAPACITY >> SECTOR_SHIFT);
	error = add_disk(disk);
	if (!error)
		return 0;
	put_disk(disk);
no_disk:
	blk_mq_free_tag_set(&tags);
no_tags:
	return error;
}

static void __exit forgetful_exit(void)
{
	del_gendisk(disk);
	put_disk(disk);
	blk_mq_free_tag_set(&tags);
}

module_init(forgetful_init);
module_exit(forgetful_exit);
MODULE_DESCRIPTION("A disk that reports success at once and keeps nothing");
MODULE_LICENSE("GPL");
