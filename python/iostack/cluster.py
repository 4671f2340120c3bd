"""Who does the work? One small interface over processes, threads, Dask, Ray and SSH, and sweeps that lose no point.

    points ──► sweep ──► Executor.submit ──► a worker ──► Executor.take ──► (point, result, error), each point once
                 └─ keep: a line of JSON each, from which an interrupted sweep goes on

A function and what it takes and gives must be importable and plain. Start reading at `Executor`, then `sweep`.
"""

import collections
import concurrent.futures as futures
import inspect
import itertools
import json
import multiprocessing
import os
import queue
import random
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple, Protocol


class WorkerLost(Exception):
    """The worker of a ticket is gone; whether the work was done is not known."""


class Executor(Protocol):
    """Whoever runs functions elsewhere. A ticket is whatever stands for one call."""

    slots: int  #: calls that run at once

    def submit(self, function, argument, where=None) -> Any:
        """Begins a call, on the worker `where` if one is named, and gives its ticket."""

    def ended(self, tickets, timeout=None) -> list:
        """Those of the tickets that have ended; waits until there is one, or for so many seconds."""

    def take(self, ticket) -> Any:
        """The result of a call that has ended; raises `WorkerLost`, or what the function raised."""

    def close(self) -> None:
        """Ends the calls that still run, and the workers if they are ours."""


class Futures:
    """Executors of `concurrent.futures`. `make` makes one, also anew after a worker was killed, which breaks a pool of processes."""

    def __init__(self, make, slots):
        self._make, self.slots, self._pool = make, slots, None
        self._others = {child.pid for child in multiprocessing.active_children()}

    def submit(self, function, argument, where=None):
        for _ in range(3):
            self._pool = self._pool or self._make()
            try:
                return self._pool.submit(function, argument)
            except futures.BrokenExecutor:
                self._pool = None
        raise WorkerLost("workers end before they take work")

    def ended(self, tickets, timeout=None):
        return list(futures.wait(tickets, timeout, futures.FIRST_COMPLETED).done)

    def take(self, ticket):
        try:
            return ticket.result()
        except (futures.BrokenExecutor, futures.CancelledError) as lost:
            self._pool = None if isinstance(lost, futures.BrokenExecutor) else self._pool
            raise WorkerLost("its worker process ended") from lost

    def close(self):
        if self._pool:
            self._pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            if child.pid not in self._others:
                child.terminate()


def local(workers=None):
    """Worker processes on this machine."""
    slots = workers or os.cpu_count() or 1
    context = multiprocessing.get_context("spawn")
    return Futures(
        lambda: futures.ProcessPoolExecutor(slots, context, signal.signal, (signal.SIGINT, signal.SIG_IGN)), slots
    )


class Dask:
    """Workers of a Dask scheduler, as they are. `where` is a worker's name or address."""

    def __init__(self, client):
        self._client, self._where = client, {}
        self.slots = sum(worker["nthreads"] for worker in self.workers().values()) or 1

    def workers(self):
        """What the scheduler says of each worker, by address."""
        return self._client.scheduler_info(n_workers=-1)["workers"]

    def submit(self, function, argument, where=None):
        ticket = self._client.submit(function, argument, pure=False, workers=where, allow_other_workers=False)
        self._where[ticket.key] = where
        return ticket

    def ended(self, tickets, timeout=None):
        import distributed

        while True:
            try:
                distributed.wait(tickets, timeout=timeout or 5, return_when="FIRST_COMPLETED")
            except (TimeoutError, futures.CancelledError):
                pass
            ready = [ticket for ticket in tickets if ticket.done()]
            if not ready and any(self._where[ticket.key] for ticket in tickets):
                there = {name for address, worker in self.workers().items() for name in (address, worker["name"])}
                ready = [ticket for ticket in tickets if self._where[ticket.key] not in (None, *there)]
            if ready or timeout:
                return ready

    def take(self, ticket):
        import distributed

        try:
            if not ticket.done():
                raise WorkerLost(f"the worker {self._where[ticket.key]} is gone")
            return ticket.result()
        except (distributed.scheduler.KilledWorker, futures.CancelledError, distributed.comm.CommClosedError) as lost:
            raise WorkerLost(f"its worker ended: {type(lost).__name__}") from lost
        finally:
            ticket.cancel()
            self._where.pop(ticket.key, None)

    def close(self):
        self._client.close()


class Ray:
    """Workers of Ray, where it is installed and initialised. It places calls itself; `where` is refused."""

    def __init__(self):
        import ray

        self._ray = ray
        self.slots = int(ray.cluster_resources().get("CPU", 1))

    def submit(self, function, argument, where=None):
        if where:
            raise ValueError(f"Ray places calls itself; `{where}` cannot be chosen: use --scheduler or SSH")
        return self._ray.remote(function).options(max_retries=0).remote(argument)

    def ended(self, tickets, timeout=None):
        return self._ray.wait(tickets, num_returns=1, timeout=timeout)[0]

    def take(self, ticket):
        try:
            return self._ray.get(ticket)
        except (self._ray.exceptions.WorkerCrashedError, self._ray.exceptions.NodeDiedError) as lost:
            raise WorkerLost(f"its worker ended: {type(lost).__name__}") from lost
        except self._ray.exceptions.RayTaskError as failed:
            raise failed.cause from failed

    def close(self):
        self._ray.shutdown()


#: What the far end of an SSH connection runs: a function of the text that comes first, until the answer or the end of its input.
_FAR_END = """import json, os, sys, threading
source, name, argument = json.loads(sys.stdin.readline())
space = {"__name__": "iostack_worker"}
exec(compile(source, "worker", "exec"), space)
def gone():
    sys.stdin.read()
    space.get("end_all", lambda: None)()
    os._exit(1)
threading.Thread(target=gone, daemon=True).start()
print(json.dumps(space[name](argument)), flush=True)
os._exit(0)
"""


