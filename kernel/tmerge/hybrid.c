// SPDX-License-Identifier: GPL-2.0
/*
 * Hybrid temporal merge. Requests pile up in a list. Who finds nobody else
 * expected takes all of them as one command, and polls. Else the command is
 * held back for those who were just served and are expected back, if they
 * lately came within the time that a command saved is worth, and no longer
 * than that. The last one expected sends what has gathered. Nobody sleeps
 * here for another's command: a bio ends later, and its submitter, if it
 * waits, does so in the layers above. So an asynchronous submitter goes on.
 *
 * What a command costs is not known to a driver. It is learnt: the time of
 * commands is fitted to c + x * pages.
 */
#include <linux/blk-mq.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/slab.h>

#include "internal.h"

/* Weight of the newest: of a shorter return 1/8, of a command 1/16. */
#define TMERGE_RETURN_SHIFT	3
#define TMERGE_COST_SHIFT	4

/* Fraction bits of the fit's means, and the variance that tells sizes apart. */
#define TMERGE_COST_BITS	8
#define TMERGE_VARIANCE_MIN	(1 << (2 * TMERGE_COST_BITS - 2))

/* What is longer or larger than this teaches nothing, and could overflow. */
#define TMERGE_COST_NS_MAX	NSEC_PER_SEC
#define TMERGE_COST_PAGES_MAX	65536

/* A regression over the commands lately seen, older ones fading. */
static void tmerge_cost_learn(struct tmerge_cost *cost, u64 pages, u64 ns)
{
	const s64 one = 1 << TMERGE_COST_BITS;
	s64 dp, dt;

	/* A stall of the host is no cost of the device: believe it in part. */
	if (cost->page_ns)
		ns = min_t(u64, ns, 4 * (cost->fixed_ns + cost->page_ns * pages));
	if (ns > TMERGE_COST_NS_MAX || pages > TMERGE_COST_PAGES_MAX)
		return;
	if (!cost->mean_ns) {
		cost->mean_pages = pages * one;
		cost->mean_ns = ns * one;
		return;
	}
	dp = (s64)pages * one - cost->mean_pages;
	dt = (s64)ns * one - cost->mean_ns;
	cost->mean_pages += dp >> TMERGE_COST_SHIFT;
	cost->mean_ns += dt >> TMERGE_COST_SHIFT;
	cost->variance += (dp * dp - cost->variance) >> TMERGE_COST_SHIFT;
	cost->covariance += (dp * dt - cost->covariance) >> TMERGE_COST_SHIFT;
	/* Commands of one size do not tell c from x: then x stays. */
	if (cost->variance >= TMERGE_VARIANCE_MIN)
		cost->page_ns = max(div64_s64(cost->covariance, cost->variance),
				    0LL);
	else if (!cost->page_ns)
		return;
	cost->fixed_ns = max((cost->mean_ns - cost->page_ns * cost->mean_pages) >>
			     TMERGE_COST_BITS, 0LL);
}

/*
 * What a command less is worth. Where all were of one size, nobody knows: half
 * of a command's time, so that holding back is tried and makes another size.
 */
static s64 tmerge_hybrid_saved(const struct tmerge_hybrid *hybrid)
{
	if (hybrid->cost.page_ns)
		return hybrid->cost.fixed_ns;
	return hybrid->cost.mean_ns >> (TMERGE_COST_BITS + 1);
}

/*
 * A longer return counts at once, a shorter one by and by: where holding back
 * is hardly worth it, trying it again and again is not. What is too long is
 * too long, however much: one that stays away is soon forgotten.
 */
static void tmerge_hybrid_observe(struct tmerge_hybrid *hybrid, u64 now)
{
	s64 took = min_t(s64, now - hybrid->served_at,
			 2 * tmerge_hybrid_saved(hybrid));

	if (took < hybrid->return_ns)
		took = hybrid->return_ns -
		       ((hybrid->return_ns - took) >> TMERGE_RETURN_SHIFT);
	hybrid->return_ns = took;
}

/* A command is through: its submitters are expected back. */
static void tmerge_hybrid_served(struct tmerge_hybrid *hybrid, u64 now,
				 unsigned int requests)
{
	/* Who is not back by now takes longer than this. */
	if (hybrid->expected)
		tmerge_hybrid_observe(hybrid, now);
	hybrid->expected = requests;
	hybrid->served_at = now;
}

