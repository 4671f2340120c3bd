/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Stamps each I/O's way through the block layer.
 *
 *   block_bio_queue ──► rq_insert ──► rq_issue ──► (irq) ──► rq_complete, or bio_complete
 *        │ which I/O is it?                                       │
 *        ▼                                                        ▼
 *      bios: bio ──► stamps so far ──────────────────────────► slot of the I/O, record of the device
 *
 * The programs only stamp; whoever waits for the I/O folds its stamps into stages (src/stages). A program that finds
 * nothing of the subject's ends at once.
 */
#include "bios.h"
#include "members.h"
#include "stages.h"

/* The process whose I/Os are wanted, as the kernel numbers it, unless `by_members`; 0: none, only devices. */
const volatile __u64 subject;
/* 1: a foreign process, whose slots we keep; 0: our own load. */
const volatile __u64 foreign;
/* Entries of `lanes`. */
const volatile __u64 lane_count;
/* Entries of `devices` in use. */
const volatile __u64 device_count;
/* Places of arguments that differ between kernels: 1 where they stand one later than here now. */
const volatile __u64 queue_argument;
const volatile __u64 insert_argument;
const volatile __u64 issue_argument;
const volatile __u64 complete_argument;
const volatile __u64 switch_argument;
/* O_DIRECT of this architecture. */
const volatile __u64 flag_direct;

#define DEVICES_MAX 8
#define DEVICE_NONE 255
#define CHAIN_MAX 256
#define BLOCK_SOFTIRQ 4
#define BLK_STS_AGAIN 12
#define PF_IO_WORKER 0x10
#define PF_WQ_WORKER 0x20
#define PF_KTHREAD 0x200000

/* Programs that look for bios. */
enum program { QUEUES, INSERTS, ISSUES, BIO_ENDS, REQUEST_ENDS, PROGRAMS };

struct cpu {
	__u64 events;
	/* Entry of the interrupt that is being served, hard or soft; 0 outside. */
	__u64 irq;
	/* Entry of the last hard one, for the soft one that it raises. */
	__u64 irq_last;
	/* The bio issued last on this CPU, until the CPU does something else. */
	__u64 door_bio;
	__u64 door_issue;
	/* Of each program its own, since an interrupt's program may run within another, but never within itself. */
	__u64 address[PROGRAMS];
};

struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(1);
	MAP_FLAGS(BPF_F_MMAPABLE);
	MAP_KEY(__u32);
	MAP_VALUE(struct slot);
} slots SECTION(".maps");

struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(1);
	MAP_FLAGS(BPF_F_MMAPABLE);
	MAP_KEY(__u32);
	MAP_VALUE(struct lane);
} lanes SECTION(".maps");

/* Thread number to lane. */
struct {
	MAP_TYPE(BPF_MAP_TYPE_HASH);
	MAP_ENTRIES(1);
	MAP_KEY(__u32);
	MAP_VALUE(__u32);
} threads SECTION(".maps");

struct {
	MAP_TYPE(BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_ENTRIES(1);
	MAP_KEY(__u32);
	MAP_VALUE(struct cpu);
} cpus SECTION(".maps");

struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(8);
	MAP_KEY(__u32);
	MAP_VALUE(__u64);
} devices SECTION(".maps");

struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(8);
	MAP_FLAGS(BPF_F_MMAPABLE);
	MAP_KEY(__u32);
	MAP_VALUE(__u64);
} counters SECTION(".maps");

struct {
	MAP_TYPE(BPF_MAP_TYPE_RINGBUF);
	MAP_ENTRIES(4096);
} records SECTION(".maps");

/* I/Os in flight of a foreign process: by the address of libaio's control block or of io_uring's request. */
struct {
	MAP_TYPE(BPF_MAP_TYPE_HASH);
	MAP_ENTRIES(1);
	MAP_KEY(__u64);
	MAP_VALUE(struct slot);
} flights SECTION(".maps");

