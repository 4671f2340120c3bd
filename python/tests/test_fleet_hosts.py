"""What is a hosts file, and what is wrong with this one?"""

import argparse

import pytest
from fleet_help import ROOT

from iostack.fleet import hosts


def test_a_line_is_a_host_with_what_is_asked_of_it():
    told = hosts.parse(
        "# a remark\nh1\nh2 /mnt/fast\n\nh3 sim:laptop --set a.b=1 --set c=2 --beside n.toml --seed 7  # so\n",
        "folder/list",
    )
    assert told[0] == hosts.Host("h1") and told[1].on == "/mnt/fast"
    assert told[2] == hosts.Host("h3", "sim:laptop", ("a.b=1", "c=2"), "folder/n.toml", None, 7)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("h1\nh1", "named twice"),
        ("h1 --set a=1", "belong to simulated hosts"),
        ("h1 sim:x --set a", "write KEY=VALUE"),
        ("h1 sim:x --sets a=1", "unrecognized arguments"),
        ("h1 'sim:x", "No closing quotation"),
        ("h1 a b", "unrecognized arguments"),
        ("--seed 3 sim:x --seed x", "invalid int"),
    ],
)
def test_what_is_wrong_with_a_line_is_said_with_its_number(text, said):
    with pytest.raises(hosts.HostsError) as error:
        hosts.parse(f"h0\n{text}", "list")
    assert said in str(error.value) and ("list:" in str(error.value) or "twice" in said)


def args(**more):
    return argparse.Namespace(**{"names": [], "hosts": None, "local": None} | more)


def test_without_names_every_distinct_host_of_the_scheduler_is_asked():
    workers = {
        f"tcp://{host}:{port}": {"host": host, "name": port} for host in ("10.0.0.2", "10.0.0.1") for port in (1, 2)
    }
    told = hosts.gather(args(), workers)
    assert [host.name for host in told] == ["10.0.0.1", "10.0.0.2"]
    assert [hosts.place(host, workers) for host in told] == ["tcp://10.0.0.1:1", "tcp://10.0.0.2:1"]


def test_a_worker_is_found_by_its_name_and_a_simulation_runs_anywhere():
    workers = {"tcp://10.0.0.1:1": {"host": "10.0.0.1", "name": "h1"}}
    assert hosts.place(hosts.Host("h1"), workers) == "tcp://10.0.0.1:1"
    assert hosts.place(hosts.Host("h9", "sim:laptop"), workers) is None
    with pytest.raises(hosts.HostsError, match="no worker of the scheduler is on `h9`; it has 10.0.0.1"):
        hosts.place(hosts.Host("h9"), workers)


def test_nobody_named_says_what_to_write():
    with pytest.raises(hosts.HostsError, match="--hosts FILE, --scheduler ADDRESS, or --local N"):
        hosts.gather(args(), {})


def test_an_option_is_no_host():
    with pytest.raises(hosts.HostsError):
        hosts.gather(args(names=["-oProxyCommand=x"]), {})


def test_the_rehearsal_is_twenty_hosts_with_four_odd_ones():
    path = ROOT / "jobs/fleet/rehearsal.hosts"
    told = hosts.parse(path.read_text(), str(path))
    assert len(told) == 20 and sum(len(host.set) > 3 or bool(host.beside) for host in told) == 4
