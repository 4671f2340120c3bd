// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A QEMU plugin that counts, exactly, which instructions one I/O executes.
 *
 *   idle ──COUNT──► count ──TRACE──► trace
 *     ▲               │                │
 *     └─────DUMP──────┴──────DUMP──────┘
 *
 * The guest marks its I/Os with NOPs.  In every phase the translated code of
 * user space is searched for marks; only in `count` and `trace` is anything
 * else added to it.  A change of phase throws all translated code away, so
 * that the new phase translates it anew.  Start reading at translate().
 *
 * It is a door, too: a driver's NOP that somebody outside answers (door.c).
 */
#include "counters.h"
#include "door.h"
#include "pairs.h"
#include "straight.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest instruction of x86 (Intel SDM volume 2, 2.3.11). */
#define INSN_BYTES_MAX 15U

enum phase { IDLE, COUNT, TRACE };

enum mark {
	MARK_NONE = 0,
	MARK_BEGIN = 0x105AC001,
	MARK_END = 0x105AC002,
	MARK_COUNT = 0x105AC010,
	MARK_TRACE = 0x105AC011,
	MARK_DUMP = 0x105AC01F,
};

PLUGIN_EXPORT int qemu_plugin_version = 1;
PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				      char **argv);

static qemu_plugin_id_t plugin_id;
/* qemu_plugin_insn_data() as QEMU has it up to version 2; NULL if this QEMU is newer. */
static const void *(*insn_data)(const struct qemu_plugin_insn *insn);
static FILE *out;
static enum phase phase, phase_next;
static bool in_pair;
static unsigned long round_count;

/* QEMU reads the version after it loaded this object, so it can still be chosen here. */
__attribute__((constructor)) static void choose_version(void)
{
	if (qemu_plugin_register_vcpu_insn_exec_inline)
		qemu_plugin_version = 1;
	else if (qemu_plugin_write_memory_vaddr)
		qemu_plugin_version = 5;
	else if (qemu_plugin_read_memory_vaddr)
		qemu_plugin_version = 4;
	else
		qemu_plugin_version = 2;
}

static size_t insn_bytes(const struct qemu_plugin_insn *insn, uint8_t *bytes)
{
	size_t byte_len = qemu_plugin_insn_size(insn);

	if (byte_len > INSN_BYTES_MAX)
		byte_len = INSN_BYTES_MAX;
	if (insn_data)
		memcpy(bytes, insn_data(insn), byte_len);
	else
		qemu_plugin_insn_data(insn, bytes, byte_len);
	return byte_len;
}

/* The number in nopl imm32(%rax), seven bytes; 0 of anything else. */
static uint32_t number_in(const uint8_t *bytes, size_t byte_len)
{
	if (byte_len != 7 || bytes[0] != 0x0f || bytes[1] != 0x1f || bytes[2] != 0x80)
		return 0;
	return (uint32_t)bytes[3] | (uint32_t)bytes[4] << 8 | (uint32_t)bytes[5] << 16 |
	       (uint32_t)bytes[6] << 24;
}

/* The mark that these bytes are. */
static enum mark mark_of(const uint8_t *bytes, size_t byte_len)
{
	uint32_t imm = number_in(bytes, byte_len);

	switch (imm) {
	case MARK_BEGIN:
	case MARK_END:
	case MARK_COUNT:
	case MARK_TRACE:
	case MARK_DUMP:
		return (enum mark)imm;
	default:
		return MARK_NONE;
	}
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);

/*
 * QEMU before 8.0 lets the virtual CPU keep a pointer to the memory callbacks of
 * an instruction after its block ended (fixed by "plugins: fix optimization in
 * plugin_gen_disable_mem_helpers"), frees them with the translated code, and
 * aborts or crashes when a helper accesses memory next.  It takes the pointer
 * away after an exception; this does the same when code goes.
 */
static void forget_memory_callbacks(qemu_plugin_id_t id)
{
	(void)id;
	if (qemu_get_cpu && qemu_plugin_disable_mem_helpers && qemu_get_cpu(0))
		qemu_plugin_disable_mem_helpers(qemu_get_cpu(0));
}

