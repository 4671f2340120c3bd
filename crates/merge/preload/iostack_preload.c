// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What would this program gain if its requests travelled together? A shim for LD_PRELOAD:
 *
 *     IOSTACK_MERGE_POLICY=hybrid IOSTACK_MERGE_STATS=1 LD_PRELOAD=libiostack_preload.so db_bench ...
 *
 * pread and pwrite of regular files and block devices go through iostack_merge with that policy (IOSTACK_MERGE_BACKEND names a
 * backend); everything else is untouched. It is a tool to measure with, not an accelerator: a program that gains belongs changed
 * to call read_many, and the shim itself costs two system calls (fstat, fcntl) per request, about 0.3 us.
 *
 * Correct before all: whenever something is not sure, and whenever the library reports an error, the real call is made and its
 * answer is the program's. A descriptor is taken at its first pread or pwrite and given back by close, fclose, dup2, dup3. Each
 * request asks whether the descriptor still is the same file with the same flags; one that was closed behind our back (a system
 * call by hand) is left alone from then on, and our duplicate stays open to the end of the process: closing it would drop the
 * program's fcntl locks. After close_range or closefrom, which also close what the library has open, all calls are plain. A child
 * begins with nothing taken. Calls of a signal handler are plain: what it interrupts may hold a lock of the C library (malloc's,
 * pthread_create's) that a thread wants whom the library would wait for. Handlers are known that signal or sigaction set;
 * one that jumps out (siglongjmp) leaves the calls of its thread plain.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "iostack_merge.h"

#define SLOTS 65536 /* descriptors above are not taken */

enum { UNKNOWN, TAKEN, PLAIN };

struct slot {
	_Alignas(128) atomic_int state;
	atomic_int users; /* requests on their way through the library */
	struct iostack_merge_file *file;
	dev_t device, node_device;
	ino_t inode;
	int flags;
	atomic_ulong reads, writes;
};

static struct slot slots[SLOTS];
static struct iostack_merge_options options;
static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool on;
static atomic_ulong files, plain, failed, stale, requests, batches; /* the latter two of files that were closed */
static atomic_int slots_used; /* those behind were never looked at */
static pid_t own_pid;
/* Code of the shim and of the library, whose own calls are real. */
static struct { uintptr_t first, end; } ours[2];
/* The thread is in the library, or in a handler of a signal. */
static __thread volatile int inside __attribute__((tls_model("initial-exec")));

/* What the program has set for each signal, where `on_signal` stands before it. */
static struct {
	_Atomic(void (*)(int, siginfo_t *, void *)) call;
	atomic_int flags;
} handlers[NSIG];

#define REAL(name) ({									\
	static _Atomic(__typeof__(&name)) found;					\
	__typeof__(&name) call = atomic_load_explicit(&found, memory_order_relaxed);	\
	if (!call) {									\
		call = (__typeof__(&name))dlsym(RTLD_NEXT, #name);			\
		atomic_store_explicit(&found, call, memory_order_relaxed);		\
	}										\
	call;										\
})

/* True when the caller is the program, which is on. */
static int is_theirs(const void *caller)
{
	uintptr_t from = (uintptr_t)caller;

	if (!atomic_load_explicit(&on, memory_order_relaxed) || inside)
		return 0;
	for (int i = 0; i < 2; i++)
		if (from >= ours[i].first && from < ours[i].end)
			return 0;
	return 1;
}

#define IS_THEIRS is_theirs(__builtin_return_address(0))

/* Is the slot's file what the descriptor leads to now? */
static int is_same(const struct slot *slot, int descriptor)
{
	struct stat now;

	return !fstat(descriptor, &now) && now.st_dev == slot->device && now.st_ino == slot->inode &&
	       now.st_rdev == slot->node_device && fcntl(descriptor, F_GETFL) == slot->flags;
}

static void take(struct slot *slot, int descriptor)
{
	struct stat now;
	int state = PLAIN;

	pthread_mutex_lock(&taking);
	if (atomic_load(&slot->state) == UNKNOWN && own_pid == getpid()) {
		slot->flags = fcntl(descriptor, F_GETFL);
		if (slot->flags >= 0 && !(slot->flags & (O_APPEND | O_PATH)) && !fstat(descriptor, &now) &&
		    (S_ISREG(now.st_mode) || S_ISBLK(now.st_mode)) &&
		    !iostack_merge_over(descriptor, &options, &slot->file)) {
			slot->device = now.st_dev;
			slot->node_device = now.st_rdev;
			slot->inode = now.st_ino;
			atomic_fetch_add(&files, 1);
			state = TAKEN;
		}
		if (slots_used <= descriptor)
			slots_used = descriptor + 1;
		atomic_store(&slot->state, state);
	}
	pthread_mutex_unlock(&taking);
}

/* The slot of a file that goes through the library, with one user more; or null. */
static struct slot *enter(int descriptor)
{
	struct slot *slot;

