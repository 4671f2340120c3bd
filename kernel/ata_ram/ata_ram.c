// SPDX-License-Identifier: GPL-2.0
/*
 * ata_ram: a SATA disk in memory, behind libata, that behaves like a driver for a real adapter.
 *
 *   SCSI layer ─► libata ─qc_issue─► llist ─► thread: copy ─► ata_qc_complete
 *
 * It is scsi_ram with libata in between: the difference between the two is what libata costs. Start
 * reading at ata_ram_qc_issue(), which submits, and ata_ram_serve(), which answers; what the disk
 * says about itself is in identify.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ata.h>
#include <linux/bottom_half.h>
#include <linux/dma-mapping.h>
#include <linux/irq_work.h>
#include <linux/libata.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/swiotlb.h>
#include <scsi/scsi_host.h>

#include "identify.h"
#include "ram_fault.h"
#include "ram_params.h"
#include "ram_server.h"
#include "ram_store.h"

/**
 * struct ata_ram_command - what belongs to one tag of the port
 * @request: its place in the thread's queue, or in the interrupt's
 * @tag: of the command in libata's table
 * @status: what the device leaves in its status register
 * @error: and in its error register
 * @lba: and in its address registers, if @error is set
 */
struct ata_ram_command {
	struct ram_request request;
	unsigned int tag;
	u8 status;
	u8 error;
	u64 lba;
};

/**
 * struct ata_ram - the one adapter, with one port and one disk
 * @store: its medium
 * @server: the thread that serves its commands
 * @media_commands: counted for the faults that hit every Nth
 * @inline_queue: commands for @interrupt, with inline_completion
 * @interrupt: serves @inline_queue on the CPU that submitted
 * @parent: the device that the host hangs on
 * @host: what libata knows
 * @commands: one for each tag, and one for libata's internal commands
 */
struct ata_ram {
	struct ram_store store;
	struct ram_server server;
	atomic_t media_commands;
	struct llist_head inline_queue;
	struct irq_work interrupt;
	struct platform_device *parent;
	struct ata_host *host;
	struct ata_ram_command commands[ATA_MAX_QUEUE + 1];
};

static struct ata_ram disk;

static void fail(struct ata_ram_command *command, u8 error, u64 lba)
{
	command->status = ATA_DRDY | ATA_ERR;
	command->error = error;
	command->lba = lba;
}

/* Mapping for DMA may have merged entries; the CPU wants them as they were. */
static unsigned int entries(const struct ata_queued_cmd *qc)
{
	return qc->flags & ATA_QCFLAG_DMAMAP ? qc->orig_n_elem : qc->n_elem;
}

static u64 taskfile_lba(const struct ata_taskfile *taskfile)
{
	u64 lba = taskfile->lbal | taskfile->lbam << 8 | taskfile->lbah << 16;

	if (taskfile->flags & ATA_TFLAG_LBA48)
		return lba | (u64)taskfile->hob_lbal << 24 | (u64)taskfile->hob_lbam << 32 |
		       (u64)taskfile->hob_lbah << 40;
	return lba | (taskfile->device & 0xf) << 24;
}

/* A count of 0 means the greatest that the field cannot hold. */
static u32 taskfile_lba_count(const struct ata_taskfile *taskfile)
{
	if (ata_is_ncq(taskfile->protocol))
		return (taskfile->hob_feature << 8 | taskfile->feature) ?: 65536;
	if (taskfile->flags & ATA_TFLAG_LBA48)
		return (taskfile->hob_nsect << 8 | taskfile->nsect) ?: 65536;
	return taskfile->nsect ?: 256;
}

static void transfer(struct ata_ram_command *command, struct ata_queued_cmd *qc, bool data)
{
	u64 lba = taskfile_lba(&qc->tf);
	u32 lba_count = taskfile_lba_count(&qc->tf);
	u32 good;

	if (unlikely(!ram_store_holds(&disk.store, lba, lba_count))) {
		fail(command, ATA_IDNF, lba);
		return;
	}
	good = ram_fault_good_blocks(lba, lba_count);
	if (data && READ_ONCE(copy))
		ram_store_copy(&disk.store, qc->sg, entries(qc), lba,
			       min_t(u64, (u64)good << RAM_STORE_LBA_SHIFT, qc->nbytes),
			       qc->tf.flags & ATA_TFLAG_WRITE);
	if (unlikely(good < lba_count))
		fail(command, ATA_UNC, lba + good);
}

