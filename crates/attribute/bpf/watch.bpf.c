/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The whole host, always on: every I/O gets an owner, and is added up where it ends.
 *
 *   bio queued: whose? ──► issued ──► ended ──► folds: owner x device x kind    heats: device x latency
 *                                       └─ slower than all but one of a thousand ──► events
 *   asleep ──► woken (by whom?) ──► on a CPU (behind whom?) ──► waits: process;  long ones with their stack ──► events
 *
 * No I/O makes a record, unless it is slow. Of a request the first bio's owner gets the I/O, each bio's owner its bytes, so
 * that sums are those of /proc/diskstats.
 */
#include "watch.h"

/* What bios.h keeps of each bio. */
struct flight {
	__u64 bio;
	struct owner owner;
	__u32 device;
	/* Of the device in `devices`. */
	__u32 place;
	__u32 kind;
	__u64 left;
	__u64 held;
	__u64 queue;
	__u64 insert;
	__u64 issue;
	__u64 in_flight;
	/* What had ended on the device when it was queued. */
	__u64 ended;
};
#define FLIGHT_DEFINED

#include "bios.h"

/* Places of arguments that differ between kernels; see stages.bpf.c. */
const volatile __u64 queue_argument;
const volatile __u64 insert_argument;
const volatile __u64 issue_argument;
const volatile __u64 complete_argument;
const volatile __u64 switch_argument;
/* Address of blk_throtl_dispatch_work_fn; 0 unknown. */
const volatile __u64 throttle_work;
/* Address of delayed_work_timer_fn; 0 unknown. */
const volatile __u64 timer_work;
/* The watcher itself is left out of the waits. */
const volatile __u64 watcher;
/* I/Os and sleeps from here on are told, ns; 0: what one of a thousand passes. */
const volatile __u64 slow_from;

#define CHAIN_MAX 256
#define BLK_STS_AGAIN 12
#define PF_IO_WORKER 0x10
#define PF_WQ_WORKER 0x20
#define PF_KSWAPD 0x20000
#define PF_KTHREAD 0x200000
#define STATE_ASLEEP 0x2
#define STATE_NO_LOAD 0x400
#define S_IFMT 0170000
#define S_IFBLK 0060000
/* include/linux/blk_types.h */
#define REQ_OP_MASK 0xff
#define REQ_META (1 << 12)
#define REQ_PREFLUSH (1 << 18)
#define REQ_RAHEAD (1 << 19)
#define REQ_SWAP (1 << 24)
#define THREADS 65536
#define WAKE_FRAMES 16
/* bpf_get_stackid: a stack replaces another of the same place. */
#define REUSE_STACK (1 << 10)

enum program { QUEUES, INSERTS, ISSUES, BIO_ENDS, REQUEST_ENDS, DIRTIES, WORKS, RUNS, PROGRAMS };

struct cpu {
	__u64 events;
	__u64 address[PROGRAMS];
};

/* A thread: for whom a kernel's works now, and the sleep of any. */
struct thread {
	__u32 number;
	__u32 acts;
	struct owner acting;
	__u64 asleep;
	__u64 woken;
	/* When it fell asleep the last time. */
	__u64 last;
	/* Since when a thread of the kernel has a CPU for whom it acts. */
	__u64 on;
	/* Number of the stack that woke it, and 1; 0: none is kept. */
	__u32 wake_stack;
	__u32 unused;
	char waker_name[16];
};

struct device {
	/* 0: the place is free. */
	__u64 number;
	__u64 in_flight;
	/* Bios so far, and from bit ENDED_BITS on their sectors; two CPUs may count one for both. */
	__u64 ended;
	/* Latency that one of a thousand passes: of reads, of others; 0: not known yet. */
	__u64 limits[2];
	__u64 flush_since;
	/* Who asked for a flush last. */
	struct owner flusher;
};

/* The process with most handles in a transaction, by the majority's vote: those of others count against it. */
struct vote {
	struct owner owner;
	__u64 lead;
};

struct name {
	char text[16];
};

struct transaction_key {
	__u32 device;
	__u32 number;
};

#define TABLE(name, kind, entries, key_type, value_type) \
	struct { \
		MAP_TYPE(kind); \
		MAP_ENTRIES(entries); \
		MAP_KEY(key_type); \
		MAP_VALUE(value_type); \
	} name SECTION(".maps")

