"""What is kept of who held a lock, from when to when, and how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, cast, get_args

from dibs.model.fence import MICROSECONDS
from dibs.model.sheet import Entry, Line
from dibs.model.spans import filed
from dibs.model.value import value

Ended = Literal["released", "lost", "broken", "handed on", "held", "unknown"]
"""`broken`: taken by force. `held`: not yet. `unknown`: its holder was not heard of again."""

Kind = Literal["lock", "run"]
"""What somebody had: a lock, or the run of a job."""

ALL = "~held:"
"""What the tags begin with that find all who held something at a moment."""
SLACK = 0.25
"""By how many seconds two ways to tell a time may differ."""
ROUNDING = 1e-6
"""People name moments to the microsecond."""


@value
class Holding:
    """Somebody had a lock. Times are epoch seconds of the store's clock."""

    name: str
    who: str
    fence: int
    since: float
    until: float
    """When it ended; or when it was last known to be held."""
    ended: Ended = "released"
    purpose: str = ""
    reason: str = ""
    """Why it ended, where there is something to say."""
    times: int = 1
    """More than once: so often between these two moments, too often to note each."""
    reaches: float = 0.0
    """While it is not known how it ends: how long it may last without another word of it."""
    kind: Kind = "lock"
    """Runs are noted with their jobs, and only told beside locks."""

    @property
    def end(self) -> float:
        """When it ended at the latest, as far as it is known."""
        return max(self.until, self.reaches)

    @property
    def is_over(self) -> bool:
        """Whether it is known how it ended."""
        return self.ended not in {"held", "unknown"}

    def covers(self, moment: float) -> bool:
        """Whether it was held then, or may have been."""
        return self.since < moment + ROUNDING and moment <= self.end + ROUNDING

    def entry(self) -> Entry:
        """As it is noted, and what it is found by: its lock's name, and the moments it covers, of all and of this."""
        by_moment = [filed(prefix, self.since, self.end) for prefix in (ALL, moments_of(self.name))]
        return Entry(self.end, self._text(), (tag_of(self.name), *by_moment))

    def _text(self) -> str:
        from json import dumps  # noqa: PLC0415 - not needed to take a lock

        said = {word: said for word in _WORDS if (said := getattr(self, word)) != _USUAL.get(word)}
        return dumps(said, separators=(",", ":"), ensure_ascii=False)


_WORDS = ("name", "who", "fence", "since", "until", "ended", "purpose", "reason", "times", "reaches")
_USUAL: dict[str, object] = {"ended": "released", "purpose": "", "reason": "", "times": 1, "reaches": 0.0}


def tag_of(name: str) -> str:
    """By what all that was noted of a lock is found."""
    return f"~lock:{name}"


def moments_of(name: str) -> str:
    """What the tags begin with that find who held this lock at a moment."""
    return f"~held@{name}:"


def readable(lines: Iterable[Line]) -> Sequence[Holding]:
    """What was noted, without what only a newer dibs can read."""
    from json import loads  # noqa: PLC0415 - as above

    found: list[Holding] = []
    for line in lines:
        try:
            said = cast("dict[str, Any]", loads(line.text))
            holding = Holding(**{word: said[word] for word in _WORDS if word in said})
        except (ValueError, TypeError):
            continue
        if holding.ended in get_args(Ended):
            found.append(holding)
    return found


def granted_at(fence: int, *, earliest: float, latest: float) -> float:
    """When a lease was granted between these two moments: its fence says so, unless the counter ran ahead of the clock.

    One who is handed a lock knows only that it was after it had asked.
    """
    told = fence / MICROSECONDS
    return told if earliest - SLACK <= told <= latest else earliest


def latest(noted: Iterable[Holding], live: Iterable[Holding]) -> Sequence[Holding]:
    """Each of them once, as it was told last; `live` are those that the store knows to be held still."""
    known: dict[object, Holding] = {}
    for each in noted:
        key = (each.name, each.who, each.fence, None if each.fence else each.since)
        if key not in known or (each.is_over, each.until) > (known[key].is_over, known[key].until):
            known[key] = each
    unclaimed = {(each.name, each.fence): each for each in live}
    found: list[Holding] = []
    for each in sorted(known.values(), key=lambda each: each.is_over):  # who has it before who had it
        held = unclaimed.get((each.name, each.fence))
        if held is not None and each.ended != "handed on":
            del unclaimed[each.name, each.fence]
        if each.is_over:
            found.append(each)
        elif held is None:
            found.append(replace(each, ended="unknown"))
        else:
            found.append(replace(each, until=held.until, reaches=0.0))
    return [*found, *unclaimed.values()]
