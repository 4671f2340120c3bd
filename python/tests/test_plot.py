"""Is what is drawn what was measured?"""

import pytest

import iostack

pytest.importorskip("matplotlib")
from iostack import plot


@pytest.fixture(autouse=True)
def closed():
    """No figure outlives its test."""
    yield
    import matplotlib.pyplot

    matplotlib.pyplot.close("all")


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_curve_has_a_line_for_each_setting_and_says_that_it_is_simulated(sweep):
    axes = plot.curve(sweep)
    assert labels(axes) == ["sim:tlc-1t block_size=4k", "sim:tlc-1t block_size=16k"]
    frame = sweep.frame()
    drawn = axes.containers[0].lines[0].get_xydata().tolist()
    kept = frame[frame["block_size"] == "4k"]
    assert drawn == [list(pair) for pair in zip(kept["queue_depth"], kept["iops"])]
    bar = axes.containers[0].lines[2][0].get_segments()[0][:, 1]
    assert bar.tolist() == pytest.approx([kept["iops_low"].iloc[0], kept["iops_high"].iloc[0]])


def test_a_curve_of_what_is_not_there_is_refused(sweep, check):
    with pytest.raises(iostack.Error, match="the sweep has no `speed`; there are point, "):
        plot.curve(sweep, y="speed")
    with pytest.raises(iostack.Error, match="a curve is of a sweep"):
        plot.curve(check)


def test_percentiles_end_where_ten_ios_lie_beyond(outcome):
    axes = plot.percentiles(outcome)
    assert labels(axes) == ["sim:tlc-1t read", "sim:tlc-1t write"]
    tail, latency = axes.lines[0].get_xydata()[-1]
    assert outcome.read.latency.count / tail >= 10
    assert latency * 1e3 <= outcome.read.latency.max_ns
    with pytest.raises(iostack.Error, match="too few I/Os for any percentile"):
        plot.percentiles(iostack.run(on="sim:zero", io_count=5))


def test_a_heat_map_holds_every_io_and_leaves_gaps_empty(outcome):
    mesh = plot.heat(outcome).collections[0]
    assert mesh.get_array().sum() == outcome.figures["ios"]
    assert mesh.get_array().mask.any()


def test_stages_and_layers_are_bars_that_add_up(outcome, what_if):
    axes = plot.stages(outcome)
    ends = [patch.get_x() + patch.get_width() for patch in axes.patches if round(patch.get_y() + 0.4) == 0]
    mean = outcome.read.latency.sum_ns / outcome.read.latency.count
    assert max(ends) * 1e3 == pytest.approx(mean, rel=1e-3)
    axes = plot.layers(what_if)
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        "sim:x5570 before",
        "sim:x5570 platform.adapter=nvme",
    ]
    with pytest.raises(iostack.Error, match="no outcome has layers"):
        plot.layers(outcome)


def test_the_rest_is_drawn_too(outcome, check, what_if):
    assert len(plot.depth(check).containers) == 3
    assert labels(plot.series([outcome, outcome]))[0] == "sim:tlc-1t queue_depth=32 mix=70/30 runtime=1s"
    assert [bar.get_width() for bar in plot.what_if(what_if).patches] == [one.iops.mean for one in what_if.outcomes]
    assert plot.stages(check.outcomes[0]) is not None
