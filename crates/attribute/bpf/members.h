/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Which processes are the subject's: itself, and those that it and its children start.
 *
 *   iter/task: those there are ──┐
 *   sched_process_fork           ├──► members: the kernel's number ──► the reader's
 *   sched_process_free ──────────┘
 *
 * In a container the kernel numbers processes otherwise than the reader, whose numbers are those of the namespace of
 * whoever runs the iterator. Part of stages.bpf.c and totals.bpf.c.
 */
#ifndef IOSTACK_MEMBERS_H
#define IOSTACK_MEMBERS_H

#include "kernel.h"

/* 1: the map `members` says whose a process is. */
const volatile __u64 by_members;
/* 1: what a member starts is one too. */
const volatile __u64 with_children;
/* The first member, as the reader numbers it. */
const volatile __u64 first_member;

struct {
	MAP_TYPE(BPF_MAP_TYPE_HASH);
	MAP_ENTRIES(1);
	MAP_KEY(__u32);
	MAP_VALUE(__u64);
} members SECTION(".maps");

/* Of one process, whose threads the reader numbers otherwise: its number to the kernel's. */
struct {
	MAP_TYPE(BPF_MAP_TYPE_HASH);
	MAP_ENTRIES(1);
	MAP_KEY(__u32);
	MAP_VALUE(__u32);
} member_threads SECTION(".maps");

/* Depth of the reader's namespace; members that found no place. */
enum { MEMBER_LEVEL, MEMBERS_LOST };

struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(2);
	MAP_KEY(__u32);
	MAP_VALUE(__u64);
} member_facts SECTION(".maps");

ALWAYS_INLINE bool is_member(__u32 process)
{
	return bpf_map_lookup_elem(&members, &process) != 0;
}

/* The number of a task in the namespace of that depth. */
ALWAYS_INLINE __u32 number_at(struct task_struct *task, __u64 level)
{
	struct pid *pid = 0;
	__u32 number = 0;

	if (!bpf_probe_read_kernel(&pid, sizeof(pid), &task->thread_pid) && pid)
		bpf_probe_read_kernel(&number, sizeof(number),
				      (void *)pid + field_offset(struct pid, numbers) + level * sizeof(struct upid));
	return number;
}

ALWAYS_INLINE void add_member(struct task_struct *task, __u64 level)
{
	__u64 number = number_at(task, level), *lost;
	__u32 process = task->tgid, which = MEMBERS_LOST;

	if (!bpf_map_update_elem(&members, &process, &number, BPF_ANY))
		return;
	lost = bpf_map_lookup_elem(&member_facts, &which);
	if (lost)
		__sync_fetch_and_add(lost, 1);
}

SECTION("tp_btf/sched_process_fork")
int member_forks(__u64 *context)
{
	struct task_struct *parent = (void *)context[0];
	struct task_struct *child = (void *)context[1];
	__u32 which = MEMBER_LEVEL;
	__u64 *level;

	if (child->pid != child->tgid || !is_member(parent->tgid))
		return 0;
	level = bpf_map_lookup_elem(&member_facts, &which);
	if (level)
		add_member(child, *level);
	return 0;
}

/* After its last switch; of a process its leader's is the last. */
SECTION("tp_btf/sched_process_free")
int member_ends(__u64 *context)
{
	struct task_struct *task = (void *)context[0];
	__u32 process = task->tgid;

	if (task->pid == task->tgid)
		bpf_map_delete_elem(&members, &process);
	return 0;
}

/* Looks at every task once. A child may come before its parent, so that it is run until nothing more is found. */
SECTION("iter/task")
int member_seek(__u64 *context)
{
	struct task_struct *task = (void *)context[1];
	struct task_struct *reader = bpf_get_current_task_btf();
	__u32 which = MEMBER_LEVEL, number, thread;
	struct pid *pid = 0;
	__u64 *level;
	__u32 depth = 0;

	level = bpf_map_lookup_elem(&member_facts, &which);
	if (!task || !level || bpf_probe_read_kernel(&pid, sizeof(pid), &reader->thread_pid) ||
	    bpf_probe_read_kernel(&depth, sizeof(depth), &pid->level))
		return 0;
	*level = depth;
	number = number_at(task, depth);
	thread = task->pid;
	if (!with_children && is_member(task->tgid))
		bpf_map_update_elem(&member_threads, &number, &thread, BPF_ANY);
	if (task->pid != task->tgid || is_member(task->tgid))
		return 0;
	if (number == first_member || (with_children && is_member(task->real_parent->tgid)))
		add_member(task, depth);
	return 0;
}

#endif
