// SPDX-License-Identifier: GPL-2.0
/*
 * scsi_ram: a SCSI disk in memory that behaves like a driver for real hardware.
 *
 *   SCSI layer ──queuecommand──► llist ──► thread: decode, copy ──► scsi_done
 *
 * What the layers above do for a disk they do for this one, so that their cost can be measured; its
 * own parts (copy, thread, latency) can be switched off one by one. Start reading at
 * scsi_ram_queuecommand(), which submits, and scsi_ram_serve(), which answers.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/blkdev.h>
#include <linux/bottom_half.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <scsi/scsi.h>
#include <scsi/scsi_cmnd.h>
#include <scsi/scsi_device.h>
#include <scsi/scsi_host.h>

#ifdef HAVE_LINUX_UNALIGNED
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#include "ram_fault.h"
#include "ram_params.h"
#include "ram_server.h"
#include "ram_store.h"

#define QUEUE_DEPTH_MAX		1024
#define UNMAP_RANGES_MAX	16
#define UNMAP_LBA_COUNT_MAX	(64 * 2048)	/* 64 MiB: some milliseconds */

#ifdef HAVE_SCSI_QC_STATUS
#define QUEUE_STATUS	enum scsi_qc_status
#else
#define QUEUE_STATUS	int
#endif

/* Additional sense codes of SPC-4, each with qualifier 0. */
#define ASC_WRITE_ERROR		0x0c
#define ASC_READ_ERROR		0x11
#define ASC_LIST_LENGTH		0x1a
#define ASC_OPCODE		0x20
#define ASC_LBA_RANGE		0x21
#define ASC_FIELD_IN_CDB	0x24
#define ASC_SAVING_PARAMETERS	0x39

/**
 * struct scsi_ram - the one disk
 * @store: its medium
 * @server: the thread that serves its commands
 * @media_commands: counted for the faults that hit every Nth
 * @parent: the device that the host hangs on
 * @host: what the SCSI layer knows
 */
struct scsi_ram {
	struct ram_store store;
	struct ram_server server;
	atomic_t media_commands;
	struct platform_device *parent;
	struct Scsi_Host *host;
};

/**
 * struct scsi_ram_command - what the SCSI layer keeps for us beside each of its commands
 * @request: its place in the thread's queue
 * @command: the way back
 */
struct scsi_ram_command {
	struct ram_request request;
	struct scsi_cmnd *command;
};

static struct scsi_ram disk;

static void illegal(struct scsi_cmnd *command, u8 asc)
{
	scsi_build_sense(command, 0, ILLEGAL_REQUEST, asc, 0);
}

/* Hand over what the command returns, shortened to what was asked for. */
static void reply(struct scsi_cmnd *command, const void *data, u32 byte_len, u32 allocation_len)
{
	u32 moved = min3(byte_len, allocation_len, scsi_bufflen(command));

	sg_copy_from_buffer(scsi_sglist(command), scsi_sg_count(command), data, moved);
	scsi_set_resid(command, scsi_bufflen(command) - moved);
}

/* Vital product data: returns the length, 0 for a page that there is not. */
static u32 vital_page(u8 page, u8 *data)
{
	data[1] = page;
	switch (page) {
	case 0x00: /* which pages there are */
		data[3] = trim ? 4 : 3;
		data[5] = 0xb0;
		data[6] = 0xb1;
		data[7] = 0xb2;
		break;
	case 0xb0: /* block limits */
		data[3] = 0x3c;
		if (trim) {
			put_unaligned_be32(UNMAP_LBA_COUNT_MAX, data + 20);
			put_unaligned_be32(UNMAP_RANGES_MAX, data + 24);
			put_unaligned_be32(1, data + 28); /* granularity */
		}
		break;
	case 0xb1: /* block device characteristics */
		data[3] = 0x3c;
		data[5] = 1; /* does not rotate */
		break;
	case 0xb2: /* logical block provisioning */
		if (!trim)
			return 0;
		data[3] = 4;
		data[5] = 0x84; /* UNMAP; unmapped blocks read as zeroes */
		data[6] = 2; /* thin */
		break;
	default:
		return 0;
	}
	return 4 + data[3];
}

