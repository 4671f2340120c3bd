// SPDX-License-Identifier: GPL-2.0
/*
 * The modelled device: memory behind one server. A command of some requests
 * is done at max(now, free) + fixed + per page x pages; the fixed part is
 * paid once per doorbell. A command needs a slot from before its doorbell
 * until its owner has seen it done; queue_depth slots exist.
 */
#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>

#include "internal.h"

/**
 * tmerge_server_init() - give the device its memory, all zeroes
 * @server: the device
 * @mib: its capacity
 *
 * Return: 0, -EINVAL for no capacity, or -ENOMEM.
 */
int tmerge_server_init(struct tmerge_server *server, unsigned int mib)
{
	if (!mib)
		return -EINVAL;
	server->bytes = (u64)mib * SZ_1M;
	/* Too much is an error of its caller, not a reason to kill others. */
	server->data = __vmalloc(server->bytes, GFP_KERNEL | __GFP_ZERO |
				 __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (!server->data)
		return -ENOMEM;
	spin_lock_init(&server->lock);
	INIT_LIST_HEAD(&server->waiters);
	return 0;
}

/**
 * tmerge_server_destroy() - give the memory back
 * @server: the device, of which no command is outstanding
 */
void tmerge_server_destroy(struct tmerge_server *server)
{
	vfree(server->data);
}

/**
 * tmerge_batch_limit() - requests that one command may hold
 *
 * Return: batch_max, which is writable, within what the ABI allows.
 */
unsigned int tmerge_batch_limit(void)
{
	return clamp(READ_ONCE(tmerge_batch_max), 1U, TMERGE_ENTRIES_MAX + 0U);
}

static unsigned int tmerge_slots(void)
{
	return max(READ_ONCE(tmerge_queue_depth), 1U);
}

static bool tmerge_slot_take(struct tmerge_server *server)
{
	lockdep_assert_held(&server->lock);
	if (server->outstanding >= tmerge_slots())
		return false;
	server->outstanding++;
	return true;
}

/**
 * tmerge_slot_try() - take a slot if there is one
 * @tmerge: the device
 * @request_layer: the request layer asks, and wants to be run when one is free
 *
 * Return: whether the caller now owns a slot.
 */
bool tmerge_slot_try(struct tmerge *tmerge, bool request_layer)
{
	struct tmerge_server *server = &tmerge->server;
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&server->lock, flags);
	taken = tmerge_slot_take(server);
	if (!taken && request_layer)
		server->mq_waits = true;
	spin_unlock_irqrestore(&server->lock, flags);
	return taken;
}

/**
 * struct tmerge_waiter - a thread asleep until a slot is handed to it
 * @list: in the server's list of waiters
 * @handed: completed when the slot is its own
 */
struct tmerge_waiter {
	struct list_head list;
	struct completion handed;
};

/* Sleep until a slot is handed over; slots go to sleepers in their order. */
static void tmerge_slot_sleep(struct tmerge *tmerge)
{
	struct tmerge_server *server = &tmerge->server;
	struct tmerge_waiter waiter;
	unsigned long flags;
	bool taken;

	init_completion(&waiter.handed);
	spin_lock_irqsave(&server->lock, flags);
	taken = tmerge_slot_take(server);
	if (!taken)
		list_add_tail(&waiter.list, &server->waiters);
	spin_unlock_irqrestore(&server->lock, flags);
	if (!taken)
		wait_for_completion_io(&waiter.handed);
}

/**
 * tmerge_slot_get() - wait for a slot
 * @tmerge: the device
 *
 * Spins, as the polled subsystems do, while the server is at work. It sleeps
 * where spinning would keep others from their work: where another task wants
 * this processor, and once the server should have finished, for then the
 * owner of the slot has lost its processor.
 */
void tmerge_slot_get(struct tmerge *tmerge)
{
	while (!tmerge_slot_try(tmerge, false)) {
		if (!single_task_running() ||
		    ktime_get_ns() > READ_ONCE(tmerge->server.free_ns)) {
			tmerge_slot_sleep(tmerge);
			return;
		}
		cpu_relax();
		cond_resched();
	}
}

/**
 * tmerge_slot_put() - give a slot back, or hand it to who sleeps for one
 * @tmerge: the device
 *
 * Any context.
 */
void tmerge_slot_put(struct tmerge *tmerge)
{
	struct tmerge_server *server = &tmerge->server;
	struct tmerge_waiter *heir;
	bool mq_waits = false;
	unsigned long flags;

	spin_lock_irqsave(&server->lock, flags);
	heir = list_first_entry_or_null(&server->waiters,
					struct tmerge_waiter, list);
	/* With fewer slots than before, others are out who will put theirs. */
	if (server->outstanding > tmerge_slots())
		heir = NULL;
	if (heir) {
		list_del(&heir->list);
	} else {
		server->outstanding--;
		swap(mq_waits, server->mq_waits);
	}
	spin_unlock_irqrestore(&server->lock, flags);

	if (heir)
		complete(&heir->handed);
	if (mq_waits)
		blk_mq_run_hw_queues(tmerge->mq_disk->queue, true);
}

/**
 * tmerge_ring() - ring the doorbell; the caller owns a slot
 * @server: the device
 * @requests: requests in the command
 * @pages: pages they touch
 * @extra_ns: fixed cost beyond the device's own
 *
 * Return: when the command is done, on the monotonic clock.
 */
