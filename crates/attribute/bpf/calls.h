/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a call is to us, and the I/O that lasts from its entry to its exit.
 *
 *   calls: number ──► rule ──► begin_span ──► slot of the thread ──► span_counts: is it an I/O?
 *
 * Part of stages.bpf.c, behind its maps. src/stages/calls.rs has the rules.
 */
#ifndef IOSTACK_CALLS_H
#define IOSTACK_CALLS_H

/* Rule of a call: what it is, its kind, and 1 + the number of the argument that is the descriptor it reads, or writes. */
#define RULE_CALL(rule) ((rule) & 0xff)
#define RULE_KIND(rule) ((rule) >> 8 & 0xff)
#define RULE_FROM(rule) ((rule) >> 16 & 0xf)
#define RULE_TO(rule) ((rule) >> 20 & 0xf)
/* It counts only when it made a bio; when it made one or slept. */
#define RULE_IF_BIO (1ULL << 24)
#define RULE_IF_SLEPT (1ULL << 25)
/* The result 0 is done, too; it is a number of bytes; it is a descriptor. */
#define RULE_ZERO (1ULL << 26)
#define RULE_BYTES (1ULL << 27)
#define RULE_OPENS (1ULL << 28)
/* msync, which does nothing without MS_SYNC. */
#define RULE_MSYNC (1ULL << 29)
#define MS_SYNC 4

/* System calls, then operations of io_uring. */
#define CALLS_MAX 512
#define OPERATIONS_MAX 64

#define NOT_STORAGE (-1)
#define MODE_KIND 0170000
#define MODE_REGULAR 0100000
#define MODE_BLOCK 0060000
#define MODE_DIRECTORY 0040000

/* 1 for a file, folder or block device opened with O_DIRECT, 0 without, NOT_STORAGE for anything else. */
ALWAYS_INLINE int directness(struct file *file)
{
	struct inode *inode = 0;
	__u32 flags = 0;
	__u16 mode = 0;

	if (bpf_probe_read_kernel(&inode, sizeof(inode), &file->f_inode) ||
	    bpf_probe_read_kernel(&mode, sizeof(mode), &inode->i_mode) ||
	    bpf_probe_read_kernel(&flags, sizeof(flags), &file->f_flags))
		return NOT_STORAGE;
	mode &= MODE_KIND;
	if (mode != MODE_REGULAR && mode != MODE_BLOCK && mode != MODE_DIRECTORY)
		return NOT_STORAGE;
	return flags & flag_direct ? 1 : 0;
}

ALWAYS_INLINE int directness_of(struct task_struct *task, __u32 descriptor)
{
	struct fdtable *table = task->files->fdt;
	struct file *file = 0;

	if (descriptor >= table->max_fds ||
	    bpf_probe_read_kernel(&file, sizeof(file), table->fd + descriptor) || !file)
		return NOT_STORAGE;
	return directness(file);
}

/* The lane of a foreign thread, made when it is first seen. */
ALWAYS_INLINE struct lane *lane_made(__u32 thread, __u32 process)
{
	__u32 *known = bpf_map_lookup_elem(&threads, &thread);
	__u32 which = NEXT_LANE, index = lane_count;
	struct lane *lane;
	__u64 *next, *number;

	if (known)
		return bpf_map_lookup_elem(&lanes, known);
	next = bpf_map_lookup_elem(&counters, &which);
	if (!next)
		return 0;
	/* First those never used, then those given back. */
	if (*next < lane_count)
		index = __sync_fetch_and_add(next, 1);
	if (index >= lane_count)
		bpf_map_pop_elem(&lanes_free, &index);
	lane = bpf_map_lookup_elem(&lanes, &index);
	if (!lane || bpf_map_update_elem(&threads, &thread, &index, BPF_ANY)) {
		count(LOST_LANES);
		return 0;
	}
	__builtin_memset(lane, 0, sizeof(*lane));
	lane->slot_first = index;
	lane->slot_count = 1;
	number = by_members ? bpf_map_lookup_elem(&members, &process) : (void *)0;
	lane->process = number ? *number : process;
	return lane;
}

/* An I/O of the thread itself begins. */
ALWAYS_INLINE void begin_slot(struct slot *slot, struct lane *lane, __u64 kind, __u64 direct, __u64 now)
{
	slot->sequence++;
	slot->bios = slot->ended = slot->queue = slot->insert = slot->issue = 0;
	slot->doorbell = slot->irq = slot->complete = 0;
	slot->gap = slot->preempted_before = slot->journal = slot->journal_before = 0;
	slot->slept = slot->slept_before = slot->switched = slot->switched_before = slot->beside = slot->bytes = 0;
	slot->kind = kind;
	slot->direct = direct;
	slot->lane = lane->slot_first;
	slot->preempted_last = lane->preempted;
	slot->entry = now;
}

