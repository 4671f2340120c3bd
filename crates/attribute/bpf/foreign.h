/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A foreign process: its system calls are where its I/Os begin and end.
 *
 *   read, write, fsync      sys_enter ──► slot of the thread ──► sys_exit
 *   libaio                  io_submit ──► flight of the control block ──► io_getevents
 *   io_uring                io_uring_enter ──► flight of the request ──► io_uring_complete
 *
 * Each finished I/O is one record. Part of stages.bpf.c, behind its maps.
 */
#ifndef IOSTACK_FOREIGN_H
#define IOSTACK_FOREIGN_H

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

/* A foreign thread ends, and gives its lane back. */
SECTION("tp_btf/sched_process_exit")
int sched_process_exit(__u64 *context)
{
	struct task_struct *task = (void *)context[0];
	__u32 thread, index, *known;
	struct slot *slot;

	this_cpu();
	if (!is_subjects(task->tgid))
		return 0;
	thread = task->pid;
	known = bpf_map_lookup_elem(&threads, &thread);
	if (!known)
		return 0;
	index = *known;
	slot = bpf_map_lookup_elem(&slots, &index);
	if (slot)
		slot->entry = 0;
	bpf_map_delete_elem(&threads, &thread);
	bpf_map_push_elem(&lanes_free, &index, BPF_ANY);
	return 0;
}

#define NOT_STORAGE (-1)
#define MODE_KIND 0170000
#define MODE_REGULAR 0100000
#define MODE_BLOCK 0060000

/* 1 for a file or block device opened with O_DIRECT, 0 without, NOT_STORAGE for anything else. */
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
	if (mode != MODE_REGULAR && mode != MODE_BLOCK)
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

/* Hands a finished I/O of a foreign process to the reader. */
ALWAYS_INLINE void record_io(struct slot *slot, struct lane *lane, __u64 now)
{
	struct record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	struct task_struct *leader;

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
	if (with_children) {
		/* The lane is the current thread's. */
		leader = bpf_get_current_task_btf()->group_leader;
		bpf_probe_read_kernel(record->name, sizeof(record->name), leader->comm);
	}
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* What a program hands to io_submit. */
struct control_block {
	__u64 data;
	__u32 key;
	__u32 flags;
	__u16 opcode;
	__u16 priority;
	__u32 descriptor;
};

#define BATCH_MAX 64

/* A control block of io_submit is an I/O from now on; 0 when it cannot be read. */
CHECKED_ONCE int submit_one(__u64 at, __u32 index, __u64 now, __u64 sequence)
{
	struct lane *lane = bpf_map_lookup_elem(&lanes, &index);
	struct control_block block = {};
	struct slot slot = {};
	__u64 address = 0, key;
	int direct;

	if (!lane || bpf_probe_read_user(&address, sizeof(address), (void *)at) ||
	    bpf_probe_read_user(&block, sizeof(block), (void *)address))
		return 0;
	direct = directness_of(bpf_get_current_task_btf(), block.descriptor);
	if (direct == NOT_STORAGE)
		return 1;
	key = block_key(lane, address);
	slot.entry = now;
	slot.sequence = sequence;
	slot.direct = direct;
	slot.lane = index;
	slot.preempted_last = lane->preempted;
	if (bpf_map_update_elem(&flights, &key, &slot, BPF_ANY))
		count(LOST_FLIGHTS);
	return 1;
}

/* Each control block of io_submit. */
ALWAYS_INLINE void submit_all(struct lane *lane, __u64 blocks, __u64 how_many, __u64 now)
{
	__u32 i;

	for (i = 0; i < BATCH_MAX && i < how_many; i++) {
		if (!submit_one(blocks + i * 8ULL, lane->slot_first, now, now + i))
			return;
	}
	if (how_many > BATCH_MAX)
		count(LOST_FLIGHTS);
	lane->current = 0;
}

SECTION("tp_btf/sys_enter")
int sys_enter(__u64 *context)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct pt_regs *registers = (void *)context[0];
	__u32 number = context[1];
	struct task_struct *task;
	struct lane *lane;
	struct slot *slot;
	__u64 *call, now;
	__u32 index;
	int direct;

	if (!is_subjects(id >> 32))
		return 0;
	this_cpu();
	call = bpf_map_lookup_elem(&calls, &number);
	if (!call || *call == CALL_NONE)
		return 0;
	lane = lane_made(id, id >> 32);
	if (!lane)
		return 0;
	now = bpf_ktime_get_ns();
	task = bpf_get_current_task_btf();
	lane->call = *call;
	lane->entry = now;
	lane->current = 0;
	lane->exit = 0;
	lane->number = number;
	if (*call == CALL_SUBMIT) {
		submit_all(lane, registers->dx, registers->si, now);
	} else if (*call == CALL_GETEVENTS) {
		lane->argument = registers->r10;
	} else if (*call == CALL_MOVE || *call == CALL_SYNC) {
		direct = directness_of(task, registers->di);
		index = lane->slot_first;
		slot = bpf_map_lookup_elem(&slots, &index);
		if (direct == NOT_STORAGE || !slot) {
			lane->call = CALL_NONE;
			return 0;
		}
		slot->sequence++;
		slot->bios = slot->ended = slot->queue = slot->insert = slot->issue = 0;
		slot->doorbell = slot->irq = slot->complete = 0;
		slot->gap = slot->preempted_before = slot->journal = slot->journal_before = slot->slept = 0;
		slot->lane = index;
		slot->preempted_last = lane->preempted;
		/* A sync may find nothing to write, whatever the file was opened with. */
		slot->direct = *call == CALL_MOVE && direct;
		slot->entry = now;
	}
	return 0;
}

