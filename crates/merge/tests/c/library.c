// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Does the library keep what its header says? Run with a folder to write in; ends with 0 when it does, prints what it does not.
 *
 * Block i of the file begins with i in every eighth byte, so that a buffer proves whose data it has.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "iostack_merge.h"

#define BLOCK 4096u
#define BLOCKS 256u
#define THREADS 4
#define ROUNDS 50
#define GROUP 4u

_Static_assert(sizeof(struct iostack_merge_request) == 2 * sizeof(void *) + 16, "as Rust asserts");
_Static_assert(offsetof(struct iostack_merge_request, result) == 2 * sizeof(void *) + 8, "as Rust asserts");
_Static_assert(sizeof(struct iostack_merge_options) == 2 * sizeof(void *) + 8, "as Rust asserts");
_Static_assert(sizeof(struct iostack_merge_stats) == 24, "as Rust asserts");

static const char *policy_now = "none";

#define CHECK(fact) check((fact) != 0, #fact, __LINE__)

static void check(int holds, const char *fact, int line)
{
	if (holds)
		return;
	fprintf(stderr, "library.c:%d: policy %s: %s does not hold (errno %d)\n", line, policy_now, fact, errno);
	/* Also from a thread, or a child. */
	_exit(1);
}

static void fill(uint64_t *block, uint64_t number)
{
	for (size_t i = 0; i < BLOCK / sizeof(*block); i++)
		block[i] = number;
}

static int is_block(const uint64_t *block, uint64_t number)
{
	for (size_t i = 0; i < BLOCK / sizeof(*block); i++)
		if (block[i] != number)
			return 0;
	return 1;
}

static void make(const char *path)
{
	uint64_t block[BLOCK / 8];
	FILE *file = fopen(path, "wb");

	CHECK(file);
	for (unsigned int i = 0; i < BLOCKS; i++) {
		fill(block, i);
		CHECK(fwrite(block, BLOCK, 1, file) == 1);
	}
	CHECK(!fclose(file));
}

static void check_refusals(const char *path)
{
	struct iostack_merge_options odd = { .policy = "fastest" }, odd_backend = { .backend = "carrier pigeon" };
	struct iostack_merge_options odd_flags = { .flags = 64 };
	struct iostack_merge_file *file = (void *)path;
	struct iostack_merge_stats stats;
	struct iostack_merge_request pair[2];
	char buffer[64];

	CHECK(iostack_merge_open(path, &odd, &file) == -EINVAL && !file);
	CHECK(iostack_merge_open(path, &odd_backend, &file) == -EINVAL && !file);
	CHECK(iostack_merge_open(path, &odd_flags, &file) == -EINVAL && !file);
	CHECK(iostack_merge_open(NULL, NULL, &file) == -EINVAL && !file);
	CHECK(iostack_merge_open(path, NULL, NULL) == -EINVAL);
	CHECK(iostack_merge_open("there is no such file", NULL, &file) == -ENOENT && !file);
	CHECK(iostack_merge_over(-1, NULL, &file) == -EBADF && !file);
	CHECK(iostack_merge_over(9999, NULL, &file) == -EBADF && !file);
	CHECK(iostack_merge_close(NULL) == -EINVAL);
	CHECK(iostack_merge_read_at(NULL, buffer, 1, 0) == -EINVAL);
	CHECK(iostack_merge_stats(NULL, &stats) == -EINVAL);

	CHECK(!iostack_merge_open(path, NULL, &file) && file);
	CHECK(iostack_merge_read_at(file, NULL, 1, 0) == -EINVAL);
	CHECK(iostack_merge_read_at(file, NULL, 0, 0) == 0);
	CHECK(iostack_merge_read_at(file, buffer, (size_t)-1, 0) == -EINVAL);
	CHECK(iostack_merge_read_at(file, buffer, 1, (uint64_t)-1) == -EINVAL);
	CHECK(iostack_merge_read_at(file, buffer, 2, INT64_MAX - 1) == -EINVAL);
	CHECK(iostack_merge_read_at(file, buffer, 1, INT64_MAX - 1) != -EINVAL); /* its last byte can be named */
	CHECK(iostack_merge_write_at(file, buffer, 1, (uint64_t)-1) == -EINVAL);
	pair[0] = (struct iostack_merge_request){ .buffer = buffer, .length = 1, .result = 7 };
	pair[1] = (struct iostack_merge_request){ .buffer = buffer + 32, .length = 1, .offset = INT64_MAX };
	CHECK(iostack_merge_read_many(file, pair, 2) == -EINVAL && pair[0].result == 7);
	CHECK(iostack_merge_write_many(file, pair, 2) == -EINVAL && pair[0].result == 7);
	CHECK(iostack_merge_write_at(file, buffer, 1, 0) == -EBADF); /* opened for reading */
	CHECK(iostack_merge_read_many(file, NULL, 1) == -EINVAL);
	CHECK(iostack_merge_read_many(file, NULL, 0) == 0);
	CHECK(iostack_merge_read_many(file, pair, (size_t)-1) == -EINVAL);
	pair[0] = (struct iostack_merge_request){ .buffer = buffer, .length = 33, .result = 7 };
	pair[1] = (struct iostack_merge_request){ .buffer = buffer + 32, .length = 32 };
	CHECK(iostack_merge_read_many(file, pair, 2) == -EINVAL && pair[0].result == 7);
	pair[0].length = 32;
	CHECK(iostack_merge_read_many(file, pair, 2) == 0);
	CHECK(iostack_merge_stats(file, NULL) == -EINVAL);
	CHECK(iostack_merge_stats(file, &stats) == -EINVAL); /* nothing is counted */
	CHECK(!iostack_merge_close(file));
}