/* Sleeps of a foreign process inside its I/Os. */
struct {
	MAP_TYPE(BPF_MAP_TYPE_HASH);
	MAP_ENTRIES(1);
	MAP_KEY(struct wait_key);
	MAP_VALUE(struct wait);
} waits SECTION(".maps");

/* Where each lane's thread went to sleep; the first is 0 while that was not looked at. */
struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(1);
	MAP_KEY(__u32);
	MAP_VALUE(struct wait_key);
} places SECTION(".maps");

/* Lanes that foreign threads gave back. */
struct {
	MAP_TYPE(BPF_MAP_TYPE_QUEUE);
	MAP_ENTRIES(1);
	MAP_VALUE(__u32);
} lanes_free SECTION(".maps");

/* Number of a system call, or behind those an operation of io_uring, to its rule (calls.h). */
struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(576);
	MAP_KEY(__u32);
	MAP_VALUE(__u64);
} calls SECTION(".maps");

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

/* A process is the subject, or one of its. */
ALWAYS_INLINE bool is_subjects(__u32 process)
{
	return by_members ? is_member(process) : process == (__u32)subject;
}

/* An address as a number: the verifier lets nobody calculate with pointers, and what comes out of a map is none. */
ALWAYS_INLINE __u64 address_of(struct cpu *cpu, enum program program, void *object)
{
	volatile __u64 *address = &cpu->address[program];

	*address = (__u64)object;
	return *address;
}

ALWAYS_INLINE struct lane *lane_of(__u32 thread)
{
	__u32 *index = bpf_map_lookup_elem(&threads, &thread);

	return index ? bpf_map_lookup_elem(&lanes, index) : (void *)0;
}

/* The CPU that issued a request last does something else: the driver is done with it. */
ALWAYS_INLINE void door_closes(struct cpu *cpu, __u64 now)
{
	struct flight *flight;
	__u64 bio = cpu->door_bio;

	if (!bio)
		return;
	cpu->door_bio = 0;
	flight = find_flight(bio);
	if (flight && flight->issue == cpu->door_issue)
		flight->doorbell = now;
}

ALWAYS_INLINE __u64 device_of(struct bio *bio)
{
	__u64 part, disk, found = DEVICE_NONE;
	struct block_device *device;
	__u32 i;

	if (!device_count)
		return found;
	device = bio->bi_bdev;
	part = device->bd_dev;
	disk = (__u64)device->bd_disk->major << 20 | device->bd_disk->first_minor;
	for (i = 0; i < DEVICES_MAX && i < device_count; i++) {
		__u32 at = i;
		__u64 *wanted = bpf_map_lookup_elem(&devices, &at);

		if (wanted && (*wanted == part || *wanted == disk)) {
			found = i;
			break;
		}
	}
	return found;
}

/* The result of libaio's control block that a kiocb answers, if it is one: checked by whoever knows the address. */
ALWAYS_INLINE int event_of(void *holder, struct io_event *event)
{
	struct iomap_dio *dio = holder;
	struct kiocb *kiocb = 0;
	struct aio_kiocb *aio;

	/* Both begin with the kiocb; the kernel is asked where it is. */
	if (bpf_probe_read_kernel(&kiocb, sizeof(kiocb), &dio->iocb) || !kiocb)
		return 0;
	aio = (void *)kiocb;
	if (bpf_probe_read_kernel(&event->data, 8, &aio->ki_res.data))
		return 0;
	return !bpf_probe_read_kernel(&event->obj, 8, &aio->ki_res.obj);
}

ALWAYS_INLINE int is_ours(struct lane *lane, struct io_event *event)
{
	return event->data < lane->slot_count && event->obj == lane->blocks + event->data * 64;
}

