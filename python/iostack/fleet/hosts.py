"""Which hosts are asked, and what is each of them asked? The command line and hosts files."""

import argparse
import os
import shlex
from typing import NamedTuple


class HostsError(Exception):
    """What was typed, what is wrong with it, what to do."""


class Host(NamedTuple):
    """One host of a fleet: how it is called, what is measured there, and by what."""

    name: str
    on: str | None = None
    set: tuple = ()
    beside: str | None = None
    program: str | None = None
    seed: int | None = None

    def is_simulated(self):
        return (self.on or "").startswith("sim:")


class _Line(argparse.ArgumentParser):
    def error(self, message):
        raise HostsError(message)


def _line_parser():
    parser = _Line(add_help=False, allow_abbrev=False)
    parser.add_argument("name")
    parser.add_argument("on", nargs="?")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--beside")
    parser.add_argument("--program")
    parser.add_argument("--seed", type=int)
    return parser


def parse(text, path="hosts"):
    """Hosts of a file: `name [on] [--set KEY=VALUE].. [--beside JOBS.toml] [--program PATH] [--seed N]` a line; # begins a remark.
    A neighbour's file stands beside the hosts file."""
    parser, hosts = _line_parser(), []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
            if words:
                told = vars(parser.parse_args(words))
                if told["beside"]:
                    told["beside"] = os.path.join(os.path.dirname(path), told["beside"])
                hosts.append(_checked(Host(**told | {"set": tuple(told["set"])})))
        except (HostsError, ValueError) as error:
            raise HostsError(f"{path}:{number}: `{line.strip()}`: {error}") from None
    return unique(hosts)


def unique(hosts):
    """The hosts as they are, if no two have one name."""
    seen = set()
    for host in hosts:
        if host.name in seen:
            raise HostsError(
                f"`{host.name}` is named twice; its figures would count twice: take one out, or call it otherwise"
            )
        seen.add(host.name)
    return hosts


def _checked(host):
    if host.name.startswith("-"):
        raise HostsError("a host's name comes first")
    if (host.beside or any(host.set)) and not (host.on or "").startswith(("sim:", "lab:")):
        raise HostsError("--set and --beside belong to simulated hosts: write sim:PLATFORM behind the name")
    if wrong := [pair for pair in host.set if "=" not in pair]:
        raise HostsError(f"--set {wrong[0]}: write KEY=VALUE")
    return host


def gather(args, workers):
    """Hosts of the command line, of the hosts file, or else every distinct host of the scheduler's `workers` (address: what is told)."""
    hosts = [_checked(Host(name)) for name in args.names]
    if args.hosts:
        try:
            with open(args.hosts, encoding="utf-8") as file:
                hosts += parse(file.read(), args.hosts)
        except (OSError, UnicodeDecodeError) as error:
            raise HostsError(f"cannot read `{args.hosts}`: {error}") from None
    if not hosts and workers:
        hosts = [Host(name) for name in sorted({worker["host"] for worker in workers.values()})]
    if not hosts and args.local:
        hosts = [Host(f"local-{index}") for index in range(args.local)]
    if not hosts:
        raise HostsError(
            "no host is named; write names, --hosts FILE, --scheduler ADDRESS, or --local N to try it out here"
        )
    return unique(hosts)


def place(host, workers):
    """The worker that stands on a host: by its name, else by its address; anyone may simulate (None)."""
    named = [address for address, worker in workers.items() if str(worker["name"]) == host.name]
    there = [address for address, worker in workers.items() if worker["host"] == host.name]
    if named or there:
        return (named or there)[0]
    if host.is_simulated():
        return None
    raise HostsError(
        f"no worker of the scheduler is on `{host.name}`; it has {', '.join(sorted({w['host'] for w in workers.values()}))}"
    )