static void watch_code(qemu_plugin_id_t id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_flush_cb(id, forget_memory_callbacks);
}

/* QEMU calls this when all translated code is gone. */
static void code_is_gone(qemu_plugin_id_t id)
{
	forget_memory_callbacks(id);
	counters_forget();
	trace_forget_blocks();
	phase = phase_next;
	watch_code(id);
}

static void change_phase(enum phase next)
{
	in_pair = false;
	trace_abandon();
	phase_next = next;
	qemu_plugin_reset(plugin_id, code_is_gone);
}

static void dump(void)
{
	fprintf(out, "round %lu\n", round_count);
	pairs_write(out);
	trace_write(out);
	fprintf(out, "end %lu\n", round_count);
	if (fflush(out))
		perror("iostack plugin: cannot write what was counted");
	round_count++;
	pairs_forget();
	trace_forget();
	change_phase(IDLE);
}

static void at_begin(unsigned int vcpu_index, void *position)
{
	(void)vcpu_index;
	in_pair = true;
	counters_zero();
	if (phase == TRACE)
		trace_begin(position);
}

static void at_end(unsigned int vcpu_index, void *position)
{
	(void)vcpu_index;
	(void)position;
	if (!in_pair)
		return;
	in_pair = false;
	if (phase == COUNT)
		pairs_add();
	else
		trace_end();
}

static void at_count(unsigned int vcpu_index, void *position)
{
	(void)vcpu_index;
	(void)position;
	change_phase(COUNT);
}

static void at_trace(unsigned int vcpu_index, void *position)
{
	(void)vcpu_index;
	(void)position;
	change_phase(TRACE);
}

static void at_dump(unsigned int vcpu_index, void *position)
{
	(void)vcpu_index;
	(void)position;
	if (phase != IDLE)
		dump();
}

static void watch_mark(struct qemu_plugin_insn *insn, enum mark mark, struct block *block,
		       size_t at)
{
	qemu_plugin_vcpu_udata_cb_t cb = mark == MARK_BEGIN ? at_begin :
					 mark == MARK_END   ? at_end :
					 mark == MARK_COUNT ? at_count :
					 mark == MARK_TRACE ? at_trace :
							      at_dump;

	if (phase == IDLE && (mark == MARK_BEGIN || mark == MARK_END))
		return;
	qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, QEMU_PLUGIN_CB_NO_REGS,
					       block ? trace_position(block, at) : NULL);
}

/* Gathers instructions until one of them may leave the block; then they are one segment. */
struct gather {
	struct qemu_plugin_insn *first;
	uint64_t *pcs;
	size_t pc_count;
};

static void close_segment(struct gather *gather)
{
	if (!gather->pc_count)
		return;
	counters_add_inline(gather->first, counters_segment(gather->pcs, gather->pc_count));
	if (phase == TRACE)
		counters_add_executed(gather->first, gather->pc_count);
	gather->pcs += gather->pc_count;
	gather->pc_count = 0;
}

/*
 * QEMU ends a block before an instruction that reaches into the next page, but
 * still shows it as the block's last one (7.2: disas_insn() backs out after
 * the plugin was told).  What was registered for it is dropped with it, so it
 * must not share a counter with the instructions before.  How many of its
 * bytes are shown varies; hence any that may reach so far.
 */
static bool may_be_dropped(uint64_t pc)
{
	return (pc & 0xfff) + INSN_BYTES_MAX > 0x1000;
}

/*
 * Drivers ring from the kernel's half alone, and their instruction counts as any other; the
 * program that asks for orders rings from the other half.
 */
static void watch_door(struct qemu_plugin_insn *insn, uint64_t pc, const uint8_t *bytes,
		       size_t byte_len)
{
	uint32_t number = door_is_open() ? number_in(bytes, byte_len) : 0;

	if (pc >= DOOR_LOWEST_PC && number == DOOR_MARK)
		door_watch(insn, DOOR_DRIVER);
	if (!(pc >> 63) && number == ORDER_MARK)
		door_watch(insn, DOOR_ORDER);
}

