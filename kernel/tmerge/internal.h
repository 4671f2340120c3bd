/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of tmerge share; tmerge.h is what user space sees. */
#ifndef TMERGE_INTERNAL_H
#define TMERGE_INTERNAL_H

#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "tmerge.h"

/**
 * struct tmerge_stats - what the device did since it was loaded or reset
 * @commands: doorbells rung
 * @merged_requests: requests that rode on another's doorbell
 * @winners: times a thread became the winner of synchronous temporal merge
 * @batches: commands by the number of requests in them
 */
struct tmerge_stats {
	u64 commands;
	u64 merged_requests;
	u64 winners;
	u64 batches[TMERGE_ENTRIES_MAX + 1];
};

/**
 * struct tmerge_server - the modelled device: its memory, doorbell and clock
 * @data: the device's memory
 * @bytes: size of @data
 * @lock: guards what follows; taken with interrupts off
 * @free_ns: when the server has done all that was rung, on the monotonic clock
 * @outstanding: commands whose slot is taken
 * @mq_waits: the request layer was refused a slot and must be run again
 * @stats: counted at the doorbell
 * @waiters: threads asleep until a slot is handed to them, in their order
 */
struct tmerge_server {
	u8 *data;
	u64 bytes;
	/* guards what follows; interrupts off */
	spinlock_t lock;
	u64 free_ns;
	unsigned int outstanding;
	bool mq_waits;
	struct tmerge_stats stats;
	struct list_head waiters;
};

/**
 * struct tmerge_stm - synchronous temporal merge
 * @lock: guards the members
 * @pending: requests of threads that wait, oldest first
 * @winners: threads that are winner now
 */
struct tmerge_stm {
	/* guards the members */
	spinlock_t lock;
	struct list_head pending;
	unsigned int winners;
};

/**
 * struct tmerge_atm - asynchronous temporal merge
 * @queue_lock: the request queue's lock; a read may hold it while it polls
 * @pending: requests piled up, oldest first
 * @count: requests in @pending
 * @dispatching: somebody is sending requests and looks again when done
 * @workers: runs @dispatch and @unplug
 * @dispatch: sends what is pending until nothing is
 * @unplug: the same, after the longest time a write may be plugged
 */
struct tmerge_atm {
	/* guards pending, count and dispatching */
	struct mutex queue_lock;
	struct bio_list pending;
	unsigned int count;
	bool dispatching;
	struct workqueue_struct *workers;
	struct work_struct dispatch;
	struct delayed_work unplug;
};

/**
 * struct tmerge_cost - what a command costs, as learnt: c + x * pages
 * @mean_pages: mean size of the commands lately seen, in 1/256 pages
 * @mean_ns: their mean time, in 1/256 ns
 * @variance: of the sizes
 * @covariance: of sizes and times
 * @fixed_ns: c; 0 until sizes differed
 * @page_ns: x; 0 until sizes differed
 */
struct tmerge_cost {
	s64 mean_pages;
	s64 mean_ns;
	s64 variance;
	s64 covariance;
	s64 fixed_ns;
	s64 page_ns;
};

/**
 * struct tmerge_flight - a command of hybrid temporal merge
 * @bios: its requests
 * @requests: how many
 * @pages: pages they touch
 * @begun_ns: when its doorbell was rung
 * @done_ns: when the device has done it
 * @alone: no other command was under way
 */
struct tmerge_flight {
	struct bio_list bios;
	unsigned int requests;
	u64 pages;
	u64 begun_ns;
	u64 done_ns;
	bool alone;
};

/**
 * struct tmerge_hybrid - hybrid temporal merge
 * @lock: guards all that follows up to @timer; taken with interrupts off
 * @pending: requests that gather, oldest first
 * @count: requests in @pending
 * @inside: requests of commands that are sent
 * @senders: commands that are sent or about to be
 * @owed: commands that the worker has to send
 * @has_ahead: there is one in @ahead
 * @ahead: a command that is sent, for the worker to see through
 * @holding: what gathers is held back
 * @hold_until: until then at most
 * @holds: times that a command was held back
 * @holds_paid: times that all who were expected came while it was
 * @expected: submitters of the last command that are not back
 * @served_at: when it ended
 * @return_ns: how long it took lately until the last of a command was back
 * @cost: what a command costs
 * @timer: ends holding back
 * @workers: runs @dispatch
 * @dispatch: sends what nobody's thread does
 */
struct tmerge_hybrid {
	/* guards what follows up to the timer; interrupts off */
	spinlock_t lock;
	struct bio_list pending;
	unsigned int count;
	unsigned int inside;
	unsigned int senders;
	unsigned int owed;
	bool has_ahead;
	struct tmerge_flight ahead;
	bool holding;
	u64 hold_until;
	u64 holds;
	u64 holds_paid;
	unsigned int expected;
	u64 served_at;
	s64 return_ns;
	struct tmerge_cost cost;
	struct hrtimer timer;
	struct workqueue_struct *workers;
	struct work_struct dispatch;
};