/* The slot of a bio that libaio began: through iomap's direct I/O, or the block device's own. */
ALWAYS_INLINE __u64 libaio_slot(struct lane *lane, struct bio *bio)
{
	struct io_event event = {};

	if (type_exists(struct iomap_dio) && event_of(bio->bi_private, &event) && is_ours(lane, &event))
		return event.data;
	if (type_exists(struct blkdev_dio)) {
		void *holder = (void *)bio - field_offset(struct blkdev_dio, bio);

		if (event_of(holder, &event) && is_ours(lane, &event))
			return event.data;
	}
	return lane->slot_count;
}

/* Key of an I/O of libaio: the address of its control block, which another process may use too. */
ALWAYS_INLINE __u64 block_key(struct lane *lane, __u64 block)
{
	return block ^ lane->process * 0x9e3779b97f4a7c15ULL;
}

/* The I/O in flight of a foreign process that a bio of its thread belongs to; 0 for none. */
ALWAYS_INLINE __u64 foreign_key(struct lane *lane, struct bio *bio)
{
	struct io_event event = {};
	__u64 key;

	if (lane->call != CALL_SUBMIT)
		return lane->current;
	if (type_exists(struct iomap_dio) && event_of(bio->bi_private, &event)) {
		key = block_key(lane, event.obj);
		if (bpf_map_lookup_elem(&flights, &key))
			return key;
	}
	if (type_exists(struct blkdev_dio) &&
	    event_of((void *)bio - field_offset(struct blkdev_dio, bio), &event)) {
		key = block_key(lane, event.obj);
		if (bpf_map_lookup_elem(&flights, &key))
			return key;
	}
	return 0;
}

/* How long the thread of an I/O was ready without a CPU, up to now. */
ALWAYS_INLINE __u64 preempted_of(struct slot *slot, __u64 now)
{
	__u32 index = slot->lane;
	struct lane *lane = bpf_map_lookup_elem(&lanes, &index);
	__u64 out;

	if (!lane)
		return 0;
	out = lane->out;
	return lane->preempted + (out && now > out ? now - out : 0);
}

/* Notes in the I/O that it has one more bio. */
ALWAYS_INLINE void take_bio(struct slot *slot, struct flight *flight, __u64 owner, __u64 key)
{
	__u64 preempted;

	if (!slot || !slot->entry)
		return;
	flight->owner = owner;
	flight->key = key;
	flight->sequence = slot->sequence;
	preempted = preempted_of(slot, flight->queue);
	if (slot->bios == slot->ended) {
		/* None was out until now. */
		slot->preempted_before += preempted - slot->preempted_last;
		slot->journal_before = slot->journal;
		slot->slept_before = slot->slept;
		slot->switched_before = slot->switched;
		if (slot->bios && flight->queue > slot->complete)
			slot->gap += flight->queue - slot->complete;
	}
	slot->preempted_last = preempted;
	if (!slot->bios)
		slot->queue = flight->queue;
	slot->bios++;
	slot->bytes += flight->left;
}

#include "calls.h"
#include "workers.h"
#include "faults.h"

/* Finds the I/O that this bio of the current thread belongs to. */
ALWAYS_INLINE void find_owner(struct bio *bio, struct task_struct *task, struct flight *flight)
{
	struct io_kiocb *request = worked_on(task);
	struct lane *lane;
	__u64 within = 0, key;
	__u32 index;

	if (request) {
		find_punted(request, flight);
		return;
	}
	lane = lane_of(task->pid);
	if (!lane)
		return;
	index = lane->slot_first;
	if (foreign && (lane->call == CALL_NONE || lane->call == CALL_FAULT) && !lane->current) {
		take_bio(fault_slot(lane), flight, OWNER_SLOT, index);
		return;
	}
	if (foreign && lane->call != CALL_SPAN) {
		key = foreign_key(lane, bio);
		take_bio(bpf_map_lookup_elem(&flights, &key), flight, OWNER_FLIGHT, key);
		return;
	}
	if (lane->carrier == CARRIER_URING)
		within = lane->current;
	else if (lane->carrier == CARRIER_LIBAIO)
		within = libaio_slot(lane, bio);
	if (within >= lane->slot_count)
		return;
	index = lane->slot_first + within;
	take_bio(bpf_map_lookup_elem(&slots, &index), flight, OWNER_SLOT, index);
}

