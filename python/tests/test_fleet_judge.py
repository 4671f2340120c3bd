"""Is the odd one named, with its cause, and nobody else?"""

import copy
import math
import random

import pytest
from fleet_help import figures, judge, noisy


def with_one(change, count=8):
    """Equal hosts with a spread of 1 %, of whom the last is changed."""
    drawn = random.Random(4)
    hosts = {}
    for index in range(count):
        rates = {f"depth: read, {depth}: IOPS": 10_000 * depth * drawn.uniform(0.99, 1.01) for depth in (1, 2, 4, 8)}
        means = {"latency: read, read: mean": 80_000 * drawn.uniform(0.99, 1.01)}
        stages = {"latency: read, read": {"submit": 2_000.0, "device": 78_000 * drawn.uniform(0.99, 1.01)}}
        hosts[f"h{index}"] = figures(rates | means, stages=stages)
    change(hosts[f"h{count - 1}"])
    return hosts


def only(hosts):
    told = judge.findings(hosts)
    assert [finding["host"] for finding in told] == [list(hosts)[-1]]
    return told[0]


def slow(host, factor=1.25):
    for point, row in host["points"].items():
        row[:3] = [value * factor if point.endswith("mean") else value / factor for value in row[:3]]


def test_equal_hosts_are_all_unnamed():
    assert judge.findings(with_one(lambda host: None)) == []


def test_a_host_whose_device_is_slow_is_named_with_that_stage():
    def change(host):
        slow(host)
        host["stages"]["latency: read, read"]["device"] += 20_000

    told = only(with_one(change))
    assert told["worse"] and told["off"] == told["points"] == 5
    assert told["kind"] == "stage" and told["cause"] == "stage device +19.4 us of +19.4 us at `latency: read, read`"
    assert told["low"] < told["change"] < told["high"]


def test_a_stage_is_named_also_where_only_other_points_are_off():
    def change(host):
        slow(host)
        host["stages"]["places"]["device"] += 20_000

    hosts = with_one(lambda host: None)
    for host in hosts.values():
        host["stages"] = {"places": host["stages"].pop("latency: read, read")}
    change(hosts["h7"])
    assert only(hosts)["cause"].endswith("at `places`")


def test_a_host_that_is_faster_is_named_as_faster():
    assert not only(with_one(lambda host: slow(host, 1 / 1.25)))["worse"]


def test_a_setting_is_named_before_the_stage():
    def change(host):
        slow(host)
        host["stages"]["latency: read, read"]["device"] += 20_000
        host["storage"]["devices"][0]["queue"]["scheduler"] = "bfq"

    told = only(with_one(change))
    assert told["kind"] == "setting" and told["cause"] == "scheduler is bfq, that of the others none"
    assert any("stage device" in text for text in told["also"])


def test_a_setting_without_effect_names_nobody():
    def change(host):
        host["storage"]["devices"][0]["queue"]["scheduler"] = "bfq"

    assert judge.findings(with_one(change)) == []


@pytest.mark.parametrize(
    ("share", "word"), [("steal", "hypervisor"), ("foreign_io", "drive"), ("foreign_cpu", "other programs")]
)
def test_a_neighbour_that_was_seen_is_the_cause(share, word):
    def change(host):
        slow(host)
        host["shares"][share] = 0.3

    told = only(with_one(change))
    assert told["kind"] == "neighbour" and word in told["cause"]


def test_a_rate_that_no_load_passes_is_a_cap():
    def change(host):
        for row in host["points"].values():
            row[:3] = [min(value, 11_000) if value < 79_000 else value for value in row[:3]]
        host["points"] |= {f"depth: read, {depth}: IOPS": [11_000, 11_000, 11_000, 9] for depth in (2, 4, 8)}

    told = only(with_one(change))
    assert told["kind"] == "cap" and told["cause"].endswith("end at 11.0 k")


def test_rates_that_are_low_but_rise_are_no_cap():
    def change(host):
        rates = zip((1, 2, 4, 8), (5_000, 6_000, 8_000, 11_000), strict=True)
        host["points"] |= {f"depth: read, {depth}: IOPS": [rate, rate, rate, 9] for depth, rate in rates}

    assert only(with_one(change))["kind"] == "unknown"


def test_a_setting_of_which_there_is_no_usual_value_is_no_cause():
    hosts = with_one(slow)
    for index, host in enumerate(hosts.values()):
        host["machine"] = host["machine"] | {"kernel": {"release": f"6.{index}"}}
    assert only(hosts)["kind"] == "unknown"


def test_a_scatter_that_the_others_lack_is_a_neighbour():
    def change(host):
        host["points"] |= {"watch: scatter": [0.4, 0.4, 0.4, 50], "watch: p99": [900_000, 900_000, 900_000, 50]}

    hosts = with_one(lambda host: None)
    for host in hosts.values():
        host["points"] |= {"watch: scatter": [0.02, 0.02, 0.02, 50], "watch: p99": [90_000, 90_000, 90_000, 50]}
    change(hosts["h7"])
    told = only(hosts)
    assert told["kind"] == "neighbour" and "varies by 40%" in told["cause"]


