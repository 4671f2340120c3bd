"""Does a sweep give every point once, whoever works and whoever dies?"""

import itertools
import json
import multiprocessing
import os
import pathlib
import random
import signal
import sys
import threading
import time

import pytest
from fleet_help import PACKAGE, program

from iostack import cluster
from iostack.fleet import ask, measure

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from fleet_work import square  # noqa: E402

# Workers find the package and `fleet_work` there.
os.environ["PYTHONPATH"] = os.pathsep.join([str(PACKAGE), str(pathlib.Path(__file__).parent)])


class Processes:
    """Two worker processes of `concurrent.futures`."""

    def __init__(self):
        self.executor = cluster.local(2)

    def pids(self):
        return [child.pid for child in multiprocessing.active_children()]

    def close(self):
        self.executor.close()


class OfDask:
    """Two worker processes of a Dask scheduler on this machine, each with the nanny that starts it anew."""

    def __init__(self):
        distributed = pytest.importorskip("distributed", reason="pip install distributed")
        self.cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        )
        self.executor = cluster.Dask(distributed.Client(self.cluster))

    def pids(self):
        return list(self.cluster.scheduler_info["workers"] and self.executor._client.run(os.getpid).values())

    def close(self):
        self.executor.close()
        self.cluster.close()


@pytest.fixture(params=[Processes, OfDask])
def two(request):
    workers = request.param()
    yield workers
    workers.close()


@pytest.fixture
def processes():
    workers = Processes()
    yield workers
    workers.close()


def xs(rows):
    return sorted(row.point["x"] for row in rows)


def test_every_point_comes_once_and_one_that_fails_says_why(two):
    points = [{"x": x, "fail": x == 7} for x in range(30)]
    rows = list(cluster.sweep(square, points, two.executor))
    assert xs(rows) == list(range(30))
    assert [row.error for row in rows if row.error] == ["ValueError: no square of 7"]
    assert all(row.result == {"x": row.point["x"] ** 2} for row in rows if not row.error)


def test_equal_points_are_one(processes):
    rows = list(cluster.sweep(square, [{"x": 1, "sleep": 0}, {"sleep": 0, "x": 1}, {"x": 2}], processes.executor))
    assert xs(rows) == [1, 2]


def test_no_points_is_no_rows(processes):
    assert list(cluster.sweep(square, [], processes.executor)) == []


def test_a_sweep_of_endless_points_can_be_left(processes):
    rows = cluster.sweep(square, ({"x": x} for x in itertools.count()), processes.executor)
    assert next(rows).error is None


def test_a_point_that_kills_every_worker_is_given_up_and_no_other_is_lost(processes):
    points = [{"x": x, "kill": x == 5} for x in range(12)]
    rows = list(cluster.sweep(square, points, processes.executor))
    assert xs(rows) == list(range(12))
    assert [(row.point["x"], "given up after 5 workers" in row.error) for row in rows if row.error] == [(5, True)]


def kill_while(workers, points, kills, seed):
    """Sweeps, and kills a worker at so many moments between rows that the seed draws."""
    drawn = random.Random(seed)
    moments = sorted(drawn.sample(range(1, len(points) - 20), kills))
    rows = []
    for row in cluster.sweep(square, points, workers.executor):
        rows.append(row)
        if moments and len(rows) >= moments[0] and (pids := workers.pids()):
            moments.pop(0)
            time.sleep(drawn.uniform(0, 0.01))
            os.kill(drawn.choice(pids), signal.SIGKILL)
    assert not moments, f"seed {seed}"
    return rows


