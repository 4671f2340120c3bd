/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What totals.bpf.c counts, shared in words with src/layers/totals.rs: every field is a __u64 there. */
#ifndef IOSTACK_TOTALS_H
#define IOSTACK_TOTALS_H

#include "kernel.h"

/* Whose time counts as the subject's. */
enum {
	SUBJECT_LANES = 0, /* threads in the map `lanes` */
	SUBJECT_PROCESS = 1, /* threads of one process */
	SUBJECT_MACHINE = 2, /* all threads that are not the kernel's */
};

/* include/linux/sched.h */
#define TASK_IO_WORKER 0x00000010
#define TASK_KERNEL_THREAD 0x00200000

/* Processes that ended and are told apart; more are told together. */
#define PROCESSES_KEPT 4096

/* include/linux/interrupt.h */
#define SOFTIRQ_BLOCK 4

/* One CPU: what runs on it, and what its interrupts took. */
struct cpu_state {
	__u64 since; /* when the thread got the CPU; 0 before the first switch */
	__u64 thread;
	__u64 process;
	__u64 flags;
	__u64 interrupts; /* of the device, since then */
	__u64 interrupt_since; /* entry of a device's interrupt; 0 outside */
	__u64 softirq_since; /* entry of the block softirq; 0 outside */
	__u64 softirq_interrupts; /* device's interrupts since that entry */
	__u64 outside_interrupts; /* of the device, while others than the subject had the CPU: ever */
	__u64 outside_softirqs; /* the block softirq, likewise */
	__u64 lost; /* slices of threads that found no place */
	__u64 events;
	__u64 unsure; /* time in which a switch from or to the subject was missed */
	__u64 stolen; /* by the hypervisor from this CPU, when the thread got it: ever */
	__u64 accounted; /* the thread's own account, then */
	__u64 padding;
};

/* One thread: of the subject, or the kernel's. */
struct thread_time {
	__u64 time; /* on CPUs; a kernel thread's without the device's interrupts */
	__u64 interrupts; /* of the device, in that time */
	__u64 process; /* as the reader numbers it */
	__u64 flags;
	__u64 boundary; /* the last one that a slice has ended after */
	__u64 time_before; /* of `time`, what lies before it */
	__u64 interrupts_before;
	char name[16];
	__u64 stolen; /* by the hypervisor, in that time: not part of it */
	__u64 accounted; /* the kernel's own account of it: from the wake-up on, and without what was stolen */
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq {
	__u64 prev_steal_time_rq; /* with CONFIG_PARAVIRT_TIME_ACCOUNTING */
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	__u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct task_struct___clock {
	struct sched_entity se;
};

#pragma clang attribute pop

#endif
