// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Just enough of the opcode map (Intel SDM volume 2, appendix A) to know the
 * common instructions that work on registers alone.
 */
#include "straight.h"

/* When an opcode goes straight. */
enum rule {
	NEVER = 0,
	ALWAYS,	   /* no operand in memory: immediate, implied, or never accessed */
	REGISTER,  /* if its operand is a register: mod of the ModRM byte is 3 */
	ADDRESS,   /* if its operand is an address that is only computed (lea) */
	UP_TO_ONE, /* REGISTER, and only /0 and /1 of the group (inc, dec; not call, jmp, push) */
	UP_TO_FIVE, /* REGISTER, and only /0 to /5 of the group (not div, idiv) */
	ZERO,	   /* REGISTER, and only /0 of the group */
};

#define ALU(op)                                                                                   \
	[(op)] = REGISTER, [(op) + 1] = REGISTER, [(op) + 2] = REGISTER, [(op) + 3] = REGISTER,   \
	[(op) + 4] = ALWAYS, [(op) + 5] = ALWAYS

static const uint8_t one_byte[256] = {
	ALU(0x00), ALU(0x08), ALU(0x10), ALU(0x18), ALU(0x20), ALU(0x28), ALU(0x30), ALU(0x38),
	[0x63] = REGISTER,		  /* movsxd */
	[0x69] = REGISTER,		  /* imul */
	[0x6b] = REGISTER,		  /* imul */
	[0x80 ... 0x81] = REGISTER,	  /* arithmetic with an immediate */
	[0x83 ... 0x8b] = REGISTER,	  /* the same, test, xchg, mov */
	[0x8d] = ADDRESS,		  /* lea */
	[0x90 ... 0x99] = ALWAYS,	  /* nop, xchg with %rax, cwde, cdq */
	[0xa8 ... 0xa9] = ALWAYS,	  /* test with an immediate */
	[0xb0 ... 0xbf] = ALWAYS,	  /* mov of an immediate */
	[0xc0 ... 0xc1] = REGISTER,	  /* shifts */
	[0xc6 ... 0xc7] = ZERO,		  /* mov of an immediate */
	[0xd0 ... 0xd3] = REGISTER,	  /* shifts */
	[0xf6 ... 0xf7] = UP_TO_FIVE,	  /* test, not, neg, mul */
	[0xfe ... 0xff] = UP_TO_ONE,	  /* inc, dec */
};

/* Behind 0f. */
static const uint8_t two_byte[256] = {
	[0x1f] = ALWAYS,		  /* nop of many bytes: its operand is not accessed */
	[0x40 ... 0x4f] = REGISTER,	  /* cmov */
	[0x90 ... 0x9f] = REGISTER,	  /* setcc */
	[0xa3 ... 0xa5] = REGISTER,	  /* bt, shld */
	[0xab ... 0xad] = REGISTER,	  /* bts, shrd */
	[0xaf] = REGISTER,		  /* imul */
	[0xb3] = REGISTER,		  /* btr */
	[0xb6 ... 0xb7] = REGISTER,	  /* movzx */
	[0xba ... 0xbf] = REGISTER,	  /* bt, btc, bsf, bsr, movsx */
	[0xc8 ... 0xcf] = ALWAYS,	  /* bswap */
};

static bool obeys(enum rule rule, const uint8_t *operands, size_t byte_len)
{
	uint8_t mod, reg;

	if (rule == NEVER || rule == ALWAYS)
		return rule == ALWAYS;
	if (!byte_len)
		return false;
	mod = operands[0] >> 6;
	reg = operands[0] >> 3 & 7;
	if (rule == ADDRESS)
		return mod != 3;
	return mod == 3 && (rule != ZERO || reg == 0) && (rule != UP_TO_ONE || reg <= 1) &&
	       (rule != UP_TO_FIVE || reg <= 5);
}

bool insn_goes_straight(const uint8_t *bytes, size_t byte_len)
{
	size_t i = 0;

	/* Operand size, cs and ds: what compilers put before a nop and before 16-bit operands. */
	while (i < byte_len && (bytes[i] == 0x66 || bytes[i] == 0x2e || bytes[i] == 0x3e))
		i++;
	/* endbr64 does nothing.  Any other f3 (pause, rep) is not looked at: NEVER in the map. */
	if (byte_len - i == 4 && bytes[i] == 0xf3 && bytes[i + 1] == 0x0f &&
	    bytes[i + 2] == 0x1e && bytes[i + 3] == 0xfa)
		return true;
	if (i < byte_len && (bytes[i] & 0xf0) == 0x40)
		i++;
	if (i >= byte_len)
		return false;
	if (bytes[i] != 0x0f)
		return obeys(one_byte[bytes[i]], bytes + i + 1, byte_len - i - 1);
	if (i + 1 >= byte_len)
		return false;
	return obeys(two_byte[bytes[i + 1]], bytes + i + 2, byte_len - i - 2);
}
