"""Does `iostack fleet` name who is off, keep what it has, and end with the right status? The program for real, hosts simulated or faked."""

import csv
import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from fleet_help import ROOT, environment, fleet, program, script

from iostack.fleet import __main__ as command
from iostack.fleet import ask, measure, report

REHEARSAL = ROOT / "jobs/fleet/rehearsal.hosts"
CAUSES = {
    "h03": ("stage", "stage adapter +20.0 us"),
    "h07": ("cap", "200.1 k I/Os"),
    "h11": ("setting", "scheduler is bfq"),
    "h15": ("neighbour", "watch"),
}

JOB = """[[job]]
name = "load"
pattern = "random"
size = "1m"
runtime = "200ms"
time_based = true
slice = "20ms"
unlink = true
"""


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "load.toml"
    path.write_text(JOB)
    return path


def faked_ssh(folder, hosts):
    """A command in place of ssh: it runs what it is given here, with the shell lines of that host before it."""
    cases = "\n".join(f"{host}) {lines} ;;" for host, lines in hosts.items())
    return script(folder / "faked-ssh", f'shift\nhost=$1\nshift\ncase $host in\n{cases}\nesac\nexec sh -c "$*"')


def test_the_odd_ones_of_twenty_are_named_with_their_causes(tmp_path):
    ended = fleet("check", "--hosts", REHEARSAL, "--quick", "--quiet", "--local", 2, "--output", tmp_path / "out")
    assert ended.returncode == 1, ended.stderr
    assert max(map(len, ended.stdout.splitlines())) <= 80
    told = json.loads((tmp_path / "out/fleet.json").read_text())
    assert {found["host"]: found["kind"] for found in told["findings"]} == {
        host: kind for host, (kind, _) in CAUSES.items()
    }
    assert all(CAUSES[found["host"]][1] in found["cause"] for found in told["findings"])
    assert any("medium" in also for found in told["findings"] if found["host"] == "h15" for also in found["also"])
    assert all(f"\n{host} " in ended.stdout for host in CAUSES)
    page = (tmp_path / "out/fleet.html").read_text()
    assert "http" not in page and all(f"<b>{host}</b>" in page for host in CAUSES)
    few = "".join(REHEARSAL.read_text().splitlines(keepends=True)[2:4])
    (tmp_path / "few.hosts").write_text(few)
    few = fleet(
        "check", "--hosts", tmp_path / "few.hosts", "--quick", "--json", "--against", tmp_path / "out/fleet.json"
    )
    drift = json.loads(few.stdout)["drift"]
    assert few.returncode == 0 and drift["findings"] == drift["settings"] == [] and "h07" in drift["gone"]
    pyarrow = pytest.importorskip("pyarrow.parquet", reason="pip install pyarrow")
    rows = pyarrow.read_table(tmp_path / "out/fleet.parquet").to_pylist()
    assert len(rows) == sum(len(answer["figures"]["points"]) for answer in told["hosts"].values())
    assert {row["host"] for row in rows if row["off"]} == set(CAUSES)
    assert (
        report.load(str(tmp_path / "out/fleet.parquet"))["h00"]["points"] == told["hosts"]["h00"]["figures"]["points"]
    )


def equal_hosts(seed, count=20):
    """A hosts file of equal servers: clock, medium and link drawn within 1 %, and a seed each."""
    drawn = random.Random(seed)
    lines = []
    for index in range(count):
        numbers = {"ghz": (2.4, ""), "drive.dram.access": (7000, "ns"), "drive.dram.rate": (2400, "MB/s")}
        sets = [
            f"--set platform.{name}={value * drawn.uniform(0.99, 1.01):.3f}{unit}"
            for name, (value, unit) in numbers.items()
        ]
        lines.append(f"h{index:02} sim:nvme-server --seed {seed * 1000 + index} {' '.join(sets)}")
    return "\n".join(lines)


def test_equal_hosts_end_with_zero(tmp_path):
    (tmp_path / "hosts").write_text(equal_hosts(seed=1, count=6))
    ended = fleet("check", "--hosts", tmp_path / "hosts", "--quick", "--quiet")
    assert ended.returncode == 0 and "outliers   none" in ended.stdout, ended.stdout + ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_twenty_equal_hosts_raise_no_false_alarm(seed, tmp_path):
    (tmp_path / "hosts").write_text(equal_hosts(seed))
    ended = fleet("check", "--hosts", tmp_path / "hosts", "--quick", "--quiet")
    assert ended.returncode == 0, f"seed {seed}: {ended.stdout}"


