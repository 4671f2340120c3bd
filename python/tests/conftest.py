"""What do the tests share? Figures are drawn without a screen, and simulations end within a second."""

import os

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(scope="session")
def outcome():
    """A run on a simulated drive."""
    import iostack

    return iostack.run(on="sim:tlc-1t", queue_depth=32, mix="70/30", runtime="1s", progress=False)


@pytest.fixture(scope="session")
def check():
    """A check of a simulated platform."""
    import iostack

    return iostack.check("sim:nvme-server", quick=True, progress=False)


@pytest.fixture(scope="session")
def sweep():
    """Two axes over a simulated drive."""
    import iostack

    vary = {"queue_depth": "1..16*4", "block_size": ["4k", "16k"]}
    return iostack.sweep("tlc-1t", vary=vary, runtime="100ms", progress=False)


@pytest.fixture(scope="session")
def what_if():
    """One change of a simulated machine, with the job that is asked of it."""
    import iostack

    words = {
        "base": {"platform.drives": 12},
        "set": {"platform.adapter": "nvme"},
        "queue_depth": 32,
        "runtime": "100ms",
    }
    return iostack.what_if("x5570", threads=4, progress=False, **words)
