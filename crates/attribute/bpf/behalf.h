/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * For whom does a thread of the kernel work? Who dirtied an inode, who queued a work, whose handles fill a transaction.
 *
 * Part of watch.bpf.c, behind its maps.
 */
#ifndef IOSTACK_BEHALF_H
#define IOSTACK_BEHALF_H

/* A folio of a file becomes dirty: whoever does it owns what is written back. */
SECTION("tp_btf/writeback_dirty_folio")
int watch_dirty(__u64 *context)
{
	struct address_space *mapping = (void *)context[1];
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu *cpu = this_cpu();
	struct owner owner = {}, *known;
	__u64 inode;

	if (!cpu || !mapping || !works_for(task, &owner))
		return 0;
	inode = address_of(cpu, DIRTIES, mapping->host);
	known = bpf_map_lookup_elem(&dirtiers, &inode);
	if (known && known->process == owner.process && known->cgroup == owner.cgroup)
		return 0;
	bpf_map_update_elem(&dirtiers, &inode, &owner, BPF_ANY);
	return 0;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct timer_list {
	void *function;
};

struct delayed_work {
	struct timer_list timer;
};

#pragma clang attribute pop

/* A work that waits for its time begins with the work. Its timer queues it, within whatever thread runs then. */
ALWAYS_INLINE bool is_of_timer(struct work_struct *work)
{
	struct delayed_work *delayed = (void *)work;
	__u64 function = 0;

	return timer_work && !bpf_probe_read_kernel(&function, sizeof(function), &delayed->timer.function) &&
	       function == timer_work;
}

SECTION("tp_btf/workqueue_queue_work")
int watch_queue_work(__u64 *context)
{
	struct work_struct *work = (void *)context[2];
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu *cpu = this_cpu();
	struct owner owner = {};
	__u64 key;

	if (!cpu)
		return 0;
	key = address_of(cpu, WORKS, work);
	if (!task->pid || is_of_timer(work) || !works_for(task, &owner)) {
		bpf_map_delete_elem(&works, &key);
		return 0;
	}
	owner.how = HOW_WORK;
	bpf_map_update_elem(&works, &key, &owner, BPF_ANY);
	return 0;
}

SECTION("tp_btf/workqueue_execute_start")
int watch_work_begins(__u64 *context)
{
	struct work_struct *work = (void *)context[0];
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = thread_of(task->pid);
	struct cpu *cpu = this_cpu();
	struct owner *owner;
	__u64 key;

	if (!cpu || !thread)
		return 0;
	key = address_of(cpu, RUNS, work);
	owner = bpf_map_lookup_elem(&works, &key);
	thread->acts = 0;
	thread->on = bpf_ktime_get_ns();
	if (throttle_work && (__u64)work->func == throttle_work) {
		thread->acting.process = 0;
		thread->acting.cgroup = 0;
		thread->acting.how = HOW_THROTTLED;
		thread->acts = 1;
	} else if (owner) {
		thread->acting = *owner;
		thread->acts = 1;
	}
	return 0;
}

ALWAYS_INLINE void ends_for_another(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = thread_of(task->pid);

	if (!thread)
		return;
	this_cpu();
	charge(thread, bpf_ktime_get_ns());
	thread->acts = 0;
}

SECTION("tp_btf/workqueue_execute_end")
int watch_work_ends(__u64 *context)
{
	(void)context;
	ends_for_another();
	return 0;
}

/* A handle in a transaction is a vote for its owner. */
SECTION("tp_btf/jbd2_handle_start")
int watch_handle(__u64 *context)
{
	struct transaction_key key = { .device = context[0], .number = context[1] };
	struct task_struct *task = bpf_get_current_task_btf();
	struct owner owner = {};
	struct vote *vote, first = {};

	this_cpu();
	if (!works_for(task, &owner))
		return 0;
	vote = bpf_map_lookup_elem(&votes, &key);
	if (!vote) {
		first.owner = owner;
		first.lead = 1;
		bpf_map_update_elem(&votes, &key, &first, BPF_ANY);
	} else if (vote->owner.process == owner.process) {
		vote->lead++;
	} else if (vote->lead) {
		vote->lead--;
	} else {
		vote->owner = owner;
		vote->lead = 1;
	}
	return 0;
}

SECTION("tp_btf/jbd2_start_commit")
int watch_commit_begins(__u64 *context)
{
	struct journal_s *journal = (void *)context[0];
	struct transaction_s *transaction = (void *)context[1];
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = thread_of(task->pid);
	struct transaction_key key = {};
	struct vote *vote;

	this_cpu();
	if (!thread)
		return 0;
	key.device = journal->j_fs_dev->bd_dev;
	key.number = transaction->t_tid;
	vote = bpf_map_lookup_elem(&votes, &key);
	thread->acts = vote ? 1 : 0;
	thread->on = bpf_ktime_get_ns();
	if (vote) {
		thread->acting = vote->owner;
		thread->acting.how = HOW_JOURNAL;
	}
	return 0;
}

SECTION("tp_btf/jbd2_end_commit")
int watch_commit_ends(__u64 *context)
{
	(void)context;
	ends_for_another();
	return 0;
}

#endif
