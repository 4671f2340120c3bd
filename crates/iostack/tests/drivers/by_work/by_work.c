// SPDX-License-Identifier: GPL-2.0
/* A disk in memory, served by a work queue. */
#include <linux/blk-mq.h>
#include <linux/module.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#define CAPACITY (32 << 20)

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#define new_disk() blk_mq_alloc_disk(&tags, NULL)
#else
#define new_disk() blk_mq_alloc_disk(&tags, NULL, NULL)
#endif

static struct workqueue_struct *workers;
static struct blk_mq_tag_set tags;
static struct gendisk *disk;
static char *store;

static void by_work_transfer(struct request *rq)
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

static void by_work_serve(struct work_struct *work)
{
	struct request *rq = blk_mq_rq_from_pdu(work);

	by_work_transfer(rq);
	blk_mq_end_request(rq, BLK_STS_OK);
}

static blk_status_t by_work_queue(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *data)
{
	struct work_struct *work = blk_mq_rq_to_pdu(data->rq);

	blk_mq_start_request(data->rq);
	INIT_WORK(work, by_work_serve);
	queue_work(workers, work);
	return BLK_STS_OK;
}

static const struct blk_mq_ops by_work_ops = {
	.queue_rq = by_work_queue,
};

static const struct block_device_operations by_work_fops = {
	.owner = THIS_MODULE,
};

static int __init by_work_init(void)
{
	int error = -ENOMEM;

	store = vzalloc(CAPACITY);
	if (!store)
		return error;
	workers = alloc_workqueue("by_work", WQ_MEM_RECLAIM, 0);
	if (!workers)
		goto no_workers;
	tags.ops = &by_work_ops;
	tags.nr_hw_queues = 1;
	tags.queue_depth = 64;
	tags.numa_node = NUMA_NO_NODE;
	tags.cmd_size = sizeof(struct work_struct);
	error = blk_mq_alloc_tag_set(&tags);
	if (error)
		goto no_tags;
	disk = new_disk();
	if (IS_ERR(disk)) {
		error = PTR_ERR(disk);
		goto no_disk;
	}
	disk->fops = &by_work_fops;
	strscpy(disk->disk_name, "bywork", sizeof(disk->disk_name));
	set_capacity(disk, CAPACITY >> SECTOR_SHIFT);
	error = add_disk(disk);
	if (!error)
		return 0;
	put_disk(disk);
no_disk:
	blk_mq_free_tag_set(&tags);
no_tags:
	destroy_workqueue(workers);
no_workers:
	vfree(store);
	return error;
}

static void __exit by_work_exit(void)
{
	del_gendisk(disk);
	put_disk(disk);
	blk_mq_free_tag_set(&tags);
	destroy_workqueue(workers);
	vfree(store);
}

module_init(by_work_init);
module_exit(by_work_exit);
MODULE_DESCRIPTION("A disk in memory, served by a work queue");
MODULE_LICENSE("GPL");