static void inquiry(struct scsi_cmnd *command)
{
	const u8 *cdb = command->cmnd;
	u8 data[64] = {};
	u32 byte_len;

	if (cdb[1] & 1) {
		byte_len = vital_page(cdb[2], data);
	} else if (cdb[2]) {
		byte_len = 0;
	} else {
		data[2] = 6; /* SPC-4 */
		data[3] = 2;
		data[4] = 31;
		data[7] = 2; /* a queue of commands */
		memcpy(data + 8, "iostack scsi_ram        1.0 ", 28);
		byte_len = 36;
	}
	if (byte_len)
		reply(command, data, byte_len, get_unaligned_be16(cdb + 3));
	else
		illegal(command, ASC_FIELD_IN_CDB);
}

static void read_capacity_10(struct scsi_cmnd *command)
{
	u8 data[8];

	put_unaligned_be32(min_t(u64, disk.store.lba_count - 1, U32_MAX), data);
	put_unaligned_be32(RAM_STORE_LBA_BYTES, data + 4);
	reply(command, data, sizeof(data), sizeof(data));
}

static void read_capacity_16(struct scsi_cmnd *command)
{
	u8 data[32] = {};

	if ((command->cmnd[1] & 0x1f) != SAI_READ_CAPACITY_16) {
		illegal(command, ASC_FIELD_IN_CDB);
		return;
	}
	put_unaligned_be64(disk.store.lba_count - 1, data);
	put_unaligned_be32(RAM_STORE_LBA_BYTES, data + 8);
	if (trim)
		data[14] = 0xc0; /* blocks can be unmapped, and read as zeroes then */
	reply(command, data, sizeof(data), get_unaligned_be32(command->cmnd + 10));
}

/* One page, caching, and in it nothing: what was reported as written is on the medium. */
static void mode_sense(struct scsi_cmnd *command, bool ten)
{
	const u8 *cdb = command->cmnd;
	u8 page = cdb[2] & 0x3f;
	u32 header_len = ten ? 8 : 4;
	u8 data[8 + 20] = {};

	if ((page != 0x08 && page != 0x3f) || (cdb[3] && cdb[3] != 0xff)) {
		illegal(command, ASC_FIELD_IN_CDB);
		return;
	}
	if (cdb[2] >> 6 == 3) {
		illegal(command, ASC_SAVING_PARAMETERS);
		return;
	}
	data[header_len] = 0x08;
	data[header_len + 1] = 18;
	if (ten)
		data[1] = header_len + 20 - 2;
	else
		data[0] = header_len + 20 - 1;
	reply(command, data, header_len + 20, ten ? get_unaligned_be16(cdb + 7) : cdb[4]);
}

static void report_luns(struct scsi_cmnd *command)
{
	u8 data[16] = { [3] = 8 };

	reply(command, data, sizeof(data), get_unaligned_be32(command->cmnd + 6));
}

static void transfer(struct scsi_cmnd *command, u64 lba, u32 lba_count, bool write)
{
	u32 good = ram_fault_good_blocks(lba, lba_count);
	u32 moved = min_t(u64, (u64)good << RAM_STORE_LBA_SHIFT, scsi_bufflen(command));

	if (READ_ONCE(copy))
		ram_store_copy(&disk.store, scsi_sglist(command), scsi_sg_count(command), lba,
			       moved, write);
	scsi_set_resid(command, scsi_bufflen(command) - moved);
	if (likely(good == lba_count))
		return;
	scsi_build_sense(command, 0, MEDIUM_ERROR, write ? ASC_WRITE_ERROR : ASC_READ_ERROR, 0);
	scsi_set_sense_information(command->sense_buffer, SCSI_SENSE_BUFFERSIZE, lba + good);
}