static void tmerge_hybrid_came(struct tmerge_hybrid *hybrid, u64 now)
{
	if (hybrid->expected && !--hybrid->expected)
		tmerge_hybrid_observe(hybrid, now);
}

/* Whether gathering any further can pay. */
static bool tmerge_hybrid_holds(struct tmerge_hybrid *hybrid, u64 now)
{
	s64 saved = tmerge_hybrid_saved(hybrid);

	if (!hybrid->expected || hybrid->return_ns > saved ||
	    hybrid->count >= tmerge_batch_limit())
		return false;
	if (!hybrid->holding) {
		hybrid->holding = true;
		hybrid->hold_until = now + saved;
		hybrid->holds++;
		hrtimer_start(&hybrid->timer, ns_to_ktime(hybrid->hold_until),
			      HRTIMER_MODE_ABS);
	}
	return now < hybrid->hold_until;
}

/*
 * Whether the caller, or whom it tells to, has to send a command now. It is
 * then counted as sender.
 */
static bool tmerge_hybrid_goes(struct tmerge_hybrid *hybrid, u64 now)
{
	lockdep_assert_held(&hybrid->lock);
	if (!hybrid->count ||
	    hybrid->senders >= max(READ_ONCE(tmerge_queue_depth), 1U) ||
	    tmerge_hybrid_holds(hybrid, now))
		return false;
	if (hybrid->holding) {
		hybrid->holding = false;
		if (now < hybrid->hold_until) {
			hybrid->holds_paid++;
			/* Too late to stop it: it finds nothing held. */
			hrtimer_try_to_cancel(&hybrid->timer);
		}
	}
	hybrid->senders++;
	return true;
}

/*
 * Requests for the next command. Where submitters take longer to come back
 * than a command is worth, half of them are left for the one after it: the
 * device works for one half while the other is on its way.
 */
static unsigned int tmerge_hybrid_share(const struct tmerge_hybrid *hybrid)
{
	unsigned int all = hybrid->count + hybrid->inside + hybrid->expected;
	unsigned int limit = tmerge_batch_limit();

	if (!hybrid->cost.page_ns ||
	    hybrid->return_ns <= tmerge_hybrid_saved(hybrid))
		return limit;
	return min(limit, DIV_ROUND_UP(all, 2));
}

/* Take the oldest requests. */
static void tmerge_hybrid_fetch(struct tmerge_hybrid *hybrid,
				struct tmerge_flight *flight)
{
	unsigned int room = tmerge_hybrid_share(hybrid);
	struct bio *bio;

	lockdep_assert_held(&hybrid->lock);
	while (room-- && (bio = bio_list_pop(&hybrid->pending))) {
		bio_list_add(&flight->bios, bio);
		flight->pages += tmerge_bio_pages(bio);
		flight->requests++;
	}
	hybrid->count -= flight->requests;
	hybrid->inside += flight->requests;
}

/* Ring the doorbell for what has gathered; the caller owns a slot. */
static void tmerge_hybrid_launch(struct tmerge *tmerge,
				 struct tmerge_flight *flight)
{
	struct tmerge_hybrid *hybrid = &tmerge->hybrid;
	unsigned long flags;

	*flight = (struct tmerge_flight){ };
	spin_lock_irqsave(&hybrid->lock, flags);
	tmerge_hybrid_fetch(hybrid, flight);
	/* Behind another's command, the time would not be its own. */
	flight->alone = hybrid->senders == 1;
	spin_unlock_irqrestore(&hybrid->lock, flags);
	flight->begun_ns = ktime_get_ns();
	/* With several slots, another sender may have taken all. */
	if (flight->requests)
		flight->done_ns = tmerge_ring(&tmerge->server, flight->requests,
					      flight->pages, 0);
}

/*
 * See a command through, and ring for the next before its requests end, where
 * one has to go at once: the device waits for nobody. Returns whether there is
 * a next one; the caller then counts as its sender.
 */
static bool tmerge_hybrid_land(struct tmerge *tmerge,
			       struct tmerge_flight *flight)
{
	struct tmerge_hybrid *hybrid = &tmerge->hybrid;
	struct bio_list bios = flight->bios;
	bool launched = false;
	bool more;
	u64 now;