SECTION("tp_btf/block_bio_queue")
int block_bio_queue(__u64 *context)
{
	struct bio *bio = first_argument(context, queue_argument);
	struct cpu *cpu = this_cpu();
	struct flight flight = {}, *place;
	struct task_struct *task;

	if (!cpu)
		return 0;
	flight.bio = address_of(cpu, QUEUES, bio);
	flight.queue = bpf_ktime_get_ns();
	door_closes(cpu, flight.queue);
	flight.device = device_of(bio);
	flight.left = bio->bi_iter.bi_size;
	task = bpf_get_current_task_btf();
	/* A bio made while another is being submitted is the lower device's, of dm or md: part of that one. */
	if (subject && !task->bio_list && is_subjects(task->tgid))
		find_owner(bio, task, &flight);
	else if (foreign && task->flags & PF_WQ_WORKER)
		find_held(task, bio, &flight);
	if (flight.owner == OWNER_NONE && flight.device == DEVICE_NONE)
		return 0;
	place = new_flight(flight.bio, flight.queue);
	if (place)
		*place = flight;
	else
		count(LOST_BIOS);
	return 0;
}

/* Where a bio stands, or the one it was split from; PLACES for neither. */
CHECKED_ONCE __u32 find_piece(__u64 bio, __u64 parent)
{
	__u32 place = find_place(bio);
	struct flight *flight;

	if (place != PLACES)
		return place;
	place = find_place(parent);
	flight = flight_at(place);
	if (flight)
		flight->flags |= 2;
	return place;
}

/* A bio, or a piece of it, is in a request that was inserted. */
CHECKED_ONCE int bio_inserted(__u64 bio, __u64 parent, __u64 now)
{
	struct flight *flight = flight_at(find_piece(bio, parent));

	if (flight)
		flight->insert = now;
	return 0;
}

/* A bio, or a piece of it, is in a request that was issued. */
CHECKED_ONCE int bio_issued(__u64 bio, __u64 parent, __u64 now, __u64 merged)
{
	struct flight *flight = flight_at(find_piece(bio, parent));
	__u32 zero = 0;
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &zero);

	if (!flight || !cpu)
		return 0;
	flight->issue = now;
	flight->doorbell = 0;
	flight->flags |= merged;
	if (!cpu->door_bio) {
		/* A piece's stamps are its parent's. */
		cpu->door_bio = flight->bio;
		cpu->door_issue = now;
	}
	return 0;
}

SECTION("tp_btf/block_rq_insert")
int block_rq_insert(__u64 *context)
{
	struct request *request = first_argument(context, insert_argument);
	struct cpu *cpu = this_cpu();
	struct bio *bio = request->bio;
	__u64 now, own;
	int i;

	if (!cpu)
		return 0;
	now = bpf_ktime_get_ns();
	door_closes(cpu, now);
	for (i = 0; i < CHAIN_MAX && bio; i++) {
		own = address_of(cpu, INSERTS, bio);
		bio_inserted(own, address_of(cpu, INSERTS, bio->bi_private), now);
		bio = bio->bi_next;
	}
	return 0;
}

SECTION("tp_btf/block_rq_issue")
int block_rq_issue(__u64 *context)
{
	struct request *request = first_argument(context, issue_argument);
	struct cpu *cpu = this_cpu();
	struct bio *bio = request->bio;
	__u64 now, own;
	int i, merged;

	if (!cpu)
		return 0;
	now = bpf_ktime_get_ns();
	door_closes(cpu, now);
	if (!bio)
		return 0;
	merged = bio->bi_next ? 1 : 0;
	for (i = 0; i < CHAIN_MAX && bio; i++) {
		own = address_of(cpu, ISSUES, bio);
		bio_issued(own, address_of(cpu, ISSUES, bio->bi_private), now, merged);
		bio = bio->bi_next;
	}
	if (bio)
		count(LOST_CHAIN);
	return 0;
}