TABLE(cpus, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, struct cpu);
TABLE(folds, BPF_MAP_TYPE_PERCPU_HASH, 4096, struct fold_key, struct fold);
/* Two to each place of `devices`: reads, all others. */
TABLE(heats, BPF_MAP_TYPE_PERCPU_ARRAY, 2 * DEVICES, __u32, struct heat);
TABLE(waits, BPF_MAP_TYPE_PERCPU_HASH, 4096, struct wait_key, struct wait);
TABLE(devices, BPF_MAP_TYPE_ARRAY, DEVICES, __u32, struct device);
TABLE(threads, BPF_MAP_TYPE_ARRAY, THREADS, __u32, struct thread);
/* Who dirtied an inode last, by its address. */
TABLE(dirtiers, BPF_MAP_TYPE_LRU_HASH, 16384, __u64, struct owner);
/* Who queued a work, by its address. */
TABLE(works, BPF_MAP_TYPE_LRU_HASH, 16384, __u64, struct owner);
TABLE(votes, BPF_MAP_TYPE_LRU_HASH, 1024, struct transaction_key, struct vote);
/* Names of processes that have ended. */
TABLE(names, BPF_MAP_TYPE_LRU_HASH, 8192, __u32, struct name);
/* 0: events lost; 1: bios lost; 2: rows lost; 3: limit of sleeps, ns */
TABLE(counters, BPF_MAP_TYPE_ARRAY, 4, __u32, __u64);

static long (*bpf_get_stackid)(void *context, void *map, __u64 flags) = (void *)27;

/* include/uapi/linux/bpf.h */
#define BPF_MAP_TYPE_STACK_TRACE 7
/* Stacks that woke long sleepers. */
struct wake_stack {
	__u64 frames[WAKE_FRAMES];
};
TABLE(wake_stacks, BPF_MAP_TYPE_STACK_TRACE, 1024, __u32, struct wake_stack);

struct {
	MAP_TYPE(BPF_MAP_TYPE_RINGBUF);
	MAP_ENTRIES(1 << 20);
} events SECTION(".maps");

static void count(__u32 which)
{
	__u64 *counter = bpf_map_lookup_elem(&counters, &which);

	if (counter)
		__sync_fetch_and_add(counter, 1);
}

ALWAYS_INLINE struct cpu *this_cpu(void)
{
	__u32 zero = 0;
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &zero);

	if (cpu)
		cpu->events++;
	return cpu;
}

/* An address as a number; see stages.bpf.c. */
ALWAYS_INLINE __u64 address_of(struct cpu *cpu, enum program program, void *object)
{
	volatile __u64 *address = &cpu->address[program];

	*address = (__u64)object;
	return *address;
}

/* The place of a thread, taken over from another of the same lower bits. */
ALWAYS_INLINE struct thread *thread_of(__u32 number)
{
	__u32 place = number & (THREADS - 1);
	struct thread *thread = bpf_map_lookup_elem(&threads, &place);

	if (thread && thread->number != number) {
		thread->number = number;
		thread->acts = 0;
		thread->asleep = 0;
		thread->woken = 0;
		thread->last = 0;
		thread->on = 0;
	}
	return thread;
}

ALWAYS_INLINE __u64 cgroup_number(struct cgroup *cgroup)
{
	return cgroup->kn->id | (__u64)cgroup->root->hierarchy_id << 48;
}

/* The thread group of a task, and its cgroup. */
ALWAYS_INLINE struct owner owner_of(struct task_struct *task)
{
	struct owner owner = { .process = task->tgid };

	owner.cgroup = cgroup_number(task->cgroups->dfl_cgrp);
	owner.how = task->flags & PF_IO_WORKER ? HOW_IO_WORKER : HOW_SELF;
	return owner;
}

/* The row of an owner; 0 when there is no room. */
ALWAYS_INLINE struct wait *wait_of(struct owner *owner)
{
	struct wait_key key = { .cgroup = owner->cgroup, .process = owner->process };
	struct wait *wait = bpf_map_lookup_elem(&waits, &key), fresh = {};

	if (wait)
		return wait;
	bpf_map_update_elem(&waits, &key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&waits, &key);
}

