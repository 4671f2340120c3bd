// SPDX-License-Identifier: GPL-2.0
/*
 * tmerge: a DRAM-SSD with an extended command, in memory, and the I/O
 * subsystems of the document on temporal merge above it.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "internal.h"

static unsigned int tmerge_capacity_mib = 64;
module_param_named(capacity_mib, tmerge_capacity_mib, uint, 0444);
MODULE_PARM_DESC(capacity_mib, "capacity in MiB, all of it memory");

unsigned int tmerge_queue_depth = 1;
module_param_named(queue_depth, tmerge_queue_depth, uint, 0644);
MODULE_PARM_DESC(queue_depth, "commands outstanding; at 1 the doorbell is busy until done");

unsigned int tmerge_fixed_ns = 1650;
module_param_named(fixed_ns, tmerge_fixed_ns, uint, 0644);
MODULE_PARM_DESC(fixed_ns, "cost of a command on the device, in nanoseconds");

unsigned int tmerge_host_ns = 5350;
module_param_named(host_ns, tmerge_host_ns, uint, 0644);
MODULE_PARM_DESC(host_ns, "what a command costs beside that, while the device waits, in nanoseconds");

unsigned int tmerge_per_page_ns = 5850;
module_param_named(per_page_ns, tmerge_per_page_ns, uint, 0644);
MODULE_PARM_DESC(per_page_ns, "cost of each page of a command, in nanoseconds");

unsigned int tmerge_interrupt_ns;
module_param_named(interrupt_ns, tmerge_interrupt_ns, uint, 0644);
MODULE_PARM_DESC(interrupt_ns, "further cost of a command of the request layer, in nanoseconds");

unsigned int tmerge_batch_max = 16;
module_param_named(batch_max, tmerge_batch_max, uint, 0644);
MODULE_PARM_DESC(batch_max, "requests in one extended command, 1 to 256");

unsigned int tmerge_unplug_thresh = 4;
module_param_named(unplug_thresh, tmerge_unplug_thresh, uint, 0644);
MODULE_PARM_DESC(unplug_thresh, "atm: plugged writes that unplug the queue");

unsigned int tmerge_unplug_ms = 3;
module_param_named(unplug_ms, tmerge_unplug_ms, uint, 0644);
MODULE_PARM_DESC(unplug_ms, "atm: longest time a write is plugged, in milliseconds");

bool tmerge_hold_queue_lock = true;
module_param_named(hold_queue_lock, tmerge_hold_queue_lock, bool, 0644);
MODULE_PARM_DESC(hold_queue_lock, "atm: a read keeps the queue locked while it polls, as published");

bool tmerge_copy = true;
module_param_named(copy, tmerge_copy, bool, 0644);
MODULE_PARM_DESC(copy, "move the data, else report success without");

unsigned long long tmerge_fail_first_lba;
module_param_named(fail_first_lba, tmerge_fail_first_lba, ullong, 0644);
MODULE_PARM_DESC(fail_first_lba, "first 512-byte block that answers with a medium error");

unsigned long long tmerge_fail_lba_count;
module_param_named(fail_lba_count, tmerge_fail_lba_count, ullong, 0644);
MODULE_PARM_DESC(fail_lba_count, "blocks that do");

static struct tmerge *tmerge_device;

static const struct block_device_operations tmerge_fops = {
	.owner = THIS_MODULE,
	.submit_bio = tmerge_submit_bio,
	.ioctl = tmerge_ioctl,
	.compat_ioctl = blkdev_compat_ptr_ioctl,
};

static int tmerge_disk_create(struct tmerge *tmerge)
{
	struct gendisk *disk = tmerge_alloc_bio_disk();
	int err;

	if (IS_ERR(disk))
		return PTR_ERR(disk);
	tmerge->disk = disk;
	disk->fops = &tmerge_fops;
	disk->private_data = tmerge;
	disk->flags |= GENHD_FL_NO_PART;
	strscpy(disk->disk_name, "tmerge0", sizeof(disk->disk_name));
	set_capacity(disk, tmerge->server.bytes >> SECTOR_SHIFT);
	tmerge_set_nonrot(disk->queue);
	err = device_add_disk(NULL, disk, tmerge_groups);
	if (err)
		put_disk(disk);
	return err;
}

static int __init tmerge_init(void)
{
	struct tmerge *tmerge;
	int err;

	tmerge = kzalloc(sizeof(*tmerge), GFP_KERNEL);
	if (!tmerge)
		return -ENOMEM;
	mutex_init(&tmerge->switching);
	tmerge_stm_init(&tmerge->stm);
	err = tmerge_server_init(&tmerge->server, tmerge_capacity_mib);
	if (err)
		goto free_tmerge;
	err = tmerge_atm_init(&tmerge->atm);
	if (err)
		goto destroy_server;
	err = tmerge_hybrid_init(&tmerge->hybrid);
	if (err)
		goto destroy_atm;
	err = tmerge_mq_create(tmerge);
	if (err)
		goto destroy_hybrid;
	tmerge_subsystem_init(tmerge);
	err = tmerge_disk_create(tmerge);
	if (err)
		goto destroy_mq;
	tmerge_device = tmerge;
	return 0;

destroy_mq:
	tmerge_mq_destroy(tmerge);
destroy_hybrid:
	tmerge_hybrid_destroy(&tmerge->hybrid);
destroy_atm:
	tmerge_atm_destroy(&tmerge->atm);
destroy_server:
	tmerge_server_destroy(&tmerge->server);
free_tmerge:
	kfree(tmerge);
	return err;
}

static void __exit tmerge_exit(void)
{
	struct tmerge *tmerge = tmerge_device;

	del_gendisk(tmerge->disk);
	put_disk(tmerge->disk);
	tmerge_mq_destroy(tmerge);
	tmerge_hybrid_destroy(&tmerge->hybrid);
	tmerge_atm_destroy(&tmerge->atm);
	tmerge_server_destroy(&tmerge->server);
	kfree(tmerge);
}

module_init(tmerge_init);
module_exit(tmerge_exit);

MODULE_DESCRIPTION("DRAM-SSD with an extended command, and temporal merge above it");
MODULE_LICENSE("GPL");
