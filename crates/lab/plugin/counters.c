// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Segments, their counters and their sum.  Start reading at counters_hash():
 * the hash of a sparse vector is the sum over its instructions of
 * count * scatter(pc), modulo 2^64.  It does not depend on the order or on
 * how instructions were cut into segments, so one multiplication per segment
 * is all that a pair costs.
 */
#include "counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Translated code holds addresses of counters: they never move, so they live in chunks. */
#define CHUNK_SEGMENTS 4096U

/* As many counters are looked at together; those not yet in use are zero. */
#define GROUP_SEGMENTS 16U
_Static_assert(CHUNK_SEGMENTS % GROUP_SEGMENTS == 0, "a group lies in one chunk");

struct chunk {
	uint64_t *counts;
	struct qemu_plugin_scoreboard *score; /* NULL in version 1 */
	uint64_t hash[CHUNK_SEGMENTS];        /* sum of scatter(pc) */
	uint64_t insns[CHUNK_SEGMENTS];
	size_t pcs_at[CHUNK_SEGMENTS];
};

static struct chunk **chunks;
static size_t chunk_count;
static size_t segment_count;

/* The PCs of all segments, one behind the other. */
static uint64_t *pcs;
static size_t pcs_len, pcs_room;

/* Open addressing: segment index + 1, or 0 for a free place. */
static size_t *table;
static size_t table_size;

static uint64_t executed_v1;
static struct qemu_plugin_scoreboard *executed_score;

void *must_alloc(void *old, size_t count, size_t size)
{
	void *new = reallocarray(old, count ? count : 1, size);

	if (!new) {
		fprintf(stderr, "iostack plugin: out of memory\n");
		abort();
	}
	return new;
}

uint64_t scatter(uint64_t value)
{
	value += 0x9e3779b97f4a7c15ULL;
	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
	return value ^ (value >> 31);
}

void counters_init(void)
{
	if (qemu_plugin_scoreboard_new)
		executed_score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
}

static void add_chunk(void)
{
	struct chunk *chunk = must_alloc(NULL, 1, sizeof(*chunk));

	if (qemu_plugin_scoreboard_new) {
		chunk->score = qemu_plugin_scoreboard_new(CHUNK_SEGMENTS * sizeof(uint64_t));
		/* One virtual CPU, which exists while it translates: the address stays. */
		chunk->counts = qemu_plugin_scoreboard_find(chunk->score, 0);
	} else {
		chunk->score = NULL;
		chunk->counts = must_alloc(NULL, CHUNK_SEGMENTS, sizeof(uint64_t));
	}
	memset(chunk->counts, 0, CHUNK_SEGMENTS * sizeof(uint64_t));
	memset(chunk->hash, 0, sizeof(chunk->hash));
	chunks = must_alloc(chunks, chunk_count + 1, sizeof(*chunks));
	chunks[chunk_count++] = chunk;
}

static bool same_segment(size_t segment, const uint64_t *want, size_t count)
{
	const struct chunk *chunk = chunks[segment / CHUNK_SEGMENTS];
	size_t at = segment % CHUNK_SEGMENTS;

	return chunk->insns[at] == count &&
	       !memcmp(pcs + chunk->pcs_at[at], want, count * sizeof(*want));
}

/* The place in the table of the segment with this hash: its own, or a free one. */
static size_t place_of(uint64_t hash, const uint64_t *want, size_t count)
{
	size_t place = (size_t)scatter(hash) & (table_size - 1);

	while (table[place] && !same_segment(table[place] - 1, want, count))
		place = (place + 1) & (table_size - 1);
	return place;
}

static void grow_table(void)
{
	free(table);
	table_size = table_size ? table_size * 2 : 16384;
	table = must_alloc(NULL, table_size, sizeof(*table));
	memset(table, 0, table_size * sizeof(*table));
	for (size_t segment = 0; segment < segment_count; segment++) {
		const struct chunk *chunk = chunks[segment / CHUNK_SEGMENTS];
		size_t at = segment % CHUNK_SEGMENTS;

		table[place_of(chunk->hash[at], pcs + chunk->pcs_at[at],
			       (size_t)chunk->insns[at])] = segment + 1;
	}
}

size_t counters_segment(const uint64_t *want, size_t count)
{
	struct chunk *chunk;
	uint64_t hash = 0;
	size_t place, at;

	for (size_t i = 0; i < count; i++)
		hash += scatter(want[i]);
	if (segment_count * 2 >= table_size)
		grow_table();
	place = place_of(hash, want, count);
	if (table[place])
		return table[place] - 1;

	if (segment_count == chunk_count * CHUNK_SEGMENTS)
		add_chunk();
	if (pcs_len + count > pcs_room) {
		pcs_room = (pcs_len + count) * 2;
		pcs = must_alloc(pcs, pcs_room, sizeof(*pcs));
	}
	memcpy(pcs + pcs_len, want, count * sizeof(*want));
	chunk = chunks[segment_count / CHUNK_SEGMENTS];
	at = segment_count % CHUNK_SEGMENTS;
	chunk->hash[at] = hash;
	chunk->insns[at] = count;
	chunk->pcs_at[at] = pcs_len;
	pcs_len += count;
	table[place] = ++segment_count;
	return segment_count - 1;
}