/* A descriptor among the first three arguments; 0 for none. */
ALWAYS_INLINE int argument_is(struct pt_regs *registers, __u64 which)
{
	__u64 first = registers->di, second = registers->si, third = registers->dx;

	if (!which)
		return NOT_STORAGE;
	return directness_of(bpf_get_current_task_btf(), which == 1 ? first : which == 2 ? second : third);
}

/* A call whose I/O lasts from its entry to its exit; 0 when it is none of storage. */
ALWAYS_INLINE int begin_span(struct lane *lane, __u64 rule, struct pt_regs *registers, __u64 now)
{
	__u64 kind = RULE_KIND(rule);
	__u32 index = lane->slot_first;
	struct slot *slot = bpf_map_lookup_elem(&slots, &index);
	int from = argument_is(registers, RULE_FROM(rule));
	int to = argument_is(registers, RULE_TO(rule));

	if (!slot || (rule & RULE_MSYNC && !(registers->dx & MS_SYNC)))
		return 0;
	if (from == NOT_STORAGE && to == NOT_STORAGE && (RULE_FROM(rule) || RULE_TO(rule)))
		return 0;
	if (kind == KIND_COPY && to == NOT_STORAGE)
		kind = KIND_READ;
	else if (kind == KIND_COPY && from == NOT_STORAGE)
		kind = KIND_WRITE;
	/* What is no transfer may find nothing to do, whatever the file was opened with. */
	begin_slot(slot, lane, kind, rule & RULE_BYTES && !RULE_TO(rule) && from == 1, now);
	return 1;
}

/* A call with this result was an I/O. */
ALWAYS_INLINE int span_counts(struct slot *slot, struct lane *lane, __u64 rule, __s64 result)
{
	if (slot->bios)
		return 1;
	if (rule & RULE_IF_BIO)
		return 0;
	if (!(rule & RULE_IF_SLEPT))
		/* The end of a file is no I/O. */
		return result > 0 || (rule & RULE_ZERO && result == 0);
	if (lane->off <= slot->entry)
		return 0;
	/* Whoever opens a FIFO sleeps, too. */
	return !(rule & RULE_OPENS) ||
	       (result >= 0 && directness_of(bpf_get_current_task_btf(), result) != NOT_STORAGE);
}

/* Hands a finished I/O of a foreign process to the reader. */
ALWAYS_INLINE void record_io(struct slot *slot, struct lane *lane, __u64 now)
{
	struct record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	struct task_struct *task, *leader;

	if (!record) {
		count(LOST_RECORDS);
		return;
	}
	record->kind = RECORD_IO;
	record->device = lane->slot_first;
	record->flags = 0;
	record->slot = *slot;
	record->waking = lane->waking;
	record->on = lane->on;
	record->off = lane->off;
	record->exit = now;
	record->preempted = lane->preempted;
	record->process = lane->process;
	__builtin_memset(record->name, 0, sizeof(record->name));
	task = bpf_get_current_task_btf();
	/* An interrupt that ends it may have hit anybody. */
	if (with_children && is_subjects(task->tgid)) {
		leader = task->group_leader;
		bpf_probe_read_kernel(record->name, sizeof(record->name), leader->comm);
	}
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* Of the current thread, with the functions of the scheduler, which `bpf_get_task_stack` leaves out, and locks with them. */
static long (*bpf_get_stack)(void *context, void *to, __u32 size, __u64 flags) = (void *)67;

/* A thread of a foreign process has slept: at this place, or where its stack says. Full, the map keeps what has no place under
 * no functions. */
ALWAYS_INLINE void note_wait(struct task_struct *task, struct wait_key *place, __u64 time)
{
	struct wait_key key = {};
	struct wait fresh = {}, *sum;

	if (place && place->frames[0])
		key = *place;
	else
		bpf_get_task_stack(task, key.frames, sizeof(key.frames), 0);
	sum = bpf_map_lookup_elem(&waits, &key);
	if (!sum && bpf_map_update_elem(&waits, &key, &fresh, BPF_NOEXIST))
		__builtin_memset(&key, 0, sizeof(key));
	if (!sum)
		sum = bpf_map_lookup_elem(&waits, &key);
	if (!sum)
		return;
	__sync_fetch_and_add(&sum->sleeps, 1);
	__sync_fetch_and_add(&sum->time, time);
}

#endif