def test_one_point_alone_names_nobody_and_two_do():
    def change(points):
        def deed(host):
            for point in points:
                host["points"][point][:3] = [value / 2 for value in host["points"][point][:3]]

        return deed

    assert judge.findings(with_one(change(["depth: read, 1: IOPS"]))) == []
    assert only(with_one(change(["depth: read, 1: IOPS", "depth: read, 2: IOPS"])))["off"] == 2


def test_a_difference_below_what_matters_is_not_named():
    hosts = {f"h{index}": figures({"a: x: IOPS": 1000.0, "b: x: IOPS": 1000.0}) for index in range(8)}
    for factor, named in ((1.049, 0), (1.051, 1)):
        hosts["h7"] = figures({"a: x: IOPS": 1000.0 * factor, "b: x: IOPS": 1000.0 * factor})
        assert len(judge.findings(hosts, 0.05)) == named, factor


def test_an_uneven_host_is_held_to_its_own_interval():
    hosts = {f"h{index}": figures({"a: x: IOPS": 1000.0, "b: x: IOPS": 1000.0}) for index in range(8)}
    hosts["h7"] = figures({point: [800.0, 400.0, 1200.0, 9] for point in ("a: x: IOPS", "b: x: IOPS")})
    assert judge.findings(hosts) == []


def test_hosts_of_other_hardware_are_not_compared():
    hosts = with_one(slow)
    hosts["h7"]["machine"] = copy.deepcopy(hosts["h7"]["machine"]) | {"memory": {"total": 64 << 30}}
    assert judge.findings(hosts) == [] and [len(members) for members in judge.groups(hosts).values()] == [7, 1]


@pytest.mark.parametrize(("count", "named"), [(3, 0), (4, 1)])
def test_three_equals_cannot_say_who_is_off(count, named):
    def change(host):
        slow(host, 3)

    assert len(judge.findings(with_one(change, count))) == named


@pytest.mark.parametrize(("freedom", "quantile"), [(7, 5.408), (12, 4.318), (20, 3.850), (60, 3.460)])
def test_the_limit_is_students_quantile_as_tables_have_it(freedom, quantile):
    assert math.isclose(judge.limit(judge.FALSE_ALARMS / 0.001, freedom), quantile, rel_tol=0.03)


@pytest.mark.parametrize("count", [4, 8, 20])
def test_equal_hosts_with_noise_rarely_alarm(count):
    seed, fleets = 11, 60
    drawn = random.Random(seed)
    alarms = sum(bool(judge.findings(noisy(drawn, count))) for _ in range(fleets))
    assert alarms <= 1, f"{alarms} of {fleets}, seed {seed}"


@pytest.mark.slow
@pytest.mark.parametrize("count", [4, 8, 20, 50])
@pytest.mark.parametrize("noise", [(0.02, 0.006), (0.0, 0.03), (0.005, 0.005)])
def test_fewer_than_one_fleet_of_equal_hosts_in_a_hundred_alarms(count, noise):
    seed, fleets = 12, 1000 if count < 50 else 300
    drawn = random.Random(seed)
    alarms = sum(bool(judge.findings(noisy(drawn, count, host=noise[0], noise=noise[1]))) for _ in range(fleets))
    print(f"{count} hosts, noise {noise}: {alarms} of {fleets} fleets")
    assert alarms <= fleets * judge.FALSE_ALARMS, f"{alarms} of {fleets}, seed {seed}"


def test_ranks_put_the_fastest_of_its_group_first():
    told = judge.ranks(with_one(lambda host: slow(host, 0.5)))
    assert told[0]["host"] == "h7" and math.isclose(told[0]["speed"], 2.0, rel_tol=0.02)


def test_drift_of_one_host_and_of_all_are_told_apart():
    before = with_one(lambda host: None)
    one = copy.deepcopy(before)
    slow(one["h3"])
    told = judge.drift(one, before)
    assert [finding["host"] for finding in told["findings"]] == ["h3"] and told["settings"] == []
    every = copy.deepcopy(before)
    for host in every.values():
        slow(host)
    told = judge.drift(every, before)
    assert len(told["findings"]) == 1 and told["findings"][0]["host"].startswith("all 8 of ")
    assert judge.drift(before, before)["findings"] == []


def test_drift_of_a_host_that_stands_alone_is_seen():
    before = {"h0": with_one(lambda host: None)["h0"]}
    now = copy.deepcopy(before)
    slow(now["h0"])
    assert [finding["host"] for finding in judge.drift(now, before)["findings"]] == ["h0"]


def test_drift_names_settings_and_who_came_and_went():
    before = with_one(lambda host: None)
    now = copy.deepcopy(before)
    now["h8"] = now.pop("h0")
    now["h1"]["machine"] = now["h1"]["machine"] | {"kernel": {"release": "6.12"}}
    told = judge.drift(now, before)
    assert told["settings"] == [["h1", "release", "6.1", "6.12"]] and told["gone"] == ["h0"] and told["new"] == ["h8"]
