# SPDX-License-Identifier: GPL-2.0
# What does this kernel's interface look like? Asked of the compiler, because distributions backport:
# a version says less.
#
#   ccflags-y += $(call probe,HAVE_NAME,linux/header.h,a function that compiles only if it is so)
#
# gives -DHAVE_NAME or nothing. The function is static and without a comma.
probe = $(shell printf '\043include <%s>\n%s\n' '$(2)' '$(strip $(3))' | \
	$(CC) $(NOSTDINC_FLAGS) $(LINUXINCLUDE) $(KBUILD_CPPFLAGS) $(KBUILD_CFLAGS) \
	$(KBUILD_CFLAGS_MODULE) -DKBUILD_MODNAME='"probe"' -DKBUILD_BASENAME='"probe"' \
	-D__KBUILD_MODNAME=probe -Werror -Wno-unused -x c -fsyntax-only - \
	>/dev/null 2>&1 && echo -D$(1))
