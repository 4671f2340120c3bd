"""What does one host say? The program `iostack`, run on a worker in a folder of its own.

    order (a plain dict) ──► measure ──► answer (a plain dict), also of what went wrong
                                └─ digest: the figures of a check or a run, without their histograms

Only the standard library is used, and nothing of this package: over SSH this file travels as text. Start reading at `measure`.
"""

import ctypes
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

#: Counts up when an order or an answer changes.
VERSION = 1

#: The environment of a worker says so where data may be destroyed; the command alone never suffices.
PERMIT = "IOSTACK_FLEET_DESTROY"

#: The one load of the fleet's own: a single reader, whose series shows what others do to it.
WATCH = """[[job]]
name = "watch"
pattern = "random"
queue_depth = 1
engine = "psync"
direct = true
runtime = "{watch_ms}ms"
time_based = true
slice = "{slice_ms}ms"
{room}
"""

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_running = set()
_folders = set()


class Refused(Exception):
    """Why a host cannot do what was ordered, as one sentence."""


def clock(_order=None):
    """The wall clock of this worker, seconds since 1970."""
    return time.time()


def measure(order):
    """Does one order. The answer has `figures`, or says in `error` why there are none; no exception leaves."""
    answer = {"host": order["host"], "node": socket.gethostname(), "measure": VERSION, "began": clock()}
    answer |= {"python": sys.version.split()[0], "program": None, "figures": None, "error": None, "ended_by": 0}
    folder = None
    try:
        folder = tempfile.mkdtemp(prefix="iostack-fleet-")
        _folders.add(folder)
        program = shlex.split(order.get("program") or os.environ.get("IOSTACK_PROGRAM") or "iostack")
        answer["program"] = _run([*program, "--version"], folder, 30)[1].strip()
        _permit(order)
        answer["figures"] = _figures(order, program, folder, answer)
    except (Refused, OSError, ValueError, KeyError) as error:
        answer["error"] = str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}"
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
            _folders.discard(folder)
    answer["ended"] = clock()
    return answer


def simulate(point):
    """Runs one simulated point: `on`, `set` (numbers of the platform) and `job` (flags of `iostack run`). Its IOPS and latency."""
    flags = [word for key, value in point.get("job", {}).items() for word in (f"--{key}", str(value))]
    sets = [word for key, value in point.get("set", {}).items() for word in ("--set", f"{key}={value}")]
    program = shlex.split(os.environ.get("IOSTACK_PROGRAM") or "iostack")
    words = [
        *program,
        "run",
        "--on",
        point["on"],
        *sets,
        *flags,
        "--seed",
        str(point.get("seed", 1)),
        "--json",
        "--quiet",
    ]
    status, out, err = _run(words, None, 600)
    if status not in (0, 1) or not out:
        raise Refused(_last_line(err) or f"`iostack` ended with {status}")
    outcome = json.loads(out)["outcomes"][0]
    latency = [outcome[way]["latency"] for way in ("read", "write", "trim")]
    count = sum(way["count"] for way in latency)
    return {
        "iops": outcome["iops"]["mean"],
        "latency_ns": sum(way["sum_ns"] for way in latency) / max(1, count),
        "ios": count,
    }


def _permit(order):
    if order.get("destroy") and os.environ.get(PERMIT) != "yes":
        raise Refused(
            f"this worker does not let data be destroyed; set {PERMIT}=yes in its environment, not only on the command"
        )


def _figures(order, program, folder, answer):
    on = order.get("on") or "."
    common = [word for pair in order.get("set", []) for word in ("--set", pair)]
    common += ["--destroy-data"] if order.get("destroy") else []
    timeout = order.get("timeout") or 3600
    if order["command"] == "run":
        job = os.path.join(folder, os.path.basename(order["job"]["name"]))
        _write(job, order["job"]["text"])
        words = ["run", job, "--on", on, *common, *order.get("flags", []), "--json", "--quiet"]
        _wait(order.get("start"), answer)
        return digest(_json(answer, [*program, *words], folder, timeout))
    words = [
        "check",
        on,
        *common,
        *order.get("flags", []),
        "--seed",
        str(order.get("seed", 1)),
        "--no-files",
        "--json",
        "--quiet",
    ]
    figures = digest(_json(answer, [*program, *words], folder, timeout))
    if order.get("watch_ms"):
        watched = digest(_json(answer, [*program, *_watch(order, on, folder)], folder, timeout), "watch")
        for name in ("points", "stages", "layers", "shares", "series"):
            figures[name] |= watched[name]
    return figures


