/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The medium: blocks of 512 bytes in one virtually contiguous piece of memory.
 *
 * Whoever serves a command copies; two commands on the same block may run at the same time on two
 * CPUs, and then, as on any disk, nobody promises which of them is last.
 */
#ifndef IOSTACK_RAM_STORE_H
#define IOSTACK_RAM_STORE_H

#include <linux/scatterlist.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#define RAM_STORE_LBA_SHIFT	9
#define RAM_STORE_LBA_BYTES	512

/**
 * struct ram_store - a medium in memory
 * @bytes: the data, zeroes at first
 * @lba_count: its size in blocks of 512 bytes
 */
struct ram_store {
	u8 *bytes;
	u64 lba_count;
};

/**
 * ram_store_create() - take the memory
 * @store: what to initialise
 * @capacity_mib: the size, not zero
 *
 * Return: 0, -EINVAL for a size of nothing or beyond the address space, or -ENOMEM.
 */
static inline int ram_store_create(struct ram_store *store, unsigned int capacity_mib)
{
	if (!capacity_mib || capacity_mib > ULONG_MAX >> 20)
		return -EINVAL;
	store->bytes = vzalloc((unsigned long)capacity_mib << 20);
	if (!store->bytes)
		return -ENOMEM;
	store->lba_count = (u64)capacity_mib << (20 - RAM_STORE_LBA_SHIFT);
	return 0;
}

/**
 * ram_store_destroy() - give the memory back
 * @store: a store that nobody uses any more
 */
static inline void ram_store_destroy(struct ram_store *store)
{
	vfree(store->bytes);
}

/**
 * ram_store_holds() - is the range inside the medium?
 * @store: the medium
 * @lba: first block
 * @lba_count: how many
 */
static inline bool ram_store_holds(const struct ram_store *store, u64 lba, u64 lba_count)
{
	return lba <= store->lba_count && lba_count <= store->lba_count - lba;
}

/**
 * ram_store_copy() - move data between the medium and memory
 * @store: the medium
 * @list: the memory, at least @byte_len long
 * @entries: entries of @list, before any mapping for DMA merged some
 * @lba: first block, checked before by ram_store_holds()
 * @byte_len: how much
 * @write: to the medium, else from it
 *
 * Does not sleep.
 */
static inline void ram_store_copy(struct ram_store *store, struct scatterlist *list,
				  unsigned int entries, u64 lba, size_t byte_len, bool write)
{
	u8 *place = store->bytes + (lba << RAM_STORE_LBA_SHIFT);

	if (write)
		sg_copy_to_buffer(list, entries, place, byte_len);
	else
		sg_copy_from_buffer(list, entries, place, byte_len);
}

/**
 * ram_store_discard() - make blocks read as zeroes
 * @store: the medium
 * @lba: first block, checked before by ram_store_holds()
 * @lba_count: how many
 */
static inline void ram_store_discard(struct ram_store *store, u64 lba, u64 lba_count)
{
	memset(store->bytes + (lba << RAM_STORE_LBA_SHIFT), 0, lba_count << RAM_STORE_LBA_SHIFT);
}

#endif