void counters_add_inline(struct qemu_plugin_insn *insn, size_t segment)
{
	const struct chunk *chunk = chunks[segment / CHUNK_SEGMENTS];
	size_t at = segment % CHUNK_SEGMENTS;

	if (chunk->score) {
		qemu_plugin_u64 entry = { chunk->score, at * sizeof(uint64_t) };

		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
			insn, QEMU_PLUGIN_INLINE_ADD_U64, entry, 1);
	} else {
		qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64,
							   chunk->counts + at, 1);
	}
}

void counters_add_executed(struct qemu_plugin_insn *insn, uint64_t insns)
{
	if (executed_score) {
		qemu_plugin_u64 entry = { executed_score, 0 };

		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
			insn, QEMU_PLUGIN_INLINE_ADD_U64, entry, insns);
	} else {
		qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64,
							   &executed_v1, insns);
	}
}

uint64_t counters_executed(void)
{
	if (executed_score)
		return *(uint64_t *)qemu_plugin_scoreboard_find(executed_score, 0);
	return executed_v1;
}

/* How many segments of this chunk are in use. */
static size_t used(size_t chunk)
{
	size_t left = segment_count - chunk * CHUNK_SEGMENTS;

	return left < CHUNK_SEGMENTS ? left : CHUNK_SEGMENTS;
}

void counters_zero(void)
{
	for (size_t c = 0; c * CHUNK_SEGMENTS < segment_count; c++)
		memset(chunks[c]->counts, 0, used(c) * sizeof(uint64_t));
}

uint64_t counters_hash(void)
{
	uint64_t hash = 0;

	/*
	 * Code that was translated together runs together: most groups are all zero, or were
	 * not at the pair before either, so this branch is predicted.  Whether one counter is
	 * zero cannot be, and a wrong guess costs ten multiplications.
	 */
	for (size_t c = 0; c * CHUNK_SEGMENTS < segment_count; c++) {
		const uint64_t *counts = chunks[c]->counts, *hashes = chunks[c]->hash;
		size_t end = used(c);

		for (size_t group = 0; group < end; group += GROUP_SEGMENTS) {
			uint64_t any = 0;

			for (size_t i = group; i < group + GROUP_SEGMENTS; i++)
				any |= counts[i];
			if (!any)
				continue;
			for (size_t i = group; i < group + GROUP_SEGMENTS; i++)
				hash += counts[i] * hashes[i];
		}
	}
	return hash;
}

uint64_t counters_insns(void)
{
	uint64_t insns = 0;

	for (size_t c = 0; c * CHUNK_SEGMENTS < segment_count; c++)
		for (size_t i = 0; i < used(c); i++)
			insns += chunks[c]->counts[i] * chunks[c]->insns[i];
	return insns;
}

static int by_pc(const void *a, const void *b)
{
	const struct pc_count *left = a, *right = b;

	return (left->pc > right->pc) - (left->pc < right->pc);
}

void pc_vector_merge(struct pc_vector *vector)
{
	size_t kept = 0;

	if (!vector->len)
		return;
	qsort(vector->counts, vector->len, sizeof(*vector->counts), by_pc);
	for (size_t i = 1; i < vector->len; i++) {
		if (vector->counts[i].pc == vector->counts[kept].pc)
			vector->counts[kept].count += vector->counts[i].count;
		else
			vector->counts[++kept] = vector->counts[i];
	}
	vector->len = kept + 1;
	vector->counts = must_alloc(vector->counts, vector->len, sizeof(*vector->counts));
}

struct pc_vector counters_vector(void)
{
	struct pc_vector vector = { NULL, 0 };
	size_t room = 0;

	for (size_t segment = 0; segment < segment_count; segment++) {
		const struct chunk *chunk = chunks[segment / CHUNK_SEGMENTS];
		size_t at = segment % CHUNK_SEGMENTS;

		if (!chunk->counts[at])
			continue;
		if (vector.len + chunk->insns[at] > room) {
			room = (vector.len + (size_t)chunk->insns[at]) * 2;
			vector.counts = must_alloc(vector.counts, room, sizeof(*vector.counts));
		}
		for (size_t i = 0; i < chunk->insns[at]; i++) {
			vector.counts[vector.len].pc = pcs[chunk->pcs_at[at] + i];
			vector.counts[vector.len++].count = chunk->counts[at];
		}
	}
	pc_vector_merge(&vector);
	return vector;
}

void counters_forget(void)
{
	counters_zero();
	segment_count = 0;
	pcs_len = 0;
	if (table)
		memset(table, 0, table_size * sizeof(*table));
}
