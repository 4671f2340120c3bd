// SPDX-License-Identifier: GPL-2.0
/*
 * The user-space door to the extended command, an ioctl. No lock and no slot
 * is held while user memory is touched: a page fault may need this device.
 */
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "internal.h"

/* What is wrong with an entry before anything is done, as an errno. */
static int tmerge_entry_check(struct tmerge_server *server,
			      const struct tmerge_entry *entry, bool writable)
{
	u64 end;

	if (entry->op > TMERGE_WRITE || entry->reserved ||
	    !entry->length || entry->length > TMERGE_LENGTH_MAX ||
	    (entry->offset | entry->length) % SECTOR_SIZE ||
	    check_add_overflow(entry->offset, (u64)entry->length, &end) ||
	    end > server->bytes)
		return -EINVAL;
	if (entry->op == TMERGE_WRITE && !writable)
		return -EBADF;
	return 0;
}

static int tmerge_entry_move(struct tmerge_server *server,
			     const struct tmerge_entry *entry)
{
	void __user *buffer = u64_to_user_ptr(entry->buffer);
	void *data = server->data + entry->offset;
	unsigned long left;

	if (tmerge_medium_fails(entry->offset, entry->length))
		return -ENODATA;
	if (!READ_ONCE(tmerge_copy))
		return 0;
	if (entry->op == TMERGE_WRITE)
		left = copy_from_user(data, buffer, entry->length);
	else
		left = copy_to_user(buffer, data, entry->length);
	return left ? -EFAULT : 0;
}

/* Move the entries of one operation; results say which failed. */
static void tmerge_entries_move(struct tmerge_server *server,
				struct tmerge_entry *entries,
				unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (entries[i].result >= 0)
			entries[i].result = tmerge_entry_move(server,
							      &entries[i]);
}

/*
 * Ring the doorbell for the entries that are well formed, and poll. The data
 * moves afterwards, in the order of the entries.
 */
static int tmerge_command_run(struct tmerge *tmerge,
			      struct tmerge_entry *entries, unsigned int count,
			      bool writable)
{
	unsigned int requests = 0;
	unsigned int i;
	u64 pages = 0;
	int good = 0;

	for (i = 0; i < count; i++) {
		entries[i].result = tmerge_entry_check(&tmerge->server,
						       &entries[i], writable);
		if (entries[i].result)
			continue;
		requests++;
		pages += tmerge_pages(entries[i].offset, entries[i].length);
	}
	if (!requests)
		return 0;
	tmerge_slot_get(tmerge);
	tmerge_poll(tmerge_ring(&tmerge->server, requests, pages, 0));
	tmerge_slot_put(tmerge);
	tmerge_entries_move(&tmerge->server, entries, count);
	for (i = 0; i < count; i++) {
		if (entries[i].result)
			continue;
		entries[i].result = entries[i].length;
		good++;
	}
	return good;
}

/**
 * tmerge_ioctl() - the ioctls of both disks
 * @bdev: the disk
 * @mode: how it was opened
 * @command: TMERGE_IOC_RUN
 * @argument: address of a struct tmerge_command
 *
 * Return: entries that succeeded, or a negative errno; see tmerge.h.
 */
int tmerge_ioctl(struct block_device *bdev, tmerge_mode_t mode,
		 unsigned int command, unsigned long argument)
{
	struct tmerge *tmerge = bdev->bd_disk->private_data;
	struct tmerge_command head;
	struct tmerge_entry *entries;
	size_t bytes;
	int ret;

	if (command != TMERGE_IOC_RUN)
		return -ENOTTY;
	if (copy_from_user(&head, (void __user *)argument, sizeof(head)))
		return -EFAULT;
	if (!head.count || head.flags || head.reserved[0] || head.reserved[1])
		return -EINVAL;
	if (head.count > tmerge_batch_limit())
		return -E2BIG;

	bytes = array_size(head.count, sizeof(*entries));
	entries = memdup_user(u64_to_user_ptr(head.entries), bytes);
	if (IS_ERR(entries))
		return PTR_ERR(entries);
	ret = tmerge_command_run(tmerge, entries, head.count,
				 mode & TMERGE_MODE_WRITE);
	if (copy_to_user(u64_to_user_ptr(head.entries), entries, bytes))
		ret = -EFAULT;
	kfree(entries);
	return ret;
}
