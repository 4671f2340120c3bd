/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A foreign process: its system calls are where its I/Os begin and end.
 *
 *   read, fsync, stat ..    sys_enter ──► slot of the thread ──► sys_exit
 *   libaio                  io_submit ──► flight of the control block ──► io_getevents
 *   io_uring                io_uring_enter ──► flight of the request ──► io_uring_complete
 *
 * Each finished I/O is one record. Part of stages.bpf.c, behind its maps.
 */
#ifndef IOSTACK_FOREIGN_H
#define IOSTACK_FOREIGN_H

/* A foreign thread ends, and gives its lane back. */
SECTION("tp_btf/sched_process_exit")
int sched_process_exit(__u64 *context)
{
	struct task_struct *task = (void *)context[0];
	__u32 thread, index, *known;
	struct slot *slot;
	struct lane *lane;

	this_cpu();
	if (!is_subjects(task->tgid))
		return 0;
	thread = task->pid;
	known = bpf_map_lookup_elem(&threads, &thread);
	if (!known)
		return 0;
	index = *known;
	lane = bpf_map_lookup_elem(&lanes, &index);
	if (lane)
		fault_ends(lane);
	slot = bpf_map_lookup_elem(&slots, &index);
	if (slot)
		slot->entry = 0;
	bpf_map_delete_elem(&threads, &thread);
	bpf_map_push_elem(&lanes_free, &index, BPF_ANY);
	return 0;
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

/* What io_getevents hands to a program. */
struct told_event {
	__u64 data;
	__u64 block;
	__s64 result;
	__s64 other;
};

/* The kind of a control block's operation (IOCB_CMD_ in include/uapi/linux/aio_abi.h). */
ALWAYS_INLINE __u64 block_kind(__u16 operation)
{
	if (operation == 0 || operation == 7)
		return KIND_READ;
	return operation == 1 || operation == 8 ? KIND_WRITE : KIND_SYNC;
}

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
	slot.kind = block_kind(block.opcode);
	slot.direct = slot.kind != KIND_SYNC && direct;
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
	__u64 *rule, now;
	struct lane *lane;

	if (!is_subjects(id >> 32))
		return 0;
	this_cpu();
	rule = bpf_map_lookup_elem(&calls, &number);
	if (!rule || *rule == CALL_NONE || number >= CALLS_MAX)
		return 0;
	lane = lane_made(id, id >> 32);
	if (!lane)
		return 0;
	fault_ends(lane);
	now = bpf_ktime_get_ns();
	lane->call = RULE_CALL(*rule);
	lane->entry = now;
	lane->current = 0;
	lane->exit = 0;
	lane->fault = 0;
	lane->number = number;
	if (lane->call == CALL_SUBMIT) {
		submit_all(lane, registers->dx, registers->si, now);
	} else if (lane->call == CALL_GETEVENTS) {
		lane->argument = registers->r10;
	} else if (lane->call == CALL_SPAN) {
		lane->argument = *rule;
		if (!begin_span(lane, *rule, registers, now))
			lane->call = CALL_NONE;
	}
	return 0;
}

/* An event that io_getevents hands over is an I/O that has come back; 0 when it cannot be read. */
CHECKED_ONCE int take_event(__u64 at, __u32 index, __u64 now)
{
	struct lane *lane = bpf_map_lookup_elem(&lanes, &index);
	struct told_event event = {};
	struct slot *slot;
	__u64 key;

	if (!lane || bpf_probe_read_user(&event, sizeof(event), (void *)at))
		return 0;
	key = block_key(lane, event.block);
	slot = bpf_map_lookup_elem(&flights, &key);
	if (slot) {
		if (slot->kind != KIND_SYNC)
			slot->bytes = event.result > 0 ? event.result : 0;
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

/* The I/O of a call that ends is over. */
ALWAYS_INLINE void end_span(struct lane *lane, __u64 *context, __s64 result, __u64 now)
{
	__u32 index = lane->slot_first;
	struct slot *slot = bpf_map_lookup_elem(&slots, &index);

	if (!slot || !slot->entry)
		return;
	if (span_counts(slot, lane, lane->argument, result)) {
		if (lane->argument & RULE_BYTES)
			slot->bytes = result > 0 ? result : 0;
		record_io(slot, lane, now);
		lane->exit = now;
		lane->registers = context[0];
	}
	slot->entry = 0;
}

SECTION("tp_btf/sys_exit")
int sys_exit(__u64 *context)
{
	__u64 id = bpf_get_current_pid_tgid(), now, call;
	__s64 result = context[1];
	struct lane *lane;

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
	if (call == CALL_SPAN) {
		end_span(lane, context, result, now);
	} else if (call == CALL_GETEVENTS && result >= 0) {
		lane->exit = now;
		lane->registers = context[0];
		take_events(lane, result, now);
	}
	return 0;
}

/* A finished request of io_uring was an I/O. */
ALWAYS_INLINE int request_counts(struct slot *slot, struct io_kiocb *request, __u64 rule, __s32 result)
{
	struct file *file = 0;
	int direct;

	if (rule & RULE_IF_BIO)
		return slot->bios != 0;
	bpf_probe_read_kernel(&file, sizeof(file), &request->file);
	direct = file ? directness(file) : NOT_STORAGE;
	slot->direct = direct == 1 && rule & RULE_BYTES;
	if (rule & RULE_BYTES)
		slot->bytes = result > 0 ? result : 0;
	return direct != NOT_STORAGE && (result > 0 || (rule & RULE_ZERO && result == 0));
}

SECTION("tp_btf/io_uring_complete")
int io_uring_complete(__u64 *context)
{
	struct io_kiocb *request = (void *)context[1];
	struct io_uring_cqe *event = (void *)context[2];
	__u64 key = context[1], *rule;
	struct slot *slot;
	struct lane *lane;
	__u8 operation = 0;
	__u32 index;

	this_cpu();
	slot = bpf_map_lookup_elem(&flights, &key);
	if (!slot || bpf_probe_read_kernel(&operation, sizeof(operation), &request->opcode))
		return 0;
	/* Mostly in the thread that waits, or in the worker that did it, whose stamps are those of the wait. */
	lane = lane_of(bpf_get_current_pid_tgid());
	index = slot->lane;
	if (!lane)
		lane = bpf_map_lookup_elem(&lanes, &index);
	index = CALLS_MAX + (operation & (OPERATIONS_MAX - 1));
	rule = bpf_map_lookup_elem(&calls, &index);
	if (lane && rule && *rule && request_counts(slot, request, *rule, event->res)) {
		slot->kind = RULE_KIND(*rule);
		record_io(slot, lane, bpf_ktime_get_ns());
	}
	bpf_map_delete_elem(&flights, &key);
	return 0;
}

#endif
