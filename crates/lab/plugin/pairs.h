/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pairs of one round, and which vectors of counts were the commonest among them. */
#ifndef IOSTACK_PAIRS_H
#define IOSTACK_PAIRS_H

#include "counters.h"

#include <stdio.h>

/* As many vectors, and as many traces, are written of one round. */
#define WRITTEN_MAX 32U

/* Takes down the pair that just ended, from the counters. */
void pairs_add(void);

void pairs_write(FILE *out);

void pairs_forget(void);

#endif
