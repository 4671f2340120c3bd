"""Who hears how far a run is? A line that is rewritten, on a terminal and in a notebook; warnings go to `warnings`."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any, Callable, Union

#: None: shown where somebody looks; True, False: always, never; or `heard(kind, text)`: `live`, `say` or `warn`.
Progress = Union[None, bool, Callable[[str, str], object]]


#: A browser is slower than a simulation tells.
_DRAWN_EVERY_S = 0.1


class Doubt(UserWarning):
    """Something to worry about that does not end a run."""


class _Line:
    """A line on a terminal."""

    def live(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text[:79]}")
        sys.stderr.flush()

    def say(self, text: str) -> None:
        self.end()
        print(text, file=sys.stderr)

    def end(self) -> None:
        sys.stderr.write("\r\x1b[K")


class _Cell:
    """A line below the cell of a notebook, gone at the end."""

    def __init__(self) -> None:
        from IPython.display import display

        self._shown = display({"text/plain": ""}, raw=True, display_id=True)

    def live(self, text: str) -> None:
        self._shown.update({"text/plain": text}, raw=True)

    def say(self, text: str) -> None:
        print(text)

    def end(self) -> None:
        self.live("")


def _shows(progress: Progress) -> Any:
    shell = sys.modules.get("IPython")
    in_notebook = shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"
    if progress is False or (progress is None and not in_notebook and not sys.stderr.isatty()):
        return None
    return _Cell() if in_notebook else _Line()


class Listener:
    """Passes on what the Rust half says, and puts away what it drew."""

    def __init__(self, progress: Progress) -> None:
        self._heard = progress if callable(progress) else None
        self._shows = None if self._heard else _shows(progress)
        self._drawn = 0.0

    @property
    def watches(self) -> bool:
        """Somebody looks."""
        return (self._heard or self._shows) is not None

    def __call__(self, kind: str, text: str) -> None:
        if self._heard:
            self._heard(kind, text)
        elif kind == "warn":
            warnings.warn(text, Doubt, stacklevel=4)
        elif self._shows and kind == "say":
            self._shows.say(text)
        elif self._shows and time.monotonic() - self._drawn >= _DRAWN_EVERY_S:
            self._drawn = time.monotonic()
            self._shows.live(text)

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shows:
            self._shows.end()
