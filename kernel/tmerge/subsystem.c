// SPDX-License-Identifier: GPL-2.0
/*
 * The I/O subsystems: one row each, and the change from one to another.
 */
#include "internal.h"

/* The submitting thread issues its own command and polls for its end. */
static void tmerge_sync_poll_submit(struct tmerge *tmerge, struct bio *bio)
{
	struct bio_list one = BIO_EMPTY_LIST;

	bio_list_add(&one, bio);
	tmerge_slot_get(tmerge);
	tmerge_run_bios(tmerge, &one);
	tmerge_end_bios(&one);
}

/* A new subsystem is one file and one row here. */
static const struct tmerge_subsystem tmerge_subsystems[] = {
	{ "interrupt", tmerge_mq_submit, tmerge_mq_drain },
	{ "sync_poll", tmerge_sync_poll_submit, NULL },
	{ "stm", tmerge_stm_submit, NULL },
	{ "atm", tmerge_atm_submit, tmerge_atm_drain },
	{ "hybrid", tmerge_hybrid_submit, tmerge_hybrid_drain },
};

/**
 * tmerge_subsystem_name() - name of a row
 * @index: which row
 *
 * Return: its name, or NULL beyond the last.
 */
const char *tmerge_subsystem_name(unsigned int index)
{
	if (index >= ARRAY_SIZE(tmerge_subsystems))
		return NULL;
	return tmerge_subsystems[index].name;
}

/**
 * tmerge_subsystem_init() - begin with the first row, the plain path
 * @tmerge: the device
 */
void tmerge_subsystem_init(struct tmerge *tmerge)
{
	tmerge->subsystem = &tmerge_subsystems[0];
}

/**
 * tmerge_subsystem_select() - serve new requests by another subsystem
 * @tmerge: the device
 * @name: the subsystem, with or without a newline behind it
 *
 * Waits for the requests that the old one has, and holds new ones back while
 * it waits, so that no command is counted for the wrong subsystem.
 *
 * Return: 0, or -EINVAL for an unknown name.
 */
int tmerge_subsystem_select(struct tmerge *tmerge, const char *name)
{
	const struct tmerge_subsystem *next = NULL;
	unsigned int flags;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tmerge_subsystems); i++)
		if (sysfs_streq(name, tmerge_subsystems[i].name))
			next = &tmerge_subsystems[i];
	if (!next)
		return -EINVAL;

	mutex_lock(&tmerge->switching);
	flags = tmerge_freeze(tmerge->disk->queue);
	if (tmerge->subsystem->drain)
		tmerge->subsystem->drain(tmerge);
	WRITE_ONCE(tmerge->subsystem, next);
	tmerge_unfreeze(tmerge->disk->queue, flags);
	mutex_unlock(&tmerge->switching);
	return 0;
}

/**
 * tmerge_submit_bio() - entry of every bio for /dev/tmerge0
 * @bio: the bio
 */
void tmerge_submit_bio(struct bio *bio)
{
	struct tmerge *tmerge = bio->bi_bdev->bd_disk->private_data;

	if (bio_op(bio) != REQ_OP_READ && bio_op(bio) != REQ_OP_WRITE) {
		bio->bi_status = BLK_STS_NOTSUPP;
		bio_endio(bio);
		return;
	}
	READ_ONCE(tmerge->subsystem)->submit(tmerge, bio);
}
