"""The command `iostack fleet`: what was typed, what is asked of whom, and what it ends with.

Exit status: 0 done; 1 a host differs, cannot, or needs care; 2 it could not be done, or was interrupted. Start reading at `main`.
"""

import argparse
import json
import math
import os
import signal
import sys
import time

from . import ask, judge, measure, report
from .hosts import HostsError

#: A clock that is off by more makes times of hosts incomparable, seconds.
_CLOCK = 1.0
#: A host that begins so much later than the first does not run together with it, seconds.
_APART = 0.5


def _positive(text):
    if not text.isdigit() or not 0 < int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"`{text}` is no number from 1 to 1000")
    return int(text)


def _seconds(text):
    try:
        value = float(text.removesuffix("s"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e7:
        raise argparse.ArgumentTypeError(f"`{text}` is no time in seconds, such as 2 or 0.5")
    return value


def _share(text):
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < 10 or math.isnan(value):
        raise argparse.ArgumentTypeError(f"`{text}` is no share, such as 5% or 0.05")
    return value


#: Flags of both commands: name, what stands behind it, what reads it, its default, its help.
_FLAGS = (
    ("--hosts", "FILE", str, None, "hosts, one a line: name [on] [--set KEY=VALUE] [--beside JOBS.toml]"),
    ("--scheduler", "ADDRESS", str, None, "workers of this Dask scheduler, such as tcp://head:8786"),
    ("--local", "N", _positive, None, "worker processes on this machine, to try it out"),
    ("--ssh", "COMMAND", str, "ssh -o BatchMode=yes -o ConnectTimeout=10", "how to reach a host [%(default)s]"),
    ("--program", "PATH", str, None, "iostack on the hosts [$IOSTACK_PROGRAM, or from PATH]"),
    ("--on", "TARGET", str, ".", "what is measured on each host [a folder of its own]"),
    ("--size", "SIZE", str, None, "size of the scratch file or region"),
    ("--seed", "N", int, 1, "reproduces offsets and content [1]"),
    ("--timeout", "SECONDS", _seconds, 3600, "longest wait for one host [3600]"),
    ("--against", "FILE", str, None, "fleet.json or fleet.parquet of last time: what has changed?"),
    ("--difference", "SHARE", _share, 0.05, "smaller differences do not matter [5%%]"),
    ("--output", "DIR", str, None, "new directory for fleet.html, fleet.json and fleet.parquet"),
)
_SWITCHES = (
    ("--destroy-data", "allow writing over what exists, on workers whose environment permits it too"),
    ("--json", "every figure on stdout"),
    ("--quiet", "no progress on stderr"),
)
_OF_CHECK = (("--watch", "SECONDS", _seconds, 1, "then one reader for so long, to see what others do; 0: not [1]"),)
_OF_RUN = (("--clock-limit", "SECONDS", _seconds, 0.1, "name clocks that are further off [0.1]"),)


def _parser():
    about = "The same on many hosts: who differs from its equals, in what, and why?"
    parser = argparse.ArgumentParser("iostack fleet", description=about)
    commands = parser.add_subparsers(dest="command", required=True, metavar="check | run")
    check = commands.add_parser("check", help="`iostack check` on every host, and who differs")
    run = commands.add_parser("run", help="one job on every host, and who differs")
    run.add_argument("job", metavar="JOB", help="job file: fio's, or iostack's (.toml)")
    for command, more in ((check, _OF_CHECK), (run, _OF_RUN)):
        command.add_argument("names", nargs="*", metavar="HOST", help="names for ssh")
        for name, value, kind, default, text in _FLAGS + more:
            command.add_argument(name, metavar=value, type=kind, default=default, help=text)
        for name, text in _SWITCHES:
            command.add_argument(name, action="store_true", help=text)
    effort = check.add_mutually_exclusive_group()
    effort.add_argument("--quick", action="store_true", help="at most 20 s on each host")
    effort.add_argument("--full", action="store_true", help="as long as the answers need")
    run.add_argument("--together", action="store_true", help="begin on all hosts at one instant, and tell the sum")
    return parser


def main(words=None):
    """Does what was typed; gives the exit status."""
    args = _parser().parse_args(words)
    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, _interrupt)
    try:
        before = _before(args.against) if args.against else None
        if args.output:
            os.makedirs(args.output)
        told = _ask_all(args)
    except HostsError as error:
        return _cannot(error)
    except OSError as error:
        return _cannot(f"--output {args.output}: {error.strerror}; name a directory that does not exist yet")
    except KeyboardInterrupt:
        return _cannot("interrupted before a host was asked")
    told |= _judge(told, before, args)
    return _tell(told, args)


def _interrupt(_sign, _frame):
    raise KeyboardInterrupt


def _cannot(error):
    print(f"iostack fleet: {error}", file=sys.stderr)
    return 2


def _before(path):
    try:
        return report.load(path)
    except (OSError, ValueError, KeyError, TypeError, ImportError) as error:
        raise HostsError(f"--against {path}: {error}; give a fleet.json or fleet.parquet of `iostack fleet`") from None


def _ask_all(args):
    """Asks every host. An interruption ends the asking and keeps the answers that are there."""
    executor, hosts, where = ask.connect(args)
    told = {
        "kind": "fleet",
        "schema": 1,
        "command": args.command,
        "when": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "interrupted": False,
    }
    told |= {
        "difference": args.difference,
        "false_alarms": judge.FALSE_ALARMS,
        "hosts": {},
        "notes": [],
        "asked": len(hosts),
    }
    try:
        orders, offsets = ask.orders(args, hosts), None
        if getattr(args, "together", False):
            offsets = ask.clocks(executor, where)
            told["notes"] += [
                [host, f"its clock is {offset:+.3f} s off ours (known to {unsure:.3f} s); the start is corrected by it"]
                for host, (offset, unsure) in offsets.items()
                if abs(offset) - unsure > args.clock_limit
            ]
            start = ask.agree(orders, offsets)
        for host, answer, sent, received in ask.answers(executor, orders, where):
            told["hosts"][host] = answer
            told["notes"] += [[host, note] for note in _care(answer, sent, received)]
            if not args.quiet:
                print(f"{len(told['hosts'])} of {len(hosts)}: {host} {answer['error'] or 'answered'}", file=sys.stderr)
        if offsets:
            done = {host: answer for host, answer in told["hosts"].items() if answer["figures"]}
            told["together"] = ask.sum_of(done, offsets, start) if done else None
            begun = told["together"]["begun"] if done else {}
            late = {host: when - min(begun.values()) for host, when in begun.items()}
            told["notes"] += [
                [host, f"it began {by:.1f} s after the first"] for host, by in late.items() if by > _APART
            ]
    except KeyboardInterrupt:
        told["interrupted"] = True
        for host in hosts:
            told["hosts"].setdefault(
                host.name,
                {"host": host.name, "figures": None, "error": "not answered when it was interrupted", "program": None},
            )
    finally:
        executor.close()
    told["hosts"] = {host.name: told["hosts"][host.name] for host in hosts}
    return told


def _care(answer, sent, received):
    """What an answer itself says against comparing it: clocks that cannot be right, a late start, an early end."""
    if answer.get("began") and answer["began"] < sent - _CLOCK:
        yield f"its clock is at least {sent - answer['began']:.1f} s behind ours"
    if answer.get("ended") and answer["ended"] > received + _CLOCK:
        yield f"its clock is at least {answer['ended'] - received:.1f} s ahead of ours"
    if answer.get("measure", measure.VERSION) != measure.VERSION:
        yield "its worker has another version of the Python package: install the same on all"
    if (answer.get("late") or 0.0) > 0.1:
        yield f"it began {answer['late']:.1f} s after the agreed instant"
    if answer["figures"] and answer["figures"]["interrupted"]:
        yield "its measurement was cut short"


def _judge(told, before, args):
    figures = {host: answer["figures"] for host, answer in told["hosts"].items() if answer["figures"]}
    groups = judge.groups(figures)
    versions = [answer["program"] for answer in told["hosts"].values() if answer["program"]]
    usual = max(versions, key=versions.count, default=None)
    notes = told["notes"] + [
        [host, f"it runs `{answer['program']}`, most run `{usual}`: what differs may be that alone"]
        for host, answer in told["hosts"].items()
        if answer["program"] not in (None, usual)
    ]
    judged = {
        "groups": groups,
        "notes": notes,
        "findings": judge.findings(figures, args.difference),
        "ranks": judge.ranks(figures),
    }
    judged["off"] = {}
    for members in groups.values():
        judged["off"] |= judge.off({host: figures[host]["points"] for host in members}, args.difference)
    judged["left_out"] = [[host, answer["error"]] for host, answer in told["hosts"].items() if not answer["figures"]]
    judged["drift"] = judge.drift(figures, before, args.difference) if before is not None else None
    named = judged["findings"][0]["host"] if judged["findings"] else None
    again = f"iostack fleet {args.command}"
    judged["next"] = (
        f"{again} .. --against {args.output}/fleet.json    # later: what has changed?"
        if args.output
        else f"{again} .. --output DIR    # a page and a table"
    )
    if named:
        judged["next"] = f"iostack check --full    # on {named}"
    return judged


def _tell(told, args):
    try:
        if args.output:
            names = report.save(told, args.output)
            print(f"written: {', '.join(os.path.join(args.output, name) for name in names)}", file=sys.stderr)
        sys.stdout.write(json.dumps(told) + "\n" if args.json else report.text(told))
        sys.stdout.flush()
    except OSError as error:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
        return _cannot(f"cannot write the report: {error.strerror}")
    if told["interrupted"]:
        return _cannot("interrupted; what is told is of the hosts that had answered")
    if not any(answer["figures"] for answer in told["hosts"].values()):
        return 2
    drifted = told["drift"] and told["drift"]["findings"]
    return 1 if told["findings"] or told["left_out"] or told["notes"] or drifted else 0


if __name__ == "__main__":
    sys.exit(main())