u64 tmerge_ring(struct tmerge_server *server, unsigned int requests,
		u64 pages, u64 extra_ns)
{
	u64 work = READ_ONCE(tmerge_fixed_ns) + READ_ONCE(tmerge_host_ns) + extra_ns +
		   READ_ONCE(tmerge_per_page_ns) * pages;
	unsigned long flags;
	u64 done;

	spin_lock_irqsave(&server->lock, flags);
	done = max(ktime_get_ns(), server->free_ns) + work;
	WRITE_ONCE(server->free_ns, done);
	server->stats.commands++;
	server->stats.merged_requests += requests - 1;
	server->stats.batches[requests]++;
	spin_unlock_irqrestore(&server->lock, flags);
	return done;
}

/**
 * tmerge_poll() - wait for a command by looking at the clock
 * @done_ns: what tmerge_ring() returned
 *
 * Where another task wants this processor, it sleeps until then: on a machine
 * with few processors, that task may be one whose request could be merged.
 */
void tmerge_poll(u64 done_ns)
{
	ktime_t done = ns_to_ktime(done_ns);

	while (ktime_get_ns() < done_ns) {
		if (!single_task_running()) {
			set_current_state(TASK_IDLE);
			schedule_hrtimeout(&done, HRTIMER_MODE_ABS);
		}
		cpu_relax();
		cond_resched();
	}
}

/**
 * tmerge_pages() - pages that a range touches
 * @offset: its first byte
 * @bytes: its length
 *
 * Return: the number of pages.
 */
u64 tmerge_pages(u64 offset, u64 bytes)
{
	return DIV_ROUND_UP_ULL(offset % TMERGE_PAGE_BYTES + bytes,
				TMERGE_PAGE_BYTES);
}

/**
 * tmerge_medium_fails() - whether a range meets the injected medium error
 * @offset: its first byte
 * @bytes: its length
 *
 * Return: whether it fails.
 */
bool tmerge_medium_fails(u64 offset, u64 bytes)
{
	u64 first = READ_ONCE(tmerge_fail_first_lba);
	u64 count = READ_ONCE(tmerge_fail_lba_count);
	u64 lba = offset >> SECTOR_SHIFT;

	if (!count)
		return false;
	if (lba >= first)
		return lba - first < count;
	return first - lba < bytes >> SECTOR_SHIFT;
}

/**
 * tmerge_move() - move the data of one segment
 * @server: the device
 * @vec: the segment, within one page
 * @offset: where it is on the device
 * @write: to the device, else from it
 */
void tmerge_move(struct tmerge_server *server, struct bio_vec *vec,
		 u64 offset, bool write)
{
	if (!READ_ONCE(tmerge_copy))
		return;
	if (write)
		memcpy_from_bvec(server->data + offset, vec);
	else
		memcpy_to_bvec(vec, server->data + offset);
}

static void tmerge_move_bio(struct tmerge_server *server, struct bio *bio)
{
	u64 offset = bio->bi_iter.bi_sector << SECTOR_SHIFT;
	bool write = op_is_write(bio_op(bio));
	struct bvec_iter iter;
	struct bio_vec vec;

	if (tmerge_medium_fails(offset, bio->bi_iter.bi_size)) {
		bio->bi_status = BLK_STS_MEDIUM;
		return;
	}
	bio_for_each_segment(vec, bio, iter) {
		tmerge_move(server, &vec, offset, write);
		offset += vec.bv_len;
	}
}

/**
 * tmerge_bio_pages() - pages that a bio touches
 * @bio: the bio
 *
 * Return: the number of pages.
 */
u64 tmerge_bio_pages(const struct bio *bio)
{
	return tmerge_pages(bio->bi_iter.bi_sector << SECTOR_SHIFT,
			    bio->bi_iter.bi_size);
}

/**
 * tmerge_finish_bios() - see a command through and give the slot back
 * @tmerge: the device, of which the caller owns a slot
 * @bios: the requests; their statuses are set, they are not ended
 * @done_ns: what tmerge_ring() returned
 *
 * The data moves while the server works, as by DMA.
 */
void tmerge_finish_bios(struct tmerge *tmerge, const struct bio_list *bios,
			u64 done_ns)
{
	struct bio *bio;

	bio_list_for_each(bio, bios)
		tmerge_move_bio(&tmerge->server, bio);
	tmerge_poll(done_ns);
	tmerge_slot_put(tmerge);
}

/**
 * tmerge_run_bios() - run bios as one command, poll, give the slot back
 * @tmerge: the device, of which the caller owns a slot
 * @bios: the requests; their statuses are set, they are not ended
 */
void tmerge_run_bios(struct tmerge *tmerge, const struct bio_list *bios)
{
	unsigned int requests = 0;
	struct bio *bio;
	u64 pages = 0;

	bio_list_for_each(bio, bios) {
		requests++;
		pages += tmerge_bio_pages(bio);
	}
	tmerge_finish_bios(tmerge, bios,
			   tmerge_ring(&tmerge->server, requests, pages, 0));
}

/**
 * tmerge_end_bios() - end every bio of a list
 * @bios: the list, empty afterwards
 */
void tmerge_end_bios(struct bio_list *bios)
{
	struct bio *bio;

	while ((bio = bio_list_pop(bios)))
		bio_endio(bio);
}
