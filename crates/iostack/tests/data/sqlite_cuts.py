"""Commits to SQLite on a disk whose power is cut again and again: is every commit that was answered there afterwards?

Arguments: the disk, an empty folder, how many cuts. Prints one line; exit 1 when a commit is missing or the database is broken.
"""

import mmap
import os
import sqlite3
import subprocess
import sys
import time

disk, folder, cuts = sys.argv[1], sys.argv[2], int(sys.argv[3])
path = os.path.join(folder, "base")


def run(*words):
    return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def until(done, *words):
    """Again and again: a cut may come in the middle, and the power is back a moment after the file system has gone."""
    for _ in range(50):
        if run(*words) == done:
            return
        run("umount", folder)
        time.sleep(0.3)
    sys.exit(f"cannot {' '.join(words)}")


def is_dark():
    """There is no power: it comes back only after the file system has gone."""
    room = mmap.mmap(-1, 4096)
    try:
        opened = os.open(disk, os.O_RDONLY | os.O_DIRECT)
        try:
            os.preadv(opened, [room], 0)
        finally:
            os.close(opened)
    except OSError:
        return True
    return False


def wrong(base, acknowledged):
    sound = base.execute("pragma integrity_check").fetchone()[0]
    count, last = base.execute("select count(*), coalesce(max(id), 0) from t").fetchone()
    if sound != "ok" or last < acknowledged or count != last:
        return f"{sound}, {count} up to {last} of {acknowledged} commits"


acknowledged, seen = 0, 0
until(0, "mkfs.ext4", "-q", "-F", disk)
while True:
    until(0, "mount", "-o", "rw", disk, folder)
    base = None
    try:
        base = sqlite3.connect(path, isolation_level=None)
        # FULL may lose the last commit: its journal comes back (sqlite.org/pragma.html#pragma_synchronous).
        base.execute("pragma synchronous=extra")
        base.execute("create table if not exists t(id integer primary key, filling blob)")
        problem = wrong(base, acknowledged)
        if problem or seen >= cuts:
            print(f"after {seen} cuts: {problem}" if problem else f"{acknowledged} commits over {seen} power cuts: all there")
            sys.exit(1 if problem else 0)
        while True:
            base.execute("insert into t(filling) values(randomblob(3000))")
            acknowledged = base.execute("select max(id) from t").fetchone()[0]
    except sqlite3.DatabaseError as error:
        # A cut in the middle of the check looks like a broken base, too.
        if not is_dark():
            print(f"after {seen} cuts, with power: {error}")
            sys.exit(1)
        seen += 1
    finally:
        if base:
            base.close()
    run("umount", folder)
    time.sleep(0.3)
