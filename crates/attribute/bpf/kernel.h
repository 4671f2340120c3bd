/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What our BPF programs know of the kernel: only the fields they read.
 *
 * The loader moves every access to where the running kernel keeps the field (preserve_access_index, "compile once, run
 * everywhere"), so that the order and the sizes here do not matter; names and types do. A part of a name after three
 * underscores is ours: `kiocb___old` is the kernel's `kiocb`, seen otherwise.
 *
 * Every constant that the loader sets is a `const volatile __u64`.
 */
#ifndef IOSTACK_KERNEL_H
#define IOSTACK_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef _Bool bool;

#define SECTION(name) __attribute__((section(name), used))
#define ALWAYS_INLINE static inline __attribute__((always_inline))
/* A function that the verifier checks once, instead of at each call. */
#define CHECKED_ONCE __attribute__((noinline))
#define BARRIER() __asm__ volatile("" ::: "memory")
#define offset_of(type, member) __builtin_offsetof(type, member)
#define field_exists(field) __builtin_preserve_field_info(field, 2)
/* The offset of a field in the running kernel. */
#define field_offset(type, field) \
	__builtin_preserve_field_info(((type *)0)->field, 0)

/* Maps, as the loader reads them from the type information. */
#define MAP_TYPE(number) int (*type)[number]
#define MAP_ENTRIES(number) int (*max_entries)[number]
#define MAP_FLAGS(number) int (*map_flags)[number]
#define MAP_KEY(kind) kind *key
#define MAP_VALUE(kind) kind *value

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_NO_PREALLOC = 1 << 0,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_RB_NO_WAKEUP = 1 << 0,
};

/* Helpers, by their numbers in include/uapi/linux/bpf.h. */
static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key,
				   const void *value, __u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static __u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static __u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static __u64 (*bpf_get_current_pid_tgid)(void) = (void *)14;
static long (*bpf_map_push_elem)(void *map, const void *value, __u64 flags) = (void *)87;
static long (*bpf_map_pop_elem)(void *map, void *value) = (void *)88;
static long (*bpf_probe_read_user)(void *to, __u32 size,
				   const void *from) = (void *)112;
static long (*bpf_probe_read_kernel)(void *to, __u32 size,
				     const void *from) = (void *)113;
static long (*bpf_probe_read_kernel_str)(void *to, __u32 size,
					 const void *from) = (void *)115;
static void *(*bpf_ringbuf_reserve)(void *map, __u64 size,
				    __u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *record, __u64 flags) = (void *)132;
static void (*bpf_ringbuf_discard)(void *record, __u64 flags) = (void *)133;
struct task_struct;
static long (*bpf_get_task_stack)(struct task_struct *task, void *to, __u32 size,
				  __u64 flags) = (void *)141;
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)158;

/* Moved by clang's attribute below; a type that the kernel lacks is asked for with this first. */
#define type_exists(type) __builtin_preserve_type_info(*(type *)0, 0)

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)

struct inode {
	__u16 i_mode;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct blkcg {
	struct cgroup_subsys_state css;
};

struct blkcg_gq {
	struct blkcg *blkcg;
};

struct address_space {
	struct inode *host;
};

/* The first page of a folio is the folio. */
struct page {
	__u64 compound_head;
	struct address_space *mapping;
};

struct bio_vec {
	struct page *bv_page;
};

struct journal_s {
	struct block_device *j_fs_dev;
};

struct transaction_s {
	__u32 t_tid;
};

struct work_struct {
	void *func;
};

struct list_head {
	struct list_head *next;
};

struct swait_queue {
	struct task_struct *task;
	struct list_head task_list;
};

struct swait_queue_head {
	struct list_head task_list;
};

struct completion {
	struct swait_queue_head wait;
};

struct file {
	struct inode *f_inode;
	__u32 f_flags;
};

struct fdtable {
	__u32 max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct upid {
	int nr;
	void *ns;
};

/* A process's number in each of the namespaces that it is in, from the kernel's own on. */
struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct task_struct {
	/* Since 5.14. */
	unsigned int __state;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct pid *thread_pid;
	__u32 flags;
	char comm[16];
	struct files_struct *files;
	struct bio_list *bio_list;
	struct css_set *cgroups;
	unsigned in_iowait : 1;
	/* Of a thread of the kernel, since 5.17. */
	void *worker_private;
};

/* A thread of the kernel; its data is a worker's where it works for work queues. */
struct kthread {
	void *data;
};

struct workqueue_struct {
	char name[24];
};

struct pool_workqueue {
	struct workqueue_struct *wq;
};

struct worker {
	struct pool_workqueue *current_pwq;
};

struct irqaction {
	const char *name;
};

struct gendisk {
	int major;
	int first_minor;
};

struct block_device {
	__u32 bd_dev;
	struct gendisk *bd_disk;
};

struct bvec_iter {
	__u64 bi_sector;
	__u32 bi_size;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	__u32 bi_opf;
	__u16 bi_flags;
	__u8 bi_status;
	struct bvec_iter bi_iter;
	void *bi_private;
	struct blkcg_gq *bi_blkg;
	struct bio_vec *bi_io_vec;
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	struct bio *bio;
	__u32 cmd_flags;
	__u32 __data_len;
};

struct kiocb {
	struct file *ki_filp;
};

struct iomap_dio {
	struct kiocb *iocb;
	struct {
		struct task_struct *waiter;
	} submit;
};

struct blkdev_dio {
	struct kiocb *iocb;
	struct bio bio;
};

struct io_event {
	__u64 data;
	__u64 obj;
};

struct aio_kiocb {
	struct kiocb rw;
	struct io_event ki_res;
};

struct io_cqe {
	__u64 user_data;
	__s32 res;
};

struct io_uring_cqe {
	__u64 user_data;
	__s32 res;
};

struct io_ring_ctx {
	__u32 flags;
};

struct io_uring_task {
	struct task_struct *task;
};

struct io_kiocb {
	struct file *file;
	struct io_cqe cqe;
	__u8 opcode;
	struct io_ring_ctx *ctx;
	/* Since 6.13. */
	struct io_uring_task *tctx;
};

struct pt_regs {
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long r10;
	unsigned long r8;
	unsigned long ax;
	unsigned long orig_ax;
};

#pragma clang attribute pop

/*
 * An argument of a tracepoint that stood one place later in older kernels. Two loads that the compiler must keep apart:
 * the verifier refuses a context whose address is computed.
 */
ALWAYS_INLINE void *first_argument(__u64 *context, __u64 is_second)
{
	void *argument;

	if (is_second) {
		argument = (void *)context[1];
		BARRIER();
	} else {
		argument = (void *)context[0];
	}
	return argument;
}

#endif