def _watch(order, on, folder):
    room = (
        'size = "256m"\nunlink = true'
        if not on.startswith(("sim:", "lab:")) and os.path.isdir(os.path.join(folder, on))
        else ""
    )
    text = WATCH.format(watch_ms=order["watch_ms"], slice_ms=max(1, order["watch_ms"] // 50), room=room)
    job = os.path.join(folder, "watch.toml")
    _write(job, text + (order.get("beside") or ""))
    sets = [word for pair in order.get("set", []) for word in ("--set", pair)]
    return ["run", job, "--on", on, *sets, "--json", "--quiet"]


def _write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _wait(start, answer):
    """Sleeps until the agreed instant, by this worker's clock, and says how late it was."""
    if start is not None:
        time.sleep(max(0.0, start - clock()))
        answer["late"] = clock() - start


def _json(answer, words, folder, timeout):
    status, out, err = _run(words, folder, timeout)
    answer["ended_by"] = max(answer["ended_by"], status)
    try:
        return json.loads(out)
    except ValueError:
        said = _last_line(err) or f"`{words[0]}` ended with {status} and said nothing"
        raise Refused(said) from None


def _last_line(text):
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1].removeprefix("iostack: ") if lines else ""


def _run(words, folder, timeout):
    """Status, output and errors of a program that dies with this worker and is ended after `timeout` seconds."""
    try:
        process = subprocess.Popen(
            words,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
    except FileNotFoundError:
        raise Refused(
            f"`{words[0]}` is not there; install iostack, or name it in IOSTACK_PROGRAM or with --program"
        ) from None
    _running.add(process)
    try:
        out, err = process.communicate(timeout=timeout)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        raise Refused(
            f"`iostack {words[1]}` was not done after {timeout:g} s and was ended; give --timeout SECONDS"
        ) from None
    finally:
        _end(process)


def _die_with_parent():
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _end(process):
    _running.discard(process)
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, sign)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            continue


def end_all():
    """Ends every program that this worker still runs, and removes its folders: its caller is gone."""
    for process in list(_running):
        _end(process)
    for folder in list(_folders):
        shutil.rmtree(folder, ignore_errors=True)


def digest(answer, only=None):
    """The figures of what `check --json` or `run --json` says: points by name, and beside them stages, layers and settings."""
    figures = {"points": {}, "stages": {}, "layers": {}, "shares": {}, "series": {}, "started": {}}
    figures |= {key: answer.get(key) for key in ("machine", "storage", "verdict", "interrupted", "seed")}
    figures["simulated"] = any(caveat["kind"] == "simulated" for caveat in answer.get("caveats", []))
    for step in answer.get("steps", []):
        for point in step["points"]:
            _point(
                figures, f"{step['id']}: {point['series']}, {point['label']}", point["outcome"], step["id"] == "latency"
            )
    for outcome in answer.get("outcomes", []):
        name = outcome["job"]["name"]
        figures["simulated"] |= outcome["target"]["kind"] == "sim"
        if only in (None, name):
            figures["storage"] = figures["storage"] or outcome["storage"]
            _point(figures, name, outcome, True)
            _series(figures, name, outcome)
    return figures


def _point(figures, name, outcome, closely):
    rate, ways = outcome["iops"], [way for way in ("read", "write", "trim") if outcome[way]["latency"]["count"]]
    if not ways or rate["mean"] <= 0:
        return
    figures["points"][f"{name}: IOPS"] = [rate["mean"], rate["low"], rate["high"], rate["samples"]]
    if closely:
        latency = outcome[ways[0]]["latency"]
        mean, count = latency["sum_ns"] / latency["count"], latency["count"]
        error = 1.96 * max(0.0, latency["sum_squares_ns2"] / count - mean * mean) ** 0.5 / count**0.5
        figures["points"][f"{name}: mean"] = [mean, mean - error, mean + error, count]
    inside, stages = outcome.get("inside"), outcome.get("stages") or {}
    for way in (inside or {}).get("flows", []) + stages.get("ways", []):
        figures["stages"].setdefault(
            name, {stage: held["sum_ns"] / max(1, held["count"]) for stage, held in way["stages"]}
        )
    if inside and inside.get("host"):
        host = inside["host"]
        figures["layers"][name] = {row["name"]: row["clocks"] / host["clock_hz"] * 1e9 for row in host["layers"]}
    elif outcome.get("layers"):
        told = outcome["layers"]
        figures["layers"][name] = {row["layer"]: row["time"] / max(1, told["ios"]) for row in told["rows"]}
    for caveat in outcome["caveats"]:
        if caveat["kind"] in ("foreign_io", "foreign_cpu", "steal"):
            figures["shares"][caveat["kind"]] = max(caveat["share"], figures["shares"].get(caveat["kind"], 0.0))


def _series(figures, name, outcome):
    """Rates of the whole slices, their scatter, and the slow slices' p99 as points of their own."""
    cells = outcome["series"]
    figures["started"][name] = outcome["started_unix_ms"] / 1e3
    usual = sorted(cell["length"] for cell in cells)[len(cells) // 2] if cells else 0
    whole = [cell for cell in cells if cell["length"] >= 0.9 * usual]
    figures["series"][name] = [
        [cell["start"] / 1e9, cell["length"] / 1e9, sum(cell["ios"]), sum(cell["bytes"])] for cell in cells
    ]
    if len(whole) < 5:
        return
    rates = [sum(cell["ios"]) / cell["length"] * 1e9 for cell in whole]
    mean = sum(rates) / len(rates)
    scatter = (sum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1)) ** 0.5 / max(mean, 1e-9)
    tail = sorted(cell["p99"] for cell in whole)[len(whole) * 3 // 4]
    figures["points"][f"{name}: scatter"] = [scatter, scatter, scatter, len(whole)]
    figures["points"][f"{name}: p99"] = [tail, tail, tail, len(whole)]
