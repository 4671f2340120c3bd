"""What the tests of fleets share: the program, hosts made up and hosts faked."""

import os
import pathlib
import shutil
import stat
import subprocess
import sys

import pytest

import iostack
from iostack.fleet import judge

ROOT = pathlib.Path(__file__).parents[2]
#: Where the package lies that is tested: beside the sources there is no library.
PACKAGE = pathlib.Path(iostack.__file__).parents[1]

MACHINE = {"cpu": {"model": "Test", "cores_usable": 8}, "memory": {"total": 32 << 30}, "kernel": {"release": "6.1"}}
QUEUE = {"scheduler": "none", "schedulers": ["none", "bfq"], "affinity": 1}


def program():
    """The program `iostack`; without it the test is skipped aloud."""
    found = os.environ.get("IOSTACK_PROGRAM") or shutil.which("iostack") or str(ROOT / "target/debug/iostack")
    if not os.path.exists(found):
        pytest.skip("the program iostack is not there; build it, or name it in IOSTACK_PROGRAM")
    return found


def environment(**more):
    """The environment of a process that finds the package and the program."""
    return {**os.environ, "PYTHONPATH": str(PACKAGE), "IOSTACK_PROGRAM": program(), **more}


def fleet(*words, **more):
    """Runs `iostack fleet` for real."""
    command = [sys.executable, "-m", "iostack.fleet", *map(str, words)]
    return subprocess.run(command, env=environment(**more), cwd=ROOT, capture_output=True, text=True, timeout=300)


def script(path, text):
    """A program of a few lines of shell."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


def figures(points, **more):
    """Figures of a host as `measure.digest` gives them; a point is a value or a whole row."""
    rows = {point: row if isinstance(row, list) else [row, row, row, 100] for point, row in points.items()}
    storage = {"devices": [{"model": "Disk", "driver": "nvme", "size": 1e12, "write_cache": "", "queue": dict(QUEUE)}]}
    told = {
        "points": rows,
        "stages": {},
        "layers": {},
        "shares": {},
        "series": {},
        "machine": MACHINE,
        "storage": storage,
    }
    return (
        told
        | {"verdict": {"limit": "device", "answer": "The device."}, "simulated": False, "interrupted": False}
        | more
    )


def noisy(random, count, points=56, host=0.02, noise=0.006):
    """Equal hosts: each a factor of its own on all points, and noise on each."""
    told = {}
    for index in range(count):
        factor = random.gauss(0, host)
        rates = {
            f"step{point % 7}: {point}: IOPS": 1000 * 2.718281828 ** (factor + random.gauss(0, noise))
            for point in range(points)
        }
        told[f"h{index:02}"] = figures(rates)
    return told


__all__ = ["ROOT", "environment", "figures", "fleet", "judge", "noisy", "program", "script"]
