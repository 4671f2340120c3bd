//! Programs of others, and the work that each does in a folder. Shells run it; what it prints is the same each time.

/// A program of others.
pub(super) struct ProgramRow {
    pub(super) name: &'static str,
    /// Programs that must be there.
    pub(super) needs: &'static [&'static str],
    pub(super) file_system: &'static str,
    /// Words of a shell that nobody looks at.
    pub(super) prepare: &'static str,
    /// Words of the work.
    pub(super) work: &'static str,
}

pub(super) const ROWS: &[ProgramRow] = &[
    ProgramRow {
        name: "mariadb",
        needs: &["mariadbd", "mariadb-install-db", "mariadb", "mariadb-admin"],
        file_system: "ext4",
        prepare: "mariadb-install-db --no-defaults --user=root --datadir=$PWD/data >/dev/null",
        work: "mariadbd --no-defaults --user=root --datadir=$PWD/data --socket=$PWD/s --skip-networking 2>log &
            until mariadb-admin --no-defaults -S $PWD/s ping >/dev/null 2>&1; do sleep 0.1; done
            (echo 'create or replace table test.t (a int primary key, b varchar(900));'
            for i in $(seq 1500); do echo \"insert into test.t values ($i, repeat('x', 800));\"; done
            echo 'update test.t set b = reverse(concat(b, a)); select count(*), sum(a) from test.t;') |
            mariadb --no-defaults -S $PWD/s
            mariadb-admin --no-defaults -S $PWD/s shutdown; wait",
    },
    ProgramRow {
        name: "postgresql",
        needs: &["postgres", "initdb", "pgbench", "psql", "setpriv"],
        file_system: "xfs",
        prepare: "chown 65534 .; setpriv --reuid 65534 --regid 65534 --clear-groups initdb -D data -U it >/dev/null",
        work: "setpriv --reuid 65534 --regid 65534 --clear-groups postgres -D data -k $PWD -c listen_addresses= 2>log &
            until psql -h $PWD -U it -d postgres -c 'select 1' >/dev/null 2>&1; do sleep 0.1; done
            pgbench -h $PWD -U it -i -q postgres >/dev/null 2>&1
            pgbench -h $PWD -U it -c 4 -t 300 postgres >/dev/null 2>&1
            psql -h $PWD -U it -d postgres -t -c 'checkpoint' -c 'select count(*) from pgbench_history'
            kill -INT $!; wait",
    },
    ProgramRow {
        name: "redis",
        needs: &["redis-server", "redis-cli", "redis-benchmark"],
        file_system: "ext4",
        prepare: "",
        work: "rm -rf appendonlydir
            redis-server --port 0 --unixsocket $PWD/s --appendonly yes --appendfsync always --save '' >/dev/null &
            until redis-cli -s $PWD/s ping >/dev/null 2>&1; do sleep 0.1; done
            redis-benchmark -s $PWD/s -n 4000 -c 8 -r 1000 -d 500 -t set -q >/dev/null
            redis-cli -s $PWD/s set it done; redis-cli -s $PWD/s bgrewriteaof
            until redis-cli -s $PWD/s info persistence | grep -q aof_rewrite_in_progress:0; do sleep 0.1; done
            redis-cli -s $PWD/s get it; redis-cli -s $PWD/s shutdown; wait",
    },
    ProgramRow {
        name: "java",
        needs: &["java", "javac"],
        file_system: "ext4",
        prepare: "javac -d . $DATA/Log.java",
        work: "java -cp . Log log",
    },
    ProgramRow {
        name: "go",
        needs: &["go"],
        file_system: "xfs",
        prepare: "HOME=$PWD CGO_ENABLED=0 go build -o serve $DATA/log.go && rm -rf .cache",
        work: "./serve log",
    },
    ProgramRow {
        name: "rsync",
        needs: &["rsync"],
        file_system: "ext4",
        prepare: FILES,
        work: "rm -rf copy; rsync -a --fsync from/ copy; rsync -ac --stats from/ copy | head -3",
    },
    ProgramRow {
        name: "tar",
        needs: &["tar", "gzip"],
        file_system: "xfs",
        prepare: FILES,
        work: "rm -rf back; tar czf all.tar.gz from; mkdir back; tar xzf all.tar.gz -C back; sync -f .; tar df all.tar.gz; ls back/from | wc -l",
    },
    ProgramRow {
        name: "git",
        needs: &["git"],
        file_system: "ext4",
        prepare: FILES,
        work: "rm -rf .git; git init -q; git config core.fsync all; git config user.name it; git config user.email it@it
            git add from; git commit -qm all; git gc -q; git fsck --full 2>/dev/null; git ls-files | wc -l",
    },
    ProgramRow {
        name: "container",
        needs: &["unshare"],
        file_system: "ext4",
        // Else a thread of ext4's writes tables meanwhile, for nobody.
        prepare: "mount -o remount,noinit_itable .",
        work: "unshare --pid --fork --mount-proc --uts --ipc --net --cgroup sh -c '
            dd if=/dev/urandom of=data bs=64k count=1500 conv=fsync status=none
            for i in 1 2 3; do dd if=data of=copy bs=16k iflag=direct oflag=dsync count=300 status=none; done
            sha256sum copy >/dev/null; echo $$; ls | wc -l'",
    },
];

/// Three thousand small files and one large.
const FILES: &str = "mkdir from; head -c 60000000 /dev/urandom >from/large
    for i in $(seq 3000); do head -c 3000 /dev/urandom | base64 >from/$i; done";