/* A thread of the kernel leaves its CPU, or what it did for another: the time is the other's. */
ALWAYS_INLINE void charge(struct thread *thread, __u64 now)
{
	struct wait *wait;

	if (thread->on && thread->acts && thread->acting.process) {
		wait = wait_of(&thread->acting);
		if (wait)
			wait->worked += now - thread->on;
	}
	thread->on = 0;
}

/* For whom a thread works: itself, or of the kernel's, whoever it acts for; false when nobody is known. */
ALWAYS_INLINE bool works_for(struct task_struct *task, struct owner *owner)
{
	struct thread *thread;

	if (!(task->flags & PF_KTHREAD)) {
		*owner = owner_of(task);
		return 1;
	}
	thread = thread_of(task->pid);
	if (!thread || !thread->acts)
		return 0;
	*owner = thread->acting;
	/* Else the loads of both ways become one, which the verifier refuses: their memory is of two kinds. */
	BARRIER();
	return 1;
}

/* The inode whose data a bio carries, as a number; 0 for none. A file system's own blocks say so in `own`. */
ALWAYS_INLINE __u64 inode_of(struct bio *bio, bool *own)
{
	__u64 page = 0, head = 0, mapping = 0, inode = 0;
	struct bio_vec *vectors = 0;
	struct page *first;
	__u16 mode = 0;

	vectors = bio->bi_io_vec;
	if (!vectors || bpf_probe_read_kernel(&page, sizeof(page), &vectors->bv_page) || !page)
		return 0;
	first = (void *)page;
	if (bpf_probe_read_kernel(&head, sizeof(head), &first->compound_head))
		return 0;
	if (head & 1)
		first = (void *)(head - 1);
	if (bpf_probe_read_kernel(&mapping, sizeof(mapping), &first->mapping) || !mapping || mapping & 3)
		return 0;
	if (bpf_probe_read_kernel(&inode, sizeof(inode), &((struct address_space *)mapping)->host) || !inode)
		return 0;
	bpf_probe_read_kernel(&mode, sizeof(mode), &((struct inode *)inode)->i_mode);
	*own = (mode & S_IFMT) == S_IFBLK;
	return inode;
}

/* A task that may wait for a bio: true when it is a thread that sleeps, so that the memory was no other. */
ALWAYS_INLINE bool is_waiter(struct task_struct *waiter, struct owner *owner, __u64 *since)
{
	int number = 0, process = 0;
	struct thread *thread;

	if (bpf_probe_read_kernel(&number, sizeof(number), &waiter->pid) ||
	    bpf_probe_read_kernel(&process, sizeof(process), &waiter->tgid) || number <= 0)
		return 0;
	thread = thread_of(number);
	if (!thread || !thread->asleep)
		return 0;
	owner->process = process;
	*since = thread->asleep;
	return 1;
}

/* The thread that waits for a bio which another queues: of direct I/O by iomap, or in submit_bio_wait. */
ALWAYS_INLINE void find_waiter(struct bio *bio, struct owner *owner, __u64 *since)
{
	struct completion *done = bio->bi_private;
	struct iomap_dio *dio = bio->bi_private;
	struct task_struct *waiter = 0;
	struct list_head *entry = 0;

	owner->process = 0;
	if (type_exists(struct iomap_dio) && !bpf_probe_read_kernel(&waiter, sizeof(waiter), &dio->submit.waiter) &&
	    waiter && is_waiter(waiter, owner, since))
		return;
	if (bpf_probe_read_kernel(&entry, sizeof(entry), &done->wait.task_list.next) || !entry)
		return;
	waiter = 0;
	if (!bpf_probe_read_kernel(&waiter, sizeof(waiter),
				   (void *)entry - field_offset(struct swait_queue, task_list) +
					   field_offset(struct swait_queue, task)) &&
	    waiter)
		is_waiter(waiter, owner, since);
}

