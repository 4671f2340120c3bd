/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module parameters that scsi_ram and ata_ram share: same name, same meaning, same default.
 *
 * Included by exactly one file of each module. Those that a running device can follow are writable
 * in /sys/module/NAME/parameters; they are read once for each command.
 */
#ifndef IOSTACK_RAM_PARAMS_H
#define IOSTACK_RAM_PARAMS_H

#include <linux/moduleparam.h>

static unsigned int capacity_mib = 64;
module_param(capacity_mib, uint, 0444);
MODULE_PARM_DESC(capacity_mib, "Capacity in MiB, all of it taken from memory when loaded");

static bool copy = true;
module_param(copy, bool, 0644);
MODULE_PARM_DESC(copy, "Copy data (0: report success without)");

static bool inline_completion;
module_param(inline_completion, bool, 0644);
MODULE_PARM_DESC(inline_completion, "Serve commands where they are submitted, without the thread");

static int thread_cpu = -1;
module_param(thread_cpu, int, 0444);
MODULE_PARM_DESC(thread_cpu, "CPU of the thread that serves commands (-1: any)");

static unsigned int queue_depth = 32;
module_param(queue_depth, uint, 0444);
MODULE_PARM_DESC(queue_depth, "Commands that the device accepts at the same time");

static unsigned int latency_ns;
module_param(latency_ns, uint, 0644);
MODULE_PARM_DESC(latency_ns, "Nanoseconds from submission to service, at least (0: at once)");

static bool trim = true;
module_param(trim, bool, 0444);
MODULE_PARM_DESC(trim, "Advertise UNMAP or TRIM; discarded blocks read as zeroes");

static unsigned long long fail_first_lba;
module_param(fail_first_lba, ullong, 0644);
MODULE_PARM_DESC(fail_first_lba, "First block of 512 bytes that answers with a medium error");

static unsigned long long fail_lba_count;
module_param(fail_lba_count, ullong, 0644);
MODULE_PARM_DESC(fail_lba_count, "How many blocks answer with a medium error (0: none)");

static unsigned int timeout_every;
module_param(timeout_every, uint, 0644);
MODULE_PARM_DESC(timeout_every, "Every Nth media command is never answered (0: none)");

static unsigned int lose_every;
module_param(lose_every, uint, 0644);
MODULE_PARM_DESC(lose_every, "Every Nth media command is performed, its completion lost (0: none)");

#endif
