// SPDX-License-Identifier: GPL-2.0
/* A SCSI host with one disk in memory. */
#include <linux/module.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#include <asm/unaligned.h>
#else
#include <linux/unaligned.h>
#endif
#include <scsi/scsi.h>
#include <scsi/scsi_cmnd.h>
#include <scsi/scsi_device.h>
#include <scsi/scsi_host.h>

#define CAPACITY (32 << 20)
#define SECTORS (CAPACITY / 512)

static struct Scsi_Host *host;
static char *store;

static int scsi_host_transfer(struct scsi_cmnd *cmd, bool write)
{
	u32 first = get_unaligned_be32(&cmd->cmnd[2]);
	size_t bytes = get_unaligned_be16(&cmd->cmnd[7]) * 512;

	if (first > SECTORS || bytes > CAPACITY - first * 512UL)
		return -EINVAL;
	if (write)
		sg_copy_to_buffer(scsi_sglist(cmd), scsi_sg_count(cmd), store + first * 512UL, bytes);
	else
		sg_copy_from_buffer(scsi_sglist(cmd), scsi_sg_count(cmd), store + first * 512UL, bytes);
	return 0;
}

static void scsi_host_answer(struct scsi_cmnd *cmd, const void *data, size_t bytes)
{
	bytes = min_t(size_t, bytes, scsi_bufflen(cmd));
	scsi_sg_copy_from_buffer(cmd, (void *)data, bytes);
	scsi_set_resid(cmd, scsi_bufflen(cmd) - bytes);
}

static int scsi_host_queue(struct Scsi_Host *shost, struct scsi_cmnd *cmd)
{
	static const u8 inquiry[36] = "\0\0\2\2\37\0\0\0IOSTACK TEST DISK       1   ";
	static const u8 caching[24] = { 23, 0, 0, 0, 0x08, 0x12 };
	__be32 capacity[2] = { cpu_to_be32(SECTORS - 1), cpu_to_be32(512) };
	int error = 0;

	cmd->result = 0;
	switch (cmd->cmnd[0]) {
	case INQUIRY:
		scsi_host_answer(cmd, inquiry, sizeof(inquiry));
		break;
	case READ_CAPACITY:
		scsi_host_answer(cmd, capacity, sizeof(capacity));
		break;
	case MODE_SENSE:
		scsi_host_answer(cmd, caching, sizeof(caching));
		break;
	case READ_10:
	case WRITE_10:
		error = scsi_host_transfer(cmd, cmd->cmnd[0] == WRITE_10);
		break;
	case TEST_UNIT_READY:
	case START_STOP:
		break;
	default:
		error = -EOPNOTSUPP;
	}
	if (error)
		scsi_build_sense(cmd, 0, ILLEGAL_REQUEST, 0x20, 0);
	scsi_done(cmd);
	return 0;
}

static struct scsi_host_template scsi_host_template = {
	.module = THIS_MODULE,
	.name = "scsi_host",
	.queuecommand = scsi_host_queue,
	.can_queue = 32,
	.this_id = -1,
	.sg_tablesize = SG_MAX_SEGMENTS,
	.max_sectors = 256,
};

static int __init scsi_host_init(void)
{
	int error = -ENOMEM;

	store = vzalloc(CAPACITY);
	if (!store)
		return error;
	host = scsi_host_alloc(&scsi_host_template, 0);
	if (!host)
		goto no_host;
	host->max_id = 1;
	host->max_lun = 1;
	error = scsi_add_host(host, NULL);
	if (error)
		goto not_added;
	scsi_scan_host(host);
	return 0;
not_added:
	scsi_host_put(host);
no_host:
	vfree(store);
	return error;
}

static void __exit scsi_host_exit(void)
{
	scsi_remove_host(host);
	scsi_host_put(host);
	vfree(store);
}

module_init(scsi_host_init);
module_exit(scsi_host_exit);
MODULE_DESCRIPTION("A SCSI host with one disk in memory");
MODULE_LICENSE("GPL");
