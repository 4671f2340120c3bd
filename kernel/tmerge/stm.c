// SPDX-License-Identifier: GPL-2.0
/*
 * Synchronous temporal merge. A thread that finds the device busy queues its
 * request and sleeps. A winner takes all that is queued as one command, polls,
 * and wakes the losers. Before that it promotes the oldest thread that waits,
 * so that a thread never works for others longer than one command.
 */
#include <linux/completion.h>

#include "internal.h"

/**
 * struct tmerge_stm_request - a thread and its bio, on that thread's stack
 * @list: in the list of pending requests, or in a winner's batch; a winner's
 *	own request is in neither
 * @bio: what it wants
 * @won: set before @wake: the thread is the next winner; else its bio is done
 * @wake: what a loser sleeps on
 */
struct tmerge_stm_request {
	struct list_head list;
	struct bio *bio;
	bool won;
	struct completion wake;
};

/**
 * tmerge_stm_init() - prepare the subsystem
 * @stm: its state
 */
void tmerge_stm_init(struct tmerge_stm *stm)
{
	spin_lock_init(&stm->lock);
	INIT_LIST_HEAD(&stm->pending);
}

static void tmerge_stm_count_winner(struct tmerge_server *server)
{
	unsigned long flags;

	spin_lock_irqsave(&server->lock, flags);
	server->stats.winners++;
	spin_unlock_irqrestore(&server->lock, flags);
}

/* Add the oldest pending requests, as many as a command may still hold. */
static void tmerge_stm_collect(struct tmerge_stm *stm, struct list_head *batch,
			       struct bio_list *bios)
{
	struct tmerge_stm_request *request, *next;
	unsigned int room = tmerge_batch_limit() - 1;

	spin_lock(&stm->lock);
	list_for_each_entry_safe(request, next, &stm->pending, list) {
		if (!room--)
			break;
		list_move_tail(&request->list, batch);
		bio_list_add(bios, request->bio);
	}
	spin_unlock(&stm->lock);
}

/* Make the oldest waiting thread a winner in place of this one, if any waits. */
static void tmerge_stm_hand_off(struct tmerge_stm *stm)
{
	struct tmerge_stm_request *heir;

	spin_lock(&stm->lock);
	heir = list_first_entry_or_null(&stm->pending,
					struct tmerge_stm_request, list);
	if (heir) {
		list_del(&heir->list);
		heir->won = true;
	} else {
		stm->winners--;
	}
	spin_unlock(&stm->lock);
	/* Nobody else knows the heir now: it sleeps until this wakes it. */
	if (heir)
		complete(&heir->wake);
}

static void tmerge_stm_win(struct tmerge *tmerge,
			   struct tmerge_stm_request *own)
{
	struct tmerge_stm_request *request, *next;
	struct bio_list bios = BIO_EMPTY_LIST;
	LIST_HEAD(losers);

	tmerge_stm_count_winner(&tmerge->server);
	bio_list_add(&bios, own->bio);
	/* Collect once a slot is there: who comes until then rides along. */
	tmerge_slot_get(tmerge);
	tmerge_stm_collect(&tmerge->stm, &losers, &bios);
	tmerge_run_bios(tmerge, &bios);
	/* Unlink only: each thread ends its own bio. */
	while (bio_list_pop(&bios))
		;
	tmerge_stm_hand_off(&tmerge->stm);
	/* A loser's request is gone with its stack as soon as it is woken. */
	list_for_each_entry_safe(request, next, &losers, list)
		complete(&request->wake);
}

/**
 * tmerge_stm_submit() - serve one bio; returns when it has ended
 * @tmerge: the device
 * @bio: the bio
 */
void tmerge_stm_submit(struct tmerge *tmerge, struct bio *bio)
{
	struct tmerge_stm *stm = &tmerge->stm;
	struct tmerge_stm_request own = { .bio = bio };

	init_completion(&own.wake);
	spin_lock(&stm->lock);
	own.won = stm->winners < max(READ_ONCE(tmerge_queue_depth), 1U);
	if (own.won)
		stm->winners++;
	else
		list_add_tail(&own.list, &stm->pending);
	spin_unlock(&stm->lock);

	if (!own.won)
		wait_for_completion_io(&own.wake);
	if (own.won)
		tmerge_stm_win(tmerge, &own);
	bio_endio(bio);
}
