"""Which host differs from its equals, in what, by how much, and why? Pure: figures in, findings out.

    figures of hosts ──► groups (equal hardware) ──► off (points beyond chance) ──► cause ──► findings

A point of a host is off where it is further from the median of its group than chance explains: its distance in units of the
group's scatter (median absolute deviation, never less than `FLOOR` nor than the point's own interval) must pass a limit that is
chosen so that one fleet of equal hosts in `1 / FALSE_ALARMS` has such a point. A host is named when `LEAST` points are off, each by
more than `difference`. Start reading at `findings`.
"""

import math
import statistics

#: Share of fleets of equal hosts that may have a point off by chance, all hosts and points together.
FALSE_ALARMS = 0.01
#: Equal hosts are taken to differ by this much at least, whatever their scatter.
FLOOR = 0.005
#: Points that must be off before a host is named: one alone may stand at an edge where rates jump.
LEAST = 2
#: Fewer equals cannot say who of them is off.
EQUALS = 4
#: Difference of scatter, or of what others took, that matters.
SHARE = 0.1
#: Degrees of freedom that each host lends to a scatter: 1 / 2.72 is the median absolute deviation's own, the rest is of the points
#: beside it. With it, equal hosts of any kind of noise that `test_fleet_judge.py` draws stay below `FALSE_ALARMS`.
LENT = 0.7
#: Degrees of freedom of a host's own interval, where nothing else is there.
OWN = 12


def hardware(figures):
    """What makes hosts equal: processor, cores, memory and drives, and whether they are simulated."""
    machine, storage = figures.get("machine") or {}, figures.get("storage") or {}
    cpu, memory = machine.get("cpu", {}), machine.get("memory", {}).get("total", 0)
    drives = [
        f"{drive['model'] or drive['driver']} {drive['size'] / 1e9:.0f} GB" for drive in storage.get("devices", [])
    ]
    name = f"{cpu.get('cores_usable', 0)} x {cpu.get('model') or '?'}" + (
        f", {memory / 2**30:.0f} GiB" if memory else ""
    )
    simulated = ", simulated" if figures.get("simulated") else ""
    return (
        ", ".join([name, *(drive for drive in drives if drive[: len(cpu.get("model") or "-")] != cpu.get("model"))])
        + simulated
    )


def settings(figures):
    """What an administrator may have set differently on equal hardware."""
    machine, storage = figures.get("machine") or {}, figures.get("storage") or {}
    kernel, system = machine.get("kernel", {}), storage.get("file_system") or {}
    told = {
        "governor": machine.get("cpu", {}).get("governor"),
        "file system": system.get("kind"),
        "mounted": system.get("options"),
    }
    told |= {key: kernel.get(key) for key in ("release", "distribution", "clock_source", "io_uring_disabled")}
    told |= {f"mitigation {name}": value for name, value in kernel.get("mitigations", [])}
    told |= {key: value for key, value in machine.get("virtualisation", {}).items() if key != "io_limits"}
    for drive in storage.get("devices", []):
        told |= {f"{key}": value for key, value in drive["queue"].items() if key not in ("schedulers", "affinity")}
        told |= {"write cache": drive["write_cache"]}
    return {key: value for key, value in told.items() if value not in (None, "", [])}


