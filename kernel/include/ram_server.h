/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device's own processor: a kernel thread that serves requests in the order in which they came.
 *
 *   submitters ──llist──► thread: wait until due ──► serve()
 *
 * There is no state per request. Whoever must know that the thread holds no older request (error
 * handling, for instance) waits with ram_server_drain(): it queues a marker, and when the marker is
 * reached, nothing older is left.
 */
#ifndef IOSTACK_RAM_SERVER_H
#define IOSTACK_RAM_SERVER_H

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/llist.h>
#include <linux/sched.h>

/**
 * struct ram_request - one request, embedded in what the driver keeps for each command
 * @node: its place in the queue
 * @due_ns: when to serve it, on the monotonic clock; 0: at once
 * @drained: for a marker, whom to tell that it was reached; else NULL
 */
struct ram_request {
	struct llist_node node;
	u64 due_ns;
	struct completion *drained;
};

/**
 * struct ram_server - the thread and its queue
 * @queue: requests that nobody has looked at
 * @thread: who serves
 * @serve: performs and answers one request, and does not touch it after that
 */
struct ram_server {
	struct llist_head queue;
	struct task_struct *thread;
	void (*serve)(struct ram_request *request);
};

/**
 * ram_server_submit() - queue a request, in any context
 * @server: whom to give it to
 * @request: stays valid until served
 * @latency_ns: serve it no sooner than after that time
 */
static inline void ram_server_submit(struct ram_server *server, struct ram_request *request,
				     u32 latency_ns)
{
	request->due_ns = latency_ns ? ktime_get_ns() + latency_ns : 0;
	request->drained = NULL;
	if (llist_add(&request->node, &server->queue))
		wake_up_process(server->thread);
}

/**
 * ram_server_drain() - wait until everything that was submitted before has been served
 * @server: who serves
 *
 * Sleeps, at longest for the latency of the last request and the work before it.
 */
static inline void ram_server_drain(struct ram_server *server)
{
	DECLARE_COMPLETION_ONSTACK(drained);
	struct ram_request marker = { .drained = &drained };

	if (llist_add(&marker.node, &server->queue))
		wake_up_process(server->thread);
	wait_for_completion(&drained);
}

/* A submission wakes the thread before it is time: hence the loop. */
static inline void ram_server_wait(u64 due_ns)
{
	ktime_t due = ns_to_ktime(due_ns);

	while (ktime_before(ktime_get(), due)) {
		set_current_state(TASK_IDLE);
		schedule_hrtimeout(&due, HRTIMER_MODE_ABS);
	}
}

static inline void ram_server_batch(struct ram_server *server, struct llist_node *batch)
{
	struct ram_request *request, *next;

	llist_for_each_entry_safe(request, next, llist_reverse_order(batch), node) {
		if (request->drained) {
			complete(request->drained);
			continue;
		}
		if (request->due_ns)
			ram_server_wait(request->due_ns);
		server->serve(request);
	}
}

static inline int ram_server_main(void *data)
{
	struct ram_server *server = data;
	struct llist_node *batch;

	for (;;) {
		batch = llist_del_all(&server->queue);
		if (batch) {
			ram_server_batch(server, batch);
			cond_resched();
			continue;
		}
		if (kthread_should_stop())
			return 0;
		set_current_state(TASK_IDLE);
		if (llist_empty(&server->queue) && !kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
}

/**
 * ram_server_start() - start the thread
 * @server: what to initialise
 * @serve: what to do with each request
 * @cpu: where the thread shall run, or -1
 * @name: of the thread
 *
 * Return: 0, -EINVAL for a CPU that is not online, or what kthread_create() said.
 */
static inline int ram_server_start(struct ram_server *server,
				   void (*serve)(struct ram_request *request), int cpu,
				   const char *name)
{
	struct task_struct *thread;

	if (cpu < -1 || (cpu >= 0 && (cpu >= (int)nr_cpu_ids || !cpu_online(cpu))))
		return -EINVAL;
	init_llist_head(&server->queue);
	server->serve = serve;
	thread = kthread_create(ram_server_main, server, "%s", name);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	if (cpu >= 0)
		kthread_bind(thread, cpu);
	server->thread = thread;
	wake_up_process(thread);
	return 0;
}

/**
 * ram_server_stop() - end the thread; what is queued is served before
 * @server: whom nobody will submit to any more
 */
static inline void ram_server_stop(struct ram_server *server)
{
	kthread_stop(server->thread);
}

#endif
