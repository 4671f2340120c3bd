"""How do columns of the Rust half become a data frame? Each number is copied once, into bytes that frames share."""

from __future__ import annotations

import importlib
from typing import Any

from ._native import Error

_CODES = {"count": "Q", "number": "d"}
_TYPES = {"count": "uint64", "number": "float64"}


def needed(module: str, extra: str) -> Any:
    """Imports what only some calls need; says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise Error(f"`{package}` is not installed; use pip install 'iostack[{extra}]'") from error


def columns(made: list) -> dict[str, Any]:
    """Names and cells, without any package: a memoryview of numbers, a list of words."""
    return {name: cells if kind == "text" else memoryview(cells).cast(_CODES[kind]) for name, _, kind, cells in made}


def rows(made: list) -> list[dict[str, Any]]:
    """A dict a row; None where a row has no such cell."""
    cells = {name: [None if cell != cell else cell for cell in each] for name, each in columns(made).items()}
    return [dict(zip(cells, row)) for row in zip(*cells.values())]


def frame(made: list) -> Any:
    """As pandas has it, over the same bytes; what each column means is in `.attrs`."""
    pandas, numpy = needed("pandas", "pandas"), needed("numpy", "pandas")
    data = {
        name: pandas.Series(cells, dtype=object) if kind == "text" else numpy.frombuffer(cells, dtype=_TYPES[kind])
        for name, _, kind, cells in made
    }
    result = pandas.DataFrame(data, copy=False)
    result.attrs["about"] = {name: about for name, about, _, _ in made}
    return result


def arrow(made: list) -> Any:
    """As Arrow has it, over the same bytes; a missing number is NaN."""
    pyarrow = needed("pyarrow", "arrow")

    def array(kind: str, cells: Any) -> Any:
        if kind == "text":
            return pyarrow.array(cells, type=pyarrow.string())
        buffer = pyarrow.py_buffer(cells)
        return pyarrow.Array.from_buffers(pyarrow.type_for_alias(_TYPES[kind]), len(cells) // 8, [None, buffer])

    arrays = [array(kind, cells) for _, _, kind, cells in made]
    return pyarrow.Table.from_arrays(arrays, names=[name for name, _, _, _ in made])