/* DATA SET MANAGEMENT: sectors full of ranges, 48 bits of address and 16 of length. */
static void discard(struct ata_ram_command *command, struct ata_queued_cmd *qc)
{
	__le64 range;
	u64 lba, lba_count;
	u32 byte;

	if (!trim || !(qc->tf.feature & ATA_DSM_TRIM)) {
		fail(command, ATA_ABORTED, 0);
		return;
	}
	for (byte = 0; byte + sizeof(range) <= qc->nbytes; byte += sizeof(range)) {
		sg_pcopy_to_buffer(qc->sg, entries(qc), &range, sizeof(range), byte);
		lba = le64_to_cpu(range) & GENMASK_ULL(47, 0);
		lba_count = le64_to_cpu(range) >> 48;
		if (!ram_store_holds(&disk.store, lba, lba_count)) {
			fail(command, ATA_IDNF, lba);
			return;
		}
		ram_store_discard(&disk.store, lba, lba_count);
	}
}

/* A command to the medium, where faults are injected. Returns whether it is to be answered. */
static bool media_command(struct ata_ram_command *command, struct ata_queued_cmd *qc)
{
	enum ram_fault fault = RAM_FAULT_NONE;

	if (!ata_tag_internal(qc->tag))
		fault = ram_fault_next(&disk.media_commands);
	if (unlikely(fault == RAM_FAULT_TIMEOUT))
		return false;
	switch (qc->tf.command) {
	case ATA_CMD_FLUSH: /* There is no cache. */
	case ATA_CMD_FLUSH_EXT:
		break;
	case ATA_CMD_DSM:
		discard(command, qc);
		break;
	case ATA_CMD_VERIFY:
	case ATA_CMD_VERIFY_EXT:
		transfer(command, qc, false);
		break;
	default:
		transfer(command, qc, true);
		break;
	}
	return likely(fault == RAM_FAULT_NONE);
}

static void identify(struct ata_queued_cmd *qc)
{
	u16 id[ATA_ID_WORDS];

	ata_ram_identify(id, disk.store.lba_count, queue_depth, trim);
	sg_copy_from_buffer(qc->sg, entries(qc), id, min_t(u32, sizeof(id), qc->nbytes));
}

/* Performs a command; returns whether it is to be answered. */
static bool perform(struct ata_ram_command *command, struct ata_queued_cmd *qc)
{
	switch (qc->tf.command) {
	case ATA_CMD_FPDMA_READ:
	case ATA_CMD_FPDMA_WRITE:
	case ATA_CMD_READ:
	case ATA_CMD_READ_EXT:
	case ATA_CMD_WRITE:
	case ATA_CMD_WRITE_EXT:
	case ATA_CMD_PIO_READ:
	case ATA_CMD_PIO_READ_EXT:
	case ATA_CMD_PIO_WRITE:
	case ATA_CMD_PIO_WRITE_EXT:
	case ATA_CMD_VERIFY:
	case ATA_CMD_VERIFY_EXT:
	case ATA_CMD_FLUSH:
	case ATA_CMD_FLUSH_EXT:
	case ATA_CMD_DSM:
		return media_command(command, qc);
	case ATA_CMD_ID_ATA:
		identify(qc);
		return true;
	case ATA_CMD_SET_FEATURES:
		if (qc->tf.feature != SETFEATURES_XFER)
			break;
		return true;
	case ATA_CMD_CHK_POWER:
	case ATA_CMD_IDLEIMMEDIATE:
	case ATA_CMD_STANDBY:
	case ATA_CMD_STANDBYNOW1:
		return true;
	}
	fail(command, ATA_ABORTED, 0);
	return true;
}

/*
 * Without the port's lock: libata does not let go of a command before error handling has drained
 * the thread, whoever else may have given up on it meanwhile.
 */
static bool perform_tag(struct ata_ram_command *command)
{
	return perform(command, __ata_qc_from_tag(disk.host->ports[0], command->tag));
}