static void check_ends(struct iostack_merge_file *file)
{
	static uint64_t buffers[3][BLOCK / 8];
	struct iostack_merge_request three[3];
	const uint64_t end = BLOCKS * (uint64_t)BLOCK;

	CHECK(iostack_merge_read_at(file, buffers[0], BLOCK, end - 100) == 100);
	CHECK(iostack_merge_read_at(file, buffers[0], BLOCK, end) == 0);
	for (unsigned int i = 0; i < 3; i++)
		three[i] = (struct iostack_merge_request){ .buffer = buffers[i], .length = BLOCK, .offset = i * BLOCK };
	three[1].offset = end - 100;
	CHECK(iostack_merge_read_many(file, three, 3) == 1);
	CHECK(three[0].result == BLOCK && three[1].result == -ENODATA && three[2].result == BLOCK);
	CHECK(is_block(buffers[0], 0) && is_block(buffers[2], 2));
}

static void *work(void *argument)
{
	struct iostack_merge_file *file = argument;
	uint64_t blocks[GROUP][BLOCK / 8];
	struct iostack_merge_request group[GROUP];
	uint64_t state = (uintptr_t)&state | 1;

	for (int round = 0; round < ROUNDS; round++) {
		for (unsigned int i = 0; i < GROUP; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			group[i] = (struct iostack_merge_request){
				.buffer = blocks[i], .length = BLOCK, .offset = (state >> 33) % BLOCKS * BLOCK
			};
		}
		CHECK(iostack_merge_read_at(file, blocks[0], BLOCK, group[0].offset) == BLOCK);
		CHECK(is_block(blocks[0], group[0].offset / BLOCK));
		CHECK(iostack_merge_write_at(file, blocks[0], BLOCK, group[0].offset) == BLOCK);
		CHECK(iostack_merge_read_many(file, group, GROUP) == 0);
		for (unsigned int i = 0; i < GROUP; i++)
			CHECK(group[i].result == BLOCK && is_block(blocks[i], group[i].offset / BLOCK));
		CHECK(iostack_merge_write_many(file, group, GROUP) == 0);
	}
	return NULL;
}

static void check_threads(struct iostack_merge_file *file)
{
	struct iostack_merge_stats before, after;
	pthread_t threads[THREADS];

	CHECK(!iostack_merge_stats(file, &before));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, work, file));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(!iostack_merge_stats(file, &after));
	/* One read and one write alone, and a group of both; nobody meets the end of the file. */
	CHECK(after.requests - before.requests == THREADS * ROUNDS * 2 * (1 + GROUP));
	CHECK(after.batches > before.batches && after.batches - before.batches <= after.requests - before.requests);
	CHECK(after.batch_max >= 1);
}

