/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How long threads sleep, who wakes them, and behind whom they wait for a CPU.
 *
 * Part of watch.bpf.c, behind its maps.
 */
#ifndef IOSTACK_SLEEPS_H
#define IOSTACK_SLEEPS_H

/* A thread that slept for storage no longer ago still works for that. */
#define PREEMPTED_WITHIN_NS 100000000ULL
/* What a thread of the kernel waits for a CPU is told from here on. */
#define WORKER_SLOW_NS 2000000ULL
/* Who wakes a thread that slept so long is looked at. */
#define WAKE_STACK_FROM_NS 2000000ULL

/* A process ends: its rows keep its name. */
SECTION("tp_btf/sched_process_exit")
int watch_exit(__u64 *context)
{
	struct task_struct *task = (void *)context[0];
	__u32 process = task->tgid;
	struct name name = {};

	if (task->pid != task->tgid)
		return 0;
	this_cpu();
	bpf_probe_read_kernel_str(name.text, sizeof(name.text), task->comm);
	bpf_map_update_elem(&names, &process, &name, BPF_ANY);
	return 0;
}

ALWAYS_INLINE bool waits_for_io(struct task_struct *task)
{
	__u64 field = 0;

	bpf_probe_read_kernel(&field, sizeof(field),
			      (void *)task + __builtin_preserve_field_info(task->in_iowait, 0));
	field <<= __builtin_preserve_field_info(task->in_iowait, 4);
	field >>= __builtin_preserve_field_info(task->in_iowait, 5);
	return field != 0;
}

/* Asleep until an event that no signal replaces; or for an I/O. */
ALWAYS_INLINE bool sleeps(struct task_struct *task)
{
	__u32 state = task->__state;

	if (!state || state & STATE_NO_LOAD || task->flags & PF_KTHREAD || task->tgid == (int)watcher)
		return 0;
	return state & STATE_ASLEEP || waits_for_io(task);
}

SECTION("tp_btf/sched_waking")
int watch_waking(__u64 *context)
{
	struct task_struct *task = (void *)context[0], *waker;
	struct thread *thread;
	long number;

	if (!(task->__state & 3))
		return 0;
	this_cpu();
	thread = thread_of(task->pid);
	if (!thread)
		return 0;
	if (task->flags & PF_KTHREAD) {
		thread->woken = bpf_ktime_get_ns();
		return 0;
	}
	if (!thread->asleep || thread->woken)
		return 0;
	thread->woken = bpf_ktime_get_ns();
	waker = bpf_get_current_task_btf();
	thread->wake_stack = 0;
	if (thread->woken - thread->asleep > (slow_from ? slow_from : WAKE_STACK_FROM_NS)) {
		number = bpf_get_stackid(context, &wake_stacks, REUSE_STACK);
		thread->wake_stack = number < 0 ? 0 : number + 1;
	}
	bpf_probe_read_kernel_str(thread->waker_name, sizeof(thread->waker_name), waker->comm);
	return 0;
}

