"""What came of it? Answers with the fields of their JSON (`iostack schema`), and tables of them.

Fields are those of the JSON, in its units: bytes and nanoseconds. Beside them stand the figures of the tables
(`moved_bytes`, `latency_p99_ns`), and latencies in seconds under the bare name (`latency_p99`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Optional, Union

from . import _native, frames


class Words(dict):
    """A JSON object whose fields are attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no `{name}`; there are {', '.join(self)}") from None


def words(text: str) -> Words:
    """The JSON text as attributes."""
    return json.loads(text, object_hook=Words)


class Outcome:
    """What came of one job on one target."""

    def __init__(self, native: _native.Answer, index: int, label: str, json: Words) -> None:
        self._native, self._index, self.json = native, index, json
        #: What tells it from the other outcomes of its answer: `depth: random read, 32`, `queue_depth=4`.
        self.label = label

    def _table(self, name: str) -> list:
        return self._native.outcome_table(self._index, name)

    @property
    def figures(self) -> dict[str, Any]:
        """Every figure that is one number, under the names of CSV; None where the samples do not support one."""
        return frames.rows(self._table("figures"))[0]

    def frame(self) -> Any:
        """A row for each slice: times in seconds, rates per second."""
        return frames.frame(self._table("series"))

    def arrow(self) -> Any:
        """The same as a table of Arrow."""
        return frames.arrow(self._table("series"))

    def columns(self) -> dict[str, Any]:
        """The same without any package: a memoryview a column."""
        return frames.columns(self._table("series"))

    def latencies(self) -> Any:
        """A row for each bucket of latency, with the share of the I/Os that took no longer."""
        return frames.frame(self._table("latencies"))

    def heat(self) -> Any:
        """A row for each cell of time and latency that counted something."""
        return frames.frame(self._table("heat"))

    def stages(self) -> Any:
        """A row for each stage: where the latency went."""
        return frames.frame(self._table("stages"))

    def layers(self) -> Any:
        """A row for each layer: where the clocks went."""
        return frames.frame(self._table("layers"))

    @property
    def name(self) -> str:
        """`sim:tlc-1t`: what answered. A simulated figure is known by it wherever it stands."""
        return f"{self.json.target.kind}:{self.json.target.path}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.json:
            return self.json[name]
        figures = self.figures
        if name in figures:
            return figures[name]
        if f"{name}_ns" in figures:
            value = figures[f"{name}_ns"]
            return None if value is None else value / 1e9
        raise AttributeError(f"an outcome has no `{name}`; there are {', '.join([*self.json, *figures])}")

    def __repr__(self) -> str:
        return f"<Outcome of {self.json.job.name} on {self.name}: {self.figures['iops'] or 0:.0f} IOPS>"


