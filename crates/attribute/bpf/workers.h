/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Threads that work for the subject: which request does a worker of io_uring work on, whose bio was held back?
 *
 *   task ──► worker ──► its current work ──► the request around it
 *   bio that a worker of the kernel queues ──► who waits for it
 *
 * Part of stages.bpf.c, behind its maps.
 */
#ifndef IOSTACK_WORKERS_H
#define IOSTACK_WORKERS_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct io_wq_work {
	int flags;
};

struct io_worker {
	struct io_wq_work *cur_work;
};

struct io_kiocb___work {
	struct io_wq_work work;
	/* Until 6.12. */
	struct task_struct *task;
};

#pragma clang attribute pop

/* The request that a worker is at; 0 for none, and for the thread that polls for submissions. */
ALWAYS_INLINE struct io_kiocb *worked_on(struct task_struct *task)
{
	struct io_wq_work *work = 0;
	struct io_worker *worker;

	if (!(task->flags & PF_IO_WORKER) || !field_exists(task->worker_private) || !type_exists(struct io_worker))
		return 0;
	worker = task->worker_private;
	if (!worker || bpf_probe_read_kernel(&work, sizeof(work), &worker->cur_work) || !work)
		return 0;
	return (void *)work - field_offset(struct io_kiocb___work, work);
}

/* The slot of our own load whose request this is. */
ALWAYS_INLINE struct slot *asked_slot(struct io_kiocb *request, __u32 *index)
{
	struct io_kiocb___work *older = (void *)request;
	struct io_uring_task *ring = 0;
	struct task_struct *owner = 0;
	struct lane *lane;
	__u64 within = 0;
	int thread = 0;

	if (!field_exists(request->tctx))
		bpf_probe_read_kernel(&owner, sizeof(owner), &older->task);
	else if (!bpf_probe_read_kernel(&ring, sizeof(ring), &request->tctx) && ring)
		bpf_probe_read_kernel(&owner, sizeof(owner), &ring->task);
	if (!owner || bpf_probe_read_kernel(&thread, sizeof(thread), &owner->pid) ||
	    bpf_probe_read_kernel(&within, sizeof(within), &request->cqe.user_data))
		return 0;
	lane = lane_of(thread);
	if (!lane || lane->carrier != CARRIER_URING || within >= lane->slot_count)
		return 0;
	*index = lane->slot_first + within;
	return bpf_map_lookup_elem(&slots, index);
}

/* Finds the I/O of a bio that a worker queues: what cannot be done without waiting is left to them. */
ALWAYS_INLINE void find_punted(struct io_kiocb *request, struct flight *flight)
{
	__u64 key = (__u64)request;
	__u32 index = 0;
	struct slot *slot;

	if (foreign) {
		take_bio(bpf_map_lookup_elem(&flights, &key), flight, OWNER_FLIGHT, key);
	} else {
		slot = asked_slot(request, &index);
		take_bio(slot, flight, OWNER_SLOT, index);
	}
}

/* The lane of a thread that may wait for a bio; 0 when it is none, or not in a call: the memory was another's. */
ALWAYS_INLINE struct lane *waiting_lane(struct task_struct *waiter)
{
	__u32 thread = 0, process = 0;
	struct lane *lane;

	if (!waiter || bpf_probe_read_kernel(&thread, sizeof(thread), &waiter->pid) ||
	    bpf_probe_read_kernel(&process, sizeof(process), &waiter->tgid) || !is_subjects(process))
		return 0;
	lane = lane_of(thread);
	return lane && lane->call == CALL_SPAN ? lane : (void *)0;
}

/* A worker of the kernel queues a bio that was held back for a thread of the subject, which waits for it: in iomap's direct
 * I/O, or in submit_bio_wait. */
ALWAYS_INLINE void find_held(struct task_struct *worker, struct bio *bio, struct flight *flight)
{
	struct completion *completion = bio->bi_private;
	struct iomap_dio *dio = bio->bi_private;
	struct task_struct *waiter = 0;
	struct lane *lane = 0;
	struct slot *slot;
	void *entry = 0;
	__u32 index;
	__u64 since;

	if (type_exists(struct iomap_dio) && !bpf_probe_read_kernel(&waiter, sizeof(waiter), &dio->submit.waiter))
		lane = waiting_lane(waiter);
	if (!lane && !bpf_probe_read_kernel(&entry, sizeof(entry), &completion->wait.task_list.next) && entry &&
	    !bpf_probe_read_kernel(&waiter, sizeof(waiter),
				   entry - field_offset(struct swait_queue, task_list) +
					   field_offset(struct swait_queue, task)))
		lane = waiting_lane(waiter);
	if (!lane)
		return;
	index = lane->slot_first;
	slot = bpf_map_lookup_elem(&slots, &index);
	if (!slot || !slot->entry)
		return;
	since = lane->off > slot->complete ? lane->off : slot->complete;
	if (lane->asleep && slot->bios == slot->ended && since > slot->entry && flight->queue > since) {
		slot->slept += flight->queue - since;
		note_wait(worker, 0, flight->queue - since);
	}
	take_bio(slot, flight, OWNER_SLOT, index);
}

#endif
