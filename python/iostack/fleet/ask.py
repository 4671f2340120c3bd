"""Who asks the hosts, and what became of each? Executors, the agreed instant, and answers that never go missing."""

import os
import statistics
import time

from .. import cluster
from . import hosts as named
from . import measure

#: Round trips by which a clock is learnt; the fastest counts.
_TRIPS = 5
#: Time after the last clock is known until all begin together, seconds.
_LEAD = 2.0
#: Time over what a host was given, after which nobody waits for its answer, seconds.
_PATIENCE = 60.0


def connect(args):
    """The executor that the command line asks for, the hosts, and where each one's worker is."""
    if args.scheduler:
        executor = _dask(args.scheduler)
        workers = executor.workers()
        hosts = named.gather(args, workers)
        return executor, hosts, {host.name: _placed(host, workers) for host in hosts}
    hosts = named.gather(args, {})
    simulated = [host.is_simulated() for host in hosts]
    if args.local or all(simulated):
        count = len(hosts) if getattr(args, "together", False) else min(len(hosts), args.local or os.cpu_count() or 1)
        return cluster.local(count), hosts, {host.name: None for host in hosts}
    if any(simulated):
        raise named.HostsError(
            "simulated hosts and hosts by SSH are in one list; ask them apart, or give --scheduler or --local N"
        )
    return cluster.Ssh([host.name for host in hosts], args.ssh), hosts, {host.name: host.name for host in hosts}


def _dask(address):
    try:
        import distributed
    except ImportError:
        raise named.HostsError("--scheduler needs Dask; pip install distributed") from None
    try:
        return cluster.Dask(distributed.Client(address, timeout=5))
    except (OSError, ValueError) as error:
        raise named.HostsError(f"--scheduler {address}: cannot reach it: {error}") from None


def _placed(host, workers):
    try:
        return named.place(host, workers)
    except named.HostsError as error:
        return error


def order(args, host, job):
    """What one host is asked to do, as plain data."""
    on = host.on or args.on
    told = {"host": host.name, "command": args.command, "on": on, "set": list(host.set), "destroy": args.destroy_data}
    told |= {"program": host.program or args.program, "timeout": args.timeout, "seed": host.seed or args.seed}
    told["flags"] = ["--size", args.size] if args.size else []
    beside = _text(host.beside) if host.beside else ""
    if args.command == "run":
        return told | {"job": {"name": os.path.basename(args.job), "text": job + beside}}
    told["flags"] += ["--quick"] if args.quick else ["--full"] if args.full else []
    return told | {"watch_ms": round(args.watch * 1e3), "beside": beside}


