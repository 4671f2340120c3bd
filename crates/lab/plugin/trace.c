// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The exact sequence of blocks between two marks.
 *
 * A block announces itself when it starts; it may end early, by an exception
 * or because QEMU runs an access to a device again in a block of its own.
 * Its true length is therefore the growth of an inline counter until the next
 * block starts.  trace_end() adds the blocks up per PC and compares with the
 * counters of the pair; a difference is written, not hidden.
 */
#include "trace.h"
#include "pairs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct block {
	struct block *next;
	size_t pc_count;
	uint64_t pcs[];
};

struct held_position {
	struct held_position *next;
	struct position position;
};

/* Either a run of instructions of a block (region == NULL) or an access to a device. */
struct event {
	const char *region;
	uint64_t address; /* of the access */
	uint64_t pc;	  /* of the instruction that accesses */
	uint32_t byte_len;
	bool write;
	size_t pcs_at; /* of the run: into trace.pcs */
	size_t insns;
};

struct trace {
	uint64_t hash;
	uint64_t insns;
	uint64_t pair;
	struct event *events;
	size_t event_count, event_room;
	uint64_t *pcs; /* what ran, in order */
	size_t pcs_len, pcs_room;
	struct pc_vector differs; /* counts: inline minus trace, modulo 2^64; empty if all is well */
};

static struct block *blocks;
static struct held_position *positions;

static struct trace traces[WRITTEN_MAX];
static size_t trace_count;
static uint64_t pair_count;

/* The pair that runs now. */
static struct trace now;
static bool running;
static const struct block *run_block;
static size_t run_first;
static size_t run_event;
static uint64_t run_executed;

struct block *trace_block(const uint64_t *pcs, size_t pc_count)
{
	struct block *block = must_alloc(NULL, 1, sizeof(*block) + pc_count * sizeof(*pcs));

	block->next = blocks;
	block->pc_count = pc_count;
	memcpy(block->pcs, pcs, pc_count * sizeof(*pcs));
	blocks = block;
	return block;
}

struct position *trace_position(struct block *block, size_t insn)
{
	struct held_position *held = must_alloc(NULL, 1, sizeof(*held));

	held->next = positions;
	held->position = (struct position){ block, insn };
	positions = held;
	return &held->position;
}

static struct event *add_event(void)
{
	if (now.event_count == now.event_room) {
		now.event_room = now.event_room ? now.event_room * 2 : 1024;
		now.events = must_alloc(now.events, now.event_room, sizeof(*now.events));
	}
	memset(&now.events[now.event_count], 0, sizeof(*now.events));
	return &now.events[now.event_count++];
}

static void open_run(const struct block *block, size_t first)
{
	run_block = block;
	run_first = first;
	run_executed = counters_executed();
	run_event = (size_t)(add_event() - now.events);
}

static void close_run(void)
{
	size_t insns = (size_t)(counters_executed() - run_executed);
	struct event *event = &now.events[run_event];

	/* More than the block holds: leave the rest to the comparison in trace_end(). */
	if (insns > run_block->pc_count - run_first)
		insns = run_block->pc_count - run_first;
	if (now.pcs_len + insns > now.pcs_room) {
		now.pcs_room = (now.pcs_len + insns) * 2;
		now.pcs = must_alloc(now.pcs, now.pcs_room, sizeof(*now.pcs));
	}
	if (insns)
		memcpy(now.pcs + now.pcs_len, run_block->pcs + run_first, insns * sizeof(*now.pcs));
	event->pcs_at = now.pcs_len;
	event->insns = insns;
	now.pcs_len += insns;
}

static void block_starts(unsigned int vcpu_index, void *block)
{
	(void)vcpu_index;
	if (!running)
		return;
	close_run();
	open_run(block, 0);
}

void trace_block_callback(struct qemu_plugin_tb *tb, struct block *block)
{
	qemu_plugin_register_vcpu_tb_exec_cb(tb, block_starts, QEMU_PLUGIN_CB_NO_REGS, block);
}

static void memory_accessed(unsigned int vcpu_index, qemu_plugin_meminfo_t info, uint64_t vaddr,
			    void *pc)
{
	struct qemu_plugin_hwaddr *hwaddr;
	struct event *event;

	(void)vcpu_index;
	if (!running)
		return;
	hwaddr = qemu_plugin_get_hwaddr(info, vaddr);
	if (!hwaddr || !qemu_plugin_hwaddr_is_io(hwaddr))
		return;
	event = add_event();
	event->region = qemu_plugin_hwaddr_device_name(hwaddr);
	if (!event->region || !*event->region)
		event->region = "-";
	event->address = qemu_plugin_hwaddr_phys_addr(hwaddr);
	event->pc = (uintptr_t)pc;
	event->byte_len = 1U << qemu_plugin_mem_size_shift(info);
	event->write = qemu_plugin_mem_is_store(info);
}

/* `in`, `out` and their string forms, by opcode: callbacks on memory do not see ports. */
struct port_access {
	uint64_t pc;
	uint32_t byte_len;
	bool write;
	uint8_t port; /* 0 when it is in %dx, which a plugin cannot read in every version */
};

static struct port_access *port_access_of(const uint8_t *bytes, size_t byte_len)
{
	bool wide = true, short_word = false;
	struct port_access *access;
	size_t i = 0;
	uint8_t op;