	if (descriptor < 0 || descriptor >= SLOTS)
		return NULL;
	slot = &slots[descriptor];
	inside = 1;
	if (atomic_load(&slot->state) == UNKNOWN)
		take(slot, descriptor);
	if (atomic_load(&slot->state) == TAKEN) {
		atomic_fetch_add(&slot->users, 1);
		/* Again: `release` waits for users only after it has changed the state. */
		if (atomic_load(&slot->state) == TAKEN) {
			if (is_same(slot, descriptor))
				return slot;
			/* With the file left as it is. */
			if (atomic_exchange(&slot->state, PLAIN) == TAKEN)
				atomic_fetch_add(&stale, 1);
		}
		atomic_fetch_sub(&slot->users, 1);
	}
	inside = 0;
	atomic_fetch_add_explicit(&plain, 1, memory_order_relaxed);
	return NULL;
}

static void count(struct slot *slot)
{
	struct iostack_merge_stats stats;

	if (!iostack_merge_stats(slot->file, &stats)) {
		atomic_fetch_add(&requests, stats.requests);
		atomic_fetch_add(&batches, stats.batches);
	}
}

static void leave(struct slot *slot, atomic_ulong *counter, int64_t result)
{
	atomic_fetch_add_explicit(result < 0 ? &failed : counter, 1, memory_order_relaxed);
	atomic_fetch_sub(&slot->users, 1);
	inside = 0;
}

/* Before a descriptor is closed. */
static void release(int descriptor)
{
	struct slot *slot;
	int saved = errno;

	if (descriptor < 0 || descriptor >= SLOTS)
		return;
	slot = &slots[descriptor];
	if (atomic_load(&slot->state) == UNKNOWN || own_pid != getpid())
		return;
	inside = 1;
	pthread_mutex_lock(&taking);
	if (atomic_exchange(&slot->state, PLAIN) == TAKEN) {
		while (atomic_load(&slot->users))
			sched_yield();
		count(slot);
		iostack_merge_close(slot->file);
	}
	atomic_store(&slot->state, UNKNOWN);
	pthread_mutex_unlock(&taking);
	inside = 0;
	errno = saved;
}

static ssize_t read_through(int descriptor, void *buffer, size_t length, off_t offset)
{
	struct slot *slot;
	int64_t result = -1;
	int before;

	/* As pread is a cancellation point; what follows is none: a thread that ends while it takes a slot leaves it to nobody. */
	pthread_testcancel();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	slot = enter(descriptor);
	if (slot) {
		result = iostack_merge_read_at(slot->file, buffer, length, (uint64_t)offset);
		leave(slot, &slot->reads, result);
	}
	pthread_setcancelstate(before, NULL);
	return result >= 0 ? (ssize_t)result : REAL(pread)(descriptor, buffer, length, offset);
}

static ssize_t write_through(int descriptor, const void *buffer, size_t length, off_t offset)
{
	struct slot *slot;
	int64_t result = -1;
	int before;

	pthread_testcancel();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	slot = enter(descriptor);
	if (slot) {
		result = iostack_merge_write_at(slot->file, buffer, length, (uint64_t)offset);
		leave(slot, &slot->writes, result);
	}
	pthread_setcancelstate(before, NULL);
	return result >= 0 ? (ssize_t)result : REAL(pwrite)(descriptor, buffer, length, offset);
}

ssize_t pread(int descriptor, void *buffer, size_t length, off_t offset)
{
	return IS_THEIRS ? read_through(descriptor, buffer, length, offset) :
			   REAL(pread)(descriptor, buffer, length, offset);
}

ssize_t pread64(int descriptor, void *buffer, size_t length, off64_t offset)
{
	return IS_THEIRS ? read_through(descriptor, buffer, length, offset) :
			   REAL(pread64)(descriptor, buffer, length, offset);
}

ssize_t pwrite(int descriptor, const void *buffer, size_t length, off_t offset)
{
	return IS_THEIRS ? write_through(descriptor, buffer, length, offset) :
			   REAL(pwrite)(descriptor, buffer, length, offset);
}

ssize_t pwrite64(int descriptor, const void *buffer, size_t length, off64_t offset)
{
	return IS_THEIRS ? write_through(descriptor, buffer, length, offset) :
			   REAL(pwrite64)(descriptor, buffer, length, offset);
}

int close(int descriptor)
{
	if (IS_THEIRS)
		release(descriptor);
	return REAL(close)(descriptor);
}

int fclose(FILE *stream)
{
	if (stream && IS_THEIRS)
		release(fileno(stream));
	return REAL(fclose)(stream);
}

int dup2(int descriptor, int wanted)
{
	if (descriptor != wanted && IS_THEIRS)
		release(wanted);
	return REAL(dup2)(descriptor, wanted);
}

int dup3(int descriptor, int wanted, int flags)
{
	if (descriptor != wanted && IS_THEIRS)
		release(wanted);
	return REAL(dup3)(descriptor, wanted, flags);
}

/* Also what the library has open will be closed. */
int close_range(unsigned int first, unsigned int last, int flags)
{
	if (own_pid == getpid())
		atomic_store(&on, 0);
	return REAL(close_range)(first, last, flags);
}