/**
 * struct tmerge - the one device of the module
 * @server: the modelled device
 * @subsystem: the I/O subsystem that serves new requests
 * @switching: held while @subsystem is replaced
 * @stm: state of synchronous temporal merge
 * @atm: state of asynchronous temporal merge
 * @hybrid: state of hybrid temporal merge
 * @disk: /dev/tmerge0, whose bios go to @subsystem
 * @tags: requests of @mq_disk
 * @mq_disk: /dev/tmerge0mq, the same memory behind the request layer
 */
struct tmerge {
	struct tmerge_server server;
	const struct tmerge_subsystem *subsystem;
	/* one change of subsystem at a time */
	struct mutex switching;
	struct tmerge_stm stm;
	struct tmerge_atm atm;
	struct tmerge_hybrid hybrid;
	struct gendisk *disk;
	struct blk_mq_tag_set tags;
	struct gendisk *mq_disk;
};

/**
 * struct tmerge_subsystem - one way from a bio to the doorbell
 * @name: as sysfs shows it
 * @submit: take one bio; it may sleep, and end the bio now or later
 * @drain: wait until no bio taken is unfinished, while no new one can come;
 *	NULL where @submit returns after the end of the bio
 */
struct tmerge_subsystem {
	const char *name;
	void (*submit)(struct tmerge *tmerge, struct bio *bio);
	void (*drain)(struct tmerge *tmerge);
};

/* Parameters, in main.c; readers use READ_ONCE where a change may race. */
extern unsigned int tmerge_queue_depth;
extern unsigned int tmerge_fixed_ns;
extern unsigned int tmerge_host_ns;
extern unsigned int tmerge_per_page_ns;
extern unsigned int tmerge_interrupt_ns;
extern unsigned int tmerge_batch_max;
extern unsigned int tmerge_unplug_thresh;
extern unsigned int tmerge_unplug_ms;
extern bool tmerge_hold_queue_lock;
extern bool tmerge_copy;
extern unsigned long long tmerge_fail_first_lba;
extern unsigned long long tmerge_fail_lba_count;

/* device.c: the modelled device */
int tmerge_server_init(struct tmerge_server *server, unsigned int mib);
void tmerge_server_destroy(struct tmerge_server *server);
unsigned int tmerge_batch_limit(void);
bool tmerge_slot_try(struct tmerge *tmerge, bool request_layer);
void tmerge_slot_get(struct tmerge *tmerge);
void tmerge_slot_put(struct tmerge *tmerge);
u64 tmerge_ring(struct tmerge_server *server, unsigned int requests,
		u64 pages, u64 extra_ns);
void tmerge_poll(u64 done_ns);
u64 tmerge_pages(u64 offset, u64 bytes);
bool tmerge_medium_fails(u64 offset, u64 bytes);
void tmerge_move(struct tmerge_server *server, struct bio_vec *vec,
		 u64 offset, bool write);
u64 tmerge_bio_pages(const struct bio *bio);
void tmerge_finish_bios(struct tmerge *tmerge, const struct bio_list *bios,
			u64 done_ns);
void tmerge_run_bios(struct tmerge *tmerge, const struct bio_list *bios);
void tmerge_end_bios(struct bio_list *bios);

/* subsystem.c: the table of subsystems, and the change from one to another */
const char *tmerge_subsystem_name(unsigned int index);
void tmerge_subsystem_init(struct tmerge *tmerge);
int tmerge_subsystem_select(struct tmerge *tmerge, const char *name);
void tmerge_submit_bio(struct bio *bio);

/* stm.c, atm.c, hybrid.c */
void tmerge_stm_init(struct tmerge_stm *stm);
void tmerge_stm_submit(struct tmerge *tmerge, struct bio *bio);
int tmerge_atm_init(struct tmerge_atm *atm);
void tmerge_atm_destroy(struct tmerge_atm *atm);
void tmerge_atm_submit(struct tmerge *tmerge, struct bio *bio);
void tmerge_atm_drain(struct tmerge *tmerge);
int tmerge_hybrid_init(struct tmerge_hybrid *hybrid);
void tmerge_hybrid_destroy(struct tmerge_hybrid *hybrid);
void tmerge_hybrid_submit(struct tmerge *tmerge, struct bio *bio);
void tmerge_hybrid_drain(struct tmerge *tmerge);

/* interrupt.c: the request layer */
int tmerge_mq_create(struct tmerge *tmerge);
void tmerge_mq_destroy(struct tmerge *tmerge);
void tmerge_mq_submit(struct tmerge *tmerge, struct bio *bio);
void tmerge_mq_drain(struct tmerge *tmerge);

/* sysfs.c, door.c */
extern const struct attribute_group *tmerge_groups[];
int tmerge_ioctl(struct block_device *bdev, tmerge_mode_t mode,
		 unsigned int command, unsigned long argument);

#endif /* TMERGE_INTERNAL_H */
