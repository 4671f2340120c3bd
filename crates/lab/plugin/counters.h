/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often did each instruction execute?
 *
 * The unit of counting is a segment: instructions that follow each other in
 * one translation block and can only execute together.  A segment has one
 * counter, to which the translated code itself adds.  Segments may overlap
 * (a jump into the middle of another one makes a second one), so the count of
 * an instruction is the sum over the segments that hold it.
 */
#ifndef IOSTACK_COUNTERS_H
#define IOSTACK_COUNTERS_H

#include "qemu_plugin_api.h"

/* An instruction and how often it executed. */
struct pc_count {
	uint64_t pc;
	uint64_t count;
};

/* The sparse vector of one pair of marks, ascending by PC; owned by who asked for it. */
struct pc_vector {
	struct pc_count *counts;
	size_t len;
};

void counters_init(void);

/* Finds or makes the segment of these instructions; it stays until counters_forget(). */
size_t counters_segment(const uint64_t *pcs, size_t pc_count);

/* Makes the execution of @insn, the first of a segment, add to the segment's counter. */
void counters_add_inline(struct qemu_plugin_insn *insn, size_t segment);

/* Another inline counter: instructions executed since the plugin was loaded (traces only). */
void counters_add_executed(struct qemu_plugin_insn *insn, uint64_t insns);
uint64_t counters_executed(void);

void counters_zero(void);

/* The hash of the sparse vector since counters_zero(): what every pair costs, so it is fast. */
uint64_t counters_hash(void);

/* How many instructions executed since, and their sparse vector: for hashes not seen before. */
uint64_t counters_insns(void);
struct pc_vector counters_vector(void);

/* Sorts by PC and merges equal PCs. */
void pc_vector_merge(struct pc_vector *vector);

/* Forgets every segment.  Only when no translated code can add to one any more. */
void counters_forget(void);

/* The program cannot go on without memory: what it counted would be wrong. */
void *must_alloc(void *old, size_t count, size_t size);

/* One PC's contribution to the hash of a vector, and any other scattering of a number. */
uint64_t scatter(uint64_t value);

#endif