void closefrom(int first)
{
	if (own_pid == getpid())
		atomic_store(&on, 0);
	REAL(closefrom)(first);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	int before = inside;

	inside = 1;
	/* One that takes the number alone does not look at the others. */
	atomic_load(&handlers[number].call)(number, info, context);
	inside = before;
}

int sigaction(int number, const struct sigaction *wanted, struct sigaction *old)
{
	struct sigaction ours, had;
	int known = own_pid && number > 0 && number < NSIG, result;

	if (!known)
		return REAL(sigaction)(number, wanted, old);
	had.sa_sigaction = atomic_load(&handlers[number].call);
	had.sa_flags = atomic_load(&handlers[number].flags);
	if (wanted) {
		ours = *wanted;
		if (wanted->sa_handler != SIG_DFL && wanted->sa_handler != SIG_IGN) {
			/* Before it is set: a signal may come at once. */
			atomic_store(&handlers[number].call, wanted->sa_sigaction);
			atomic_store(&handlers[number].flags, wanted->sa_flags);
			ours.sa_sigaction = on_signal;
			ours.sa_flags |= SA_SIGINFO;
		}
	}
	result = REAL(sigaction)(number, wanted ? &ours : NULL, old);
	if (!result && old && old->sa_sigaction == on_signal) {
		old->sa_sigaction = had.sa_sigaction;
		if (!(had.sa_flags & SA_SIGINFO))
			old->sa_flags &= ~SA_SIGINFO;
	}
	return result;
}

sighandler_t signal(int number, sighandler_t handler)
{
	struct sigaction wanted = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;

	if (!own_pid)
		return REAL(signal)(number, handler);
	return sigaction(number, &wanted, &old) ? SIG_ERR : old.sa_handler;
}

static int is_counting(void)
{
	const char *wanted = getenv("IOSTACK_MERGE_STATS");

	return wanted && !strcmp(wanted, "1");
}

static int find_ours(struct dl_phdr_info *object, size_t size, void *function)
{
	uintptr_t wanted = (uintptr_t)function, first = UINTPTR_MAX, end = 0;
	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		if (object->dlpi_addr + part->p_vaddr < first)
			first = object->dlpi_addr + part->p_vaddr;
		if (object->dlpi_addr + part->p_vaddr + part->p_memsz > end)
			end = object->dlpi_addr + part->p_vaddr + part->p_memsz;
	}
	if (wanted < first || wanted >= end)
		return 0;
	ours[!!ours[0].end].first = first;
	ours[!!ours[0].end].end = end;
	return 1;
}

/* A signal handler may read while we have the lock: plainly. */
static void before_fork(void)
{
	inside = 1;
	pthread_mutex_lock(&taking);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&taking);
	inside = 0;
}

/* Other threads of the parent may have been inside the library: its files are left as they are. */
static void in_child(void)
{
	for (int i = 0; i < slots_used; i++)
		if (atomic_load_explicit(&slots[i].state, memory_order_relaxed) != UNKNOWN) {
			slots[i].users = 0;
			slots[i].reads = slots[i].writes = 0;
			slots[i].state = UNKNOWN;
		}
	files = plain = failed = stale = requests = batches = 0;
	own_pid = getpid();
	pthread_mutex_unlock(&taking);
	inside = 0;
}

__attribute__((constructor)) static void begin(void)
{
	struct iostack_merge_file *probe = NULL;

	options.policy = getenv("IOSTACK_MERGE_POLICY");
	options.backend = getenv("IOSTACK_MERGE_BACKEND");
	if (!options.policy)
		return;
	if (is_counting())
		options.flags = IOSTACK_MERGE_COUNT;
	own_pid = getpid();
	dl_iterate_phdr(find_ours, (void *)(uintptr_t)begin);
	dl_iterate_phdr(find_ours, (void *)(uintptr_t)dlsym(RTLD_DEFAULT, "iostack_merge_over"));
	/* -EBADF: the options are known. */
	if (iostack_merge_abi() != IOSTACK_MERGE_ABI || iostack_merge_over(-1, &options, &probe) != -EBADF) {
		fprintf(stderr, "iostack_preload: no policy `%s` with backend `%s` in version %s: all calls are plain\n",
			options.policy, options.backend ? options.backend : "best", iostack_merge_version());
		return;
	}
	pthread_atfork(before_fork, in_parent, in_child);
	atomic_store(&on, 1);
}

__attribute__((destructor)) static void end(void)
{
	unsigned long reads = 0, writes = 0;

	if (!own_pid || !is_counting())
		return;
	for (int i = 0; i < slots_used; i++) {
		if (slots[i].state == TAKEN)
			count(&slots[i]);
		reads += slots[i].reads;
		writes += slots[i].writes;
	}
	fprintf(stderr, "iostack_preload: policy %s: %lu reads and %lu writes of %lu files taken; %lu requests went in %lu "
		"batches; %lu calls plain, %lu retried, %lu stale\n", options.policy, reads, writes, files, requests,
		batches, plain, failed, stale);
}