static void unmap(struct scsi_cmnd *command)
{
	u8 list[8 + 16 * UNMAP_RANGES_MAX];
	u32 byte_len = get_unaligned_be16(command->cmnd + 7);
	u32 ranges, range;

	byte_len = min(byte_len, scsi_bufflen(command));
	if (!byte_len)
		return;
	if (byte_len < 8 || byte_len > sizeof(list)) {
		illegal(command, ASC_LIST_LENGTH);
		return;
	}
	sg_copy_to_buffer(scsi_sglist(command), scsi_sg_count(command), list, byte_len);
	ranges = min_t(u32, get_unaligned_be16(list + 2), byte_len - 8) / 16;
	for (range = 0; range < ranges; range++) {
		const u8 *descriptor = list + 8 + 16 * range;
		u64 lba = get_unaligned_be64(descriptor);
		u32 lba_count = get_unaligned_be32(descriptor + 8);

		if (!ram_store_holds(&disk.store, lba, lba_count)) {
			illegal(command, ASC_LBA_RANGE);
			return;
		}
		ram_store_discard(&disk.store, lba, lba_count);
	}
}

/* A command to the medium, where faults are injected. Returns whether it is to be answered. */
static bool media_command(struct scsi_cmnd *command, u64 lba, u32 lba_count)
{
	enum ram_fault fault = ram_fault_next(&disk.media_commands);

	if (unlikely(fault == RAM_FAULT_TIMEOUT))
		return false;
	if (unlikely(!ram_store_holds(&disk.store, lba, lba_count))) {
		illegal(command, ASC_LBA_RANGE);
		return true;
	}
	switch (command->cmnd[0]) {
	case READ_10:
	case READ_16:
		transfer(command, lba, lba_count, false);
		break;
	case WRITE_10:
	case WRITE_16:
		transfer(command, lba, lba_count, true);
		break;
	case UNMAP:
		unmap(command);
		break;
	default: /* SYNCHRONIZE CACHE: there is none */
		break;
	}
	return likely(fault == RAM_FAULT_NONE);
}

/* Performs a command; returns whether it is to be answered. */
static bool perform(struct scsi_cmnd *command)
{
	const u8 *cdb = command->cmnd;

	command->result = 0;
	switch (cdb[0]) {
	case READ_10:
	case WRITE_10:
		return media_command(command, get_unaligned_be32(cdb + 2),
				     get_unaligned_be16(cdb + 7));
	case READ_16:
	case WRITE_16:
		return media_command(command, get_unaligned_be64(cdb + 2),
				     get_unaligned_be32(cdb + 10));
	case SYNCHRONIZE_CACHE:
	case SYNCHRONIZE_CACHE_16:
		return media_command(command, 0, 0);
	case UNMAP:
		if (!trim)
			break;
		return media_command(command, 0, 0);
	case INQUIRY:
		inquiry(command);
		return true;
	case READ_CAPACITY:
		read_capacity_10(command);
		return true;
	case SERVICE_ACTION_IN_16:
		read_capacity_16(command);
		return true;
	case MODE_SENSE:
	case MODE_SENSE_10:
		mode_sense(command, cdb[0] == MODE_SENSE_10);
		return true;
	case REPORT_LUNS:
		report_luns(command);
		return true;
	case TEST_UNIT_READY:
	case START_STOP:
		return true;
	}
	illegal(command, ASC_OPCODE);
	return true;
}

/* With softirqs off, so that the block layer's runs here at once, as it does after an interrupt. */
static void answer(struct scsi_cmnd *command)
{
	local_bh_disable();
	scsi_done(command);
	local_bh_enable();
}

static void scsi_ram_serve(struct ram_request *request)
{
	struct scsi_ram_command *ours = container_of(request, struct scsi_ram_command, request);

	if (perform(ours->command))
		answer(ours->command);
}