	while (i < byte_len && (bytes[i] == 0x66 || bytes[i] == 0x67 || bytes[i] == 0xf2 ||
				bytes[i] == 0xf3 || (bytes[i] & 0xf0) == 0x40)) {
		short_word |= bytes[i] == 0x66;
		i++;
	}
	if (i >= byte_len)
		return NULL;
	op = bytes[i];
	/* e4-e7: port in the instruction; ec-ef: port in %dx; 6c-6f: string forms. */
	if ((op & 0xfc) != 0xe4 && (op & 0xfc) != 0xec && (op & 0xfc) != 0x6c)
		return NULL;
	wide = op & 1;
	access = must_alloc(NULL, 1, sizeof(*access));
	access->byte_len = !wide ? 1 : short_word ? 2 : 4;
	access->write = op & 2;
	access->port = (op & 0xfc) == 0xe4 && i + 1 < byte_len ? bytes[i + 1] : 0;
	return access;
}

static void port_accessed(unsigned int vcpu_index, void *userdata)
{
	const struct port_access *access = userdata;
	struct event *event;

	(void)vcpu_index;
	if (!running)
		return;
	event = add_event();
	event->region = "port";
	event->address = access->port;
	event->pc = access->pc;
	event->byte_len = access->byte_len;
	event->write = access->write;
}

void trace_device_callbacks(struct qemu_plugin_insn *insn, const uint8_t *bytes, size_t byte_len)
{
	uint64_t pc = qemu_plugin_insn_vaddr(insn);
	/* Never freed: a guest has few such instructions. */
	struct port_access *access = port_access_of(bytes, byte_len);

	if (access) {
		access->pc = pc;
		qemu_plugin_register_vcpu_insn_exec_cb(insn, port_accessed, QEMU_PLUGIN_CB_NO_REGS,
						       access);
	}
	qemu_plugin_register_vcpu_mem_cb(insn, memory_accessed, QEMU_PLUGIN_CB_NO_REGS,
					 QEMU_PLUGIN_MEM_RW, (void *)(uintptr_t)pc);
}

void trace_begin(const struct position *mark)
{
	now.event_count = 0;
	now.pcs_len = 0;
	running = true;
	open_run(mark->block, mark->insn + 1);
}

void trace_abandon(void)
{
	running = false;
}

/* What the counters say minus what the trace says, per PC; PCs that agree are left out. */
static struct pc_vector difference(void)
{
	struct pc_vector vector = counters_vector();
	size_t kept = 0;

	vector.counts = must_alloc(vector.counts, vector.len + now.pcs_len, sizeof(*vector.counts));
	for (size_t i = 0; i < now.pcs_len; i++)
		vector.counts[vector.len++] = (struct pc_count){ now.pcs[i], UINT64_MAX };
	pc_vector_merge(&vector);
	for (size_t i = 0; i < vector.len; i++)
		if (vector.counts[i].count)
			vector.counts[kept++] = vector.counts[i];
	vector.len = kept;
	return vector;
}

void trace_end(void)
{
	if (!running)
		return;
	close_run();
	running = false;
	now.hash = counters_hash();
	now.insns = counters_insns();
	now.pair = pair_count++;
	for (size_t i = 0; i < trace_count; i++)
		if (traces[i].hash == now.hash)
			return;
	if (trace_count == WRITTEN_MAX)
		return;
	now.differs = difference();
	traces[trace_count++] = now;
	memset(&now, 0, sizeof(now));
}

static void write_event(FILE *out, const struct trace *trace, const struct event *event)
{
	if (event->region)
		fprintf(out, "mmio %c 0x%" PRIx64 " 0x%" PRIx64 " %" PRIu32 " %s\n",
			event->write ? 'w' : 'r', event->pc, event->address, event->byte_len,
			event->region);
	else if (event->insns)
		fprintf(out, "tb 0x%" PRIx64 " %zu\n", trace->pcs[event->pcs_at], event->insns);
}

void trace_write(FILE *out)
{
	for (size_t i = 0; i < trace_count; i++) {
		const struct trace *trace = &traces[i];

		fprintf(out, "trace %" PRIu64 " %" PRIu64 " 0x%016" PRIx64 "\n", trace->pair,
			trace->insns, trace->hash);
		for (size_t e = 0; e < trace->event_count; e++)
			write_event(out, trace, &trace->events[e]);
		for (size_t d = 0; d < trace->differs.len; d++)
			fprintf(out, "differs 0x%" PRIx64 " %" PRId64 "\n",
				trace->differs.counts[d].pc,
				(int64_t)trace->differs.counts[d].count);
	}
}

void trace_forget(void)
{
	for (size_t i = 0; i < trace_count; i++) {
		free(traces[i].events);
		free(traces[i].pcs);
		free(traces[i].differs.counts);
	}
	memset(traces, 0, sizeof(traces));
	trace_count = 0;
	pair_count = 0;
	running = false;
}

void trace_forget_blocks(void)
{
	while (blocks) {
		struct block *next = blocks->next;

		free(blocks);
		blocks = next;
	}
	while (positions) {
		struct held_position *next = positions->next;

		free(positions);
		positions = next;
	}
}
