"""What can be asked? One function a command, with the words of its flags.

::

    run, check, sweep, what_if, ab ──► _ask ──► the Rust half, without Python's lock ──► an answer
                                                      Ctrl-C ──► Interrupted, with what was done
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Optional

from . import _native
from .answer import Ab, Answer, Check, Run, Sweep, WhatIf, answer
from .job import Changes, Job, JobLike, TargetLike, changes, target, word
from .progress import Listener, Progress

_partial: Optional[Answer] = None


def partial() -> Optional[Answer]:
    """What came of the last call that Ctrl-C ended; None where nothing did."""
    return _partial


def _ask(command: str, asked: dict[str, Any], progress: Progress) -> Any:
    global _partial
    with Listener(progress) as listener:
        try:
            return answer(_native.ask(command, json.dumps(asked), listener, listener.watches))
        except _native.Interrupted as interrupted:
            if interrupted.partial is not None:
                interrupted.partial = answer(interrupted.partial)
            _partial = interrupted.partial
            raise


def run(
    job: JobLike = None,
    *,
    on: TargetLike = None,
    set: Changes = None,
    destroy_data: bool = False,
    stages: bool = False,
    layers: bool = False,
    progress: Progress = None,
    **options: Any,
) -> Run:
    """One workload on any target, as `iostack run`. `options` are those of the job: `queue_depth=32`, `runtime="10s"`.

    Nothing that exists is written over without `destroy_data`.
    """
    with Job.of(job, options).asked() as asked:
        asked.update(target(on, set, destroy_data), stages=stages, layers=layers)
        return _ask("run", asked, progress)


def check(
    target_: TargetLike = ".",
    *,
    quick: bool = False,
    full: bool = False,
    size: Optional[str] = None,
    seed: int = 1,
    set: Changes = None,
    against: Optional[str] = None,
    destroy_data: bool = False,
    progress: Progress = None,
) -> Check:
    """Is this platform ready for its SSD, and what holds it back? As `iostack check`, without its files."""
    if quick and full:
        raise _native.Error("`quick` and `full` exclude each other; leave one out")
    effort = "quick" if quick else "full" if full else "default"
    asked = {"effort": effort, "size": size, "seed": seed, "against": against}
    return _ask("check", {**asked, **target(target_, set, destroy_data)}, progress)


def sweep(
    device: TargetLike,
    job: JobLike = None,
    *,
    vary: Mapping[str, Any],
    set: Changes = None,
    parallel: Optional[int] = None,
    progress: Progress = None,
    **options: Any,
) -> Sweep:
    """The same job over simulated devices or options that differ, as `iostack sim sweep`.

    `vary={"queue_depth": "1..128*2"}`, or `vary={"queue_depth": [1, 8, 64]}`; of several, every combination.
    """
    axes = {
        key: ",".join(map(word, values)) if isinstance(values, (list, tuple, range)) else values
        for key, values in vary.items()
    }
    with Job.of(job, options).asked() as asked:
        asked.update(target(device, set), vary=changes(axes), parallel=parallel)
        return _ask("sim sweep", asked, progress)


def what_if(
    platform: TargetLike = None,
    job: JobLike = None,
    *,
    set: Changes = None,
    step: Iterable[Changes] = (),
    base: Changes = None,
    named: Optional[str] = None,
    progress: Progress = None,
    **options: Any,
) -> WhatIf:
    """What would a change give, and where does the limit go? As `iostack sim what-if`.

    `set` is one change, `step` several on top of each other, `base` what differs in every run.
    """
    with Job.of(job, options).asked() as asked:
        asked.update(target(platform, set), base=changes(base), named=named)
        asked["step"] = [",".join(changes(one)) for one in step]
        return _ask("sim what-if", asked, progress)


def ab(
    job: JobLike = None,
    *,
    on: TargetLike = None,
    a: Changes = None,
    b: Changes = None,
    set: Changes = None,
    time: Optional[str] = None,
    blocks: Optional[int] = None,
    difference: str = "2%",
    destroy_data: bool = False,
    progress: Progress = None,
    **options: Any,
) -> Ab:
    """Which of two does better? Run in turns until it is sure, as `iostack ab`."""
    with Job.of(job, options).asked() as asked:
        asked.update(target(on, set, destroy_data), own=[changes(a), changes(b)])
        asked.update(time=time, blocks=blocks, difference=difference)
        return _ask("ab", asked, progress)
