// SPDX-License-Identifier: GPL-2.0
/*
 * The plain path: the kernel's request layer, with its tags, scheduler and
 * merging of neighbours, and an interrupt (a timer's) that completes each
 * command. /dev/tmerge0 passes its bios on to /dev/tmerge0mq, which is that
 * queue; both show the same memory.
 */
#include "internal.h"

/* Requests that the layer may hold to merge and sort, as SCSI has by default. */
#define TMERGE_REQUESTS	128

/**
 * struct tmerge_rq - what one request of the layer needs besides
 * @timer: expires as the device's interrupt
 * @status: how the request ended
 */
struct tmerge_rq {
	struct hrtimer timer;
	blk_status_t status;
};

static enum hrtimer_restart tmerge_interrupt(struct hrtimer *timer)
{
	struct tmerge_rq *pdu = container_of(timer, struct tmerge_rq, timer);
	struct request *rq = blk_mq_rq_from_pdu(pdu);

	tmerge_slot_put(rq->q->queuedata);
	blk_mq_complete_request(rq);
	return HRTIMER_NORESTART;
}

static void tmerge_complete_rq(struct request *rq)
{
	struct tmerge_rq *pdu = blk_mq_rq_to_pdu(rq);

	blk_mq_end_request(rq, pdu->status);
}

static int tmerge_init_rq(struct blk_mq_tag_set *set, struct request *rq,
			  unsigned int hctx_idx, unsigned int numa_node)
{
	struct tmerge_rq *pdu = blk_mq_rq_to_pdu(rq);

	tmerge_timer_setup(&pdu->timer, tmerge_interrupt);
	return 0;
}

/*
 * A slot is the layer's budget: without one, requests stay in the scheduler,
 * where they may still merge. tmerge_slot_put() runs the queue again.
 */
static int tmerge_get_budget(struct request_queue *queue)
{
	return tmerge_slot_try(queue->queuedata, true) ? 0 : -1;
}

static void tmerge_put_budget(struct request_queue *queue, int token)
{
	tmerge_slot_put(queue->queuedata);
}

static void tmerge_move_rq(struct tmerge_server *server, struct request *rq)
{
	struct tmerge_rq *pdu = blk_mq_rq_to_pdu(rq);
	u64 offset = blk_rq_pos(rq) << SECTOR_SHIFT;
	bool write = op_is_write(req_op(rq));
	struct req_iterator iter;
	struct bio_vec vec;

	if (tmerge_medium_fails(offset, blk_rq_bytes(rq))) {
		pdu->status = BLK_STS_MEDIUM;
		return;
	}
	rq_for_each_segment(vec, rq, iter) {
		tmerge_move(server, &vec, offset, write);
		offset += vec.bv_len;
	}
}

static blk_status_t tmerge_queue_rq(struct blk_mq_hw_ctx *hctx,
				    const struct blk_mq_queue_data *bd)
{
	struct tmerge *tmerge = hctx->queue->queuedata;
	struct request *rq = bd->rq;
	struct tmerge_rq *pdu = blk_mq_rq_to_pdu(rq);
	u64 pages = tmerge_pages(blk_rq_pos(rq) << SECTOR_SHIFT,
				 blk_rq_bytes(rq));
	u64 done;

	if (req_op(rq) != REQ_OP_READ && req_op(rq) != REQ_OP_WRITE) {
		tmerge_slot_put(tmerge);
		return BLK_STS_NOTSUPP;
	}
	pdu->status = BLK_STS_OK;
	blk_mq_start_request(rq);
	done = tmerge_ring(&tmerge->server, 1, pages,
			   READ_ONCE(tmerge_interrupt_ns));
	tmerge_move_rq(&tmerge->server, rq);
	hrtimer_start(&pdu->timer, ns_to_ktime(done), HRTIMER_MODE_ABS);
	return BLK_STS_OK;
}

static const struct blk_mq_ops tmerge_mq_ops = {
	.queue_rq = tmerge_queue_rq,
	.get_budget = tmerge_get_budget,
	.put_budget = tmerge_put_budget,
	.complete = tmerge_complete_rq,
	.init_request = tmerge_init_rq,
};

static const struct block_device_operations tmerge_mq_fops = {
	.owner = THIS_MODULE,
	.ioctl = tmerge_ioctl,
	.compat_ioctl = blkdev_compat_ptr_ioctl,
};

/**
 * tmerge_mq_submit() - pass one bio on to the request layer
 * @tmerge: the device
 * @bio: the bio
 */
void tmerge_mq_submit(struct tmerge *tmerge, struct bio *bio)
{
	bio_set_dev(bio, tmerge->mq_disk->part0);
	submit_bio_noacct(bio);
}

/**
 * tmerge_mq_drain() - wait until the request layer has nothing
 * @tmerge: the device
 */
void tmerge_mq_drain(struct tmerge *tmerge)
{
	unsigned int flags = tmerge_freeze(tmerge->mq_disk->queue);

	tmerge_unfreeze(tmerge->mq_disk->queue, flags);
}

/**
 * tmerge_mq_create() - make /dev/tmerge0mq
 * @tmerge: the device, whose memory is there
 *
 * Return: 0 or a negative errno.
 */
int tmerge_mq_create(struct tmerge *tmerge)
{
	struct blk_mq_tag_set *tags = &tmerge->tags;
	struct gendisk *disk;
	int err;

	tags->ops = &tmerge_mq_ops;
	tags->nr_hw_queues = 1;
	tags->queue_depth = TMERGE_REQUESTS;
	tags->numa_node = NUMA_NO_NODE;
	tags->cmd_size = sizeof(struct tmerge_rq);
	tags->flags = TMERGE_MQ_FLAGS;
	err = blk_mq_alloc_tag_set(tags);
	if (err)
		return err;

	disk = tmerge_alloc_mq_disk(tags, tmerge);
	if (IS_ERR(disk)) {
		err = PTR_ERR(disk);
		goto free_tags;
	}
	tmerge->mq_disk = disk;
	disk->fops = &tmerge_mq_fops;
	disk->private_data = tmerge;
	disk->flags |= GENHD_FL_NO_PART;
	strscpy(disk->disk_name, "tmerge0mq", sizeof(disk->disk_name));
	set_capacity(disk, tmerge->server.bytes >> SECTOR_SHIFT);
	tmerge_set_nonrot(disk->queue);
	err = add_disk(disk);
	if (err)
		goto put_disk;
	return 0;

put_disk:
	put_disk(disk);
free_tags:
	blk_mq_free_tag_set(tags);
	return err;
}

/**
 * tmerge_mq_destroy() - undo tmerge_mq_create()
 * @tmerge: the device
 */
void tmerge_mq_destroy(struct tmerge *tmerge)
{
	del_gendisk(tmerge->mq_disk);
	put_disk(tmerge->mq_disk);
	blk_mq_free_tag_set(&tmerge->tags);
}
