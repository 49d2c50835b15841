"""How spans of time are filed, so that those which cover a moment are found by a few questions.

Time is cut into cells, of one second and of each larger size. A span is filed under the cell in which it begins, of the
smallest size at which it ends in the same cell or in the next. Whatever covers a moment was therefore filed, at each
size, under the moment's own cell or the one before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from dibs.model.sheet import Question

SIZES = tuple(4.0**power for power in range(14))
"""How many seconds a cell has: from one to two years."""
LONGER = "longer"
"""Under this is filed what lasts longer: there cannot be many."""
MOST = 5_000
"""So many spans are looked at of one cell."""


def filed(prefix: str, begin: float, end: float) -> str:
    """The tag of a span, both ends included. Its entry must be dated by its end (`Entry.at`)."""
    for size in SIZES:
        cell = floor(begin / size)
        if floor(end / size) - cell <= 1:
            return f"{prefix}{size:.0f}:{cell}"
    return prefix + LONGER


def covering(prefix: str, moment: float) -> Sequence[Question]:
    """What to ask for the spans that cover a moment. Some of what is found begins after it, and is to be left out."""
    questions = [Question(prefix + LONGER, since=moment, limit=MOST)]
    for size in SIZES:
        cell = floor(moment / size)
        until = (cell + 2) * size  # what begins in the moment's cell ends in the next one, if not before
        questions += [
            Question(f"{prefix}{size:.0f}:{cell}", since=moment, until=until, limit=MOST),
            Question(f"{prefix}{size:.0f}:{cell - 1}", since=moment, until=until, limit=MOST),
        ]
    return questions