@pytest.mark.slow
def test_twenty_workers_of_dask_on_loopback_are_the_hosts(tmp_path):
    distributed = pytest.importorskip("distributed", reason="pip install distributed")
    names = [f"h{index:02}" for index in range(20)]
    spec = {
        name: {"cls": distributed.Nanny, "options": {"nthreads": 1, "env": environment(), "name": name}}
        for name in names
    }
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard_address": None, "host": "127.0.0.1"}}
    with distributed.SpecCluster(workers=spec, scheduler=scheduler, silence_logs=40) as cluster:
        ended = fleet(
            "check", "--hosts", REHEARSAL, "--quick", "--quiet", "--json", "--scheduler", cluster.scheduler_address
        )
    told = json.loads(ended.stdout)
    assert ended.returncode == 1 and {found["host"]: found["kind"] for found in told["findings"]} == {
        host: kind for host, (kind, _) in CAUSES.items()
    }


def test_hosts_that_cannot_are_named_with_the_reason_and_left_out(tmp_path, job):
    """Two versions, clocks that differ, no rights, a full disk, no program, nobody there, and data that may not be destroyed."""
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock/sitecustomize.py").write_text(
        "import time; now = time.time; time.time = lambda: now() + float(__import__('os').environ['OFF'])"
    )
    other = script(tmp_path / "other", f'[ "$1" = --version ] && echo iostack 9.9.9 && exit\nexec {program()} "$@"')
    hosts = {name: ":" for name in ("a", "b", "c")}
    hosts |= {
        "other": f"export IOSTACK_PROGRAM={other}",
        "absent": "export IOSTACK_PROGRAM=/nowhere/iostack",
        "gone": "echo no route to host >&2; exit 255",
    }
    hosts |= {
        "ahead": f"export OFF=5 PYTHONPATH={tmp_path}/clock",
        "behind": f"export OFF=-7 PYTHONPATH={tmp_path}/clock",
    }
    reasons = {"absent": "`/nowhere/iostack` is not there", "gone": "ssh gone ended with 255: no route to host"}
    full = tmp_path / "full"
    full.mkdir()
    if (
        os.geteuid() == 0
        and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", full], check=False).returncode == 0
    ):
        nobody = 'PATH=/usr/bin:/bin; exec setpriv --reuid 65534 --regid 65534 --clear-groups sh -c "$*"'
        hosts |= {"full": f"export TMPDIR={full}", "rightless": nobody}
        reasons |= {"full": "free some space", "rightless": "ermission denied"}
    else:
        print("SKIPPED a full disk and a host without rights: both take root")
    lines = [f"{host} {full if host == 'rightless' else ''}" for host in hosts]
    (tmp_path / "hosts").write_text("\n".join(lines))
    full.chmod(0o700)
    try:
        ended = fleet(
            "run", job, "--hosts", tmp_path / "hosts", "--ssh", faked_ssh(tmp_path, hosts), "--json", "--quiet"
        )
    finally:
        subprocess.run(["umount", full], check=False, capture_output=True)
    told = json.loads(ended.stdout)
    left_out, notes = dict(told["left_out"]), dict(told["notes"])
    assert ended.returncode == 1 and left_out.keys() == reasons.keys(), (left_out, ended.stderr)
    assert all(reasons[host] in left_out[host] for host in reasons), left_out
    assert "it runs `iostack 9.9.9`" in notes["other"]
    assert "ahead of ours" in notes["ahead"] and "behind ours" in notes["behind"]
    assert {"a", "b", "c"}.isdisjoint(notes) and {"a", "b", "c"}.isdisjoint(left_out)


def test_nothing_is_destroyed_without_the_flag_and_the_workers_permission(tmp_path, job):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious" * 65536)
    writes = job.read_text() + f'read_percent = 0\nfiles = ["{victim}"]\n'
    job.write_text(writes.replace("unlink = true\n", "").replace('size = "1m"', 'size = "512k"'))
    hosts = {
        "permits": "export IOSTACK_FLEET_DESTROY=yes",
        "says-no": "export IOSTACK_FLEET_DESTROY=no",
        "silent": "unset IOSTACK_FLEET_DESTROY",
    }
    ssh = faked_ssh(tmp_path, hosts)
    for asked, words in (("permits", []), ("says-no", ["--destroy-data"]), ("silent", ["--destroy-data"])):
        ended = fleet("run", job, asked, "--on", victim, "--ssh", ssh, "--json", "--quiet", *words)
        told = json.loads(ended.stdout)
        assert ended.returncode == 2 and told["left_out"][0][0] == asked, ended.stdout
        assert ("IOSTACK_FLEET_DESTROY=yes" if words else "--destroy-data") in told["left_out"][0][1]
        assert victim.read_bytes() == b"precious" * 65536, asked
    ended = fleet("run", job, "permits", "--on", victim, "--ssh", ssh, "--quiet", "--destroy-data")
    assert ended.returncode == 0 and victim.read_bytes() != b"precious" * 65536, ended.stdout


