// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Does a program that knows nothing of the shim get its own data under it, however it opens and closes? Run in an empty folder.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 4096
#define BLOCKS 64

#define CHECK(fact) do {							\
	if (!(fact)) {								\
		fprintf(stderr, "preloaded.c:%d: %s\n", __LINE__, #fact);	\
		_exit(1);							\
	}									\
} while (0)

static int shared;
static volatile sig_atomic_t handled;
/* Volatile: the compiler would refuse what the kernel shall. */
static void *volatile nowhere = (void *)8;

/* Every byte of a file is its letter plus the block's number. */
static void make(const char *name, char letter)
{
	char block[SIZE];
	FILE *file = fopen(name, "wb");

	for (int i = 0; i < BLOCKS; i++) {
		memset(block, letter + i, SIZE);
		CHECK(fwrite(block, SIZE, 1, file) == 1);
	}
	CHECK(!fclose(file));
}

static void expect(int descriptor, char letter, int block)
{
	char buffer[SIZE];

	CHECK(pread(descriptor, buffer, SIZE, (off_t)block * SIZE) == SIZE);
	for (int i = 0; i < SIZE; i++)
		CHECK(buffer[i] == (char)(letter + block));
}

static void check_descriptors(void)
{
	int first = open("a", O_RDWR), second, third;
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	FILE *stream;

	expect(first, 'a', 3);
	CHECK(!close(first));
	second = open("b", O_RDWR);
	CHECK(second == first);
	expect(second, 'b', 4);
	/* Another file in its place, by the kernel only. */
	CHECK(!syscall(SYS_close, second));
	third = open("a", O_RDWR);
	CHECK(third == second);
	expect(third, 'a', 5);
	expect(third, 'a', 6);
	CHECK(dup2(third, 100) == 100);
	expect(100, 'a', 1);
	second = open("b", O_RDWR);
	CHECK(dup2(second, 100) == 100);
	expect(100, 'b', 1);
	stream = fopen("a", "rb");
	expect(fileno(stream), 'a', 2);
	first = fileno(stream);
	CHECK(!fclose(stream));
	CHECK(open("b", O_RDONLY) == first);
	expect(first, 'b', 2);
	/* A lock of ours stays until we close, and goes then. */
	CHECK(!fcntl(third, F_SETLK, &lock));
	expect(third, 'a', 0);
	if (!fork()) {
		int own = open("a", O_RDWR);

		CHECK(fcntl(own, F_SETLK, &lock) < 0);
		expect(own, 'a', 0);
		_exit(0);
	}
	int status;

	CHECK(wait(&status) > 0 && !status);
}

static void check_ends_and_appends(void)
{
	char text[8] = "12345678";
	int file = open("end", O_RDWR | O_CREAT | O_TRUNC, 0600), appended;

	CHECK(pread(file, text, 8, 0) == 0);
	CHECK(pwrite(file, "abc", 3, 0) == 3 && pread(file, text, 8, 1) == 2 && !memcmp(text, "bc", 2));
	appended = open("end", O_RDWR | O_APPEND);
	/* Linux appends whatever the offset says. */
	CHECK(pwrite(appended, "d", 1, 0) == 1 && pread(file, text, 8, 0) == 4 && !memcmp(text, "abcd", 4));
	CHECK(pread(file, text, 8, -1) < 0 && pread(-1, text, 8, 0) < 0 && pread(file, nowhere, 8, 0) < 0);
	CHECK(!ftruncate(file, 1) && pread(file, text, 8, 0) == 1);
	close(file);
	file = open("end", O_RDONLY);
	CHECK(pwrite(file, "x", 1, 0) < 0);
	int pipes[2];

	CHECK(!pipe(pipes) && pread(pipes[0], text, 1, 0) < 0);
}

static void on_alarm(int number)
{
	(void)number;
	expect(shared, 'a', 9);
	handled++;
}

static void *work(void *argument)
{
	unsigned int state = (unsigned int)(size_t)argument;

	for (int i = 0; i < 400; i++)
		expect(shared, 'a', rand_r(&state) % BLOCKS);
	return NULL;
}

static void check_threads_and_signals(void)
{
	struct itimerval each = { .it_interval.tv_usec = 500, .it_value.tv_usec = 500 }, never = { 0 };
	pthread_t threads[6];
	int status;

	shared = open("a", O_RDONLY);
	struct sigaction set;

	CHECK(signal(SIGALRM, on_alarm) == SIG_DFL && signal(SIGALRM, on_alarm) == on_alarm);
	CHECK(!sigaction(SIGALRM, NULL, &set) && set.sa_handler == on_alarm && !(set.sa_flags & SA_SIGINFO));
	CHECK(sigaction(SIGKILL, &set, NULL) < 0 && signal(NSIG, on_alarm) == SIG_ERR);
	CHECK(!setitimer(ITIMER_REAL, &each, NULL));
	for (size_t i = 0; i < 6; i++)
		CHECK(!pthread_create(&threads[i], NULL, work, (void *)i));
	/* A child while the others are inside. */
	if (!fork()) {
		CHECK(!setitimer(ITIMER_REAL, &never, NULL));
		work((void *)7);
		_exit(0);
	}
	for (int i = 0; i < 6; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(!setitimer(ITIMER_REAL, &never, NULL));
	while (wait(&status) < 0)
		;
	CHECK(!status);
	printf("%d reads by the handler\n", (int)handled);
}

static void check_offsets(void)
{
	int descriptor = open("a", O_RDWR);
	/* Volatile: the compiler knows what may be passed. */
	volatile off_t odd[] = { -1, -2, INT64_MIN, INT64_MAX };
	char byte = 'x';

	for (unsigned int i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		errno = 0;
		CHECK(pread(descriptor, &byte, 1, odd[i]) == -1 && errno == EINVAL);
		errno = 0;
		CHECK(pwrite(descriptor, &byte, 1, odd[i]) == -1 && errno == EINVAL);
	}
	expect(descriptor, 'a', 0);
	CHECK(!close(descriptor));
}

static void *reads_for_ever(void *argument)
{
	int descriptor = *(int *)argument;

	for (;;)
		expect(descriptor, 'a', 5);
	return NULL;
}

/* pread stays a cancellation point. */
static void check_cancelling(void)
{
	int descriptor = open("a", O_RDWR);
	pthread_t thread;
	void *ended;

	CHECK(!pthread_create(&thread, NULL, reads_for_ever, &descriptor));
	CHECK(!pthread_cancel(thread));
	CHECK(!pthread_join(thread, &ended) && ended == PTHREAD_CANCELED);
	expect(descriptor, 'a', 6);
	CHECK(!close(descriptor));
}

int main(int count, char **words)
{
	/* Asked whether it is there. */
	if (count > 1 && words[1])
		return 0;
	make("a", 'a');
	make("b", 'b');
	check_descriptors();
	check_ends_and_appends();
	check_threads_and_signals();
	check_offsets();
	check_cancelling();
	CHECK(!close(shared));
	return 0;
}
