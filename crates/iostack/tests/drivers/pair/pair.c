// SPDX-License-Identifier: GPL-2.0
/* Two disks on the same memory: the second is read-only. */
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#define CAPACITY (32 << 20)
#define DISKS 2

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#define new_disk() blk_alloc_disk(NUMA_NO_NODE)
#else
#define new_disk() blk_alloc_disk(NULL, NUMA_NO_NODE)
#endif

static struct gendisk *disks[DISKS];
static char *store;

static void pair_submit(struct bio *bio)
{
	char *at = store + (bio->bi_iter.bi_sector << SECTOR_SHIFT);
	struct bvec_iter iter;
	struct bio_vec piece;

	bio_for_each_segment(piece, bio, iter) {
		if (op_is_write(bio_op(bio)))
			memcpy_from_bvec(at, &piece);
		else
			memcpy_to_bvec(&piece, at);
		at += piece.bv_len;
	}
	bio_endio(bio);
}

static const struct block_device_operations pair_ops = {
	.owner = THIS_MODULE,
	.submit_bio = pair_submit,
};

static void pair_remove(int count)
{
	while (count--) {
		del_gendisk(disks[count]);
		put_disk(disks[count]);
	}
	vfree(store);
}

static int __init pair_init(void)
{
	int index, error = -ENOMEM;

	store = vzalloc(CAPACITY);
	if (!store)
		return error;
	for (index = 0; index < DISKS; index++) {
		struct gendisk *disk = new_disk();

		if (IS_ERR_OR_NULL(disk))
			goto failed;
		disk->fops = &pair_ops;
		snprintf(disk->disk_name, sizeof(disk->disk_name), "pair%d", index);
		set_capacity(disk, CAPACITY >> SECTOR_SHIFT);
		set_disk_ro(disk, index > 0);
		error = add_disk(disk);
		if (error) {
			put_disk(disk);
			goto failed;
		}
		disks[index] = disk;
	}
	return 0;
failed:
	pair_remove(index);
	return error;
}

static void __exit pair_exit(void)
{
	pair_remove(DISKS);
}

module_init(pair_init);
module_exit(pair_exit);
MODULE_DESCRIPTION("Two disks on the same memory");
MODULE_LICENSE("GPL");
