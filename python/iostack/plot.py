"""How does it look? Each function draws with matplotlib on the axes it is given, or on new ones, and returns them.

Every curve is named by what answered (`sim:tlc-1t`), so that a simulated figure is never taken for a measured one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Optional, Union

from ._native import Error
from .answer import Answer, Outcome, Sweep, WhatIf
from .frames import needed

Several = Union[Answer, Outcome, Iterable[Union[Answer, Outcome]]]


def _axes(axes: Any) -> Any:
    return needed("matplotlib.pyplot", "plot").subplots(layout="constrained")[1] if axes is None else axes


def _outcomes(several: Several) -> list[Outcome]:
    """Each outcome of what was given, which is one or a list."""
    if isinstance(several, Outcome):
        return [several]
    if isinstance(several, Answer):
        return several.outcomes
    return [outcome for one in several for outcome in _outcomes(one)]


def _only(several: Several) -> Outcome:
    outcomes = _outcomes(several)
    if len(outcomes) != 1:
        raise Error(f"one outcome is drawn, and there are {len(outcomes)}; name one, such as outcomes[0]")
    return outcomes[0]


def _label(outcome: Outcome, among: list[Outcome]) -> str:
    """What answered, and what tells the outcome from others of the same target."""
    given = " ".join(f"{key}={value}" for key, value in outcome.json.job.get("options", []))
    same = sum(other.name == outcome.name for other in among)
    return f"{outcome.name} {outcome.label or (given if same > 1 else '')}".rstrip()


def _interval(axes: Any, rows: Any, x: Any, y: str, label: str) -> None:
    """A curve, and bars to the ends of the 95 % interval where the table has them."""
    bars = None
    if f"{y}_low" in rows:
        ends = [rows[y] - rows[f"{y}_low"], rows[f"{y}_high"] - rows[y]]
        bars = [end.astype(float).fillna(0).clip(lower=0) for end in ends]
    axes.errorbar(x, rows[y].astype(float), yerr=bars, marker="o", capsize=3, label=label)


def curve(sweep: Sweep, *, x: Optional[str] = None, y: str = "iops", axes: Any = None) -> Any:
    """A figure of a sweep over one of its axes with its 95 % interval; a curve for each setting of the others."""
    if not isinstance(sweep, Sweep) or not sweep.json.axes:
        raise Error("a curve is of a sweep that varies something; make one with iostack.sweep(.., vary=..)")
    axes, rows = _axes(axes), sweep.frame()
    keys = [axis.key for axis in sweep.json.axes]
    x = next((key for key in keys if key != "device"), keys[0]) if x is None else x
    for name in [x, y]:
        if name not in rows:
            raise Error(f"the sweep has no `{name}`; there are {', '.join(rows)}")
    others = [key for key in keys if key != x]
    for setting, part in rows.groupby(others, sort=False) if others else [((), rows)]:
        settings = [(key, value) for key, value in zip(others, setting) if key != "device"]
        named = [f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in settings]
        label = " ".join([f"sim:{part['device'].iloc[0]}", *named])
        _interval(axes, part, part[x], y, label)
    if rows[x].dtype != object and (rows[x] > 0).all():
        axes.set_xscale("log", base=2)
    axes.set(xlabel=x, ylabel=y, ylim=(0, None))
    axes.legend()
    return axes


def depth(check: Any, *, y: str = "iops", axes: Any = None) -> Any:
    """The curves of a check over queue depth, with their 95 % intervals."""
    axes, rows = _axes(axes), check.frame()
    for series, part in rows[rows["step"] == "depth"].groupby("series", sort=False):
        _interval(axes, part, part["x"], y, f"{check.json.target.kind}:{check.json.target.path} {series}")
    axes.set_xscale("log", base=2)
    axes.set(xlabel="queue_depth", ylabel=y, ylim=(0, None))
    axes.legend()
    return axes


def series(several: Several, *, y: str = "iops", axes: Any = None) -> Any:
    """A figure over time, a curve an outcome."""
    axes, outcomes = _axes(axes), _outcomes(several)
    for outcome in outcomes:
        rows = outcome.frame()
        axes.plot(rows["start_s"], rows[y], label=_label(outcome, outcomes))
    axes.set(xlabel="time (s)", ylabel=y, ylim=(0, None))
    axes.legend()
    return axes


def percentiles(several: Several, *, axes: Any = None) -> Any:
    """Latency by percentile, a curve for each direction of an outcome, as far as ten I/Os lie beyond."""
    axes, outcomes = _axes(axes), _outcomes(several)
    nines = 1
    for outcome in outcomes:
        for direction, part in outcome.latencies().groupby("direction", sort=False):
            part = part[(1 - part["share"]) * part["ios"].sum() >= 10]
            if part.empty:
                continue
            times, tails = part["latency_s"] * 1e6, [1, *1 / (1 - part["share"])]
            axes.plot(tails, [*times[:1], *times][: len(tails)], label=f"{_label(outcome, outcomes)} {direction}")
            while max(tails) > 10**nines:
                nines += 1
    if not axes.lines:
        raise Error("there are too few I/Os for any percentile; run longer")
    axes.set(xscale="log", yscale="log", xlabel="percentile", ylabel="latency (us)", xlim=(1, 10**nines))
    ticks = [2, *[10**power for power in range(1, nines + 1)]]
    axes.set_xticks(ticks, [f"{100 - 100 / tick:.10g}" for tick in ticks])
    axes.legend()
    return axes


def heat(outcome: Several, *, axes: Any = None) -> Any:
    """How many I/Os took how long, over time."""
    axes, one = _axes(axes), _only(outcome)
    rows = one.heat()
    if rows.empty:
        raise Error("the outcome has no heat map: no I/O was counted")
    width, starts = rows["length_s"].iloc[0], sorted(rows["start_s"].unique())
    # In whole nanoseconds, so that a cell ends where the next begins, and what was not counted stays empty.
    rows["low"], rows["end"] = (
        (rows[f"latency_{end}_s"] * 1e9).round() + more for end, more in [("low", 0), ("high", 1)]
    )
    edges = sorted({*rows["low"], *rows["end"]})
    table = rows.pivot(index="low", columns="start_s", values="ios").reindex(index=edges[:-1], columns=starts)
    drawn = axes.pcolormesh([*starts, starts[-1] + width], [max(edge, 1) / 1e3 for edge in edges], table, norm="log")
    axes.set(xlabel="time (s)", ylabel="latency (us)", yscale="log", title=one.name)
    axes.figure.colorbar(drawn, ax=axes, label="I/Os")
    return axes


def _stacked(axes: Any, rows: list[tuple[str, Any]], part: str, figure: str, unit: str) -> Any:
    """One bar a row, its parts one behind the other."""
    names = list(dict.fromkeys(name for _, table in rows for name in table[part]))
    pyplot = needed("matplotlib.pyplot", "plot")
    colours = pyplot.get_cmap("tab20")
    for number, name in enumerate(names):
        for row, (_, table) in enumerate(rows):
            at = table.index[table[part] == name]
            if len(at):
                before = table[figure][: at[0]].sum()
                axes.barh(row, table[figure][at[0]], left=before, color=colours(number % 20))
        axes.barh(0, 0, color=colours(number % 20), label=name)
    axes.set_yticks(range(len(rows)), [label for label, _ in rows])
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return axes


def stages(several: Several, *, axes: Any = None) -> Any:
    """Where the latency went: a bar for each way (simulated: each direction), whose parts add up to the mean."""
    axes, outcomes, rows = _axes(axes), _outcomes(several), []
    for outcome in outcomes:
        for way, part in outcome.stages().groupby("way", sort=False):
            table = part.reset_index(drop=True)
            table["latency_us"] = table["latency_mean_s"] * 1e6
            rows.append((f"{_label(outcome, outcomes)} {way}", table))
    if not rows:
        raise Error("no outcome has stages; run it with stages=True")
    return _stacked(axes, rows, "stage", "latency_us", "mean latency (us)")


def layers(several: Several, *, axes: Any = None) -> Any:
    """Where the clocks went: a bar an outcome, whose parts add up to the clocks of an I/O."""
    axes, outcomes = _axes(axes), _outcomes(several)
    rows = [(_label(outcome, outcomes), outcome.layers()) for outcome in outcomes]
    rows = [(label, table) for label, table in rows if table["clocks_per_io"].notna().any()]
    if not rows:
        raise Error("no outcome has layers; run it with layers=True, or on a simulated platform")
    return _stacked(axes, rows, "layer", "clocks_per_io", "clocks per I/O")


def what_if(answer: WhatIf, *, axes: Any = None) -> Any:
    """Throughput before and after each change, with its 95 % interval."""
    axes = _axes(axes)
    steps = [step for step in answer.json.steps if step.outcome is not None]
    ends = [step.outcome.iops for step in steps]
    bars = [[iops.mean - iops.low for iops in ends], [iops.high - iops.mean for iops in ends]]
    axes.barh([step.name for step in steps], [iops.mean for iops in ends], xerr=bars, capsize=3)
    axes.invert_yaxis()
    axes.set(xlabel="iops", title=f"sim:{answer.json.device}")
    return axes
