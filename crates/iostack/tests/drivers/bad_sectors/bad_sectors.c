// SPDX-License-Identifier: GPL-2.0
/* A disk in memory with some sectors that cannot be read or written. */
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#define CAPACITY (32 << 20)
#define BAD_FIRST (24 << 11)
#define BAD_COUNT 16

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#define new_disk() blk_alloc_disk(NUMA_NO_NODE)
#else
#define new_disk() blk_alloc_disk(NULL, NUMA_NO_NODE)
#endif

static struct gendisk *disk;
static char *store;

static void bad_sectors_submit(struct bio *bio)
{
	sector_t first = bio->bi_iter.bi_sector;
	char *at = store + (first << SECTOR_SHIFT);
	struct bvec_iter iter;
	struct bio_vec piece;

	if (first < BAD_FIRST + BAD_COUNT && bio_end_sector(bio) > BAD_FIRST) {
		bio_io_error(bio);
		return;
	}
	bio_for_each_segment(piece, bio, iter) {
		if (op_is_write(bio_op(bio)))
			memcpy_from_bvec(at, &piece);
		else
			memcpy_to_bvec(&piece, at);
		at += piece.bv_len;
	}
	bio_endio(bio);
}

static const struct block_device_operations bad_sectors_ops = {
	.owner = THIS_MODULE,
	.submit_bio = bad_sectors_submit,
};

static int __init bad_sectors_init(void)
{
	int error = -ENOMEM;

	store = vzalloc(CAPACITY);
	if (!store)
		return error;
	disk = new_disk();
	if (IS_ERR_OR_NULL(disk))
		goto no_disk;
	disk->fops = &bad_sectors_ops;
	strscpy(disk->disk_name, "badsectors", sizeof(disk->disk_name));
	set_capacity(disk, CAPACITY >> SECTOR_SHIFT);
	error = add_disk(disk);
	if (!error)
		return 0;
	put_disk(disk);
no_disk:
	vfree(store);
	return error;
}

static void __exit bad_sectors_exit(void)
{
	del_gendisk(disk);
	put_disk(disk);
	vfree(store);
}

module_init(bad_sectors_init);
module_exit(bad_sectors_exit);
MODULE_DESCRIPTION("A disk in memory with bad sectors");
MODULE_LICENSE("GPL");