/* Whom is cancelled in a call ends after it, and leaves nothing behind. */
static void *cancelled(void *argument)
{
	struct iostack_merge_file *file = argument, *own;
	struct iostack_merge_options options = { .policy = policy_now };
	uint64_t blocks[2][BLOCK / 8];
	struct iostack_merge_request group[2];

	for (unsigned int i = 0; i < 2; i++)
		group[i] = (struct iostack_merge_request){ .buffer = blocks[i], .length = BLOCK, .offset = i * BLOCK };
	CHECK(!pthread_cancel(pthread_self()));
	CHECK(iostack_merge_read_at(file, blocks[0], BLOCK, 7 * BLOCK) == BLOCK && is_block(blocks[0], 7));
	CHECK(iostack_merge_write_at(file, blocks[0], BLOCK, 7 * BLOCK) == BLOCK);
	CHECK(iostack_merge_read_many(file, group, 2) == 0 && is_block(blocks[1], 1));
	CHECK(iostack_merge_write_many(file, group, 2) == 0);
	CHECK(!iostack_merge_open("pattern", &options, &own));
	CHECK(iostack_merge_read_at(own, blocks[0], BLOCK, 9 * BLOCK) == BLOCK && is_block(blocks[0], 9));
	CHECK(!iostack_merge_close(own));
	pthread_testcancel();
	CHECK(!"reached");
	return NULL;
}

static void check_cancelling(struct iostack_merge_file *file)
{
	pthread_t thread;
	void *ended;

	CHECK(!pthread_create(&thread, NULL, cancelled, file));
	CHECK(!pthread_join(thread, &ended));
	CHECK(ended == PTHREAD_CANCELED);
	work(file);
}

static void check_fork(struct iostack_merge_file *file)
{
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		work(file);
		_exit(0);
	}
	work(file);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
}

static void check_direct(const char *path, const char *policy)
{
	struct iostack_merge_options direct = { .policy = policy, .flags = IOSTACK_MERGE_DIRECT };
	static alignas(4096) uint64_t blocks[2][BLOCK / 8];
	struct iostack_merge_file *file;
	struct iostack_merge_request pair[2] = {
		{ .buffer = blocks[0], .length = BLOCK, .offset = 9 * BLOCK },
		{ .buffer = blocks[1], .length = BLOCK, .offset = 3 * BLOCK },
	};

	/* A file system in memory has no way around the cache. */
	if (iostack_merge_open(path, &direct, &file) == -EINVAL)
		return;
	CHECK(iostack_merge_read_many(file, pair, 2) == 0 && is_block(blocks[0], 9) && is_block(blocks[1], 3));
	CHECK(iostack_merge_read_at(file, blocks[0], BLOCK, 5 * BLOCK) == BLOCK && is_block(blocks[0], 5));
	/* Per request: only the one that is not aligned fails. */
	pair[0].offset = 1;
	int64_t failed = iostack_merge_read_many(file, pair, 2);
	CHECK(failed == 0 || (failed == 1 && pair[0].result == -EINVAL && pair[1].result == BLOCK));
	CHECK(!iostack_merge_close(file));
}

int main(int count, char **words)
{
	CHECK(count == 2 && !chdir(words[1]));
	CHECK(iostack_merge_abi() == IOSTACK_MERGE_ABI);
	CHECK(strchr(iostack_merge_version(), '.'));
	make("pattern");
	check_refusals("pattern");
	size_t policies = 0;
	for (const char *policy; (policy = iostack_merge_policy(policies)); policies++) {
		struct iostack_merge_options options = { .policy = policy,
							 .flags = IOSTACK_MERGE_WRITE | IOSTACK_MERGE_COUNT };
		struct iostack_merge_file *file, *second;
		int descriptor = open("pattern", O_RDWR);

		policy_now = policy;
		CHECK(!iostack_merge_open("pattern", &options, &file));
		check_ends(file);
		check_threads(file);
		check_cancelling(file);
		check_fork(file);
		CHECK(!iostack_merge_over(descriptor, &options, &second));
		CHECK(!close(descriptor));
		work(second); /* the descriptor was duplicated */
		CHECK(!iostack_merge_close(second) && !iostack_merge_close(file));
		check_direct("pattern", policy);
	}
	CHECK(policies == 7 && !iostack_merge_policy(policies) && !iostack_merge_policy((size_t)-1));
	printf("%zu policies keep what the header says\n", policies);
	return 0;
}