/* Hands a finished bio of a wanted device to the reader. */
ALWAYS_INLINE void record_device(struct flight *flight, __u64 irq, __u64 now)
{
	struct record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);

	if (!record) {
		count(LOST_RECORDS);
		return;
	}
	__builtin_memset(record, 0, sizeof(*record));
	record->kind = RECORD_DEVICE;
	record->device = flight->device;
	record->flags = flight->flags;
	record->slot.queue = flight->queue;
	record->slot.insert = flight->insert;
	record->slot.issue = flight->issue;
	record->slot.doorbell = flight->doorbell;
	record->slot.irq = irq;
	record->slot.complete = now;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* Notes in the I/O that one of its bios has come back: of several, the first to leave and the last to come are told. */
ALWAYS_INLINE void give_bio(struct slot *slot, struct flight *flight, __u64 irq, __u64 now)
{
	if (!slot->insert || (flight->insert && flight->insert < slot->insert))
		slot->insert = flight->insert;
	if (!slot->issue || (flight->issue && flight->issue < slot->issue)) {
		slot->issue = flight->issue;
		slot->doorbell = flight->doorbell;
	}
	slot->irq = irq;
	slot->complete = now;
	slot->preempted_last = preempted_of(slot, now);
	__sync_fetch_and_add(&slot->ended, 1);
}

/* Where the I/O of a bio is stamped; 0 when nobody asks for it, or it is another's by now. */
ALWAYS_INLINE struct slot *slot_of(struct flight *flight)
{
	struct slot *slot = 0;
	__u32 index;

	if (flight->owner == OWNER_SLOT) {
		index = flight->key;
		slot = bpf_map_lookup_elem(&slots, &index);
	} else if (flight->owner == OWNER_FLIGHT) {
		__u64 own = flight->key;

		slot = bpf_map_lookup_elem(&flights, &own);
	}
	return slot && slot->sequence == flight->sequence ? slot : (void *)0;
}

/* A bio, with all the pieces it was split into, has ended. */
CHECKED_ONCE int bio_ends(__u32 place, __u64 now)
{
	struct flight *flight = flight_at(place);
	__u32 zero = 0;
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &zero);
	struct slot *slot;
	__u64 irq;

	if (!flight || !cpu)
		return 0;
	irq = cpu->irq > flight->issue ? cpu->irq : 0;
	slot = slot_of(flight);
	if (slot)
		give_bio(slot, flight, irq, now);
	if (flight->device != DEVICE_NONE)
		record_device(flight, irq, now);
	flight->bio = 0;
	return 0;
}

/* A bio that must not wait would have had to: the device has not seen it, and another comes for it. */
ALWAYS_INLINE void bio_refused(struct flight *flight)
{
	struct slot *slot = slot_of(flight);

	if (slot && slot->bios) {
		slot->bios--;
		slot->bytes -= flight->left;
	}
	flight->bio = 0;
}

/* Bios of a device without requests, such as zram and dm, end here; those of requests already have. */
SECTION("tp_btf/block_bio_complete")
int block_bio_complete(__u64 *context)
{
	struct bio *bio = first_argument(context, complete_argument);
	struct cpu *cpu = this_cpu();
	struct flight *flight;
	__u32 place;

	if (!cpu)
		return 0;
	place = find_place(address_of(cpu, BIO_ENDS, bio));
	flight = flight_at(place);
	if (!flight)
		return 0;
	if (bio->bi_status == BLK_STS_AGAIN)
		bio_refused(flight);
	else
		bio_ends(place, bpf_ktime_get_ns());
	return 0;
}