/* Whose is a bio that a thread of the kernel queues? */
ALWAYS_INLINE void owner_behind(struct bio *bio, struct task_struct *task, struct flight *flight)
{
	struct thread *thread = thread_of(task->pid);
	struct owner *known;
	bool own = 0;
	__u64 inode;

	flight->owner.process = task->tgid;
	flight->owner.how = task->flags & PF_KSWAPD ? HOW_RECLAIM : HOW_KERNEL;
	if (thread && thread->acts && thread->acting.how == HOW_THROTTLED) {
		flight->owner.how = HOW_THROTTLED;
		find_waiter(bio, &flight->owner, &flight->held);
		if (flight->owner.process || flight->kind != IO_WRITE)
			return;
	}
	if (flight->kind == IO_WRITE || flight->kind == IO_META) {
		inode = inode_of(bio, &own);
		known = own ? 0 : bpf_map_lookup_elem(&dirtiers, &inode);
		if (known && flight->owner.how == HOW_THROTTLED) {
			flight->owner.process = known->process;
			return;
		}
		if (known) {
			flight->owner = *known;
			flight->owner.how = HOW_WRITE_BACK;
			return;
		}
	}
	if (flight->owner.how == HOW_THROTTLED)
		return;
	if (thread && thread->acts)
		flight->owner = thread->acting;
	else if (own)
		flight->owner.how = HOW_METADATA;
}

ALWAYS_INLINE __u32 kind_of(__u32 flags, __u32 bytes)
{
	__u32 operation = flags & REQ_OP_MASK;

	if (!bytes && (operation == 2 || flags & REQ_PREFLUSH))
		return IO_FLUSH;
	if (operation == 3 || operation == 5 || operation == 9)
		return IO_DISCARD;
	if (operation > 1)
		return IO_OTHER;
	if (flags & REQ_SWAP)
		return IO_SWAP;
	if (flags & REQ_META)
		return IO_META;
	if (operation == 1)
		return IO_WRITE;
	return flags & REQ_RAHEAD ? IO_AHEAD : IO_READ;
}

ALWAYS_INLINE __u32 disk_number(struct gendisk *disk)
{
	return (__u32)disk->major << 20 | disk->first_minor;
}

ALWAYS_INLINE struct device *device_at(__u32 place)
{
	return bpf_map_lookup_elem(&devices, &place);
}

/* The place of a device, taken when it is met first; DEVICES when none is left. Arrays are looked up without a call and
 * without a lock, which a kernel hash is not. Global, so that the verifier looks at it once. */
__attribute__((noinline)) __u32 device_place(__u32 number)
{
	__u32 step;

	for (step = 0; step < DEVICES; step++) {
		__u32 place = (number + (number >> 20) + step) & (DEVICES - 1);
		struct device *device = device_at(place);
		__u64 found;

		if (!device)
			break;
		found = device->number ? device->number : __sync_val_compare_and_swap(&device->number, 0, number);
		if (!found || found == number)
			return place;
	}
	return DEVICES;
}

ALWAYS_INLINE struct device *device_of(__u32 number)
{
	return device_at(device_place(number));
}

SECTION("tp_btf/block_bio_queue")
int watch_bio_queue(__u64 *context)
{
	struct bio *bio = first_argument(context, queue_argument);
	struct cpu *cpu = this_cpu();
	struct flight flight = {}, *place;
	struct task_struct *task;
	struct device *device;
	struct blkcg_gq *group;

	if (!cpu)
		return 0;
	task = bpf_get_current_task_btf();
	flight.bio = address_of(cpu, QUEUES, bio);
	flight.queue = bpf_ktime_get_ns();
	flight.left = bio->bi_iter.bi_size;
	flight.kind = kind_of(bio->bi_opf, bio->bi_iter.bi_size);
	flight.device = disk_number(bio->bi_bdev->bd_disk);
	if (task->flags & PF_KTHREAD)
		owner_behind(bio, task, &flight);
	else
		flight.owner = owner_of(task);
	/* The group that the kernel charges, where there is one below the root. */
	group = bio->bi_blkg;
	if (group) {
		struct cgroup *cgroup = group->blkcg->css.cgroup;

		if (cgroup && cgroup->kn->id > 1)
			flight.owner.cgroup = cgroup_number(cgroup);
	}
	flight.place = device_place(flight.device);
	device = device_at(flight.place);
	if (device) {
		flight.in_flight = device->in_flight;
		flight.ended = device->ended;
		if (bio->bi_opf & REQ_PREFLUSH)
			device->flusher = flight.owner;
		__sync_fetch_and_add(&device->in_flight, 1);
	}
	place = new_flight(flight.bio, flight.queue);
	if (place)
		*place = flight;
	else
		count(1);
	return 0;
}

