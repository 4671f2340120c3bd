// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every pair is kept as its hash, every distinct hash with its instructions and
 * its number of pairs.  The vector itself is taken from the counters the first
 * time that its hash is seen; a pair that runs what an earlier one ran costs
 * one look into a table.
 */
#include "pairs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* So many vectors are held at once; above it, those that occurred once are dropped. */
#define HELD_MAX 1024U

struct mode {
	uint64_t hash;
	uint64_t insns;
	uint64_t ios;
	struct pc_vector vector; /* counts == NULL: dropped, taken again when it recurs */
};

/* Hashes, in order. */
static uint64_t *pairs;
static size_t pair_count, pair_room;

static struct mode *modes;
static size_t mode_count, mode_room, held_count;

/* Open addressing: index into modes + 1, or 0 for a free place. */
static size_t *table;
static size_t table_size;

static size_t place_of(uint64_t hash)
{
	size_t place = (size_t)scatter(hash) & (table_size - 1);

	while (table[place] && modes[table[place] - 1].hash != hash)
		place = (place + 1) & (table_size - 1);
	return place;
}

static void grow_table(void)
{
	free(table);
	table_size = table_size ? table_size * 2 : 1024;
	table = must_alloc(NULL, table_size, sizeof(*table));
	memset(table, 0, table_size * sizeof(*table));
	for (size_t i = 0; i < mode_count; i++)
		table[place_of(modes[i].hash)] = i + 1;
}

static struct mode *mode_of(uint64_t hash)
{
	size_t place;

	if (mode_count * 2 >= table_size)
		grow_table();
	place = place_of(hash);
	if (!table[place]) {
		if (mode_count == mode_room) {
			mode_room = mode_room ? mode_room * 2 : 256;
			modes = must_alloc(modes, mode_room, sizeof(*modes));
		}
		modes[mode_count] = (struct mode){ .hash = hash, .insns = counters_insns() };
		table[place] = ++mode_count;
	}
	return &modes[table[place] - 1];
}

static void drop_singles(void)
{
	for (size_t i = 0; i < mode_count; i++) {
		if (modes[i].vector.counts && modes[i].ios == 1) {
			free(modes[i].vector.counts);
			modes[i].vector.counts = NULL;
			held_count--;
		}
	}
}

void pairs_add(void)
{
	uint64_t hash = counters_hash();
	struct mode *mode = mode_of(hash);

	if (pair_count == pair_room) {
		pair_room = pair_room ? pair_room * 2 : 4096;
		pairs = must_alloc(pairs, pair_room, sizeof(*pairs));
	}
	pairs[pair_count++] = hash;
	mode->ios++;
	if (!mode->vector.counts && mode->insns) {
		if (held_count >= HELD_MAX)
			drop_singles();
		mode->vector = counters_vector();
		held_count++;
	}
}

static int by_ios(const void *a, const void *b)
{
	const struct mode *left = a, *right = b;

	if (left->ios != right->ios)
		return left->ios < right->ios ? 1 : -1;
	return (left->hash > right->hash) - (left->hash < right->hash);
}

void pairs_write(FILE *out)
{
	size_t written = 0;

	for (size_t i = 0; i < pair_count; i++)
		fprintf(out, "io %zu %" PRIu64 " 0x%016" PRIx64 "\n", i, mode_of(pairs[i])->insns,
			pairs[i]);
	if (!mode_count)
		return;
	/* This breaks the table's indices: pairs_forget() is what must follow. */
	qsort(modes, mode_count, sizeof(*modes), by_ios);
	for (size_t i = 0; i < mode_count && written < WRITTEN_MAX; i++) {
		const struct mode *mode = &modes[i];

		if (!mode->vector.counts)
			continue;
		written++;
		fprintf(out, "vector 0x%016" PRIx64 " %" PRIu64 "\n", mode->hash, mode->ios);
		for (size_t p = 0; p < mode->vector.len; p++)
			fprintf(out, "pc 0x%" PRIx64 " %" PRIu64 "\n", mode->vector.counts[p].pc,
				mode->vector.counts[p].count);
	}
}

void pairs_forget(void)
{
	for (size_t i = 0; i < mode_count; i++)
		free(modes[i].vector.counts);
	mode_count = 0;
	held_count = 0;
	pair_count = 0;
	if (table)
		memset(table, 0, table_size * sizeof(*table));
}