class Answer:
    """An answer: its JSON, its report, its table, and the outcomes that it rests on."""

    def __init__(self, native: _native.Answer, path: Optional[str] = None) -> None:
        self._native, self._json = native, None
        #: The file that it was loaded from.
        self.path = path

    @property
    def kind(self) -> str:
        """The command that it is of."""
        return self._native.kind

    @property
    def json(self) -> Words:
        """Every figure, as `--json` prints it."""
        if self._json is None:
            self._json = words(self._native.json())
        return self._json

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcomes that it rests on."""
        return [Outcome(self._native, index, *each) for index, each in enumerate(self._rests_on())]

    def _rests_on(self) -> Iterator[tuple[str, Words]]:
        return iter(())

    def _table(self) -> list:
        made = self._native.table()
        if made is None:
            raise _native.Error(f"an answer of `iostack {self.kind}` has no table of columns; use frame()")
        return made

    def frame(self) -> Any:
        """A row a point, with the columns of `--format csv`."""
        return self.table()

    def table(self) -> Any:
        """A row a point; of a run a row an outcome, whose `frame` has one a slice."""
        return frames.frame(self._table())

    def arrow(self) -> Any:
        """The same as a table of Arrow."""
        return frames.arrow(self._table())

    def columns(self) -> dict[str, Any]:
        """The same without any package: a memoryview or a list a column."""
        return frames.columns(self._table())

    def text(self) -> str:
        """The report that the command prints."""
        return self._native.text()

    def markdown(self) -> str:
        """The report for a pull request."""
        return self._native.markdown()

    def html(self) -> str:
        """The report as one page that needs no network."""
        return self._native.html()

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes its JSON, or its report where the name ends in `.html`, to a new file."""
        self._native.save(path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.json, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of iostack {self.kind}>"

    def _repr_markdown_(self) -> str:
        return self.markdown()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_json": None}


class Run(Answer):
    """What came of `iostack run`: an outcome for each report group. The fields of a lone one are those of the run."""

    def _rests_on(self) -> Iterator[tuple[str, Words]]:
        several = len(self.json.outcomes) > 1
        return ((outcome.job.name if several else "", outcome) for outcome in self.json.outcomes)

    @property
    def outcome(self) -> Outcome:
        """The only outcome."""
        one, *more = self.outcomes
        if more:
            raise _native.Error(f"there are {1 + len(more)} outcomes; name one, such as outcomes[0]")
        return one

    def frame(self) -> Any:
        """A row for each slice; of several outcomes with the name of the job before it."""
        pandas, outcomes = frames.needed("pandas", "pandas"), self.outcomes
        if len(outcomes) == 1:
            return outcomes[0].frame()
        each = [one.frame() for one in outcomes]
        for one, table in zip(outcomes, each):
            table.insert(0, "job", one.json.job.name)
        return pandas.concat(each, ignore_index=True)

    def arrow(self) -> Any:
        """The series of the only outcome as a table of Arrow."""
        return self.outcome.arrow()

    def columns(self) -> dict[str, Any]:
        """The series of the only outcome without any package."""
        return self.outcome.columns()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in self.json:
            return super().__getattr__(name)
        return getattr(self.outcome, name)

    def __repr__(self) -> str:
        return f"<Run: {', '.join(map(repr, self.outcomes))}>"


class Check(Answer):
    """What came of `iostack check`: `verdict`, `summary`, `steps`; a row of its table is a point."""

    def _rests_on(self) -> Iterator[tuple[str, Words]]:
        points = ((step, point) for step in self.json.steps for point in step.points)
        return ((f"{step.id}: {point.series}, {point.label}", point.outcome) for step, point in points)

    def __repr__(self) -> str:
        return f"<Check of {self.json.target.kind}:{self.json.target.path}: {self.json.verdict.answer}>"


class Sweep(Answer):
    """What came of `iostack sim sweep`: `axes`, `points`; a row of its table is a point."""

    def _rests_on(self) -> Iterator[tuple[str, Words]]:
        named = ((" ".join(f"{key}={value}" for key, value in point.settings), point) for point in self.json.points)
        return ((name, outcome) for name, point in named for outcome in point.outcomes)


class WhatIf(Answer):
    """What came of `iostack sim what-if`: `steps`, the first before any change; a row of its table is a step."""

    def _rests_on(self) -> Iterator[tuple[str, Words]]:
        return ((step.name, step.outcome) for step in self.json.steps if step.outcome is not None)

    def table(self) -> Any:
        """A row for each step, with its figures."""
        rows = [{"step": step.name, **(step.figures or {}), "error": step.error} for step in self.json.steps]
        return frames.needed("pandas", "pandas").DataFrame(rows)


class Ab(Answer):
    """What came of `iostack ab`: `rows`, `answer`, `blocks`; a row of its table is a figure."""


_KINDS = {"run": Run, "check": Check, "sim sweep": Sweep, "sim what-if": WhatIf, "ab": Ab}


def answer(native: Any, path: Optional[str] = None) -> Any:
    """What the Rust half gave, as its class."""
    return _KINDS[native.kind](native, path)


def load(path: Union[str, os.PathLike[str]]) -> Any:
    """Reads an answer from its file, as `iostack report` does."""
    name = os.fspath(path)
    try:
        text = Path(name).read_text(encoding="utf-8")
    except OSError as error:
        why = f"{error.strerror} (os error {error.errno})"
        raise _native.Error(f"cannot read the outcome `{name}`: {why}") from error
    except UnicodeDecodeError as error:
        raise _native.Error(f"cannot read the outcome `{name}`: stream did not contain valid UTF-8") from error
    return answer(_native.parse(text, name), name)


def table(answers: Union[Iterable[Answer], Mapping[str, Answer]]) -> Any:
    """One table of many answers; the first column `file` names the answer of each row, by its key, file or number."""
    pandas = frames.needed("pandas", "pandas")
    named = answers.items() if isinstance(answers, Mapping) else ((one.path, one) for one in answers)
    each = []
    for number, (name, one) in enumerate(named):
        rows = one.table()
        rows.attrs = {}
        rows.insert(0, "file", str(number) if name is None else name)
        each.append(rows)
    if not each:
        raise _native.Error("there is no answer in the list; run a check, or load one")
    return pandas.concat(each, ignore_index=True)