static QUEUE_STATUS scsi_ram_queuecommand(struct Scsi_Host *host, struct scsi_cmnd *command)
{
	struct scsi_ram_command *ours = scsi_cmd_priv(command);
	u32 latency = READ_ONCE(latency_ns);

	/* To wait here would stop the submitter, as no device does: a latency needs the thread. */
	if (READ_ONCE(inline_completion) && !latency) {
		if (perform(command))
			answer(command);
		return 0;
	}
	ours->command = command;
	ram_server_submit(&disk.server, &ours->request, latency);
	return 0;
}

/*
 * A command that timed out is in the thread's hands, or still queued, or was dropped by an injected
 * fault. Behind a drain only the last can be true: nobody touches it any more. (Inline service
 * needs no wait: the block layer lets submitters finish before it declares a timeout.)
 */
static int scsi_ram_abort(struct scsi_cmnd *command)
{
	ram_server_drain(&disk.server);
	return SUCCESS;
}

/* Not const: before 6.3 the SCSI layer wants to be able to write to it. */
static struct scsi_host_template scsi_ram_template = {
	.module			= THIS_MODULE,
	.name			= "scsi_ram",
	.proc_name		= "scsi_ram",
	.queuecommand		= scsi_ram_queuecommand,
	.eh_abort_handler	= scsi_ram_abort,
	.eh_device_reset_handler = scsi_ram_abort,
	.eh_host_reset_handler	= scsi_ram_abort,
	.change_queue_depth	= scsi_change_queue_depth,
	.cmd_size		= sizeof(struct scsi_ram_command),
	.this_id		= -1,
	.sg_tablesize		= SG_MAX_SEGMENTS,
	.max_sectors		= 2048,
	.no_write_same		= 1,
	.skip_settle_delay	= 1,
};

static int __init scsi_ram_add_host(void)
{
	struct Scsi_Host *host;
	int error;

	host = scsi_host_alloc(&scsi_ram_template, 0);
	if (!host)
		return -ENOMEM;
	host->can_queue = queue_depth;
	host->cmd_per_lun = queue_depth;
	host->max_id = 1;
	host->max_lun = 1;
	host->max_cmd_len = 16;
	error = scsi_add_host(host, &disk.parent->dev);
	if (error) {
		scsi_host_put(host);
		return error;
	}
	disk.host = host;
	scsi_scan_host(host);
	return 0;
}

static int __init scsi_ram_init(void)
{
	int error;

	if (!queue_depth || queue_depth > QUEUE_DEPTH_MAX) {
		pr_err("queue_depth=%u: must be 1 to %u\n", queue_depth, QUEUE_DEPTH_MAX);
		return -EINVAL;
	}
	error = ram_store_create(&disk.store, capacity_mib);
	if (error) {
		pr_err("capacity_mib=%u: no such memory\n", capacity_mib);
		return error;
	}
	error = ram_server_start(&disk.server, scsi_ram_serve, thread_cpu, KBUILD_MODNAME);
	if (error) {
		pr_err("thread_cpu=%d: cannot start a thread there\n", thread_cpu);
		goto destroy_store;
	}
	disk.parent = platform_device_register_simple(KBUILD_MODNAME, PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(disk.parent)) {
		error = PTR_ERR(disk.parent);
		goto stop_server;
	}
	error = scsi_ram_add_host();
	if (error)
		goto unregister_parent;
	return 0;

unregister_parent:
	platform_device_unregister(disk.parent);
stop_server:
	ram_server_stop(&disk.server);
destroy_store:
	ram_store_destroy(&disk.store);
	return error;
}

static void __exit scsi_ram_exit(void)
{
	scsi_remove_host(disk.host);
	scsi_host_put(disk.host);
	platform_device_unregister(disk.parent);
	ram_server_stop(&disk.server);
	ram_store_destroy(&disk.store);
}

module_init(scsi_ram_init);
module_exit(scsi_ram_exit);

MODULE_DESCRIPTION("SCSI disk in memory, to measure what the I/O stack costs");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
