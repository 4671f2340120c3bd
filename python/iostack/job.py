"""What is asked, and of what: jobs and targets, in the words of the command line."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional, Union

#: A file of fio's or of ours, options by name, or a `Job`.
JobLike = Union[None, str, "os.PathLike[str]", Mapping[str, Any], "Job"]
#: `{"platform.cores": 4}`, or a list of `KEY=VALUE`.
Changes = Union[None, Mapping[str, Any], Iterable[str]]


def word(value: Any) -> str:
    """A value as the command line takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def changes(given: Changes) -> list[str]:
    """Each as `KEY=VALUE`."""
    if given is None:
        return []
    if isinstance(given, str):
        return [given]
    if isinstance(given, Mapping):
        return [f"{key}={word(value)}" for key, value in given.items()]
    return list(given)


class Job:
    """What to ask of storage: job files, options over them (`iostack options` lists all), or the text of a TOML file.

    >>> Job(queue_depth=32, runtime="10s")
    Job(queue_depth=32, runtime='10s')
    """

    def __init__(
        self,
        *files: Union[str, os.PathLike[str]],
        toml: Optional[str] = None,
        sections: Iterable[str] = (),
        lenient: bool = False,
        **options: Any,
    ) -> None:
        self.files = [os.fspath(file) for file in files]
        self.toml = toml
        self.sections = list(sections)
        self.lenient = lenient
        self.options = options

    def __repr__(self) -> str:
        words = [repr(file) for file in self.files] + [f"{key}={value!r}" for key, value in self.options.items()]
        return f"Job({', '.join(words + ['toml=..'] * (self.toml is not None))})"

    @classmethod
    def of(cls, job: JobLike, options: Mapping[str, Any]) -> Job:
        """The job that was given, with these options over its own."""
        if job is None:
            return cls(**options)
        if isinstance(job, Job):
            own = {**job.options, **options}
            return cls(*job.files, toml=job.toml, sections=job.sections, lenient=job.lenient, **own)
        if isinstance(job, Mapping):
            return cls(**{**job, **options})
        return cls(job, **options)

    @contextmanager
    def asked(self) -> Iterator[dict[str, Any]]:
        """The fields of a question; a text is a file as long as it is asked."""
        with tempfile.TemporaryDirectory(prefix="iostack-job-") as folder:
            files = list(self.files)
            if self.toml is not None:
                file = Path(folder, "job.toml")
                file.write_text(self.toml)
                files.append(str(file))
            options = [(key, word(value)) for key, value in self.options.items() if value is not None]
            yield {"jobs": files, "sections": self.sections, "lenient": self.lenient, "options": options}


class Target:
    """What answers: a path, `sim:PLATFORM` with changes of its numbers; and whether its data may be lost."""

    def __init__(self, on: Union[str, os.PathLike[str]], *, set: Changes = None, destroy_data: bool = False) -> None:
        self.on = os.fspath(on)
        self.set = changes(set)
        self.destroy_data = destroy_data

    def __repr__(self) -> str:
        return f"Target({self.on!r}{f', set={self.set}' if self.set else ''})"


#: A path, `sim:PLATFORM`, or a `Target`.
TargetLike = Union[None, str, "os.PathLike[str]", Target]


def target(on: TargetLike, set: Changes = None, destroy_data: bool = False) -> dict[str, Any]:
    """The fields of a question that name what answers."""
    if isinstance(on, Target):
        return {"on": on.on, "set": on.set + changes(set), "destroy_data": on.destroy_data or destroy_data}
    return {"on": None if on is None else os.fspath(on), "set": changes(set), "destroy_data": destroy_data}