static void translate_counted(struct qemu_plugin_tb *tb, size_t insn_count)
{
	/* A block holds 512 instructions at most (QEMU's TCG_MAX_INSNS). */
	static uint64_t pcs[1024], counted[1024];
	struct gather gather = { NULL, counted, 0 };
	struct block *block = NULL;
	uint8_t bytes[INSN_BYTES_MAX];

	if (insn_count > 1024) {
		fprintf(stderr, "iostack plugin: a block of %zu instructions\n", insn_count);
		abort();
	}
	for (size_t i = 0; i < insn_count; i++)
		pcs[i] = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i));
	if (phase == TRACE) {
		block = trace_block(pcs, insn_count);
		trace_block_callback(tb, block);
	}
	for (size_t i = 0; i < insn_count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		size_t byte_len = insn_bytes(insn, bytes);
		enum mark mark = pcs[i] >> 63 ? MARK_NONE : mark_of(bytes, byte_len);

		if (mark) {
			close_segment(&gather);
			watch_mark(insn, mark, block, i);
			continue;
		}
		watch_door(insn, pcs[i], bytes, byte_len);
		if (i + 1 == insn_count && may_be_dropped(pcs[i]))
			close_segment(&gather);
		if (!gather.pc_count)
			gather.first = insn;
		gather.pcs[gather.pc_count++] = pcs[i];
		if (phase == TRACE)
			trace_device_callbacks(insn, bytes, byte_len);
		if (!insn_goes_straight(bytes, byte_len))
			close_segment(&gather);
	}
	close_segment(&gather);
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t insn_count = qemu_plugin_tb_n_insns(tb);
	uint8_t bytes[INSN_BYTES_MAX];
	bool kernel;

	(void)id;
	if (phase != IDLE) {
		translate_counted(tb, insn_count);
		return;
	}
	/* Marks are in user space, the lower half of the addresses. */
	kernel = qemu_plugin_tb_vaddr(tb) >> 63;
	if (kernel && (!door_is_open() || qemu_plugin_tb_vaddr(tb) < DOOR_LOWEST_PC))
		return;
	for (size_t i = 0; i < insn_count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		size_t byte_len = insn_bytes(insn, bytes);
		enum mark mark = kernel || !out ? MARK_NONE : mark_of(bytes, byte_len);

		if (mark)
			watch_mark(insn, mark, NULL, i);
		watch_door(insn, qemu_plugin_insn_vaddr(insn), bytes, byte_len);
	}
}

/* Counts go to this file. */
static int open_counts(const char *path)
{
	out = fopen(path, "w");
	if (!out) {
		fprintf(stderr, "iostack plugin: cannot open `%s`: ", path);
		perror(NULL);
		return -1;
	}
	fprintf(out, "iostack-plugin 1\n");
	fflush(out);
	return 0;
}

PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				      char **argv)
{
	const char *path = NULL;

	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			path = argv[i] + 4;
		if (!strncmp(argv[i], "door=", 5))
			door_open(atoi(argv[i] + 5));
	}
	if (!path && !door_is_open()) {
		fprintf(stderr, "iostack plugin: say where to write: out=PATH, or who answers: "
				"door=DESCRIPTOR\n");
		return -1;
	}
	/* Doors of several processors are rung in turns, as they run. */
	if (strcmp(info->target_name, "x86_64") || !info->system_emulation ||
	    (path && info->system.max_vcpus != 1)) {
		fprintf(stderr, "iostack plugin: counts are exact for an x86_64 machine with one "
				"virtual CPU only\n");
		return -1;
	}
	if (path && open_counts(path))
		return -1;
	plugin_id = id;
	if (info->version.cur < 3)
		insn_data = (const void *(*)(const struct qemu_plugin_insn *))(
			void (*)(void))qemu_plugin_insn_data;
	counters_init();
	watch_code(id);
	return 0;
}
