#!/bin/sh
# Writes functions.txt: which source file is a kernel function defined in?
#
#   sh functions.sh [SOURCE_TREE] > functions.txt
#
# Without a tree, the source of Debian's kernel is fetched (linux-source-6.12, 153 MB; needs apt and 2 GB below TMPDIR).
# Needs universal-ctags. One line per file: its path, then its functions. x86 and generic code, and of the drivers only
# storage: what else runs is `other` anyway, by its neighbours. A function of several files is left out, since its name
# does not say which; its neighbours do. A change of the kernel moves few functions between files, so one version
# serves many.
set -eu
export LC_ALL=C

package=linux-source-6.12
if [ $# -ge 1 ]; then
    tree=$1
else
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    (cd "$scratch" && apt-get download "$package" >&2 && dpkg-deb -x "$package"_*.deb .)
    tar -xJf "$scratch/usr/src/$package.tar.xz" -C "$scratch"
    tree=$scratch/$package
fi
cd "$tree"

files() {
    find arch/x86/entry arch/x86/kernel arch/x86/lib arch/x86/mm arch/x86/net arch/x86/crypto \
        block crypto init io_uring ipc kernel lib mm virt \
        security/*.c security/apparmor security/selinux security/landlock security/yama security/keys security/integrity \
        fs/*.c fs/iomap fs/ext2 fs/ext4 fs/jbd2 fs/xfs fs/btrfs fs/f2fs fs/fuse fs/overlayfs fs/netfs \
        fs/proc fs/sysfs fs/kernfs fs/notify fs/crypto fs/verity fs/quota fs/fat fs/autofs \
        drivers/block drivers/virtio drivers/nvme drivers/ata/libata* drivers/ata/*ahci* drivers/md drivers/nvdimm \
        drivers/scsi/scsi*.c drivers/scsi/sd*.c drivers/scsi/sg.c drivers/scsi/virtio_scsi.c \
        drivers/iommu/*.c drivers/iommu/intel drivers/cpuidle drivers/pci/msi \
        drivers/base/*.c drivers/base/power drivers/tty/*.c drivers/char/mem.c drivers/char/random.c drivers/connector \
        net/socket.c net/core net/unix net/ipv4/tcp*.c \
        -name '*.c' 2>/dev/null |
        grep -vE '/(tests?|selftests?|drbd|bcache|dm-vdo|kunit|rcutorture|gcov|kcsan|kmsan|kasan)/|[-_](tests?|kunit|selftest)\.c$|^lib/test' || true
}

{
    files | ctags --languages=C --kinds-C=f --sort=no -x --_xformat='%N %F' -L - -o - \
        -I '__init,__exit,__sched,__cpuidle,noinline,__always_inline,__user,asmlinkage,__visible,notrace,__percpu'
    # Assembly: the name stands in a macro.
    find arch/x86 -name '*.S' -exec grep -HoE '^SYM(_TYPED)?_(FUNC|CODE)_START(_NOALIGN|_WEAK|_LOCAL)*\([a-zA-Z0-9_]+\)' {} + |
        sed -E 's/^([^:]+):[^(]*\(([a-zA-Z0-9_]+)\)/\2 \1/'
} |
    awk '$1 ~ /^[A-Za-z_][A-Za-z0-9_]*$/ && $1 ~ /[a-z]/ { print $1, $2 }' | sort -u |
    awk '{ count[$1]++; path[$1] = $2 } END { for (name in count) if (count[name] == 1) print path[name], name }' |
    sort |
    awk '$1 != last { printf "%s%s", (NR > 1 ? "\n" : ""), $1; last = $1 } { printf " %s", $2 } END { print "" }'
