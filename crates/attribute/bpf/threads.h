/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * When the subject's threads sleep, wake, and lose their CPU.
 *
 *   switch out: asleep ──► waking (who woke it: the journal?; where did it sleep?) ──► switch in: on
 *   switch out: ready  ──► switch in: preempted; on the way back from a call, its I/Os came only now
 *
 * Part of stages.bpf.c, behind its maps.
 */
#ifndef IOSTACK_THREADS_H
#define IOSTACK_THREADS_H

/* The first letters of a name. Written out: a comparison of texts would be a call. */
ALWAYS_INLINE bool begins(const char *name, char a, char b, char c, char d, char e, char f)
{
	return name[0] == a && name[1] == b && name[2] == c && name[3] == d && name[4] == e && (!f || name[5] == f);
}

/* The queue that a worker of the kernel works for now is one of XFS's log. */
ALWAYS_INLINE bool works_for_journal(struct task_struct *worker)
{
	struct pool_workqueue *pool = 0;
	struct workqueue_struct *queue = 0;
	struct kthread *thread = 0;
	struct worker *data = 0;
	char name[8] = {};

	if (!field_exists(worker->worker_private) || !type_exists(struct kthread))
		return 0;
	thread = worker->worker_private;
	if (bpf_probe_read_kernel(&data, sizeof(data), &thread->data) || !data ||
	    bpf_probe_read_kernel(&pool, sizeof(pool), &data->current_pwq) || !pool ||
	    bpf_probe_read_kernel(&queue, sizeof(queue), &pool->wq) || !queue ||
	    bpf_probe_read_kernel(name, sizeof(name), queue->name))
		return 0;
	return begins(name, 'x', 'f', 's', '-', 'l', 'o') || begins(name, 'x', 'f', 's', '-', 'c', 'i') ||
	       begins(name, 'x', 'f', 's', '-', 's', 'y');
}

/* Who wakes is a thread of a file system's journal. An interrupt that wakes from above one wakes for a bio of the I/O's
 * own, or soon after it: what it is taken for is short. */
ALWAYS_INLINE bool is_journal(struct task_struct *waker)
{
	char name[8] = {};

	if (!(waker->flags & PF_KTHREAD))
		return 0;
	if (waker->flags & PF_WQ_WORKER)
		return works_for_journal(waker);
	if (bpf_probe_read_kernel(name, sizeof(name), waker->comm))
		return 0;
	return begins(name, 'j', 'b', 'd', '2', '/', 0) ||
	       (begins(name, 'b', 't', 'r', 'f', 's', '-') && name[6] == 't');
}

/* The end of its last bio wakes a thread within this time; what takes longer is another's work. */
#define WAKE_NS 10000
/* The program itself, and what calls it. */
#define SKIPPED_FRAMES 2

/* The slot of the I/O that a thread is at. */
ALWAYS_INLINE struct slot *slot_at_work(struct task_struct *task, struct lane *lane)
{
	struct io_kiocb *request = worked_on(task);
	__u64 key = (__u64)request;
	__u32 index = lane->slot_first;

	if (!foreign && lane->carrier != CARRIER_CALL)
		return 0;
	return request ? bpf_map_lookup_elem(&flights, &key) : bpf_map_lookup_elem(&slots, &index);
}

/* A sleep of a thread ends. What an I/O slept while no bio of it was out, or none came back, it waited for something else. */
ALWAYS_INLINE void sleep_ends(struct task_struct *task, struct lane *lane, __u64 now)
{
	struct slot *slot = slot_at_work(task, lane);
	__u32 index = lane->slot_first;
	__u64 since;

	if (!slot || !slot->entry || (slot->bios != slot->ended && slot->ended))
		return;
	since = lane->off > slot->complete ? lane->off : slot->complete;
	if (since < slot->entry || since >= now)
		return;
	if (slot->bios != slot->ended)
		slot->beside += now - since;
	else if (is_journal(bpf_get_current_task_btf()))
		slot->journal += now - since;
	else if (slot->complete > lane->off && now - since < WAKE_NS)
		return;
	if (slot->bios == slot->ended)
		slot->slept += now - since;
	if (foreign)
		note_wait(task, bpf_map_lookup_elem(&places, &index), now - since);
}

SECTION("tp_btf/sched_waking")
int sched_waking(__u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct lane *lane;
	__u64 now;

	this_cpu();
	if (!is_subjects(task->tgid))
		return 0;
	lane = lane_of(task->pid);
	if (!lane)
		return 0;
	now = bpf_ktime_get_ns();
	lane->waking = now;
	if (lane->asleep) {
		lane->asleep = 0;
		sleep_ends(task, lane, now);
	}
	return 0;
}