/* Bytes of a bio are done. Pieces end in any order; the bio ends with the last of its bytes. */
CHECKED_ONCE int bytes_end(__u64 bio, __u64 parent, __u64 size, __u64 now)
{
	__u32 place = find_place(bio);
	struct flight *flight;

	if (place == PLACES)
		place = find_place(parent);
	flight = flight_at(place);
	if (!flight)
		return 0;
	if (flight->left > size)
		__sync_fetch_and_add(&flight->left, -size);
	else
		bio_ends(place, now);
	return 0;
}

/* Some bytes of a request are done: the bios at its head, or all. */
SECTION("tp_btf/block_rq_complete")
int block_rq_complete(__u64 *context)
{
	struct request *request = (void *)context[0];
	__u32 done = context[2];
	struct cpu *cpu = this_cpu();
	struct bio *bio = request->bio;
	__u64 now;
	int i;

	if (!cpu || !bio)
		return 0;
	now = bpf_ktime_get_ns();
	for (i = 0; i < CHAIN_MAX && bio; i++) {
		__u32 size = bio->bi_iter.bi_size;
		__u64 own, parent;

		if (size > done)
			break;
		done -= size;
		own = address_of(cpu, REQUEST_ENDS, bio);
		parent = address_of(cpu, REQUEST_ENDS, bio->bi_private);
		bytes_end(own, parent, size, now);
		bio = bio->bi_next;
	}
	return 0;
}

SECTION("tp_btf/irq_handler_entry")
int irq_handler_entry(__u64 *context)
{
	struct cpu *cpu = this_cpu();

	(void)context;
	if (cpu) {
		cpu->irq = bpf_ktime_get_ns();
		cpu->irq_last = cpu->irq;
	}
	return 0;
}

SECTION("tp_btf/irq_handler_exit")
int irq_handler_exit(__u64 *context)
{
	struct cpu *cpu = this_cpu();

	(void)context;
	if (cpu)
		cpu->irq = 0;
	return 0;
}

/* A device with one queue ends its requests in this soft interrupt, right behind the hard one. */
SECTION("tp_btf/softirq_entry")
int softirq_entry(__u64 *context)
{
	struct cpu *cpu = this_cpu();

	if (cpu && context[0] == BLOCK_SOFTIRQ)
		cpu->irq = cpu->irq_last ? cpu->irq_last : bpf_ktime_get_ns();
	return 0;
}

SECTION("tp_btf/softirq_exit")
int softirq_exit(__u64 *context)
{
	struct cpu *cpu = this_cpu();

	if (cpu && context[0] == BLOCK_SOFTIRQ) {
		cpu->irq = 0;
		cpu->irq_last = 0;
	}
	return 0;
}

#include "threads.h"
#include "foreign.h"

SECTION("tp_btf/io_uring_submit_req")
int io_uring_submit_req(__u64 *context)
{
	struct io_kiocb *request = (void *)context[0];
	__u64 id = bpf_get_current_pid_tgid();
	struct slot slot = {};
	struct lane *lane;
	__u64 key;

	this_cpu();
	if (!is_subjects(id >> 32))
		return 0;
	lane = foreign ? lane_made(id, id >> 32) : lane_of(id);
	if (!lane)
		return 0;
	if (!foreign) {
		if (lane->carrier == CARRIER_URING)
			lane->current = (__u32)request->cqe.user_data;
		return 0;
	}
	key = (__u64)request;
	slot.sequence = bpf_ktime_get_ns();
	/* A thread of the kernel that polls for submissions makes no call. */
	slot.entry = lane->call == CALL_URING ? lane->entry : slot.sequence;
	slot.lane = lane->slot_first;
	slot.preempted_last = lane->preempted;
	lane->current = key;
	if (bpf_map_update_elem(&flights, &key, &slot, BPF_ANY))
		count(LOST_FLIGHTS);
	return 0;
}

char LICENSE[] SECTION("license") = "Dual MIT/GPL";