def _text(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise named.HostsError(f"cannot read `{path}`: {error}") from None


def orders(args, hosts):
    """The orders of all hosts; every file is read before the first host is asked."""
    job = _text(args.job) if args.command == "run" else ""
    return {host.name: order(args, host, job) for host in hosts}


def clocks(executor, where):
    """Each worker's clock less ours, and how far that may be wrong (half of the fastest round trip), seconds. In `where`, who does not
    say it becomes the reason."""
    best = {}
    for _ in range(_TRIPS):
        asked = {host: worker for host, worker in where.items() if not isinstance(worker, Exception)}
        flying = {executor.submit(measure.clock, None, worker): (host, time.time()) for host, worker in asked.items()}
        limit = time.time() + _PATIENCE
        while flying and time.time() < limit:
            for ticket in executor.ended(list(flying), 1.0):
                back, (host, sent) = time.time(), flying.pop(ticket)
                try:
                    told = (executor.take(ticket) - (sent + back) / 2, (back - sent) / 2)
                    best[host] = min(best.get(host, told), told, key=lambda pair: pair[1])
                except Exception as error:  # whatever it is, this host cannot
                    where[host] = error
        for host, _ in flying.values():
            where[host] = named.HostsError(f"it did not say what time it is in {_PATIENCE:g} s")
    return {host: best[host] for host, worker in where.items() if not isinstance(worker, Exception)}


def agree(orders_of, offsets):
    """Puts one instant into all orders, each by its own worker's clock, and gives it by ours."""
    start = time.time() + _LEAD
    for host, (offset, _) in offsets.items():
        orders_of[host]["start"] = start + offset
    return start


def answers(executor, orders_of, where):
    """Yields (host, answer, sent, received) for every host, once, also of those that cannot. Whatever may run anywhere is asked again
    where its worker was lost; a host whose own worker was lost is named."""
    flying, anywhere, began = {}, [], time.time()
    for host, told in orders_of.items():
        if isinstance(where[host], Exception):
            yield host, _failed(host, where[host]), began, began
        elif where[host] is None:
            anywhere.append(told)
        else:
            flying[executor.submit(measure.measure, told, where[host])] = host
    for row in cluster.sweep(measure.measure, anywhere, executor):
        host = row.point["host"]
        yield host, row.result or _failed(host, row.error), began, time.time()
    limit = time.time() + max((told["timeout"] for told in orders_of.values()), default=0.0) + _PATIENCE
    while flying and time.time() < limit:
        for ticket in executor.ended(list(flying), 1.0):
            host = flying.pop(ticket)
            try:
                answer = executor.take(ticket)
            except cluster.WorkerLost as lost:
                answer = _failed(host, lost)
            except Exception as error:  # of the worker: it may lack the package, or have another version of it
                answer = _failed(
                    host, f"its worker cannot run `iostack.fleet.measure`: {type(error).__name__}: {error}"
                )
            yield host, answer, began, time.time()
    for host in flying.values():
        yield host, _failed(host, "no answer came in time; its worker may hang, or be gone"), began, time.time()


def _failed(host, error):
    return {"host": host, "program": None, "figures": None, "error": str(error), "began": None, "ended": None}


def sum_of(hosts, offsets, start):
    """One report of loads that ran together: for each job the sum, and series of all hosts on one axis of time."""
    begun = {host: _begun(answer, offsets[host][0], start) for host, answer in hosts.items()}
    first = min(begun.values())
    jobs = {}
    for job in dict.fromkeys(name for answer in hosts.values() for name in answer["figures"]["series"]):
        held = {host: answer["figures"] for host, answer in hosts.items() if answer["figures"]["series"].get(job)}
        if not held:
            continue
        width = max(statistics.median(cell[1] for cell in figures["series"][job]) for figures in held.values())
        each = {host: _rates(figures["series"][job], begun[host] - first, width) for host, figures in held.items()}
        longest = max(len(rates) for rates in each.values())
        rates = [figures["points"][f"{job}: IOPS"] for figures in held.values()]
        mean, half = sum(rate[0] for rate in rates), sum(((rate[2] - rate[1]) / 2) ** 2 for rate in rates) ** 0.5
        spans = [
            (sum(cell[3] for cell in figures["series"][job]), max(cell[0] + cell[1] for cell in figures["series"][job]))
            for figures in held.values()
        ]
        jobs[job] = {
            "hosts": len(held),
            "iops": mean,
            "low": mean - half,
            "high": mean + half,
            "slice": width,
            "each": each,
        }
        jobs[job] |= {"bytes": sum(size / span for size, span in spans)}
        jobs[job]["series"] = [sum(rates[at] for rates in each.values() if at < len(rates)) for at in range(longest)]
    unsure = max(offset[1] for offset in offsets.values())
    return {"apart": max(begun.values()) - first, "unsure": unsure, "begun": begun, "jobs": jobs}


def _begun(answer, offset, start):
    """When a host began, by our clock: as its outcome says, or, of a simulation, when its program was called."""
    told = [when for when in answer["figures"]["started"].values() if when]
    return min(told) - offset if told else start + (answer.get("late") or 0.0)


def _rates(cells, shift, width):
    """I/Os per second in slices of `width` seconds from the common start; a cell gives each slice its share."""
    ios = {}
    for start, length, count, _ in cells:
        begin, end = shift + start, shift + start + length
        at = int(begin / width)
        while at * width < end and length > 0:
            share = (min(end, (at + 1) * width) - max(begin, at * width)) / length
            ios[at] = ios.get(at, 0.0) + count * max(0.0, share) / width
            at += 1
    return [ios.get(at, 0.0) for at in range(max(ios) + 1)]