class Ssh:
    """Hosts by plain SSH, which need Python 3 and nothing of ours: the module of the function travels as text."""

    def __init__(self, hosts, command="ssh -o BatchMode=yes -o ConnectTimeout=10", python="python3"):
        self.slots, self._command, self._python = len(hosts), shlex.split(command), python
        self._pool, self._free, self._running = futures.ThreadPoolExecutor(len(hosts)), queue.Queue(), set()
        for host in hosts:
            if host.startswith("-"):
                raise ValueError(f"`{host}` is no name of a host; an option of ssh goes into --ssh")
            self._free.put(host)

    def submit(self, function, argument, where=None):
        return self._pool.submit(self._call, function, argument, where)

    def _call(self, function, argument, where):
        host = where or self._free.get()
        line = json.dumps([inspect.getsource(sys.modules[function.__module__]), function.__name__, argument])
        words = [*self._command, "--", host, f"{self._python} -c {shlex.quote(_FAR_END)}"]
        try:
            with tempfile.TemporaryFile("w+") as errors:
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    start_new_session=True,
                )
                self._running.add(process)
                try:
                    process.stdin.write(line + "\n")
                    process.stdin.flush()
                except BrokenPipeError:
                    pass
                out = process.stdout.read().strip().splitlines()
                status = process.wait()
                self._running.discard(process)
                errors.seek(0)
                told = errors.read().strip().splitlines()
        finally:
            if not where:
                self._free.put(host)
        if status == 0 and out:
            return json.loads(out[-1])
        raise WorkerLost(f"ssh {host} ended with {status}: {told[-1] if told else 'it said nothing'}")

    ended = Futures.ended

    def take(self, ticket):
        return ticket.result()

    def close(self):
        for process in list(self._running):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        self._pool.shutdown(wait=False, cancel_futures=True)


class Row(NamedTuple):
    """One point of a sweep: what was asked, and its result, or why there is none."""

    point: Any
    result: Any
    error: str | None


class _Flight(NamedTuple):
    key: str
    point: Any
    losses: int


#: A point that lost so many workers goes alone, so that the guilty one is known.
SUSPECT = 2
#: A point that lost so many is given up.
LOSSES = 5


def key(point):
    """What makes two points the same."""
    return json.dumps(point, sort_keys=True)


def sweep(function, points, executor, keep=None):
    """Yields a `Row` for each different point, once, as they end. A point whose worker dies is done again; one whose function raises
    is told with its error. With `keep`, rows are appended to that file, and those that it holds are told and not done again."""
    seen, again, flying = set(), collections.deque(), {}
    for row in _kept(keep):
        seen.add(key(row.point))
        yield row
    fresh = (_Flight(key(point), point, 0) for point in points)
    with open(keep or os.devnull, "a", encoding="utf-8") as kept:
        while True:
            _send(function, executor, fresh, again, seen, flying)
            if not flying:
                return
            for ticket in executor.ended(list(flying)):
                flight = flying.pop(ticket)
                try:
                    row = Row(flight.point, executor.take(ticket), None)
                except WorkerLost as lost:
                    if flight.losses + 1 < LOSSES:
                        again.append(flight._replace(losses=flight.losses + 1))
                        continue
                    row = Row(flight.point, None, f"given up after {LOSSES} workers were lost: {lost}")
                except Exception as error:  # of the function: any kind
                    row = Row(flight.point, None, f"{type(error).__name__}: {error}")
                kept.write(json.dumps(row._asdict()) + "\n")
                kept.flush()
                yield row


def _send(function, executor, fresh, again, seen, flying):
    """Keeps some calls ahead of the workers; a suspect flies alone."""
    while len(flying) < 4 * executor.slots and not any(flight.losses >= SUSPECT for flight in flying.values()):
        if again and again[0].losses >= SUSPECT and flying:
            return
        flight = again.popleft() if again else next((flight for flight in fresh if flight.key not in seen), None)
        if flight is None:
            return
        seen.add(flight.key)
        flying[executor.submit(function, flight.point)] = flight


def _kept(path):
    """Rows of an earlier sweep; half a line, as a killed writer leaves it, is cut off."""
    if not path or not os.path.exists(path):
        return []
    with open(path, "r+b") as file:
        lines = file.read().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        file.truncate(sum(map(len, whole)))
    return [Row(**json.loads(line)) for line in whole]


def draws(point, count, seed, vary=None):
    """Points of a Monte Carlo run: the same with a seed of its own each, and the numbers of `vary` drawn from it:
    `{"flash.read": lambda random: f"{random.gauss(40, 2):.2f}us"}`. The n-th is the same whatever the count."""
    for index in itertools.islice(itertools.count(), count):
        drawn = random.Random(f"{seed}/{index}")
        numbers = {name: draw(drawn) for name, draw in (vary or {}).items()}
        yield {**point, "seed": drawn.getrandbits(31), "set": {**point.get("set", {}), **numbers}}


def spread(rows, figure):
    """Mean of a figure over rows with its 95 % interval, its standard deviation, its quartiles, and how many rows have it."""
    values = [row.result[figure] for row in rows if row.error is None]
    if len(values) < 2:
        raise ValueError(f"`{figure}` of {len(values)} rows has no spread; it takes 2")
    mean, deviation = statistics.fmean(values), statistics.stdev(values)
    half = 1.96 * deviation / len(values) ** 0.5
    told = {"mean": mean, "low": mean - half, "high": mean + half, "deviation": deviation, "count": len(values)}
    return told | {"quartiles": statistics.quantiles(values, n=4)}
