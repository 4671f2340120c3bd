/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between the kernels, from 6.1 on. Asked of the compiler, never of a version. */
#ifndef IOSTACK_RAM_COMPAT_H
#define IOSTACK_RAM_COMPAT_H

/* It moved in 6.12. */
#if __has_include("linux/unaligned.h")
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif
