/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Exact time on CPUs: the scheduler's switches and the interrupts' entries and exits, bracketed.
 *
 *   switch ... switch: the slice goes to the thread that had the CPU
 *   interrupt entry ... exit: out of the slice of a kernel thread or of a stranger, and marked in one of the subject's
 */
#include "members.h"
#include "totals.h"

const volatile __u64 subject_kind;
/* Process number, for SUBJECT_PROCESS, unless `by_members`. */
const volatile __u64 subject_process;
/* The thread that drains the samples: never part of the subject. */
const volatile __u64 excluded_thread;

struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(1);
	MAP_KEY(__u32);
	MAP_VALUE(struct cpu_state);
} cpus SECTION(".maps");

struct {
	MAP_TYPE(BPF_MAP_TYPE_HASH);
	MAP_ENTRIES(8192);
	MAP_KEY(__u32);
	MAP_VALUE(struct thread_time);
} threads SECTION(".maps");

/* Threads of our own load: since when they count. */
struct {
	MAP_TYPE(BPF_MAP_TYPE_HASH);
	MAP_ENTRIES(4096);
	MAP_KEY(__u32);
	MAP_VALUE(__u64);
} lanes SECTION(".maps");

/* Interrupts of the device, by number. */
struct {
	MAP_TYPE(BPF_MAP_TYPE_HASH);
	MAP_ENTRIES(1024);
	MAP_KEY(__u32);
	MAP_VALUE(__u64);
} device_interrupts SECTION(".maps");

/* The moment at which the reader wants to know all times: slices that end later are cut there. */
struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(1);
	MAP_KEY(__u32);
	MAP_VALUE(__u64);
} boundaries SECTION(".maps");

ALWAYS_INLINE struct cpu_state *this_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *state = bpf_map_lookup_elem(&cpus, &cpu);

	if (state)
		state->events++;
	return state;
}

/* Processes that ended and have a row of their own still. */
struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(1);
	MAP_KEY(__u32);
	MAP_VALUE(__u64);
} processes_ended SECTION(".maps");

/* A process is the subject, or one of its. */
ALWAYS_INLINE bool is_subjects(__u32 process)
{
	return by_members ? is_member(process) : process == (__u32)subject_process;
}

/* Since when the thread is the subject's; 0 when it is not. */
ALWAYS_INLINE __u64 subject_since(struct task_struct *task)
{
	__u32 thread = task->pid;
	__u64 *since;

	if (thread == 0 || task->flags & (TASK_KERNEL_THREAD | TASK_IO_WORKER) ||
	    thread == excluded_thread)
		return 0;
	if (subject_kind == SUBJECT_MACHINE)
		return 1;
	if (subject_kind == SUBJECT_PROCESS)
		return is_subjects(task->tgid);
	since = bpf_map_lookup_elem(&lanes, &thread);
	return since ? *since : 0;
}

/* Kernel threads, and the subject's own workers in the kernel. */
ALWAYS_INLINE bool is_worker(struct task_struct *task)
{
	if (task->pid == 0)
		return 0;
	if (task->flags & TASK_KERNEL_THREAD)
		return 1;
	return task->flags & TASK_IO_WORKER &&
	       (subject_kind == SUBJECT_MACHINE || is_subjects(task->tgid));
}

ALWAYS_INLINE struct thread_time *time_of(struct task_struct *task)
{
	__u32 thread = task->pid, process;
	struct thread_time *found = bpf_map_lookup_elem(&threads, &thread);
	struct thread_time fresh = {};
	__u64 *number;

	if (found)
		return found;
	process = task->tgid;
	number = by_members ? bpf_map_lookup_elem(&members, &process) : (void *)0;
	fresh.process = number ? *number : process;
	fresh.flags = task->flags;
	bpf_probe_read_kernel_str(fresh.name, sizeof(fresh.name), task->comm);
	bpf_map_update_elem(&threads, &thread, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&threads, &thread);
}