	tmerge_finish_bios(tmerge, &bios, flight->done_ns);
	now = ktime_get_ns();
	spin_lock_irq(&hybrid->lock);
	if (flight->requests) {
		if (flight->alone)
			tmerge_cost_learn(&hybrid->cost, flight->pages,
					  now - flight->begun_ns);
		tmerge_hybrid_served(hybrid, now, flight->requests);
	}
	hybrid->inside -= flight->requests;
	hybrid->senders--;
	more = tmerge_hybrid_goes(hybrid, now);
	spin_unlock_irq(&hybrid->lock);
	if (more)
		launched = tmerge_slot_try(tmerge, false);
	if (launched)
		tmerge_hybrid_launch(tmerge, flight);
	tmerge_end_bios(&bios);
	if (more && !launched) {
		tmerge_slot_get(tmerge);
		tmerge_hybrid_launch(tmerge, flight);
	}
	return more;
}

/* Leave a command to the worker; false if it has not yet fetched another. */
static bool tmerge_hybrid_hand_over(struct tmerge_hybrid *hybrid,
				    const struct tmerge_flight *flight)
{
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&hybrid->lock, flags);
	taken = !hybrid->has_ahead;
	if (taken) {
		hybrid->has_ahead = true;
		hybrid->ahead = *flight;
	}
	spin_unlock_irqrestore(&hybrid->lock, flags);
	if (taken)
		queue_work(hybrid->workers, &hybrid->dispatch);
	return taken;
}

/* Tell the worker to send a command, for which a sender is counted. */
static void tmerge_hybrid_owe(struct tmerge_hybrid *hybrid)
{
	lockdep_assert_held(&hybrid->lock);
	hybrid->owed++;
	queue_work(hybrid->workers, &hybrid->dispatch);
}

/* Send a command in the thread of a submitter that waits for it. */
static void tmerge_hybrid_send(struct tmerge *tmerge)
{
	struct tmerge_flight flight;

	tmerge_slot_get(tmerge);
	tmerge_hybrid_launch(tmerge, &flight);
	while (tmerge_hybrid_land(tmerge, &flight))
		/* Work for others no longer than one command. */
		if (tmerge_hybrid_hand_over(&tmerge->hybrid, &flight))
			break;
}

static void tmerge_hybrid_work(struct work_struct *work)
{
	struct tmerge *tmerge = container_of(work, struct tmerge,
					     hybrid.dispatch);
	struct tmerge_hybrid *hybrid = &tmerge->hybrid;
	struct tmerge_flight flight;
	bool launched;
	bool owed;

	do {
		spin_lock_irq(&hybrid->lock);
		launched = hybrid->has_ahead;
		owed = !launched && hybrid->owed;
		flight = hybrid->ahead;
		hybrid->has_ahead = false;
		if (owed)
			hybrid->owed--;
		spin_unlock_irq(&hybrid->lock);
		if (owed) {
			tmerge_slot_get(tmerge);
			tmerge_hybrid_launch(tmerge, &flight);
		}
		if (launched || owed)
			while (tmerge_hybrid_land(tmerge, &flight))
				cond_resched();
	} while (launched || owed);
}

static enum hrtimer_restart tmerge_hybrid_expired(struct hrtimer *timer)
{
	struct tmerge_hybrid *hybrid = container_of(timer, struct tmerge_hybrid,
						    timer);
	unsigned long flags;

	spin_lock_irqsave(&hybrid->lock, flags);
	if (hybrid->holding && tmerge_hybrid_goes(hybrid, ktime_get_ns()))
		tmerge_hybrid_owe(hybrid);
	spin_unlock_irqrestore(&hybrid->lock, flags);
	return HRTIMER_NORESTART;
}

/**
 * struct tmerge_plug - what a submitter has brought since it began to plug
 * @cb: the block layer's; calls back when the plug is pulled
 * @requests: how many
 * @waits: all of them are such as somebody waits for
 */
struct tmerge_plug {
	struct blk_plug_cb cb;
	unsigned int requests;
	bool waits;
};