/* An event that io_getevents hands over is an I/O that has come back; 0 when it cannot be read. */
CHECKED_ONCE int take_event(__u64 at, __u32 index, __u64 now)
{
	struct lane *lane = bpf_map_lookup_elem(&lanes, &index);
	struct io_event event = {};
	struct slot *slot;
	__u64 key;

	if (!lane || bpf_probe_read_user(&event, sizeof(event), (void *)at))
		return 0;
	key = block_key(lane, event.obj);
	slot = bpf_map_lookup_elem(&flights, &key);
	if (slot) {
		record_io(slot, lane, now);
		bpf_map_delete_elem(&flights, &key);
	}
	return 1;
}

/* The events of one call. */
ALWAYS_INLINE void take_events(struct lane *lane, __u64 how_many, __u64 now)
{
	__u32 i;

	for (i = 0; i < BATCH_MAX && i < how_many; i++) {
		if (!take_event(lane->argument + i * 32ULL, lane->slot_first, now))
			return;
	}
	if (how_many > BATCH_MAX)
		count(LOST_FLIGHTS);
}

SECTION("tp_btf/sys_exit")
int sys_exit(__u64 *context)
{
	__u64 id = bpf_get_current_pid_tgid(), now;
	__s64 result = context[1];
	struct lane *lane;
	struct slot *slot;
	__u64 call;
	__u32 index;

	if (!is_subjects(id >> 32))
		return 0;
	this_cpu();
	lane = lane_of(id);
	if (!lane || lane->call == CALL_NONE)
		return 0;
	now = bpf_ktime_get_ns();
	call = lane->call;
	lane->call = CALL_NONE;
	lane->current = 0;
	if (result >= 0 && (call == CALL_GETEVENTS || call == CALL_MOVE || call == CALL_SYNC)) {
		lane->exit = now;
		lane->registers = context[0];
	}
	if (call == CALL_GETEVENTS && result > 0)
		take_events(lane, result, now);
	if (call != CALL_MOVE && call != CALL_SYNC)
		return 0;
	index = lane->slot_first;
	slot = bpf_map_lookup_elem(&slots, &index);
	if (!slot || !slot->entry)
		return 0;
	/* The end of a file is no I/O. */
	if (result > 0 || (call == CALL_SYNC && result == 0))
		record_io(slot, lane, now);
	slot->entry = 0;
	return 0;
}

SECTION("tp_btf/io_uring_complete")
int io_uring_complete(__u64 *context)
{
	struct io_kiocb *request = (void *)context[1];
	struct io_uring_cqe *event = (void *)context[2];
	__u64 key = context[1];
	struct file *file = 0;
	struct slot *slot;
	struct lane *lane;
	int direct;

	this_cpu();
	slot = bpf_map_lookup_elem(&flights, &key);
	if (!slot)
		return 0;
	/* Mostly in the thread that waits; its stamps are those of the wait. */
	lane = lane_of(bpf_get_current_pid_tgid());
	bpf_probe_read_kernel(&file, sizeof(file), &request->file);
	direct = file ? directness(file) : NOT_STORAGE;
	if (lane && direct != NOT_STORAGE && event->res >= 0) {
		slot->direct = direct;
		record_io(slot, lane, bpf_ktime_get_ns());
	}
	bpf_map_delete_elem(&flights, &key);
	return 0;
}

#endif
