"""What came of a fleet, told: text of 80 columns, one HTML page that needs nothing else, JSON, and a table (Parquet or CSV). Pure but `save`."""

import csv
import html
import json
import os
import textwrap

from . import judge

#: Hosts that the text ranks at each end; the page and the table have all.
SHOWN = 15
_BAR = 16


def text(told):
    """The report for people."""
    answered = sum(1 for answer in told["hosts"].values() if answer["figures"])
    head = f"iostack fleet {told['command']}"
    facts = f"{_many(len(told['hosts']), 'host')}, {answered} answered, {_many(len(told['groups']), 'group')}"
    lines = [head + facts.rjust(80 - len(head))]
    if _simulated(told):
        lines += _item("SIMULATED", "no hardware was measured; simulated hosts are compared only among themselves")
    if told["interrupted"]:
        lines += _item("INTERRUPTED", "what follows is of the hosts that had answered")
    for name, members in told["groups"].items():
        few = "" if len(members) >= judge.EQUALS else f"; fewer than {judge.EQUALS} equals cannot say which is off"
        lines += _item("group", f"{_many(len(members), 'host')}: {name}{few}")
    percent = f"{told['difference']:.0%}"
    lines += _item(
        "judged",
        f"a host is named where {judge.LEAST} points or more are off by more than {percent} and by more than chance; "
        f"fewer than {judge.FALSE_ALARMS:.0%} of fleets of equal hosts have one that is",
    )
    lines += _together(told) + _ranking(told) + _outliers(told) + _drift(told)
    for title, rows in (("LEFT OUT", told["left_out"]), ("TAKE CARE", told["notes"])):
        if rows:
            lines += ["", title, *[line for who, what in rows for line in _item(who, what)]]
    return "\n".join([*lines, "", f"next: {told['next']}", ""])


def _simulated(told):
    return any((answer["figures"] or {}).get("simulated") for answer in told["hosts"].values())


def _many(count, noun):
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _item(name, what):
    return textwrap.wrap(what, 80, initial_indent=f"{name:<10} ", subsequent_indent=" " * 11, break_on_hyphens=False)


def count(value):
    """A rate with three or four digits and its prefix."""
    for bound, unit in ((1e6, "M"), (1e3, "k")):
        if value >= bound:
            return f"{value / bound:.1f}{unit}"
    return f"{value:.0f}"


def amount(point, value):
    """A figure of a point with its unit."""
    if point.endswith("IOPS"):
        return f"{count(value)} IOPS"
    if point.endswith("scatter"):
        return f"{value:.0%}"
    for bound, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if value >= bound:
            return f"{value / bound:.1f} {unit}"
    return f"{value:.0f} ns"


def sides(finding):
    """Where a finding is, what the host has there and what its group has."""
    where = finding["point"].removesuffix(": IOPS")
    return f"`{where}`: {amount(finding['point'], finding['value'])}, the group {amount(finding['point'], finding['median'])}: {change(finding)}"


def change(finding):
    """By how much a finding is off, with its interval."""
    unit = "points" if finding["point"].endswith("scatter") else "%"
    low, middle, high = (100 * finding[end] for end in ("low", "change", "high"))
    return f"{middle:+.0f} {unit} ({low:+.0f} to {high:+.0f})"


def _ranking(told):
    rows = told["ranks"]
    if not rows:
        return []
    named = {finding["host"] for finding in told["findings"]}
    wide = max([len(row["host"]) for row in rows] + [4])
    most = max(row["most"] for row in rows) or 1.0
    lines = ["", f"{'RANK':>4}  {'HOST':<{wide}}  {'SPEED':>7}  {'MOST IOPS':>9}"]
    group = None
    for index, row in enumerate(rows, 1):
        if SHOWN < index <= len(rows) - SHOWN and row["host"] not in named:
            lines += (
                [f"      .. {len(rows) - 2 * SHOWN} between, in the table and on the page"]
                if index == SHOWN + 1
                else []
            )
            continue
        if group not in (None, row["group"]):
            lines.append("")
        group = row["group"]
        speed = f"{row['speed']:.1%}" if row["speed"] else "-"
        mark = " *" if row["host"] in named else ""
        lines.append(
            f"{index:>4}  {row['host']:<{wide}}  {speed:>7}  {count(row['most']):>9}  {'█' * round(row['most'] / most * _BAR)}{mark}"
        )
    return [
        *lines,
        *textwrap.wrap(
            "Speed: rates over those of the group's median, mean of all points." + (" * named below." if named else ""),
            80,
        ),
    ]


def _outliers(told):
    lines = []
    for found in told["findings"]:
        direction = "slower" if found["worse"] else "faster"
        lines += [
            "",
            *_item(found["host"], f"{direction}: {sides(found)}; {found['off']} of {found['points']} points are off"),
        ]
        lines += _item("  why", found["cause"])
        lines += [line for also in found["also"] for line in _item("  also", also)]
    if lines:
        return ["", "OUTLIERS", *lines[1:]]
    judged = any(len(members) >= judge.EQUALS for members in told["groups"].values())
    return ["", *_item("outliers", "none" if judged else "not judged: no group is large enough")]


