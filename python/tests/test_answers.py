"""Do answers say what the command line says, in its words?"""

import json
import math
import pickle

import pandas
import pytest

import iostack


def test_a_run_has_the_fields_of_its_json_and_the_figures_of_its_table(outcome):
    assert outcome.kind == "run" and outcome.json.schema == outcome.json["schema"]
    assert outcome.iops.low < outcome.iops.mean < outcome.iops.high
    assert outcome.job.queue_depth == 32 and outcome.target.path == "tlc-1t"
    assert outcome.latency_p99 == outcome.latency_p99_ns / 1e9
    assert outcome.figures["ios"] == outcome.read.latency.count + outcome.write.latency.count
    with pytest.raises(AttributeError, match="an outcome has no `latency_p98`; there are job, "):
        outcome.latency_p98


def test_a_percentile_without_enough_samples_is_none():
    few = iostack.run(on="sim:zero", io_count=50)
    assert few.latency_p50 is not None and few.latency_p99 is None


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others():
    runs = [iostack.run(on="sim:x25e", runtime="50ms", seed=seed)._native.json() for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_a_frame_has_a_row_a_slice_in_seconds_and_per_second(outcome):
    frame = outcome.frame()
    assert len(frame) == len(outcome.series) == 20
    first = outcome.series[0]
    assert frame["length_s"][0] == first.length / 1e9
    assert frame["read_iops"][0] == pytest.approx(first.ios[0] / first.length * 1e9)
    assert frame["iops"].equals(frame["read_iops"] + frame["write_iops"] + frame["trim_iops"])
    assert frame["latency_p99_s"][0] == pytest.approx(first.p99 / 1e9)
    assert frame.attrs["about"]["iops"] == "I/Os per second"


def test_a_slice_without_io_has_no_latency():
    idle = iostack.run(on="sim:tlc-1t", rate=20, runtime="1s", slice="10ms")
    latency = idle.frame()["latency_p99_s"]
    assert latency.isna().any() and latency.notna().any() and not (latency == 0).any()


def test_frames_columns_and_arrow_hold_the_same_bytes(outcome):
    pyarrow = pytest.importorskip("pyarrow")
    columns, frame, table = outcome.columns(), outcome.frame(), outcome.arrow()
    assert list(columns) == list(frame) == table.column_names
    for name in columns:
        assert list(columns[name]) == list(frame[name]) == table[name].to_pylist()
    assert isinstance(table, pyarrow.Table) and not frame["iops"].to_numpy().flags.owndata


def test_tables_of_an_outcome_count_each_io_once(outcome):
    ios = outcome.figures["ios"]
    assert outcome.latencies()["ios"].sum() == outcome.heat()["ios"].sum() == ios
    assert outcome.latencies().groupby("direction")["share"].last().tolist() == [1, 1]
    stages = outcome.stages().query("way == 'read'")["latency_mean_s"].sum()
    assert stages == pytest.approx(outcome.inside.flows[0].whole.sum_ns / outcome.inside.flows[0].whole.count / 1e9)


def test_layers_of_a_simulated_host_add_up(what_if):
    for one in what_if.outcomes:
        assert one.layers()["clocks_per_io"].sum() == pytest.approx(one.inside.host.clocks_per_io)


def test_a_check_is_a_table_of_points_with_a_verdict(check):
    frame = check.frame()
    points = sum(len(step.points) for step in check.steps)
    assert len(frame) == len(check.outcomes) == points
    assert check.verdict.answer in " ".join(check.text().split()) and set(frame["clock"]) == {"simulated"}
    assert check.outcomes[0].figures["iops"] == frame["iops"][0]


def test_many_checks_are_one_table_that_names_each(check):
    assert iostack.table([check, check])["file"].unique().tolist() == ["0", "1"]
    named = iostack.table({"before": check, "after": check})
    assert len(named) == 2 * len(check.frame()) and named["file"].unique().tolist() == ["before", "after"]
    with pytest.raises(iostack.Error, match="there is no answer in the list"):
        iostack.table([])


def test_a_sweep_has_a_row_a_point_and_a_what_if_a_row_a_step(sweep, what_if):
    assert sweep.frame()["queue_depth"].tolist() == [1, 1, 4, 4, 16, 16]
    assert sweep.outcomes[0].label == "queue_depth=1 block_size=4k"
    assert what_if.frame()["step"].tolist() == ["before", "platform.adapter=nvme"]
    assert what_if.frame()["iops"].is_monotonic_increasing


def test_an_ab_says_which_side_is_better():
    ab = iostack.ab(on="sim:tlc-1t", b={"queue_depth": 2}, runtime="20ms", blocks=6, progress=False)
    assert ab.answer.kind == "better" and ab.answer.side == "b" and "IOPS" in list(ab.frame()["figure"])


def test_an_answer_comes_back_from_its_file_and_from_another_process(tmp_path, outcome, check, sweep, what_if):
    for number, answer in enumerate([outcome, check, sweep, what_if]):
        path = tmp_path / f"{number}.json"
        answer.save(path)
        loaded = iostack.load(path)
        again = pickle.loads(pickle.dumps(answer))
        assert type(loaded) is type(again) is type(answer) and loaded.path == str(path)
        pandas.testing.assert_frame_equal(loaded.frame(), answer.frame())
        assert again.json == loaded.json and loaded.text() == answer.text()
        with pytest.raises(iostack.Error, match="exists"):
            answer.save(path)
    assert pickle.loads(pickle.dumps(outcome.outcome)).frame().equals(outcome.frame())
    assert str(pickle.loads(pickle.dumps(iostack.Error("why")))) == "why"
    with pytest.raises(iostack.Error, match="^cannot write `/dev/full`: No space left"):
        outcome.save("/dev/full")
    outcome.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_what_is_no_answer_is_refused_by_its_name(tmp_path):
    def refused(text):
        path = tmp_path / "x.json"
        path.write_text(text)
        with pytest.raises(iostack.Error) as error:
            iostack.load(path)
        return str(error.value).replace(f"{tmp_path}/", "")

    assert refused("{}").startswith("`x.json` is not an outcome of iostack; make one with `iostack run --json`")
    assert refused('{"schema":1,"kind":"lab cost"}').startswith("`x.json` is of `iostack lab cost`, which is not read")
    assert "schema" in refused('{"schema":99999,"kind":"run"}')
    with pytest.raises(
        iostack.Error, match=r"cannot read the outcome `/nowhere`: No such file or directory \(os error 2\)"
    ):
        iostack.load("/nowhere")


def test_platforms_are_listed_with_numbers_and_their_sources():
    names = [each.name for each in iostack.platforms()]
    assert "x5570" in names and [each.name for each in iostack.platforms("x5570")] == ["x5570"]
    changed = iostack.platform("x5570", set={"platform.cores": 3})
    numbers = changed.numbers().set_index("key")
    assert numbers["value"]["platform.cores"] == "3" and numbers["basis"]["platform.cores"] == "changed"
    assert iostack.run(on=changed, io_count=100).inside.host.cores == 3


def test_every_field_of_the_json_is_a_plain_value(check):
    assert json.loads(json.dumps(check.json)) == check.json
    assert all(
        cell is None or not (isinstance(cell, float) and math.isnan(cell))
        for cell in check.outcomes[0].figures.values()
    )
