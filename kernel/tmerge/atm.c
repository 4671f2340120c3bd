// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous temporal merge. Requests pile up in a queue; a worker, or the
 * process that unplugs the queue, fetches them all, sends them as one command
 * and polls. Writes are plugged until enough are there or a time has passed.
 * A read that finds the device idle is sent at once by its own thread. As
 * published that thread holds the queue's lock meanwhile, so that no other
 * request can join: the reason why reads gained nothing. hold_queue_lock=0
 * lets them pile up.
 */
#include <linux/jiffies.h>

#include "internal.h"

/* Move the oldest requests to a list, as many as a command may hold. */
static void tmerge_atm_fetch(struct tmerge_atm *atm, struct bio_list *bios)
{
	unsigned int room = tmerge_batch_limit();

	lockdep_assert_held(&atm->queue_lock);
	while (room && atm->count) {
		bio_list_add(bios, bio_list_pop(&atm->pending));
		atm->count--;
		room--;
	}
}

static void tmerge_atm_add(struct tmerge_atm *atm, struct bio *bio)
{
	lockdep_assert_held(&atm->queue_lock);
	bio_list_add(&atm->pending, bio);
	atm->count++;
}

/*
 * Send one command, then leave the office empty, or the rest to the worker.
 * The caller, or who told it to run, has set @dispatching.
 */
static void tmerge_atm_dispatch(struct tmerge *tmerge)
{
	struct bio_list bios = BIO_EMPTY_LIST;
	struct tmerge_atm *atm = &tmerge->atm;

	/* Fetch once a slot is there: who comes until then rides along. */
	tmerge_slot_get(tmerge);
	mutex_lock(&atm->queue_lock);
	tmerge_atm_fetch(atm, &bios);
	mutex_unlock(&atm->queue_lock);
	tmerge_run_bios(tmerge, &bios);

	mutex_lock(&atm->queue_lock);
	if (atm->count)
		queue_work(atm->workers, &atm->dispatch);
	else
		atm->dispatching = false;
	mutex_unlock(&atm->queue_lock);
	tmerge_end_bios(&bios);
}

static void tmerge_atm_work(struct work_struct *work)
{
	tmerge_atm_dispatch(container_of(work, struct tmerge, atm.dispatch));
}

/* Begin to dispatch by the worker, unless somebody does or nothing is there. */
static void tmerge_atm_kick(struct tmerge_atm *atm)
{
	lockdep_assert_held(&atm->queue_lock);
	if (atm->dispatching || !atm->count)
		return;
	atm->dispatching = true;
	queue_work(atm->workers, &atm->dispatch);
}

static void tmerge_atm_unplug(struct work_struct *work)
{
	struct tmerge *tmerge = container_of(to_delayed_work(work),
					     struct tmerge, atm.unplug);

	mutex_lock(&tmerge->atm.queue_lock);
	tmerge_atm_kick(&tmerge->atm);
	mutex_unlock(&tmerge->atm.queue_lock);
}

static void tmerge_atm_write(struct tmerge_atm *atm)
{
	unsigned int enough = clamp(READ_ONCE(tmerge_unplug_thresh), 1U,
				    tmerge_batch_limit());

	if (atm->count >= enough)
		tmerge_atm_kick(atm);
	else if (!atm->dispatching)
		queue_delayed_work(atm->workers, &atm->unplug,
				   msecs_to_jiffies(READ_ONCE(tmerge_unplug_ms)));
}

/* Send what is pending with the queue's lock held from fetch to end. */
static void tmerge_atm_send_locked(struct tmerge *tmerge, struct bio_list *done)
{
	tmerge_slot_get(tmerge);
	tmerge_atm_fetch(&tmerge->atm, done);
	tmerge_run_bios(tmerge, done);
	tmerge_atm_kick(&tmerge->atm);
}

/**
 * tmerge_atm_submit() - take one bio
 * @tmerge: the device
 * @bio: the bio; it may end after the return
 */
void tmerge_atm_submit(struct tmerge *tmerge, struct bio *bio)
{
	struct bio_list done = BIO_EMPTY_LIST;
	struct tmerge_atm *atm = &tmerge->atm;
	bool send = false;

	mutex_lock(&atm->queue_lock);
	tmerge_atm_add(atm, bio);
	if (op_is_write(bio_op(bio)))
		tmerge_atm_write(atm);
	else if (atm->dispatching)
		; /* Whoever dispatches takes it along. */
	else if (READ_ONCE(tmerge_hold_queue_lock))
		tmerge_atm_send_locked(tmerge, &done);
	else
		send = true;
	if (send)
		atm->dispatching = true;
	mutex_unlock(&atm->queue_lock);
	tmerge_end_bios(&done);
	if (send)
		tmerge_atm_dispatch(tmerge);
}

/**
 * tmerge_atm_drain() - wait until every request taken has ended
 * @tmerge: the device, to which no new request can come
 */
void tmerge_atm_drain(struct tmerge *tmerge)
{
	struct tmerge_atm *atm = &tmerge->atm;
	bool busy = true;

	cancel_delayed_work_sync(&atm->unplug);
	while (busy) {
		mutex_lock(&atm->queue_lock);
		tmerge_atm_kick(atm);
		busy = atm->dispatching;
		mutex_unlock(&atm->queue_lock);
		flush_work(&atm->dispatch);
	}
}

/**
 * tmerge_atm_init() - prepare the subsystem
 * @atm: its state
 *
 * Return: 0 or -ENOMEM.
 */
int tmerge_atm_init(struct tmerge_atm *atm)
{
	mutex_init(&atm->queue_lock);
	bio_list_init(&atm->pending);
	INIT_WORK(&atm->dispatch, tmerge_atm_work);
	INIT_DELAYED_WORK(&atm->unplug, tmerge_atm_unplug);
	/* It polls: let the scheduler place it, and memory reclaim use it. */
	atm->workers = alloc_workqueue("tmerge", WQ_UNBOUND | WQ_MEM_RECLAIM |
				       WQ_HIGHPRI, 0);
	return atm->workers ? 0 : -ENOMEM;
}

/**
 * tmerge_atm_destroy() - undo tmerge_atm_init()
 * @atm: its state, with nothing pending
 */
void tmerge_atm_destroy(struct tmerge_atm *atm)
{
	cancel_delayed_work_sync(&atm->unplug);
	destroy_workqueue(atm->workers);
}