def _drift(told):
    drift = told.get("drift")
    if not drift:
        return []
    lines = []
    for found in drift["findings"]:
        direction = "slower" if found["worse"] else "faster"
        lines += _item(
            found["host"],
            f"{direction} than last time: {found['point']} {change(found)}; {found['off']} of {found['points']} points",
        )
    for host, what, was, now in drift["settings"]:
        lines += _item(host, f"{what} was {was}, is {now}")
    for word, hosts in (("gone", drift["gone"]), ("new", drift["new"])):
        if hosts:
            lines += _item(word, ", ".join(hosts))
    return ["", "SINCE LAST TIME", *(lines or ["nothing that matters has changed"])]


def _together(told):
    shared = told.get("together")
    if not shared:
        return []
    lines = [
        "",
        f"TOGETHER, begun within {shared['apart'] * 1e3:.0f} ms of each other (clocks known to {shared['unsure'] * 1e3:.1f} ms)",
    ]
    for job, held in shared["jobs"].items():
        lines += _item(
            "sum",
            f"{job}: {count(held['iops'])} IOPS ({count(held['low'])} to {count(held['high'])}), {held['bytes'] / 1e6:.1f} MB/s, "
            f"{_many(held['hosts'], 'host')}",
        )
        most = max(held["series"]) or 1.0
        bars = "".join("▁▂▃▄▅▆▇█"[min(7, int(rate / most * 8))] for rate in held["series"][:60])
        lines += _item("", f"{bars} {count(min(held['series']))} to {count(most)}, each {held['slice']:g} s")
    return lines


def table(told):
    """A row for each point of each host."""
    marks = {(host, point["point"]): point for host, points in told["off"].items() for point in points}
    rows = []
    for group, members in told["groups"].items():
        for host in members:
            for point, (value, low, high, samples) in told["hosts"][host]["figures"]["points"].items():
                mark = marks.get((host, point))
                row = {
                    "host": host,
                    "group": group,
                    "point": point,
                    "value": float(value),
                    "low": float(low),
                    "high": float(high),
                    "count": samples,
                }
                rows.append(row | {"off": mark is not None, "change": mark["change"] if mark else None})
    return rows


def save(told, folder):
    """Writes `fleet.json`, `fleet.html` and `fleet.parquet` (`fleet.csv` without pyarrow) into a new folder; gives their names."""
    names = ["fleet.json", "fleet.html"]
    with open(os.path.join(folder, names[0]), "x", encoding="utf-8") as file:
        json.dump(told, file)
    with open(os.path.join(folder, names[1]), "x", encoding="utf-8") as file:
        file.write(page(told))
    rows = table(told)
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        names.append("fleet.csv")
        with open(os.path.join(folder, names[2]), "x", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0] if rows else ["host"])
            writer.writeheader()
            writer.writerows(rows)
        return names
    if rows:
        names.append("fleet.parquet")
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), os.path.join(folder, names[2]))
    return names


def load(path):
    """Figures by host of an earlier `fleet.json`, `fleet.parquet` or `fleet.csv`; only JSON knows the settings of then."""
    if path.endswith(".json"):
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
        if told.get("kind") != "fleet":
            raise ValueError("is no report of `iostack fleet`")
        return {host: answer["figures"] for host, answer in told["hosts"].items() if answer["figures"]}
    if path.endswith(".parquet"):
        import pyarrow.parquet

        rows = pyarrow.parquet.read_table(path).to_pylist()
    else:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    hosts = {}
    for row in rows:
        points = hosts.setdefault(row["host"], {"points": {}})["points"]
        points[row["point"]] = [float(row["value"]), float(row["low"]), float(row["high"]), int(row["count"])]
    return hosts


_STYLE = """body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1d2430;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse}td,th{padding:.15rem .8rem .15rem 0;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}.card{border-left:4px solid #c2410c;background:#fff7ed;padding:.5rem .9rem;margin:.6rem 0}
.faint{color:#667085}.strip{display:block}svg text{font:11px system-ui,sans-serif;fill:#667085}.bar{fill:#94a3b8}.off{fill:#c2410c}
circle{fill:#64748b;fill-opacity:.55}circle.off{fill:#c2410c;fill-opacity:1}polyline{fill:none;stroke:#94a3b8;stroke-width:1}
polyline.sum{stroke:#1d4ed8;stroke-width:2}"""


