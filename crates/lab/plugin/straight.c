// SPDX-License-Identifier: GPL-2.0-or-later
#include "straight.h"

bool insn_goes_straight(const uint8_t *bytes, size_t byte_len)
{
	(void)bytes;
	(void)byte_len;
	return false;
}