/* Whether the submitter of a request that came alone is likely to wait. */
static bool tmerge_hybrid_waits(const struct bio *bio)
{
	if (bio->bi_opf & REQ_RAHEAD)
		return false;
	return bio_op(bio) == REQ_OP_READ || bio->bi_opf & REQ_SYNC;
}

/* Send what has gathered, unless it is held back or somebody sends. */
static void tmerge_hybrid_kick(struct tmerge *tmerge, bool waits)
{
	struct tmerge_hybrid *hybrid = &tmerge->hybrid;
	unsigned long flags;
	bool goes;

	spin_lock_irqsave(&hybrid->lock, flags);
	goes = tmerge_hybrid_goes(hybrid, ktime_get_ns());
	if (goes && !waits)
		tmerge_hybrid_owe(hybrid);
	spin_unlock_irqrestore(&hybrid->lock, flags);
	if (goes && waits)
		tmerge_hybrid_send(tmerge);
}

static void tmerge_hybrid_unplug(struct blk_plug_cb *cb, bool from_schedule)
{
	struct tmerge_plug *plug = container_of(cb, struct tmerge_plug, cb);
	struct tmerge *tmerge = cb->data;
	bool waits = plug->waits && plug->requests == 1 && !from_schedule;

	kfree(plug);
	tmerge_hybrid_kick(tmerge, waits);
}

/**
 * tmerge_hybrid_submit() - take one bio
 * @tmerge: the device
 * @bio: the bio; it may end after the return
 *
 * A submitter that plugs says that it brings more, and when that was all.
 */
void tmerge_hybrid_submit(struct tmerge *tmerge, struct bio *bio)
{
	struct tmerge_hybrid *hybrid = &tmerge->hybrid;
	bool waits = tmerge_hybrid_waits(bio);
	struct tmerge_plug *plug = NULL;
	struct blk_plug_cb *cb;

	cb = blk_check_plugged(tmerge_hybrid_unplug, tmerge, sizeof(*plug));
	if (cb) {
		plug = container_of(cb, struct tmerge_plug, cb);
		plug->waits = waits && (plug->waits || !plug->requests);
		plug->requests++;
	}
	spin_lock_irq(&hybrid->lock);
	bio_list_add(&hybrid->pending, bio);
	hybrid->count++;
	tmerge_hybrid_came(hybrid, ktime_get_ns());
	spin_unlock_irq(&hybrid->lock);
	if (!plug)
		tmerge_hybrid_kick(tmerge, waits);
}

/**
 * tmerge_hybrid_drain() - wait until every request taken has ended
 * @tmerge: the device, to which no new request can come
 */
void tmerge_hybrid_drain(struct tmerge *tmerge)
{
	struct tmerge_hybrid *hybrid = &tmerge->hybrid;
	bool busy = true;

	while (busy) {
		spin_lock_irq(&hybrid->lock);
		/* Nobody comes any more: hold nothing back. */
		hybrid->expected = 0;
		if (tmerge_hybrid_goes(hybrid, ktime_get_ns()))
			tmerge_hybrid_owe(hybrid);
		busy = hybrid->count || hybrid->senders;
		spin_unlock_irq(&hybrid->lock);
		flush_work(&hybrid->dispatch);
	}
}

/**
 * tmerge_hybrid_init() - prepare the subsystem
 * @hybrid: its state
 *
 * Return: 0 or -ENOMEM.
 */
int tmerge_hybrid_init(struct tmerge_hybrid *hybrid)
{
	spin_lock_init(&hybrid->lock);
	bio_list_init(&hybrid->pending);
	tmerge_timer_setup(&hybrid->timer, tmerge_hybrid_expired);
	INIT_WORK(&hybrid->dispatch, tmerge_hybrid_work);
	/* It polls: let the scheduler place it, and memory reclaim use it. */
	hybrid->workers = alloc_workqueue("tmerge_hybrid", WQ_UNBOUND |
					  WQ_MEM_RECLAIM | WQ_HIGHPRI, 0);
	return hybrid->workers ? 0 : -ENOMEM;
}

/**
 * tmerge_hybrid_destroy() - undo tmerge_hybrid_init()
 * @hybrid: its state, with nothing pending
 */
void tmerge_hybrid_destroy(struct tmerge_hybrid *hybrid)
{
	hrtimer_cancel(&hybrid->timer);
	destroy_workqueue(hybrid->workers);
}