def test_killed_workers_lose_no_point_and_none_counts_twice(processes):
    rows = kill_while(processes, [{"x": x, "sleep": 0.002} for x in range(120)], 3, seed=5)
    assert xs(rows) == list(range(120)) and not any(row.error for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_ten_killed_workers_lose_none_of_a_thousand_points(two, seed):
    rows = kill_while(two, [{"x": x, "sleep": 0.005} for x in range(1000)], 10, seed)
    assert xs(rows) == list(range(1000)) and not any(row.error for row in rows), f"seed {seed}"


def test_killed_workers_lose_no_host_of_a_fleet(processes, monkeypatch):
    monkeypatch.setenv("IOSTACK_PROGRAM", program())
    names = [f"h{index}" for index in range(8)]
    orders = {
        name: {"host": name, "command": "check", "on": "sim:laptop", "flags": ["--quick"], "timeout": 60}
        for name in names
    }
    told, kills = [], 2
    for host, answer, _, _ in ask.answers(processes.executor, orders, dict.fromkeys(names)):
        assert answer["figures"], answer["error"]
        told.append(host)
        if kills and (pids := processes.pids()):
            kills -= 1
            os.kill(pids[0], signal.SIGKILL)
    assert sorted(told) == names and not kills


@pytest.mark.slow
def test_a_host_whose_own_worker_is_killed_is_named_and_the_others_answer(monkeypatch):
    monkeypatch.setenv("IOSTACK_PROGRAM", program())
    workers = OfDask()
    places = workers.executor._client.run(os.getpid)
    order = {"command": "check", "on": "sim:laptop", "flags": [], "timeout": 60}
    orders = {name: {**order, "host": name} for name in ("h0", "h1")}
    threading.Timer(0.3, os.kill, (list(places.values())[1], signal.SIGKILL)).start()
    where = dict(zip(orders, places, strict=True))
    told = {host: answer for host, answer, _, _ in ask.answers(workers.executor, orders, where)}
    workers.close()
    assert told["h0"]["figures"] and "is gone" in told["h1"]["error"]


def test_an_interrupted_sweep_goes_on_where_it_was(processes, tmp_path):
    kept = tmp_path / "rows.ndjson"
    points = [{"x": x} for x in range(20)]
    rows = cluster.sweep(square, points, processes.executor, kept)
    first = [next(rows) for _ in range(8)]
    rows.close()
    with kept.open("a") as file:
        file.write('{"point": {"x": 19}, "res')  # as a killed writer leaves it
    assert len(first) == 8
    asked = []

    class Counted:
        slots = 2

        def submit(self, function, argument, where=None):
            asked.append(argument["x"])
            return processes.executor.submit(function, argument, where)

        ended, take = processes.executor.ended, processes.executor.take

    rows = list(cluster.sweep(square, points, Counted(), kept))
    assert xs(rows) == list(range(20)) and len(asked) == 12
    assert xs(cluster.sweep(square, points, processes.executor, kept)) == list(range(20))


def test_simulations_run_on_workers_with_a_seed_each(processes, monkeypatch):
    monkeypatch.setenv("IOSTACK_PROGRAM", program())
    vary = {"flash.read": lambda drawn: f"{drawn.uniform(35, 45):.3f}us"}
    points = list(cluster.draws({"on": "sim:tlc-1t", "job": {"io-count": 300}}, 12, seed=3, vary=vary))
    assert points[:5] == list(cluster.draws({"on": "sim:tlc-1t", "job": {"io-count": 300}}, 5, seed=3, vary=vary))
    assert len({point["seed"] for point in points}) == 12
    rows = list(cluster.sweep(measure.simulate, points, processes.executor))
    assert not any(row.error for row in rows)
    told = cluster.spread(rows, "latency_ns")
    assert told["count"] == 12 and told["low"] < told["mean"] < told["high"] and told["deviation"] > 0
    bad = list(
        cluster.sweep(measure.simulate, [{"on": "sim:tlc-1t", "set": {"flash.read": "soon"}}], processes.executor)
    )
    assert "flash.read=soon" in bad[0].error


def test_threads_are_workers_too():
    from concurrent.futures import ThreadPoolExecutor

    executor = cluster.Futures(lambda: ThreadPoolExecutor(3), 3)
    assert xs(cluster.sweep(square, [{"x": x} for x in range(9)], executor)) == list(range(9))
    assert threading.active_count() < 20
    executor.close()


@pytest.mark.slow
def test_ray_gives_every_point_once_too():
    ray = pytest.importorskip("ray", reason="pip install ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    executor = cluster.Ray()
    rows = list(cluster.sweep(square, [{"x": x, "fail": x == 3, "kill": x == 5} for x in range(12)], executor))
    executor.close()
    errors = {row.point["x"]: row.error for row in rows if row.error}
    assert xs(rows) == list(range(12)) and errors.keys() == {3, 5}
    assert errors[3] == "ValueError: no square of 3" and "given up after 5 workers" in errors[5]


def test_a_row_is_plain_data():
    assert json.loads(json.dumps(cluster.Row({"x": 1}, {"x": 1}, None)._asdict()))["point"] == {"x": 1}
