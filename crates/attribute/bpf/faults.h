/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Page faults that read: nobody tells of their end.
 *
 *   page_fault_user: when ──► a bio, or a sleep for one, outside any call: an I/O since then ──► the thread does something else: it ended when
 *                                                                           it last got a CPU, or with its last bio
 * Part of stages.bpf.c, behind its maps.
 */
#ifndef IOSTACK_FAULTS_H
#define IOSTACK_FAULTS_H

/* The thread is not in a call but in a fault: an interrupted user has no number of a call, and is in no interrupt. */
ALWAYS_INLINE int is_in_fault(struct lane *lane)
{
	struct pt_regs *registers = (void *)lane->registers;
	struct cpu *cpu;
	__u32 zero = 0;
	__s64 number = 0;

	if (!lane->fault || bpf_probe_read_kernel(&number, sizeof(number), &registers->orig_ax) || number != -1)
		return 0;
	cpu = bpf_map_lookup_elem(&cpus, &zero);
	return cpu && !cpu->irq;
}

/* The slot of a fault that makes a bio; 0 when the thread is in none. */
ALWAYS_INLINE struct slot *fault_slot(struct lane *lane)
{
	__u32 index = lane->slot_first;
	struct slot *slot = bpf_map_lookup_elem(&slots, &index);

	if (!slot || !is_in_fault(lane))
		return 0;
	if (lane->call != CALL_FAULT) {
		lane->call = CALL_FAULT;
		begin_slot(slot, lane, KIND_FAULT, 0, lane->fault);
	}
	return slot;
}

/* The thread does something else than its fault. */
ALWAYS_INLINE void fault_ends(struct lane *lane)
{
	__u32 index = lane->slot_first;
	struct slot *slot;
	__u64 end;

	if (lane->call != CALL_FAULT)
		return;
	lane->call = CALL_NONE;
	lane->fault = 0;
	slot = bpf_map_lookup_elem(&slots, &index);
	if (!slot || !slot->entry)
		return;
	end = slot->complete > slot->queue ? slot->complete : slot->queue;
	if (lane->on > end)
		end = lane->on;
	record_io(slot, lane, end);
	slot->entry = 0;
}

/* Asleep for an I/O. */
ALWAYS_INLINE bool waits_for_io(struct task_struct *task)
{
	__u64 field = 0;

	bpf_probe_read_kernel(&field, sizeof(field),
			      (void *)task + __builtin_preserve_field_info(task->in_iowait, 0));
	field <<= __builtin_preserve_field_info(task->in_iowait, 4);
	field >>= __builtin_preserve_field_info(task->in_iowait, 5);
	return field != 0;
}

/* A thread goes to sleep: in a fault for a page that another reads, which is an I/O without a bio; or in a call that is not
 * followed, when its fault is over. */
ALWAYS_INLINE void fault_sleeps(struct task_struct *task, struct lane *lane)
{
	if (lane->call != CALL_NONE && lane->call != CALL_FAULT)
		return;
	if (!is_in_fault(lane))
		fault_ends(lane);
	else if (waits_for_io(task))
		fault_slot(lane);
}

SECTION("tp_btf/page_fault_user")
int page_fault_user(__u64 *context)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct lane *lane;

	if (!is_subjects(id >> 32))
		return 0;
	this_cpu();
	lane = lane_made(id, id >> 32);
	if (!lane)
		return 0;
	fault_ends(lane);
	lane->fault = bpf_ktime_get_ns();
	lane->registers = context[1];
	/* It is back in user space since its last call. */
	lane->exit = 0;
	return 0;
}

#endif
