"""Which simulated platforms and devices are there, and what are they made of?"""

from __future__ import annotations

import json
from typing import Any, Optional

from . import _native
from .answer import Words, words
from .frames import needed
from .job import Changes, Target


class Platform(Target):
    """A simulated platform or device, with its fields as `iostack sim list` has them: a target of every question."""

    def __init__(self, about: Words, set: Changes = None) -> None:
        super().__init__(f"sim:{about.name}", set=set)
        self.name, self.kind, self.title = about.name, about.kind, about.title
        self.year: Optional[int] = about.year

    def __repr__(self) -> str:
        return f"<{self.name}: {self.title}>"

    @property
    def card(self) -> Words:
        """Its numbers with their sources, its claims, its parts, as `iostack sim show --json`."""
        return words(_native.platform(self.name, self.set)).card

    def numbers(self) -> Any:
        """A row for each number: key, value, meaning, basis, source."""
        return needed("pandas", "pandas").DataFrame(self.card.numbers)


def platforms(word: str = "") -> list[Platform]:
    """Those whose name, kind or title contains the word, parts of platforms among them."""
    wanted = word.lower()
    listed = json.loads(_native.platforms(), object_hook=Words)
    has = [each for each in listed if any(wanted in text.lower() for text in (each.name, each.kind, each.title))]
    return [Platform(each) for each in has]


def platform(name: str, *, set: Changes = None) -> Platform:
    """The platform or device of this name, or of this file, with changes of its numbers."""
    changed = Target(name, set=set).set
    about = words(_native.platform(name, changed)).card
    return Platform(about, changed)