ALWAYS_INLINE void tell_sleep(struct thread *thread, struct task_struct *task, struct task_struct *behind, __u64 now)
{
	struct told_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count(0);
		return;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->what = TOLD_WAIT;
	event->owner = owner_of(task);
	event->kind = task->flags & PF_KTHREAD ? 1 : 0;
	event->issue = thread->woken ? thread->woken : now;
	event->queue = thread->asleep ? thread->asleep : event->issue;
	event->complete = now;
	event->thread = task->pid;
	event->cpu = bpf_get_smp_processor_id();
	event->wake_stack = thread->wake_stack;
	bpf_probe_read_kernel_str(event->name, sizeof(event->name), task->comm);
	__builtin_memcpy(event->waker_name, thread->waker_name, sizeof(event->waker_name));
	bpf_probe_read_kernel_str(event->behind_name, sizeof(event->behind_name), behind->comm);
	bpf_get_task_stack(task, event->frames, sizeof(event->frames), 0);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

ALWAYS_INLINE void wakes_up(struct thread *thread, struct task_struct *task, struct task_struct *behind, __u64 now)
{
	struct owner owner = owner_of(task);
	struct wait *wait = wait_of(&owner);
	__u64 woken = thread->woken ? thread->woken : now, *limit;
	__u32 which = 3;

	if (wait) {
		if (woken > thread->asleep)
			wait->sleeps++;
		wait->slept += woken - thread->asleep;
		wait->runnable += now - woken;
	}
	limit = bpf_map_lookup_elem(&counters, &which);
	if (limit && is_slow(limit, now - thread->asleep))
		tell_sleep(thread, task, behind, now);
	if (woken > thread->asleep)
		thread->last = thread->asleep;
	thread->asleep = 0;
}

/* It works, and loses its CPU; true only of one that waited for storage a moment ago, since others wait for no I/O. */
ALWAYS_INLINE bool is_preempted(struct thread *thread, struct task_struct *task, __u64 now)
{
	return thread->number == (__u32)task->pid && thread->last && now - thread->last < PREEMPTED_WITHIN_NS;
}

/* A thread of the kernel has a CPU: told when it waited long for it. */
ALWAYS_INLINE void worker_runs(struct thread *thread, struct task_struct *task, struct task_struct *behind, __u64 now)
{
	__u64 from = slow_from && slow_from < WORKER_SLOW_NS ? slow_from : WORKER_SLOW_NS;

	if (now - thread->woken > from) {
		thread->wake_stack = 0;
		thread->waker_name[0] = 0;
		tell_sleep(thread, task, behind, now);
	}
	thread->woken = 0;
}

/* A thread of the kernel leaves its CPU, ready to go on or not. The idle one waits for nothing. */
ALWAYS_INLINE void kernel_thread_leaves(struct task_struct *task, bool ready)
{
	__u32 place = task->pid & (THREADS - 1);
	struct thread *thread;
	__u64 now;

	if (!task->pid)
		return;
	thread = ready ? thread_of(task->pid) : bpf_map_lookup_elem(&threads, &place);
	if (!thread || thread->number != (__u32)task->pid)
		return;
	now = bpf_ktime_get_ns();
	if (ready)
		thread->woken = now;
	charge(thread, now);
}

SECTION("tp_btf/sched_switch")
int watch_switch(__u64 *context)
{
	struct task_struct *previous, *next;
	struct thread *thread;
	__u32 place;
	__u64 now;

	/* Two pairs of loads, kept apart as in `first_argument`. */
	if (switch_argument) {
		previous = (void *)context[2];
		next = (void *)context[3];
		BARRIER();
	} else {
		previous = (void *)context[1];
		next = (void *)context[2];
	}
	if (previous->flags & PF_KTHREAD) {
		kernel_thread_leaves(previous, context[0] || !previous->__state);
	} else if (context[0] || !previous->__state) {
		place = previous->pid & (THREADS - 1);
		thread = bpf_map_lookup_elem(&threads, &place);
		now = bpf_ktime_get_ns();
		if (thread && is_preempted(thread, previous, now)) {
			this_cpu();
			thread->asleep = now;
			thread->woken = now;
			thread->wake_stack = 0;
			thread->waker_name[0] = 0;
		}
	} else if (sleeps(previous)) {
		this_cpu();
		thread = thread_of(previous->pid);
		if (thread) {
			thread->asleep = bpf_ktime_get_ns();
			thread->woken = 0;
			thread->wake_stack = 0;
			thread->waker_name[0] = 0;
		}
	}
	place = next->pid & (THREADS - 1);
	thread = bpf_map_lookup_elem(&threads, &place);
	if (!thread || thread->number != (__u32)next->pid)
		return 0;
	if (next->flags & PF_KTHREAD) {
		now = bpf_ktime_get_ns();
		if (thread->woken)
			worker_runs(thread, next, previous, now);
		if (thread->acts)
			thread->on = now;
	} else if (thread->asleep) {
		this_cpu();
		wakes_up(thread, next, previous, bpf_ktime_get_ns());
	}
	return 0;
}

#endif