ALWAYS_INLINE struct flight *flight_of(struct cpu *cpu, enum program program, struct bio *bio)
{
	struct flight *flight = find_flight(address_of(cpu, program, bio));

	return flight ? flight : find_flight(address_of(cpu, program, bio->bi_private));
}

SECTION("tp_btf/block_rq_insert")
int watch_insert(__u64 *context)
{
	struct request *request = first_argument(context, insert_argument);
	struct cpu *cpu = this_cpu();
	struct bio *bio = request->bio;
	struct flight *flight;

	if (!cpu || !bio)
		return 0;
	flight = flight_of(cpu, INSERTS, bio);
	if (flight)
		flight->insert = bpf_ktime_get_ns();
	return 0;
}

SECTION("tp_btf/block_rq_issue")
int watch_issue(__u64 *context)
{
	struct request *request = first_argument(context, issue_argument);
	struct cpu *cpu = this_cpu();
	struct bio *bio = request->bio;
	struct flight *flight;
	struct device *device;

	if (!cpu)
		return 0;
	if (bio) {
		flight = flight_of(cpu, ISSUES, bio);
		if (flight)
			flight->issue = bpf_ktime_get_ns();
	} else if ((request->cmd_flags & REQ_OP_MASK) == 2) {
		device = device_of(disk_number(request->q->disk));
		if (device)
			device->flush_since = bpf_ktime_get_ns();
	}
	return 0;
}

/* The cell of a latency, as in crates/model/src/heat.rs: four to the octave from 64 ns on. */
ALWAYS_INLINE __u32 cell_of(__u64 ns)
{
	__u32 octave = 0, cell;
	__u64 rest = ns;

	if (ns < 64)
		return ns >> 4;
#pragma unroll
	for (__u32 step = 32; step; step >>= 1)
		if (rest >> step) {
			rest >>= step;
			octave += step;
		}
	cell = 4 * (octave - 5) + ((ns >> (octave - 2)) & 3);
	return cell < CELLS ? cell : CELLS - 1;
}

ALWAYS_INLINE void add(struct flight *flight, __u64 ios, __u64 bytes, __u64 now)
{
	struct fold_key key = { .owner = flight->owner, .device = flight->device, .kind = flight->kind };
	__u64 left;
	struct fold *fold = bpf_map_lookup_elem(&folds, &key);
	struct fold fresh = {};

	if (!fold) {
		if (bpf_map_update_elem(&folds, &key, &fresh, BPF_NOEXIST))
			count(2);
		fold = bpf_map_lookup_elem(&folds, &key);
		if (!fold)
			return;
	}
	fold->bytes += bytes;
	if (!ios)
		return;
	fold->ios += ios;
	if (!flight->queue)
		return;
	/* A device without requests has no issue: all is its own. */
	left = flight->issue ? flight->issue : flight->queue;
	fold->queue += left - flight->queue;
	fold->device += now - left;
	if (now - flight->queue > fold->slowest)
		fold->slowest = now - flight->queue;
}

ALWAYS_INLINE void heat_up(__u32 place, __u32 direction, __u64 ns)
{
	__u32 cell = cell_of(ns), which = 2 * place + direction;
	struct heat *heat = bpf_map_lookup_elem(&heats, &which);

	if (heat && cell < CELLS)
		heat->cells[cell]++;
}

/* True for one of a thousand: the limit rises by a 32nd at each of these, and falls by a 32,768th at each other. */
ALWAYS_INLINE bool is_slow(__u64 *limit, __u64 ns)
{
	__u64 at = *limit ? *limit : 1000000;

	if (slow_from)
		return ns >= slow_from;
	if (ns > at) {
		*limit = at + (at >> 5);
		return 1;
	}
	*limit = at - (at >> 15);
	return 0;
}

