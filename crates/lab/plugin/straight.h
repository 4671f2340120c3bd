/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which instructions can only go on to the next one? */
#ifndef IOSTACK_STRAIGHT_H
#define IOSTACK_STRAIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * True if QEMU, having started this instruction of 64-bit code, always starts
 * the next one of the same block: no memory access, no exception, no helper
 * that leaves the block.  False whenever in doubt, which costs a counter and
 * is never wrong.
 */
bool insn_goes_straight(const uint8_t *bytes, size_t byte_len);

#endif
