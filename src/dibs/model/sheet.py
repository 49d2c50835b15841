"""What a store keeps of a job: one sheet of text, changed only by somebody who has read it as it stands.

A change names the revision it was made from, and is refused if there is a newer one: so whatever is decided about a job
is decided once, by rules that no store has to know (`dibs.model.rota`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from dibs.model.value import value

MOST_FORGOTTEN = 100
"""So many entries of histories that are over are dropped by whoever notes something: nobody has to wait for long."""


@value
class Sheet:
    """A job as a store keeps it. Revisions are fences: each is above all that the namespace has given out before."""

    name: str
    revision: int
    text: str


@value
class Entry:
    """What is noted in a job's history for good; `at` is what it is ordered and pruned by (epoch seconds)."""

    at: float
    text: str
    tags: tuple[str, ...] = ()
    """Under what it is found beside the name of its sheet: each is an index of its own.

    It may be the name of another history, and stays in its own all the same. None holds a tab or a line break.
    """


@value
class Line:
    """What was noted, and in whose history."""

    name: str
    at: float
    text: str


@value
class Question:
    """Which lines are wanted of all histories: the latest first, of the same time, what was noted last.

    Whoever wants more asks again up to the time of the last one, and skips what it has of that time.
    """

    tag: str
    """Or the name of a sheet, whose own history it is."""
    since: float = -inf
    until: float = inf
    """Both included."""
    skip: int = 0
    limit: int = 100


@value
class Change:
    """A sheet as it should be from now on, if it still is what it was made from.

    It is refused before `earliest` and after `not_after`, by the store's own clock: nobody is early because of its own,
    and bytes that arrive late do nothing.
    """

    name: str
    revision: int
    """What it was made from; 0 if there was no sheet."""
    text: str | None
    """`None`: it is to be thrown away, and its history with it."""
    acts_at: float | None
    """When somebody has to look at it again; `None`: only when something happens to it."""
    earliest: float
    not_after: float
    seen: int = 0
    """The highest fence that the asker knows of."""
    entries: Sequence[Entry] = ()
    keep: int = 1_000
    """So many entries of the history are kept."""
    keep_for: float = 30 * 86_400.0
    """And none for longer than this, once another is noted.

    A history to which nothing was added for so long is over: it goes when something is noted in any history of the
    namespace, up to `MOST_FORGOTTEN` entries of such at a time.
    """
    unless_due: str = ""
    """It is refused while the sheet of this name is to be looked at: the fleet is frozen."""


@value
class Look:
    """Some sheets, and what the store's clock says (epoch seconds)."""

    now: float
    life: str
    """Changes when the store was started anew and may have forgotten what it was told last."""
    sheets: Sequence[Sheet]
    next_at: float | None = None
    """When the next one after these is to be looked at."""
