"""Functions that workers of the tests run."""

import os
import signal
import time


def square(point):
    """The square of `x`, after `sleep` seconds; kills its worker where `kill` says so, and raises where `fail` does."""
    time.sleep(point.get("sleep", 0.0))
    if point.get("kill"):
        os.kill(os.getpid(), signal.SIGKILL)
    if point.get("fail"):
        raise ValueError(f"no square of {point['x']}")
    return {"x": point["x"] ** 2}
