"""Is this machine ready for this SSD, what holds it back, and what would a change give?

One job, any target, one outcome, in the words of the command line::

    outcome = iostack.run(on="sim:tlc-1t", queue_depth=32, runtime="1s")
    outcome.iops.mean, outcome.latency_p99     # I/Os per second; seconds
    outcome.frame()                            # pandas, one row a slice

Start reading at `ask.py`, then `answer.py`. Drawing is in `iostack.plot`, which needs matplotlib.
"""

from ._native import Error, Interrupted
from ._native import version as __version__
from .answer import Ab, Answer, Check, Outcome, Run, Sweep, WhatIf, load, table
from .ask import ab, check, partial, run, sweep, what_if
from .job import Job, Target
from .platform import Platform, platform, platforms

__all__ = [
    "Ab",
    "Answer",
    "Check",
    "Error",
    "Interrupted",
    "Job",
    "Outcome",
    "Platform",
    "Run",
    "Sweep",
    "Target",
    "WhatIf",
    "__version__",
    "ab",
    "check",
    "load",
    "partial",
    "platform",
    "platforms",
    "run",
    "sweep",
    "table",
    "what_if",
]
