"""Does every line of Python on the pages work, in order: in the tutorial, on its page, in the README?"""

import json
import pathlib

import pytest

pytest.importorskip("matplotlib")

ROOT = pathlib.Path(__file__).parents[2]


def cells():
    notebook = json.loads((ROOT / "docs/tutorial.ipynb").read_text())
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def blocks(page):
    parts = (ROOT / page).read_text().split("```python\n")[1:]
    return [part.split("```")[0] for part in parts]


def run(texts, place):
    names = {}
    for number, text in enumerate(texts):
        exec(compile(text, f"{place}, block {number}", "exec"), names)
    assert texts


def test_the_cells_of_the_tutorial_run_in_order():
    import matplotlib.pyplot

    run(["".join(cell["source"]) for cell in cells()], "docs/tutorial.ipynb")
    matplotlib.pyplot.close("all")


def test_the_tutorial_is_kept_without_outputs():
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells())


@pytest.mark.parametrize("page", ["docs/python.md", "python/README.md"])
def test_the_examples_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(blocks(page), page)
