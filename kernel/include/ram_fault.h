/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which command goes wrong, and how? Decided from the parameters and a counter, so that a run can
 * be repeated.
 *
 * Only commands to the medium (read, write, verify, flush, discard) are counted and harmed: what
 * error handling sends to find out whether the device lives is answered, or it would give up.
 */
#ifndef IOSTACK_RAM_FAULT_H
#define IOSTACK_RAM_FAULT_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/limits.h>

#include "ram_params.h"

/**
 * enum ram_fault - what happens to one command
 * @RAM_FAULT_NONE: it is performed and answered
 * @RAM_FAULT_TIMEOUT: it is neither performed nor answered
 * @RAM_FAULT_LOST: it is performed, and its answer never arrives
 */
enum ram_fault {
	RAM_FAULT_NONE,
	RAM_FAULT_TIMEOUT,
	RAM_FAULT_LOST,
};

/**
 * ram_fault_next() - count one command to the medium and say what happens to it
 * @count: commands so far; it stands still while no such fault is asked for
 */
static inline enum ram_fault ram_fault_next(atomic_t *count)
{
	unsigned int timeouts = READ_ONCE(timeout_every);
	unsigned int losses = READ_ONCE(lose_every);
	unsigned int number;

	if (likely(!timeouts && !losses))
		return RAM_FAULT_NONE;
	number = (unsigned int)atomic_inc_return(count);
	if (timeouts && number % timeouts == 0)
		return RAM_FAULT_TIMEOUT;
	if (losses && number % losses == 0)
		return RAM_FAULT_LOST;
	return RAM_FAULT_NONE;
}

/**
 * ram_fault_good_blocks() - how many blocks come before the first that is bad?
 * @lba: first block of the command
 * @lba_count: how many blocks it has
 *
 * They must be transferred: the SCSI disk driver believes the address in the sense data, and
 * reports the blocks before it as done.
 *
 * Return: @lba_count if none is bad.
 */
static inline u32 ram_fault_good_blocks(u64 lba, u32 lba_count)
{
	u64 bad_count = READ_ONCE(fail_lba_count);
	u64 bad = READ_ONCE(fail_first_lba);

	if (likely(!bad_count))
		return lba_count;
	if (lba >= bad)
		return lba - bad < bad_count ? 0 : lba_count;
	return min_t(u64, bad - lba, lba_count);
}

#endif