def page(told):
    """The report as one page: findings, ranks, and every point as a strip of hosts."""
    named = {finding["host"] for finding in told["findings"]}
    parts = [f"<h1>iostack fleet {told['command']}: {_many(len(told['hosts']), 'host')}, {len(named)} named</h1>"]
    simulated = " Simulated: no hardware was measured." if _simulated(told) else ""
    parts.append(
        f"<p class=faint>{html.escape(told['when'])}. {html.escape('; '.join(told['groups']))}.{simulated}</p>"
    )
    for found in told["findings"]:
        also = "".join(f"<br><span class=faint>{html.escape(text)}</span>" for text in found["also"])
        parts.append(
            f"<div class=card><b>{html.escape(found['host'])}</b> {'slower' if found['worse'] else 'faster'}: {html.escape(sides(found))}; "
            f"{found['off']} of {found['points']} points<br>{html.escape(found['cause'])}{also}</div>"
        )
    if not told["findings"]:
        parts.append("<p>No host differs from its equals.</p>")
    for title, rows in (("Left out", told["left_out"]), ("Take care", told["notes"])):
        if rows:
            items = "".join(f"<tr><td><b>{html.escape(who)}</b><td>{html.escape(what)}" for who, what in rows)
            parts.append(f"<h2>{title}</h2><table>{items}</table>")
    if told.get("drift"):
        lines = "\n".join(_drift(told)[2:])
        parts.append(f"<h2>Since last time</h2><pre>{html.escape(lines)}</pre>")
    parts += _curves(told) + [_ranks(told, named)] + _strips(told, named)
    body = "\n".join(parts)
    return f"<!doctype html><html lang=en><meta charset=utf-8><title>iostack fleet</title><style>{_STYLE}</style><body>{body}</body></html>\n"


def _ranks(told, named):
    most = max((row["most"] for row in told["ranks"]), default=0.0) or 1.0
    rows = []
    for index, row in enumerate(told["ranks"], 1):
        mark = "off" if row["host"] in named else "bar"
        bar = f"<svg width=200 height=12><rect class={mark} width={row['most'] / most * 200:.0f} height=12 /></svg>"
        speed = f"{row['speed']:.1%}" if row["speed"] else "-"
        rows.append(
            f"<tr><td class=n>{index}<td>{html.escape(row['host'])}<td class=n>{speed}<td class=n>{count(row['most'])}<td>{bar}"
        )
    return (
        "<h2>Ranks</h2><table><tr><th><th>host<th>speed against the median<th>most IOPS<th>"
        + "".join(rows)
        + "</table>"
    )


def _strips(told, named):
    """For each group and point a line from the slowest to the fastest host, a dot each."""
    parts = [
        "<h2>Every point</h2><p class=faint>A dot is a host; the scale is linear from 0; the bar is the median.</p>"
    ]
    for group, members in told["groups"].items():
        parts.append(f"<h3>{html.escape(group)}</h3>")
        off = {host: {point["point"] for point in told["off"].get(host, [])} for host in members}
        points = {point: None for host in members for point in told["hosts"][host]["figures"]["points"]}
        for point in points:
            values = {
                host: told["hosts"][host]["figures"]["points"][point][0]
                for host in members
                if point in told["hosts"][host]["figures"]["points"]
            }
            parts.append(_strip(point, values, {host for host in values if point in off[host] and host in named}))
    return parts


def _strip(point, values, off):
    most = max(values.values()) or 1.0
    middle = sorted(values.values())[len(values) // 2]
    at = {host: 300 + value / most * 420 for host, value in values.items()}
    dots = "".join(
        f"<circle{' class=off' if host in off else ''} cx={at[host]:.1f} cy=9 r=4><title>{html.escape(host)}: {amount(point, values[host])}</title></circle>"
        for host in sorted(values, key=lambda host: host in off)
    )
    names = "".join(f"<text x={at[host]:.1f} y=26 text-anchor=middle>{html.escape(host)}</text>" for host in off)
    line = f"<line x1=300 x2=720 y1=9 y2=9 stroke=#e2e8f0 /><rect class=bar x={300 + middle / most * 420 - 1:.1f} y=2 width=2 height=14 />"
    label = f"<text x=292 y=13 text-anchor=end>{html.escape(point)}</text><text x=730 y=13>{amount(point, most)}</text>"
    return f"<svg class=strip width=820 height={30 if off else 18}>{line}{dots}{names}{label}</svg>"


def _curves(told):
    """Rates over time of a common start: a line for each host, and their sum."""
    parts = []
    for job, held in ((told.get("together") or {}).get("jobs") or {}).items():
        most = max([*held["series"], 1e-9])
        step = 760 / max(1, len(held["series"]) - 1)
        lines = []
        for name, rates in [*held["each"].items(), ("sum", held["series"])]:
            points = " ".join(
                f"{20 + index * step:.1f},{190 - rate / most * 180:.1f}" for index, rate in enumerate(rates)
            )
            lines.append(
                f"<polyline{' class=sum' if name == 'sum' else ''} points='{points}'><title>{html.escape(name)}</title></polyline>"
            )
        label = f"<text x=20 y=206>0 s</text><text x=780 y=206 text-anchor=end>{held['slice'] * len(held['series']):g} s</text>"
        title = f"{html.escape(job)} at once: {count(held['iops'])} IOPS, {held['bytes'] / 1e6:.1f} MB/s, {_many(held['hosts'], 'host')}"
        parts.append(
            f"<h2>{title}</h2><svg width=800 height=212>{''.join(lines)}<text x=20 y=12>{count(most)}</text>{label}</svg>"
        )
    return parts