/* Finds no command if error handling took it: then it is not ours to complete. */
static void answer(struct ata_ram_command *command)
{
	struct ata_port *port = disk.host->ports[0];
	struct ata_queued_cmd *qc;
	unsigned long flags;

	spin_lock_irqsave(port->lock, flags);
	qc = ata_qc_from_tag(port, command->tag);
	if (likely(qc)) {
		if (unlikely(command->error & ATA_UNC))
			qc->err_mask |= AC_ERR_DEV | AC_ERR_MEDIA;
		else if (unlikely(command->error))
			qc->err_mask |= AC_ERR_DEV;
		ata_qc_complete(qc);
	}
	spin_unlock_irqrestore(port->lock, flags);
}

/* With softirqs off, so that the block layer's runs here at once, as it does after an interrupt. */
static void ata_ram_serve(struct ram_request *request)
{
	struct ata_ram_command *command = container_of(request, struct ata_ram_command, request);

	if (perform_tag(command)) {
		local_bh_disable();
		answer(command);
		local_bh_enable();
	}
}

static void ata_ram_interrupt(struct irq_work *work)
{
	struct llist_node *batch = llist_reverse_order(llist_del_all(&disk.inline_queue));
	struct ata_ram_command *command, *next;

	llist_for_each_entry_safe(command, next, batch, request.node) {
		if (perform_tag(command))
			answer(command);
	}
}

/* Nothing to prepare: the command is decoded by whoever serves it. */
static enum ata_completion_errors ata_ram_qc_prep(struct ata_queued_cmd *qc)
{
	return AC_ERR_OK;
}

/*
 * libata looks at the command after qc_issue, so it must not be completed inside. Inline service is
 * an interrupt to this very CPU instead, which arrives when libata has let go of the port's lock.
 * A latency needs the thread, and so does a discard, which may clear gigabytes.
 */
static unsigned int ata_ram_qc_issue(struct ata_queued_cmd *qc)
{
	struct ata_ram_command *command = &disk.commands[qc->tag];
	u32 latency = READ_ONCE(latency_ns);

	command->status = ATA_DRDY;
	command->error = 0;
	if (READ_ONCE(inline_completion) && !latency && qc->tf.command != ATA_CMD_DSM) {
		if (llist_add(&command->request.node, &disk.inline_queue))
			irq_work_queue(&disk.interrupt);
	} else {
		ram_server_submit(&disk.server, &command->request, latency);
	}
	return 0;
}

#ifdef HAVE_FILL_RTF_BOOL
#define FILL_RTF_TYPE	bool
#define FILL_RTF_DONE	true
#else
#define FILL_RTF_TYPE	void
#define FILL_RTF_DONE
#endif

static FILL_RTF_TYPE ata_ram_qc_fill_rtf(struct ata_queued_cmd *qc)
{
	const struct ata_ram_command *command = &disk.commands[qc->tag];
	struct ata_taskfile *taskfile = &qc->result_tf;

	taskfile->status = command->status;
	taskfile->error = command->error;
	taskfile->lbal = command->lba;
	taskfile->lbam = command->lba >> 8;
	taskfile->lbah = command->lba >> 16;
	taskfile->hob_lbal = command->lba >> 24;
	taskfile->hob_lbam = command->lba >> 32;
	taskfile->hob_lbah = command->lba >> 40;
	taskfile->device = ATA_LBA | (command->lba >> 24 & 0xf);
	return FILL_RTF_DONE;
}

static void drain(void)
{
	irq_work_sync(&disk.interrupt);
	ram_server_drain(&disk.server);
}

/*
 * Behind the drain nobody holds a command but error handling. Those that an injected fault dropped
 * are among its own: it resets the device and issues them again.
 */
static void ata_ram_error_handler(struct ata_port *port)
{
	drain();
	ata_std_error_handler(port);
}

/* An internal command that timed out is given up without error handling. */
static void ata_ram_post_internal_cmd(struct ata_queued_cmd *qc)
{
	drain();
}

static int ata_ram_prereset(struct ata_link *link, unsigned long deadline)
{
	return 0;
}

/* There is no state to reset: error_handler has drained the thread. */
static int ata_ram_hardreset(struct ata_link *link, unsigned int *class, unsigned long deadline)
{
	*class = ATA_DEV_ATA;
	return 0;
}

static int ata_ram_scr_read(struct ata_link *link, unsigned int reg, u32 *value)
{
	/* Device present, 3 Gb/s, link active. */
	*value = reg == SCR_STATUS ? 0x123 : 0;
	return reg > SCR_CONTROL ? -EINVAL : 0;
}