/* A thread that leaves the CPU of its own will. One that is moved off it on its way back to user space is not called
 * preempted, but it is running still. */
ALWAYS_INLINE int sleeps(struct task_struct *task, __u64 preempted)
{
	if (preempted)
		return 0;
	return field_exists(task->__state) ? task->__state != 0 : 1;
}

/* A foreign thread is moved off its CPU after a call that handed I/Os over: on its way back to user space it still has
 * the registers of that call, from user space those of the interrupt. */
ALWAYS_INLINE void leaves_returning(struct lane *lane)
{
	struct pt_regs *registers = (void *)lane->registers;
	__u64 number = 0;

	if (bpf_probe_read_kernel(&number, sizeof(number), &registers->orig_ax) || number != lane->number)
		lane->exit = 0;
	else
		lane->returning = 1;
}

/* It goes on: the I/Os came back to user space now, not at the exit that was told. */
ALWAYS_INLINE void goes_on_returning(struct lane *lane, __u64 now)
{
	struct record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);

	lane->returning = 0;
	if (!record) {
		count(LOST_RECORDS);
		return;
	}
	__builtin_memset(record, 0, sizeof(*record));
	record->kind = RECORD_RETURN;
	record->device = lane->slot_first;
	record->slot.entry = lane->exit;
	record->exit = now;
	record->preempted = lane->preempted;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	lane->exit = now;
}

/* Notes where a thread goes to sleep inside an I/O, none of whose bios will wake it. */
ALWAYS_INLINE void note_place(__u64 *context, struct task_struct *task, struct lane *lane)
{
	struct slot *slot = slot_at_work(task, lane);
	__u32 index = lane->slot_first;
	struct wait_key *place = bpf_map_lookup_elem(&places, &index);

	if (!place)
		return;
	place->frames[0] = 0;
	if (!slot || !slot->entry || slot->bios != slot->ended)
		return;
	__builtin_memset(place, 0, sizeof(*place));
	bpf_get_stack(context, place->frames, sizeof(place->frames), SKIPPED_FRAMES);
}

ALWAYS_INLINE void leaves_cpu(__u64 *context, struct task_struct *task, struct lane *lane, int to_sleep, __u64 now)
{
	if (to_sleep) {
		fault_sleeps(task, lane);
		if (foreign)
			note_place(context, task, lane);
		lane->off = now;
		lane->asleep = 1;
		lane->exit = 0;
		return;
	}
	lane->out = now;
	if (lane->exit)
		leaves_returning(lane);
}

ALWAYS_INLINE void gets_cpu(struct task_struct *task, struct lane *lane, __u64 now)
{
	__u64 out = lane->out;
	struct slot *slot;

	lane->asleep = 0;
	if (!out) {
		lane->on = now;
		slot = slot_at_work(task, lane);
		if (slot && slot->entry && slot->bios == slot->ended && lane->waking > slot->entry &&
		    lane->waking > slot->complete)
			slot->switched += now - lane->waking;
		return;
	}
	lane->out = 0;
	lane->preempted += now - out;
	if (lane->returning)
		goes_on_returning(lane, now);
}

SECTION("tp_btf/sched_switch")
int sched_switch(__u64 *context)
{
	struct task_struct *previous, *next;
	struct cpu *cpu = this_cpu();
	struct lane *lane;
	__u64 now;

	if (!cpu)
		return 0;
	/* Two pairs of loads, kept apart as in `first_argument`. */
	if (switch_argument) {
		previous = (void *)context[2];
		next = (void *)context[3];
		BARRIER();
	} else {
		previous = (void *)context[1];
		next = (void *)context[2];
	}
	cpu->irq_last = 0;
	now = bpf_ktime_get_ns();
	door_closes(cpu, now);
	if (!subject)
		return 0;
	if (is_subjects(previous->tgid)) {
		/* A worker of io_uring makes no call. */
		if (foreign && worked_on(previous))
			lane = lane_made(previous->pid, previous->tgid);
		else
			lane = lane_of(previous->pid);
		if (lane)
			leaves_cpu(context, previous, lane, sleeps(previous, context[0]), now);
	}
	if (is_subjects(next->tgid)) {
		lane = lane_of(next->pid);
		if (lane)
			gets_cpu(next, lane, now);
	}
	return 0;
}

#endif