def interrupted(sign, first, words):
    """Status, output and errors of a fleet that gets a signal when it has said `first`."""
    words = [sys.executable, "-m", "iostack.fleet", *map(str, words)]
    pipe = subprocess.PIPE
    running = subprocess.Popen(words, env=environment(), cwd=ROOT, stdout=pipe, stderr=pipe, text=True)
    said = running.stderr.readline()
    assert first in said, said + running.stderr.read()
    running.send_signal(sign)
    out, err = running.communicate(timeout=60)
    return running.returncode, out, err


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_what_was_answered_and_ends_with_two(sign, tmp_path, job):
    hosts = {"quick": ":", "slow": "sleep 60", "slower": "sleep 60"}
    words = ["run", job, *hosts, "--ssh", faked_ssh(tmp_path, hosts), "--output", tmp_path / "out"]
    status, out, err = interrupted(sign, "1 of 3: quick answered", words)
    told = json.loads((tmp_path / "out/fleet.json").read_text())
    assert status == 2 and told["interrupted"] and "INTERRUPTED" in out and "interrupted" in err
    assert told["hosts"]["quick"]["figures"] and dict(told["left_out"]).keys() == {"slow", "slower"}


def test_an_interruption_ends_the_programs_of_local_workers(tmp_path):
    slow = script(tmp_path / "slow", f'[ "$1" = check ] && sleep 300\nexec {program()} "$@"')
    (tmp_path / "hosts").write_text(f"a sim:laptop\nb sim:laptop --program {slow}\nc sim:laptop --program {slow}\n")
    words = ["check", "--hosts", tmp_path / "hosts", "--quick", "--watch", 0, "--local", 3]
    status, _, err = interrupted(signal.SIGINT, "1 of 3: a answered", words)
    assert status == 2 and "interrupted" in err
    time.sleep(0.5)
    running = subprocess.run(["pgrep", "-f", str(slow)], capture_output=True, text=True, check=False)
    assert running.stdout == "", running.stdout


def test_a_common_start_gives_one_sum_and_a_series_of_each_host(tmp_path, job):
    ended = fleet("run", job, "--local", 2, "--together", "--json", "--quiet")
    told = json.loads(ended.stdout)["together"]
    load = told["jobs"]["load"]
    assert load["hosts"] == 2 and load["each"].keys() == {"local-0", "local-1"} and told["unsure"] < 1
    assert load["low"] <= load["iops"] <= load["high"]
    assert load["series"] == pytest.approx(
        [sum(rates[at] for rates in load["each"].values() if at < len(rates)) for at in range(len(load["series"]))]
    )


def test_a_worker_with_another_version_of_the_package_is_named():
    for version, words in (
        (measure.VERSION, []),
        (measure.VERSION + 1, ["its worker has another version of the Python package"]),
    ):
        told = list(command._care({"measure": version, "figures": None}, 0.0, 0.0))
        assert [note.split(":")[0] for note in told] == words


@pytest.mark.parametrize(
    ("began", "ended", "said"), [(98.9, 102, "behind"), (100, 103.1, "ahead"), (99.1, 102.9, None)]
)
def test_a_clock_is_named_when_it_is_surely_a_second_off(began, ended, said):
    told = list(command._care({"began": began, "ended": ended, "figures": None}, 100.0, 102.0))
    assert [said in note for note in told] == ([True] if said else [])


def test_no_io_of_a_series_is_lost_when_slices_are_put_on_one_axis():
    cells = [[0.0, 0.1, 100, 0], [0.1, 0.1, 50, 0], [0.2, 0.07, 10, 0]]
    for shift in (0.0, 0.03, 0.25):
        assert sum(ask._rates(cells, shift, 0.1)) * 0.1 == pytest.approx(160)


def test_a_timeout_ends_the_program_and_says_so(tmp_path):
    slow = script(tmp_path / "slow", '[ "$1" = --version ] && exit\nexec sleep 50')
    began = time.monotonic()
    answer = measure.measure({"host": "h", "command": "check", "on": ".", "program": str(slow), "timeout": 0.2})
    assert "was not done after 0.2 s" in answer["error"] and time.monotonic() - began < 40


