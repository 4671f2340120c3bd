/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In which order did the blocks of one pair run, and what did they ask of devices? */
#ifndef IOSTACK_TRACE_H
#define IOSTACK_TRACE_H

#include "counters.h"

#include <stdio.h>

/* A translated block: the PCs of its instructions. */
struct block;

/* Where in a block: what the callback of a mark gets, so that a pair may begin inside one. */
struct position {
	struct block *block;
	size_t insn;
};

struct block *trace_block(const uint64_t *pcs, size_t pc_count);
struct position *trace_position(struct block *block, size_t insn);

void trace_block_callback(struct qemu_plugin_tb *tb, struct block *block);

/* Registers what sees the accesses of this instruction to devices: memory, or `in` and `out`. */
void trace_device_callbacks(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t byte_len);

/* A pair begins behind this mark; ends before the mark that follows. */
void trace_begin(const struct position *mark);
void trace_end(void);
void trace_abandon(void);

void trace_write(FILE *out);

/* Forgets the traces of a round. */
void trace_forget(void);

/* Forgets blocks and positions.  Only when no translated code refers to them any more. */
void trace_forget_blocks(void);

#endif
