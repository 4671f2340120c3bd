// SPDX-License-Identifier: GPL-2.0
/* A disk in memory that takes bios as they come. */
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#define new_disk() blk_alloc_disk(NUMA_NO_NODE)
#else
#define new_disk() blk_alloc_disk(NULL, NUMA_NO_NODE)
#endif

static unsigned int capacity_mib = 32;
module_param(capacity_mib, uint, 0444);
MODULE_PARM_DESC(capacity_mib, "Size of the disk in MiB");

static struct gendisk *disk;
static char *store;

static void bio_ram_submit(struct bio *bio)
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

static const struct block_device_operations bio_ram_ops = {
	.owner = THIS_MODULE,
	.submit_bio = bio_ram_submit,
};

static int __init bio_ram_init(void)
{
	int error = -ENOMEM;

	if (capacity_mib > 1024) {
		pr_warn("bio_ram: capacity_mib=%u is more than 1024\n", capacity_mib);
		return -EINVAL;
	}
	store = vzalloc(max(capacity_mib, 1U) << 20);
	if (!store)
		return error;
	disk = new_disk();
	if (IS_ERR_OR_NULL(disk))
		goto no_disk;
	disk->fops = &bio_ram_ops;
	strscpy(disk->disk_name, "bioram", sizeof(disk->disk_name));
	set_capacity(disk, (sector_t)capacity_mib << 11);
	error = add_disk(disk);
	if (!error)
		return 0;
	put_disk(disk);
no_disk:
	vfree(store);
	return error;
}

static void __exit bio_ram_exit(void)
{
	del_gendisk(disk);
	put_disk(disk);
	vfree(store);
}

module_init(bio_ram_init);
module_exit(bio_ram_exit);
MODULE_DESCRIPTION("A disk in memory that takes bios");
MODULE_LICENSE("GPL");