/* A slice from `begin` to `now` ends, the first of the thread since the boundary: what lies before it is kept. */
ALWAYS_INLINE void cut(struct thread_time *time, __u64 boundary, __u64 begin, __u64 now, __u64 without)
{
	__u64 part = 0;

	time->time_before = time->time;
	time->interrupts_before = time->interrupts;
	time->boundary = boundary;
	if (begin < boundary)
		part = (now < boundary ? now : boundary) - begin;
	if (part > without)
		time->time_before += part - without;
}

/* Time that the hypervisor has taken from the CPU of a task that runs: ever. */
ALWAYS_INLINE __u64 stolen_from(struct task_struct *task)
{
	struct task_struct___clock *clock = (void *)task;

	if (!field_exists(((struct rq *)0)->prev_steal_time_rq) || !field_exists(((struct cfs_rq *)0)->rq) ||
	    !field_exists(((struct sched_entity *)0)->cfs_rq))
		return 0;
	return clock->se.cfs_rq->rq->prev_steal_time_rq;
}

/* The slice of `task` on this CPU ends. */
ALWAYS_INLINE void settle(struct cpu_state *state, struct task_struct *task, __u64 now, __u64 stolen)
{
	__u64 since = subject_since(task), begin = state->since, without;
	struct task_struct___clock *clock = (void *)task;
	struct thread_time *time;
	__u64 *boundary;
	__u32 zero = 0;

	if (!begin || (!since && !is_worker(task)))
		return;
	time = time_of(task);
	boundary = bpf_map_lookup_elem(&boundaries, &zero);
	if (!time || !boundary) {
		state->lost++;
		return;
	}
	/* A thread that joined the subject within the slice. */
	if (since > begin)
		begin = since;
	if (now <= begin)
		return;
	without = since ? 0 : state->interrupts;
	without += stolen;
	__sync_fetch_and_add(&time->stolen, stolen);
	if (state->thread == (__u64)task->pid)
		__sync_fetch_and_add(&time->accounted, clock->se.sum_exec_runtime - state->accounted);
	if (time->boundary != *boundary)
		cut(time, *boundary, begin, now, without);
	if (since && with_children)
		bpf_probe_read_kernel_str(time->name, sizeof(time->name), task->group_leader->comm);
	/* Another CPU may run the thread already, so that two slices may end at once. */
	__sync_fetch_and_add(&time->interrupts, state->interrupts);
	if (now - begin > without)
		__sync_fetch_and_add(&time->time, now - begin - without);
}

/* The thread that was put on this CPU last, as far as is known, is one whose time counts. */
ALWAYS_INLINE bool counts_last(struct cpu_state *state)
{
	__u32 thread = state->thread;

	if (thread == 0 || state->flags & TASK_KERNEL_THREAD)
		return 0;
	if (subject_kind == SUBJECT_PROCESS)
		return is_subjects(state->process);
	return subject_kind == SUBJECT_MACHINE || bpf_map_lookup_elem(&lanes, &thread);
}

/* Another thread leaves the CPU than the one that was put on it: a switch between was missed, and how much of the time is whose
 * nobody knows. */
ALWAYS_INLINE void missed(struct cpu_state *state, struct task_struct *previous, __u64 now)
{
	if (state->since && state->thread != (__u64)previous->pid &&
	    (subject_since(previous) || counts_last(state)))
		state->unsure += now - state->since;
}

SECTION("tp_btf/sched_switch")
int totals_switch(__u64 *context)
{
	struct task_struct *previous = (void *)context[1];
	struct task_struct *next = (void *)context[2];
	struct cpu_state *state = this_cpu();
	__u64 now = bpf_ktime_get_ns();
	__u64 stolen = stolen_from(previous);

	if (!state)
		return 0;
	missed(state, previous, now);
	settle(state, previous, now, stolen - state->stolen);
	state->stolen = stolen;
	state->accounted = ((struct task_struct___clock *)next)->se.sum_exec_runtime;
	state->thread = next->pid;
	state->process = next->tgid;
	state->flags = next->flags;
	state->interrupts = 0;
	state->since = now;
	return 0;
}