ALWAYS_INLINE void tell_io(struct flight *flight, struct device *device, __u64 bytes, __u64 now)
{
	struct told_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count(0);
		return;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->what = flight->kind == IO_DISCARD ? TOLD_DISCARD : TOLD_IO;
	event->owner = flight->owner;
	event->device = flight->device;
	event->kind = flight->kind;
	event->bytes = bytes;
	event->ended = device->ended - flight->ended;
	event->held = flight->held;
	event->queue = flight->queue;
	event->insert = flight->insert;
	event->issue = flight->issue;
	event->complete = now;
	event->in_flight = flight->in_flight;
	event->cpu = bpf_get_smp_processor_id();
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* The first bio of a request, or one without a request, has ended. */
ALWAYS_INLINE void io_ends(struct flight *flight, __u64 bytes, __u64 now)
{
	__u32 direction = flight->kind == IO_READ || flight->kind == IO_AHEAD ? 0 : 1;
	struct device *device = device_at(flight->place);
	__u64 since = flight->held ? flight->held : flight->queue;

	heat_up(flight->place, direction, now - flight->queue);
	if (device && (is_slow(&device->limits[direction], now - since) || flight->kind == IO_DISCARD ||
		       (flight->held && now - since > 1000000)))
		tell_io(flight, device, bytes, now);
}

/* A bio leaves the device. */
ALWAYS_INLINE void leaves(struct flight *flight)
{
	struct device *device = device_at(flight->place);

	if (device && device->in_flight) {
		__sync_fetch_and_add(&device->in_flight, -1ULL);
		device->ended += 1 + (flight->left >> 9 << ENDED_BITS);
	}
	flight->bio = 0;
}

SECTION("tp_btf/block_bio_complete")
int watch_bio_complete(__u64 *context)
{
	struct bio *bio = first_argument(context, complete_argument);
	struct cpu *cpu = this_cpu();
	struct flight *flight;
	__u64 now;

	if (!cpu)
		return 0;
	flight = find_flight(address_of(cpu, BIO_ENDS, bio));
	if (!flight)
		return 0;
	if (bio->bi_status != BLK_STS_AGAIN) {
		now = bpf_ktime_get_ns();
		add(flight, 1, flight->left, now);
		io_ends(flight, flight->left, now);
	}
	leaves(flight);
	return 0;
}

ALWAYS_INLINE void flush_ends(struct request *request)
{
	__u32 number = disk_number(request->q->disk);
	struct device *device = device_of(number);
	struct told_event *event;

	if (!device || !device->flush_since)
		return;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (event) {
		__builtin_memset(event, 0, sizeof(*event));
		event->what = TOLD_FLUSH;
		event->owner = device->flusher;
		event->device = number;
		event->kind = IO_FLUSH;
		event->issue = device->flush_since;
		event->complete = bpf_ktime_get_ns();
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	} else {
		count(0);
	}
	device->flush_since = 0;
}

/* A request whose bios were queued before we came. */
ALWAYS_INLINE void add_unseen(struct request *request, __u32 bytes, __u64 now)
{
	struct flight unseen = { .owner = { .how = HOW_BEFORE } };

	unseen.device = disk_number(request->q->disk);
	unseen.kind = kind_of(request->cmd_flags, bytes);
	add(&unseen, 1, bytes, now);
}

SECTION("tp_btf/block_rq_complete")
int watch_complete(__u64 *context)
{
	struct request *request = (void *)context[0];
	__u32 done = context[2];
	struct cpu *cpu = this_cpu();
	struct bio *bio = request->bio;
	struct flight *flight;
	bool whole;
	__u64 now;
	int i;

	if (!cpu)
		return 0;
	if (!bio) {
		if ((request->cmd_flags & REQ_OP_MASK) == 2)
			flush_ends(request);
		return 0;
	}
	now = bpf_ktime_get_ns();
	/* Of a request that ends in parts, the last is told. */
	whole = done >= request->__data_len;
	if (whole) {
		flight = flight_of(cpu, REQUEST_ENDS, bio);
		if (flight) {
			add(flight, 1, 0, now);
			io_ends(flight, request->__data_len, now);
		} else if (request->__data_len) {
			/* Without data it is the second end of a write behind a flush, which has been counted. */
			add_unseen(request, request->__data_len, now);
		}
	}
	for (i = 0; i < CHAIN_MAX && bio; i++) {
		__u32 size = bio->bi_iter.bi_size;

		if (size > done)
			break;
		done -= size;
		flight = flight_of(cpu, REQUEST_ENDS, bio);
		if (flight) {
			add(flight, 0, size, now);
			if (flight->left > size)
				__sync_fetch_and_add(&flight->left, -(__u64)size);
			else
				leaves(flight);
		}
		bio = bio->bi_next;
	}
	return 0;
}

#include "behalf.h"
#include "sleeps.h"

char LICENSE[] SECTION("license") = "Dual MIT/GPL";
