"""What a store keeps of a job: one sheet of text, changed only by somebody who has read it as it stands.

A change names the revision it was made from, and is refused if there is a newer one: so whatever is decided about a job
is decided once, by rules that no store has to know (`dibs.model.rota`).
"""

from __future__ import annotations

from collections.abc import Sequence

from dibs.model.value import value


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
    """And none for longer than this, once another is noted."""


@value
class Look:
    """Some sheets, and what the store's clock says (epoch seconds)."""

    now: float
    life: str
    """Changes when the store was started anew and may have forgotten what it was told last."""
    sheets: Sequence[Sheet]
    next_at: float | None = None
    """When the next one after these is to be looked at."""
