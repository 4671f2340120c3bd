"""Do questions go through as the command line takes them, errors and Ctrl-C among them?"""

import os
import signal
import subprocess
import sys
import threading
import warnings

import pytest

import iostack


def refused(ask):
    with pytest.raises(iostack.Error) as error:
        ask()
    return str(error.value)


def test_errors_have_the_words_of_the_command_line(tmp_path):
    assert refused(lambda: iostack.run(on="sim:nope")).startswith(
        "sim:nope: no device of this name; `iostack sim list`"
    )
    assert (
        refused(lambda: iostack.run("nowhere.fio"))
        == "cannot read the job file `nowhere.fio`: No such file or directory (os error 2)"
    )
    assert refused(lambda: iostack.run(on="sim:zero", queue_depht=3)).startswith("no option `queue_depht`")
    assert refused(lambda: iostack.run(on="sim:zero", layers=True)).startswith("a simulated device has no CPU clocks")
    assert refused(lambda: iostack.run(on=tmp_path, set={"a": 1})).startswith("`--set` is for simulated targets")
    assert refused(lambda: iostack.check("sim:zero", quick=True, full=True)).startswith("`quick` and `full` exclude")
    assert refused(lambda: iostack.check("lab:brd")).startswith("`lab:brd` boots the program `iostack` itself")
    assert refused(lambda: iostack.check("sim:zero", seed=-1)).startswith("seed: invalid value: integer `-1`")
    assert "on lab:brd --json" in refused(lambda: iostack.ab(a={"on": "sim:zero"}, b={"on": "lab:brd"}))


def test_nothing_that_exists_is_written_over_without_destroy_data(tmp_path):
    file = tmp_path / "data"
    file.write_bytes(b"x" * 65536)
    words = {"on": file, "mix": "write", "io_count": 4, "direct": False}
    assert "--destroy-data" in refused(lambda: iostack.run(**words))
    assert file.read_bytes() == b"x" * 65536
    run = iostack.run(**words, destroy_data=True)
    assert run.write.latency.count == 4 and file.read_bytes() != b"x" * 65536


def test_a_file_of_this_machine_is_read(tmp_path):
    file = tmp_path / "data"
    file.write_bytes(os.urandom(1 << 20))
    run = iostack.run(on=file, direct=False, size="1m", pattern="sequential")
    assert run.read.latency.count == 256 and run.outcome.name == f"file:{file}"


def test_jobs_are_options_files_texts_and_mappings(tmp_path):
    text = '[[job]]\nname = "mine"\nqueue_depth = 4\nio_count = 100\n'
    path = tmp_path / "job.toml"
    path.write_text(text)
    for job in (path, str(path), iostack.Job(path), iostack.Job(toml=text), {"queue_depth": 4, "io_count": 100}):
        assert iostack.run(job, on="sim:zero").job.queue_depth == 4
        assert iostack.run(job, on="sim:zero", queue_depth=8).job.queue_depth == 8
    both = iostack.run(iostack.Job(path, path), on=iostack.Target("sim:zero"))
    assert len(both.outcomes) == 2 and list(both.frame()["job"].unique()) == ["mine"]
    assert "name one, such as outcomes[0]" in refused(lambda: both.iops)
    assert repr(iostack.Job("a.fio", direct=True)) == "Job('a.fio', direct=True)"


def test_a_listener_hears_how_far_it_is_and_its_errors_end_the_run():
    heard = []
    iostack.sweep("zero", vary={"queue_depth": [1, 2]}, io_count=1000, progress=lambda *said: heard.append(said))
    assert heard and {kind for kind, _ in heard} <= {"live", "say", "warn"} and "2 of 2 points" in heard[-1][1]

    def fails(kind, text):
        raise ValueError(text)

    with pytest.raises(ValueError):
        iostack.run(on="sim:tlc-1t", runtime="1000000s", queue_depth=32, progress=fails)


def test_what_is_worrying_is_a_warning(tmp_path):
    path = tmp_path / "job.fio"
    path.write_text("[reads]\nrw=randread\nbs=4k\niodepht=3\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        iostack.run(iostack.Job(path, lenient=True), on="sim:zero", io_count=10)
    assert any("skipped" in str(each.message) for each in caught)


def interrupted(ask):
    """Asks; Ctrl-C comes once the work has begun."""

    def hears(kind, text):
        if not begun:
            begun.append(kind)
            signal.raise_signal(signal.SIGINT)

    begun = []
    with pytest.raises(iostack.Interrupted) as caught:
        ask(hears)
    assert isinstance(caught.value, KeyboardInterrupt) and iostack.partial() is caught.value.partial
    return caught.value.partial


def test_ctrl_c_keeps_what_a_run_did():
    words = {"on": "sim:tlc-1t", "queue_depth": 32, "runtime": "1000000s"}
    partial = interrupted(lambda hears: iostack.run(progress=hears, **words))
    assert partial.interrupted and partial.read.latency.count > 0 and len(partial.frame()) > 0


def test_ctrl_c_keeps_the_points_of_a_sweep_that_were_done():
    vary = {"runtime": ["10ms", "1000000s"]}
    partial = interrupted(lambda hears: iostack.sweep("tlc-1t", vary=vary, queue_depth=32, progress=hears))
    assert partial.interrupted and len(partial.points) == 2 and len(partial.frame()) >= 2


def test_other_threads_go_on_while_a_run_works():
    turns, over = [], threading.Event()

    def other():
        while not over.wait(0.001):
            turns.append(1)

    thread = threading.Thread(target=other)
    thread.start()
    before = len(turns)
    iostack.run(on="sim:tlc-1t", queue_depth=32, runtime="10s", progress=False)
    after = len(turns)
    over.set()
    thread.join()
    assert after > before + 10


def test_importing_needs_no_other_package():
    code = "import iostack, sys; print({'numpy', 'pandas', 'pyarrow', 'matplotlib'} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "set()"


def test_a_package_that_is_missing_is_named_with_its_remedy(monkeypatch, outcome):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert refused(outcome.frame) == "`pandas` is not installed; use pip install 'iostack[pandas]'"
    assert len(outcome.columns()["iops"]) == 20


def test_a_line_of_progress_is_drawn_in_place_and_wiped(capsys):
    iostack.sweep("zero", vary={"queue_depth": [1, 2]}, io_count=1000, progress=True)
    drawn = capsys.readouterr().err
    assert drawn.startswith("\r\x1b[K") and "points" in drawn and drawn.endswith("\r\x1b[K")