static int ata_ram_scr_write(struct ata_link *link, unsigned int reg, u32 value)
{
	return reg > SCR_CONTROL ? -EINVAL : 0;
}

static struct ata_port_operations ata_ram_operations = {
	.inherits		= &sata_port_ops,
	.qc_prep		= ata_ram_qc_prep,
	.qc_issue		= ata_ram_qc_issue,
	.qc_fill_rtf		= ata_ram_qc_fill_rtf,
	.error_handler		= ata_ram_error_handler,
	.post_internal_cmd	= ata_ram_post_internal_cmd,
	.scr_read		= ata_ram_scr_read,
	.scr_write		= ata_ram_scr_write,
#ifdef HAVE_RESET_OPERATIONS
	.reset.prereset		= ata_ram_prereset,
	.reset.hardreset	= ata_ram_hardreset,
#else
	.prereset		= ata_ram_prereset,
	.hardreset		= ata_ram_hardreset,
#endif
};

static const struct ata_port_info ata_ram_port_info = {
	.flags			= ATA_FLAG_SATA | ATA_FLAG_NCQ,
	.pio_mask		= ATA_PIO4,
	.mwdma_mask		= ATA_MWDMA2,
	.udma_mask		= ATA_UDMA6,
	.port_ops		= &ata_ram_operations,
};

/* Not const: the queue depth is a parameter. */
static struct scsi_host_template ata_ram_template = {
	ATA_NCQ_SHT("ata_ram"),
	.sg_tablesize		= SG_MAX_SEGMENTS,
};

static int __init ata_ram_add_host(void)
{
	const struct ata_port_info *ports[] = { &ata_ram_port_info, NULL };

	disk.host = ata_host_alloc_pinfo(&disk.parent->dev, ports, 1);
	if (!disk.host)
		return -ENOMEM;
	ata_ram_template.can_queue = queue_depth;
	return ata_host_activate(disk.host, 0, NULL, 0, &ata_ram_template);
}

/*
 * libata maps each command for DMA. Where that means a copy through a bounce buffer, unmapping
 * would write the buffer over what this driver has just put into the memory itself.
 */
static int __init ata_ram_add_parent(void)
{
	const struct platform_device_info info = {
		.name = KBUILD_MODNAME,
		.id = PLATFORM_DEVID_NONE,
		.dma_mask = DMA_BIT_MASK(64),
	};

	disk.parent = platform_device_register_full(&info);
	if (IS_ERR(disk.parent))
		return PTR_ERR(disk.parent);
	if (!is_swiotlb_force_bounce(&disk.parent->dev))
		return 0;
	pr_err("this machine forces bounce buffers for DMA, which this driver cannot serve\n");
	platform_device_unregister(disk.parent);
	return -EOPNOTSUPP;
}

static int __init ata_ram_init(void)
{
	unsigned int tag;
	int error;

	if (!queue_depth || queue_depth > ATA_MAX_QUEUE) {
		pr_err("queue_depth=%u: must be 1 to %u\n", queue_depth, ATA_MAX_QUEUE);
		return -EINVAL;
	}
	for (tag = 0; tag <= ATA_MAX_QUEUE; tag++)
		disk.commands[tag].tag = tag;
	init_llist_head(&disk.inline_queue);
	init_irq_work(&disk.interrupt, ata_ram_interrupt);

	error = ram_store_create(&disk.store, capacity_mib);
	if (error) {
		pr_err("capacity_mib=%u: no such memory\n", capacity_mib);
		return error;
	}
	error = ram_server_start(&disk.server, ata_ram_serve, thread_cpu, KBUILD_MODNAME);
	if (error) {
		pr_err("thread_cpu=%d: cannot start a thread there\n", thread_cpu);
		goto destroy_store;
	}
	error = ata_ram_add_parent();
	if (error)
		goto stop_server;
	error = ata_ram_add_host();
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

/* Nothing is in flight: whoever has the disk open holds this module too. */
static void __exit ata_ram_exit(void)
{
	ata_host_detach(disk.host);
	drain();
	platform_device_unregister(disk.parent);
	ram_server_stop(&disk.server);
	ram_store_destroy(&disk.store);
}

module_init(ata_ram_init);
module_exit(ata_ram_exit);

MODULE_DESCRIPTION("SATA disk in memory, to measure what the I/O stack costs");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
