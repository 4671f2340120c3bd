/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Shared between stages.bpf.c and its reader in src/stages. */
#ifndef IOSTACK_STAGES_H
#define IOSTACK_STAGES_H

#include "kernel.h"

#endif
