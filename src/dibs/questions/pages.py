"""What was asked for, as far as it fits on one page; and how people name the moments it is about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import inf, isfinite
from typing import Generic, TypeVar, overload

from dibs.errors import ConfigError
from dibs.model.calendar.rule import EARLIEST, LATEST
from dibs.model.sheet import Question

T_co = TypeVar("T_co", covariant=True)

USUAL, MOST = 100, 10_000
"""How long a page is, if nobody says so, and at the most."""
MOMENTS = "give a datetime with a time zone, epoch seconds from 1970 on, or text such as '2026-03-01T02:13:00+01:00'"


class Page(Sequence[T_co], Generic[T_co]):
    """A sequence that says whether it is all there is. It may be short, and yet not be: what takes too long is left."""

    __slots__ = ("_items", "next")

    next: str | None
    """Where the rest begins: give it as `after=` to the same question. `None` if there is no more."""

    def __init__(self, items: Sequence[T_co], rest: str | None = None) -> None:
        self._items, self.next = tuple(items), rest

    @property
    def is_complete(self) -> bool:
        """Whether nothing comes after this."""
        return self.next is None

    @overload
    def __getitem__(self, place: int) -> T_co: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T_co]: ...
    def __getitem__(self, place: int | slice) -> T_co | Sequence[T_co]:
        return self._items[place]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)}{'' if self.is_complete else ', and there is more'}>"


def question(since: object, until: object, *, limit: object, after: object) -> Question:
    """What is asked for of an index, checked."""
    first = moment("since", since, usual=-inf)
    last = moment("until", until, usual=inf)
    if first > last:
        raise ConfigError(f"since={since!r} is after until={until!r}: name the earlier one first")
    if after is None:
        return Question("", first, last, limit=length(limit))
    begins_at, skip = _place(after)
    return Question("", first, begins_at, skip, length(limit))


def place(rest: Question | None) -> str | None:
    """Where a page begins, in a word."""
    return None if rest is None else f"{rest.until!r}/{rest.skip}"


def moment(option: str, at: object, *, usual: float) -> float:
    """A moment as people name it, in epoch seconds; `usual` for none."""
    if at is None:
        return usual
    found = _read(at)
    if isinstance(found, datetime) and found.tzinfo is None:
        raise ConfigError(f"{option}={at!r}: say in which time zone that is, as in datetime.now(UTC)")
    seconds = found.timestamp() if isinstance(found, datetime) else found
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not EARLIEST <= seconds < LATEST:
        raise ConfigError(f"{option}={at!r}: {MOMENTS}")
    return float(seconds)


def _read(at: object) -> object:
    if not isinstance(at, str):
        return at
    try:
        return datetime.fromisoformat(at)
    except ValueError:
        return at


def shown(at: float | None) -> datetime | None:
    """A moment as people see it."""
    return None if at is None else datetime.fromtimestamp(at, UTC)


def length(limit: object) -> int:
    """How many are wanted."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
        raise ConfigError(f"limit={limit!r}: say how many, from 1 to {MOST}")
    return limit


def _place(after: object) -> tuple[float, int]:
    try:
        until, skip = str(after).split("/")
        found = float(until), int(skip)
    except ValueError:
        found = inf, -1
    if not isfinite(found[0]) or found[1] < 0:
        raise ConfigError(f"after={after!r}: give what a page says as its `next`")
    return found