def test_bad_words_say_what_is_wrong_and_end_with_two(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "mixed").write_text("a sim:laptop\nb\n")
    (tmp_path / "no.json").write_text("{}")
    unreached = "cannot reach it" if importlib.util.find_spec("distributed") else "--scheduler needs Dask"
    for words, said in [
        (["check"], "no host is named"),
        (["check", "--local", "0"], "no number from 1 to 1000"),
        (["check", "--hosts", tmp_path / "absent"], "cannot read"),
        (["check", "--hosts", tmp_path / "mixed"], "ask them apart"),
        (["check", "--hosts", REHEARSAL, "--output", tmp_path / "there"], "does not exist yet"),
        (["check", "--hosts", REHEARSAL, "--against", tmp_path / "no.json"], "is no report of `iostack fleet`"),
        (["check", "--hosts", REHEARSAL, "--difference", "much"], "is no share"),
        (["check", "--hosts", REHEARSAL, "--scheduler", "tcp://127.0.0.1:1"], unreached),
        (["run", tmp_path / "absent.toml", "--local", "1"], "cannot read"),
        (["run", REHEARSAL, "--local", "1", "--quiet"], "fleet"),
    ]:
        ended = fleet(*words)
        assert ended.returncode == 2 and said in ended.stderr + ended.stdout, (words, ended.stdout, ended.stderr)


def test_a_report_that_cannot_be_written_ends_with_two(tmp_path):
    (tmp_path / "hosts").write_text("a sim:laptop\n")
    words = [sys.executable, "-m", "iostack.fleet", "check", "--hosts", tmp_path / "hosts", "--quick", "--quiet"]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            words, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, timeout=120
        )
    assert ended.returncode == 2 and "cannot write the report: No space left on device" in ended.stderr


def test_without_pyarrow_the_table_is_csv_and_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setenv("IOSTACK_PROGRAM", program())
    (tmp_path / "hosts").write_text("a sim:laptop\nb sim:laptop\n")
    assert (
        command.main(
            ["check", "--hosts", str(tmp_path / "hosts"), "--quick", "--quiet", "--output", str(tmp_path / "out")]
        )
        == 0
    )
    with open(tmp_path / "out/fleet.csv", newline="") as file:
        assert {row["host"] for row in csv.DictReader(file)} == {"a", "b"}
    assert report.load(str(tmp_path / "out/fleet.csv")).keys() == {"a", "b"}


@pytest.fixture
def sshd(tmp_path):
    """A real sshd on two loopback addresses, with a key of its own: the command that reaches it."""
    daemon = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
    if not daemon or os.geteuid() != 0:
        pytest.skip("sshd is not there, or this is not root: apt install openssh-server")
    os.makedirs("/run/sshd", exist_ok=True)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    port = random.Random(os.getpid()).randrange(20000, 30000)
    lines = [
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        "ListenAddress 127.0.0.2",
        f"HostKey {tmp_path}/host",
        f"AuthorizedKeysFile {tmp_path}/user.pub",
    ]
    (tmp_path / "config").write_text(
        "\n".join([*lines, "UsePAM no", "StrictModes no", "PidFile none", "PermitRootLogin yes"])
    )
    running = subprocess.Popen([daemon, "-D", "-e", "-f", tmp_path / "config"], stderr=subprocess.PIPE, text=True)
    assert "listening" in running.stderr.readline()
    yield f"ssh -F none -i {tmp_path}/user -p {port} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes -o LogLevel=ERROR"
    running.terminate()
    running.wait()


def test_hosts_by_a_real_sshd_need_only_python_and_the_program(sshd, job):
    ended = fleet(
        "run",
        job,
        "127.0.0.1",
        "127.0.0.2",
        "127.0.0.3",
        "--ssh",
        sshd,
        "--program",
        program(),
        "--json",
        "--quiet",
        "--together",
    )
    told = json.loads(ended.stdout)
    assert (
        ended.returncode == 1
        and told["together"]["jobs"]["load"]["hosts"] == 2
        and told["left_out"][0][0] == "127.0.0.3"
    )
    ended = fleet(
        "run", job, "127.0.0.1", "127.0.0.2", "127.0.0.3", "--ssh", sshd, "--program", program(), "--json", "--quiet"
    )
    told = json.loads(ended.stdout)
    assert (
        ended.returncode == 1
        and [host for host, _ in told["left_out"]] == ["127.0.0.3"]
        and "ended with 255" in told["left_out"][0][1]
    )
    assert all(told["hosts"][host]["figures"]["points"]["load: IOPS"][0] > 0 for host in ("127.0.0.1", "127.0.0.2"))