/* A thread has ended: its time goes to its process. So does that of a process, when many have ended, to one place for all. */
SECTION("tp_btf/sched_process_free")
int totals_ends(__u64 *context)
{
	struct task_struct *task = (void *)context[0];
	__u32 thread = task->pid, into = task->tgid, zero = 0;
	struct thread_time *ended = bpf_map_lookup_elem(&threads, &thread), *whole, fresh;
	__u64 *kept = bpf_map_lookup_elem(&processes_ended, &zero);
	__u64 *boundary = bpf_map_lookup_elem(&boundaries, &zero);

	if (!ended || !kept || !boundary || ended->flags & (TASK_KERNEL_THREAD | TASK_IO_WORKER))
		return 0;
	if (thread == into) {
		if (*kept < PROCESSES_KEPT) {
			__sync_fetch_and_add(kept, 1);
			return 0;
		}
		into = 0;
	}
	fresh = *ended;
	bpf_map_delete_elem(&threads, &thread);
	whole = bpf_map_lookup_elem(&threads, &into);
	if (!whole) {
		fresh.process = into ? fresh.process : 0;
		bpf_map_update_elem(&threads, &into, &fresh, BPF_NOEXIST);
		return 0;
	}
	if (whole->boundary == *boundary) {
		bool is_cut = fresh.boundary == *boundary;

		__sync_fetch_and_add(&whole->time_before, is_cut ? fresh.time_before : fresh.time);
		__sync_fetch_and_add(&whole->interrupts_before, is_cut ? fresh.interrupts_before : fresh.interrupts);
	}
	__sync_fetch_and_add(&whole->stolen, fresh.stolen);
	__sync_fetch_and_add(&whole->accounted, fresh.accounted);
	__sync_fetch_and_add(&whole->time, fresh.time);
	__sync_fetch_and_add(&whole->interrupts, fresh.interrupts);
	return 0;
}

SECTION("tp_btf/irq_handler_entry")
int totals_interrupt_entry(__u64 *context)
{
	__u32 number = context[0];
	struct cpu_state *state;

	if (!bpf_map_lookup_elem(&device_interrupts, &number))
		return 0;
	state = this_cpu();
	if (state)
		state->interrupt_since = bpf_ktime_get_ns();
	return 0;
}

SECTION("tp_btf/irq_handler_exit")
int totals_interrupt_exit(__u64 *context)
{
	__u32 number = context[0];
	struct cpu_state *state;
	__u64 time;

	if (!bpf_map_lookup_elem(&device_interrupts, &number))
		return 0;
	state = this_cpu();
	if (!state || !state->interrupt_since)
		return 0;
	time = bpf_ktime_get_ns() - state->interrupt_since;
	state->interrupt_since = 0;
	state->interrupts += time;
	state->softirq_interrupts += time;
	if (!subject_since(bpf_get_current_task_btf()))
		state->outside_interrupts += time;
	return 0;
}

SECTION("tp_btf/softirq_entry")
int totals_softirq_entry(__u64 *context)
{
	struct cpu_state *state;

	if (context[0] != SOFTIRQ_BLOCK)
		return 0;
	state = this_cpu();
	if (!state)
		return 0;
	state->softirq_interrupts = 0;
	state->softirq_since = bpf_ktime_get_ns();
	return 0;
}

SECTION("tp_btf/softirq_exit")
int totals_softirq_exit(__u64 *context)
{
	struct cpu_state *state;
	__u64 time;

	if (context[0] != SOFTIRQ_BLOCK)
		return 0;
	state = this_cpu();
	if (!state || !state->softirq_since)
		return 0;
	time = bpf_ktime_get_ns() - state->softirq_since;
	state->softirq_since = 0;
	if (time < state->softirq_interrupts || subject_since(bpf_get_current_task_btf()))
		return 0;
	time -= state->softirq_interrupts;
	state->outside_softirqs += time;
	state->interrupts += time;
	return 0;
}

char LICENSE[] SECTION("license") = "Dual MIT/GPL";