def groups(hosts):
    """Hosts of equal hardware, the largest group first: name of the hardware, names of the hosts."""
    held = {}
    for host, figures in hosts.items():
        held.setdefault(hardware(figures), []).append(host)
    return dict(sorted(held.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def limit(tests, freedom):
    """How many scatters off is beyond chance in so many tests: Student's t by its expansion about the normal quantile."""
    z = statistics.NormalDist().inv_cdf(1 - FALSE_ALARMS / (2 * max(1, tests)))
    third = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return z + (z**3 + z) / (4 * freedom) + third + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)


def off(values, difference, reference=None):
    """Points of each host that are off. `values` has {host: {point: [value, low, high, count]}}; `reference` stands in for medians."""
    hosts, table = len(values), _table(values, 1 if reference else EQUALS)
    scatters = {point: _scatter(point, column, reference) for point, column in table.items()}
    steps = {}
    for point, (_, scatter) in scatters.items():
        steps.setdefault(_step(point), []).append(scatter)
    bound = limit(hosts * len(table), OWN if reference else LENT * hosts)
    found = {host: [] for host in values}
    for point, column in table.items():
        middle, scatter = scatters[point]
        scatter = max(scatter, statistics.median(steps[_step(point)]), FLOOR if _is_ratio(point) else SHARE / 5)
        for host, (value, low, high, _) in column.items():
            distance = _distance(point, value, middle)
            own = (high - low) / 3.92 / value if _is_ratio(point) else 0.0
            unit = max(scatter, own)
            matters = math.log1p(difference) if _is_ratio(point) else SHARE
            if abs(distance) > max(matters, bound * unit):
                wide = 1.96 * unit * math.sqrt(1 + math.pi / 2 / hosts)
                found[host].append(_off(point, value, middle, distance, wide, distance / unit))
    return found


def _off(point, value, middle, distance, wide, score):
    ends = [distance - wide, distance, distance + wide]
    change = [math.expm1(end) for end in ends] if _is_ratio(point) else ends
    worse = (distance < 0) == point.endswith("IOPS")
    low, change, high = change
    return {
        "point": point,
        "value": value,
        "median": middle,
        "change": change,
        "low": low,
        "high": high,
        "score": score,
        "worse": worse,
    }


def _table(values, least):
    table = {}
    for host, points in values.items():
        for point, row in points.items():
            if row[0] > 0 or not _is_ratio(point):
                table.setdefault(point, {})[host] = row
    return {point: column for point, column in table.items() if len(column) >= least}


def _is_ratio(point):
    return not point.endswith("scatter")


def _step(point):
    return (point.split(":", 1)[0], point.rsplit(":", 1)[-1])


def _distance(point, value, middle):
    return math.log(value / middle) if _is_ratio(point) else value - middle


def _scatter(point, column, reference):
    values = [row[0] for row in column.values()]
    middle = reference or statistics.median(values)
    if reference:
        return middle, 0.0
    return middle, 1.4826 * statistics.median(abs(_distance(point, value, middle)) for value in values)


def findings(hosts, difference=0.05):
    """Hosts that differ from their equals, the furthest first, each with its worst point, its cause and what else is seen."""
    told = []
    for name, members in groups(hosts).items():
        if len(members) < EQUALS:
            continue
        group = {host: hosts[host] for host in members}
        for host, points in off({host: group[host]["points"] for host in members}, difference).items():
            if len(points) >= LEAST:
                worst = max(points, key=lambda point: abs(point["score"]))
                causes = list(_causes(host, group, points, difference))
                kind, cause = (
                    causes[0] if causes else ("unknown", "no stage, layer, cap, setting or neighbour explains it")
                )
                counts = {"off": len(points), "points": len(group[host]["points"])}
                also = [text for _, text in causes[1:]]
                told.append(
                    {"host": host, "group": name, **worst, **counts, "kind": kind, "cause": cause, "also": also}
                )
    return sorted(told, key=lambda finding: -abs(finding["score"]))


def _causes(host, group, points, difference):
    others = [figures for name, figures in group.items() if name != host]
    mine = group[host]
    for key, value, usual in unlike(host, group):
        yield "setting", f"{key} is {value}, that of the others {usual}"
    for share, text in (
        ("foreign_io", "I/O on its drive that is not ours"),
        ("steal", "CPU time that the hypervisor took"),
        ("foreign_cpu", "CPU time of other programs"),
    ):
        usual = statistics.median(figures["shares"].get(share, 0.0) for figures in others)
        if mine["shares"].get(share, 0.0) > usual + SHARE:
            yield "neighbour", f"a neighbour: {mine['shares'][share]:.0%} {text}, {usual:.0%} at the others"
    if cap := _cap(mine, others, difference):
        yield "cap", cap
    for point in points:
        if point["point"].endswith("scatter") and point["worse"]:
            at = point["point"].split(":")[0]
            yield (
                "neighbour",
                f"a neighbour: the rate of `{at}` varies by {point['value']:.0%}, that of the others by {point['median']:.0%}",
            )
            break
    for what in ("stages", "layers"):
        if text := _part(what, mine, others, {point["point"].rsplit(":", 1)[0] for point in points}, difference):
            yield what[:-1], text


def unlike(host, group):
    """Settings of a host that most others have otherwise: what, its own, theirs."""
    mine, others = settings(group[host]), [settings(figures) for name, figures in group.items() if name != host]
    for key in sorted({key for told in [mine, *others] for key in told}):
        told = [str(other.get(key)) for other in others]
        usual = statistics.mode(told)
        if str(mine.get(key)) != usual and told.count(usual) * 2 > len(told):
            yield key, mine.get(key), usual


def _cap(mine, others, difference):
    """A rate that no load passes, far below what the others reach, or what the check itself calls a cap."""
    verdict, usual = mine.get("verdict") or {}, [(figures.get("verdict") or {}).get("limit") for figures in others]
    if verdict.get("limit") == "cap" and usual.count("cap") * 2 < len(usual):
        return verdict["answer"]
    rates = {point: row[0] for point, row in mine["points"].items() if point.endswith("IOPS")}
    theirs = {
        point: statistics.median(
            [figures["points"][point][0] for figures in others if point in figures["points"]] or [0.0]
        )
        for point in rates
    }
    if not rates:
        return None
    most = max(rates.values())
    held = [rates[point] for point, rate in theirs.items() if rate > most * (1 + difference)]
    if len(held) >= 3 and min(held) > 0.85 * most:
        return f"a cap: {len(held)} points where the others do more, up to {max(theirs.values()) / 1e3:.1f} k IOPS, end at {most / 1e3:.1f} k"
    return None


def _part(what, mine, others, bases, difference):
    """The stage or layer that holds most of the difference, at the point whose whole differs most."""
    best = None
    for base in sorted(bases & mine[what].keys()) or sorted(mine[what]):
        rows = [figures[what][base] for figures in others if base in figures[what]]
        if len(rows) < EQUALS - 1 or not any(sum(row.values()) for row in rows):
            continue
        names = {name: None for row in [mine[what][base], *rows] for name in row}
        grown = {
            name: mine[what][base].get(name, 0.0) - statistics.median(row.get(name, 0.0) for row in rows)
            for name in names
        }
        whole = statistics.median(sum(row.values()) for row in rows) or 1.0
        if best is None or abs(sum(grown.values())) / whole > abs(best[0]) / best[1]:
            best = (sum(grown.values()), whole, base, grown)
    if best is None or abs(best[0]) < difference * best[1]:
        return None
    total, _, base, grown = best
    parts = sorted(grown.items(), key=lambda pair: -pair[1] * math.copysign(1, total))
    told = [f"{name} {change / 1e3:+.1f} us" for name, change in parts[:2] if change / total >= 0.2] or [
        f"{parts[0][0]} {parts[0][1] / 1e3:+.1f} us"
    ]
    return f"{what[:-1]} {', '.join(told)} of {total / 1e3:+.1f} us at `{base}`"


def ranks(hosts):
    """Each host's place among its equals: (host, group, speed against the median, most IOPS), the fastest of a group first."""
    told = []
    for name, members in groups(hosts).items():
        rates = _table(
            {host: {p: row for p, row in hosts[host]["points"].items() if p.endswith("IOPS")} for host in members}, 1
        )
        middles = {point: statistics.median(row[0] for row in column.values()) for point, column in rates.items()}
        rows = []
        for host in members:
            logs = [math.log(column[host][0] / middles[point]) for point, column in rates.items() if host in column]
            most = max((column[host][0] for column in rates.values() if host in column), default=0.0)
            rows.append(
                {"host": host, "group": name, "speed": math.exp(statistics.fmean(logs)) if logs else None, "most": most}
            )
        told += sorted(rows, key=lambda row: -(row["speed"] or 0.0))
    return told


def drift(now, before, difference=0.05):
    """What changed since last time: of whole groups, of single hosts against their group, and settings."""
    told = []
    for name, members in groups({host: now[host] for host in now if host in before}).items():
        ratios = {host: _ratios(now[host]["points"], before[host]["points"]) for host in members}
        middles = _table(ratios, 1)
        whole = {point: _middle([row for row in column.values()]) for point, column in middles.items()}
        single = off(ratios, difference) if len(members) >= EQUALS else {}
        rows = {
            f"all {len(members)} of {name}" if len(members) > 1 else members[0]: off({"all": whole}, difference, 1.0)[
                "all"
            ],
            **single,
        }
        for who, points in rows.items():
            if len(points) >= LEAST:
                worst = max(points, key=lambda point: abs(point["score"]))
                told.append({"host": who, "group": name, **worst, "off": len(points), "points": len(whole)})
    changed = []
    for host in [host for host in now if before.get(host, {}).get("machine")]:  # a table holds no settings
        mine, was = settings(now[host]), settings(before[host])
        changed += [
            [host, key, was.get(key), mine.get(key)]
            for key in sorted(mine.keys() | was.keys())
            if mine.get(key) != was.get(key)
        ]
    return {
        "findings": told,
        "settings": changed,
        "gone": sorted(before.keys() - now.keys()),
        "new": sorted(now.keys() - before.keys()),
    }


def _ratios(now, before):
    told = {}
    for point in now.keys() & before.keys():
        (value, low, high, count), (was, was_low, was_high, _) = now[point], before[point]
        if not _is_ratio(point) or min(value, was) <= 0:
            continue
        half = math.hypot((high - low) / 2 / value, (was_high - was_low) / 2 / was)
        told[point] = [value / was, value / was * (1 - half), value / was * (1 + half), count]
    return told


def _middle(rows):
    """Median of ratios, with the interval that their scatter gives it."""
    middle = statistics.median(row[0] for row in rows)
    scatter = 1.4826 * statistics.median(abs(row[0] - middle) for row in rows)
    own = statistics.median((row[2] - row[1]) / 2 for row in rows)
    half = max(1.96 * 1.25 * scatter, own, 0.02) / math.sqrt(len(rows))
    return [middle, middle - half, middle + half, len(rows)]
