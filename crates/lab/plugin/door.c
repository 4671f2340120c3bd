// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A byte goes out, a byte comes back.  Meanwhile the one thread that runs the
 * guest waits here, so that no instruction is executed, and with it stands
 * every clock of the guest.
 */
#include "door.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int answering = -1;

void door_open(int socket)
{
	answering = socket;
}

bool door_is_open(void)
{
	return answering >= 0;
}

static void ring(unsigned int vcpu_index, void *who)
{
	char byte = (char)(uintptr_t)who;
	ssize_t moved;

	(void)vcpu_index;
	do
		moved = write(answering, &byte, 1);
	while (moved < 0 && errno == EINTR);
	if (moved == 1) {
		do
			moved = read(answering, &byte, 1);
		while (moved < 0 && errno == EINTR);
	}
	if (moved != 1) {
		fprintf(stderr, "iostack plugin: nobody answers the door any more\n");
		exit(1);
	}
}

void door_watch(struct qemu_plugin_insn *insn, void *who)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, ring, QEMU_PLUGIN_CB_NO_REGS, who);
}
