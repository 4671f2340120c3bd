// SPDX-License-Identifier: GPL-2.0
/* A disk in memory with zones that are written in order. */
#include <linux/blk-mq.h>
#include <linux/blkzoned.h>
#include <linux/module.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#define CAPACITY (32 << 20)
#define ZONE_SECTORS (4 << 11)
#define ZONES ((CAPACITY >> SECTOR_SHIFT) / ZONE_SECTORS)

static sector_t written[ZONES];
static struct blk_mq_tag_set tags;
static struct gendisk *disk;
static char *store;

static void zoned_ram_transfer(struct request *rq)
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

static blk_status_t zoned_ram_do(struct request *rq)
{
	unsigned int zone = blk_rq_pos(rq) / ZONE_SECTORS;

	switch (req_op(rq)) {
	case REQ_OP_READ:
		zoned_ram_transfer(rq);
		return BLK_STS_OK;
	case REQ_OP_WRITE:
		if (blk_rq_pos(rq) != zone * ZONE_SECTORS + written[zone])
			return BLK_STS_IOERR;
		zoned_ram_transfer(rq);
		written[zone] += blk_rq_sectors(rq);
		return BLK_STS_OK;
	case REQ_OP_ZONE_RESET:
		written[zone] = 0;
		return BLK_STS_OK;
	case REQ_OP_ZONE_RESET_ALL:
		memset(written, 0, sizeof(written));
		return BLK_STS_OK;
	case REQ_OP_ZONE_FINISH:
		written[zone] = ZONE_SECTORS;
		return BLK_STS_OK;
	case REQ_OP_ZONE_OPEN:
	case REQ_OP_ZONE_CLOSE:
		return BLK_STS_OK;
	default:
		return BLK_STS_NOTSUPP;
	}
}

static blk_status_t zoned_ram_queue(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *data)
{
	blk_mq_start_request(data->rq);
	blk_mq_end_request(data->rq, zoned_ram_do(data->rq));
	return BLK_STS_OK;
}

static int zoned_ram_report(struct gendisk *disk, sector_t sector, unsigned int count,
			    report_zones_cb report, void *data)
{
	unsigned int first = sector / ZONE_SECTORS, index;

	for (index = 0; index < count && first + index < ZONES; index++) {
		unsigned int zone = first + index;
		struct blk_zone told = {
			.start = zone * ZONE_SECTORS,
			.len = ZONE_SECTORS,
			.capacity = ZONE_SECTORS,
			.wp = zone * ZONE_SECTORS + written[zone],
			.type = BLK_ZONE_TYPE_SEQWRITE_REQ,
			.cond = BLK_ZONE_COND_IMP_OPEN,
		};
		int error;

		if (!written[zone])
			told.cond = BLK_ZONE_COND_EMPTY;
		else if (written[zone] == ZONE_SECTORS)
			told.cond = BLK_ZONE_COND_FULL;
		error = report(&told, index, data);
		if (error)
			return error;
	}
	return index;
}

static const struct blk_mq_ops zoned_ram_ops = {
	.queue_rq = zoned_ram_queue,
};

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#define revalidate(disk) blk_revalidate_disk_zones(disk, NULL)

static struct gendisk *new_disk(void)
{
	struct gendisk *made = blk_mq_alloc_disk(&tags, NULL);

	if (!IS_ERR(made)) {
		disk_set_zoned(made, BLK_ZONED_HM);
		blk_queue_chunk_sectors(made->queue, ZONE_SECTORS);
	}
	return made;
}
#else
#define revalidate(disk) blk_revalidate_disk_zones(disk)

static struct gendisk *new_disk(void)
{
	struct queue_limits limits = { .features = BLK_FEAT_ZONED, .chunk_sectors = ZONE_SECTORS };

	return blk_mq_alloc_disk(&tags, &limits, NULL);
}
#endif

static const struct block_device_operations zoned_ram_fops = {
	.owner = THIS_MODULE,
	.report_zones = zoned_ram_report,
};

static int __init zoned_ram_init(void)
{
	int error = -ENOMEM;

	store = vzalloc(CAPACITY);
	if (!store)
		return error;
	tags.ops = &zoned_ram_ops;
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
	disk->fops = &zoned_ram_fops;
	strscpy(disk->disk_name, "zonedram", sizeof(disk->disk_name));
	set_capacity(disk, CAPACITY >> SECTOR_SHIFT);
	disk->nr_zones = ZONES;
	error = revalidate(disk);
	if (error)
		goto no_zones;
	error = add_disk(disk);
	if (!error)
		return 0;
no_zones:
	put_disk(disk);
no_disk:
	blk_mq_free_tag_set(&tags);
no_tags:
	vfree(store);
	return error;
}

static void __exit zoned_ram_exit(void)
{
	del_gendisk(disk);
	put_disk(disk);
	blk_mq_free_tag_set(&tags);
	vfree(store);
}

module_init(zoned_ram_init);
module_exit(zoned_ram_exit);
MODULE_DESCRIPTION("A disk in memory with zones that are written in order");
MODULE_LICENSE("GPL");
