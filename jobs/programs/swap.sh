# Swapping, by the kernel itself: a program touches pages of more memory than it may have, and the drive that
# `iostack lab exec` gives is its swap. What it measured: docs/programs.md.
#
#   iostack lab exec --with perl-base --on sim:samsung-slc --copy jobs/programs/swap.sh -- sh swap.sh
#
# Exit 1 when a page came back with other bytes than it left with.
set -e
: "${WORKING_SET_MIB:=128}" "${MEMORY_MIB:=64}"    # what the program touches, and what it may have
: "${TOUCHES:=10000}"                              # pages touched, every second one changed
: "${ORDER:=random}"                               # or `sweep`: one after the other, again and again
: "${PAGE_CLUSTER:=3}"                             # log2 of the pages that are read at once; the kernel's own is 3

case $ORDER in
    random | sweep) ;;
    *) echo "ORDER=$ORDER is neither random nor sweep" >&2; exit 2 ;;
esac

groups=/tmp/groups
mkdir $groups
mount -t cgroup2 none $groups
echo +memory > $groups/cgroup.subtree_control
mkdir $groups/program
echo $((MEMORY_MIB << 20)) > $groups/program/memory.max
echo "$PAGE_CLUSTER" > /proc/sys/vm/page-cluster
mkswap "$IOSTACK_DISK" > /tmp/log
swapon "$IOSTACK_DISK"
echo "Swap, $ORDER: $TOUCHES touches of $WORKING_SET_MIB MiB, half of them changes, $MEMORY_MIB MiB of memory, page-cluster $PAGE_CLUSTER"
echo $$ > $groups/program/cgroup.procs

export LC_ALL=C
exec perl -e '
    my ($mib, $touches, $order) = @ARGV;
    my $pages = $mib << 8;
    my ($memory, $changes, $wrong) = ("", "", 0);
    vec($memory, ($pages << 10) - 1, 32) = 0;
    vec($changes, $pages - 1, 32) = 0;

    # What the kernel counted, and CLOCK_MONOTONIC in nanoseconds: the call 228 of x86-64.
    sub now {
        open(my $file, "<", "/proc/vmstat") or die "/proc/vmstat: $!";
        my $time = "\0" x 16;
        syscall(228, 1, $time) == 0 or die "clock_gettime: $!";
        my ($seconds, $ns) = unpack("qq", $time);
        return (map({ split } <$file>), clock => $seconds * 1e9 + $ns);
    }
    # Each page holds how often it was changed.
    sub touch {
        my ($page, $change) = @_;
        $wrong++ if vec($memory, $page << 10, 32) != vec($changes, $page, 32);
        vec($memory, $page << 10, 32) = ++vec($changes, $page, 32) if $change;
    }
    my $last = 0;
    sub next_page { return $order eq "sweep" ? $last++ % $pages : int(rand($pages)) }
    srand(1);
    touch($_, 1) for 0 .. $pages - 1;
    touch(next_page(), $_ & 1) for 1 .. $touches / 10;
    my %before = now();
    touch(next_page(), $_ & 1) for 1 .. $touches;
    my %after = now();
    my $took = $after{clock} - $before{clock};
    printf("Took: %.6f s, %.0f touches a second\n", $took / 1e9, $touches * 1e9 / $took);
    printf("%s: %d\n", $_, $after{$_} - $before{$_}) for qw(pgmajfault pswpin pswpout);
    touch($_, 0) for 0 .. $pages - 1;
    print $wrong ? "$wrong pages came back wrong\n" : "every page came back as it left\n";
    exit($wrong ? 1 : 0);
' "$WORKING_SET_MIB" "$TOUCHES" "$ORDER"
