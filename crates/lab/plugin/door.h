/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who answers when the guest's driver rings? A process outside, while the guest stands still. */
#ifndef IOSTACK_DOOR_H
#define IOSTACK_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "qemu_plugin_api.h"

/* The number in the NOP of kernel/sim_disk/mailbox.h. */
#define DOOR_MARK 0x105AC020U

/* The same in crates/lab/src/sys/guest/x86_64.rs: the guest's program asks what to do next. */
#define ORDER_MARK 0x105AC021U

/* The byte that says who rings. */
#define DOOR_DRIVER ((void *)0)
#define DOOR_ORDER ((void *)1)

/* Modules of the kernel lie from here on (Documentation/arch/x86/x86_64/mm.rst). */
#define DOOR_LOWEST_PC 0xffffffffc0000000ULL

/* From now on rings are answered at this socket. */
void door_open(int socket);
bool door_is_open(void);

/* Rings when this instruction is executed, with DOOR_DRIVER or DOOR_ORDER. */
void door_watch(struct qemu_plugin_insn *insn, void *who);

#endif
