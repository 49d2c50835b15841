"""How the answers of Redis and Valkey are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from dibs.model.asks import Busy, Granted, Held, Hindrance, Queued, Recalled, Said, StillQueued
from dibs.model.counts import Count
from dibs.model.views import LockView, Waiter
from dibs.stores.redis.scripts import MICRO

if TYPE_CHECKING:
    from dibs.model.asks import AcquireAnswer, AllAnswer, KeepAnswer

MILLI = 1_000
FOREIGN = "another program, not by dibs"
_GRANTED, _QUEUED, _BUSY = 1, 2, 3
_SAID = {
    4: Said.REFUSED,
    5: Said.GONE,
    6: Said.KEPT,
    7: Said.RELEASED,
    8: Said.LEFT,
    9: Said.EVICTED,
    10: Said.CHANGED,
    12: Said.NO_LOCK,
}


def acquired(answer: Sequence[Any]) -> AcquireAnswer:
    """What came of an ask for a lock."""
    return Granted(answer[2]) if answer[1] == _GRANTED else _refused(answer[0], *answer[1:])


def all_acquired(answer: Sequence[Any]) -> AllAnswer:
    """What came of an ask for several."""
    now, first, *others = answer
    if isinstance(first, int):
        return Hindrance(first, _busy(now, *others[0]))
    return [Granted(fence) for _, fence in (first, *others)]


def kept(answer: Sequence[Any]) -> Sequence[KeepAnswer]:
    """What came of each lease and ticket."""
    return [_kept_one(*each) for each in answer[1:]]


def said(answer: Sequence[Any] | int) -> Any:
    """An answer of one word."""
    return _SAID[answer if isinstance(answer, int) else answer[1]]


def view(name: str, now: int, seen: Sequence[Any]) -> LockView:
    """A lock as it stands."""
    holders, *tickets = seen
    return LockView(name, now / MICRO, tuple(_held(now, *each) for each in holders), tuple(map(_waiter, tickets)))


def recalled(answer: Sequence[Any]) -> Recalled:
    """What is remembered, if anything is."""
    now, *memos = answer
    if not memos:
        return Recalled(now / MICRO)
    made_at, _, text = memos[0].partition(b"\n")
    return Recalled(now / MICRO, text.decode(errors="replace"), int(made_at) / MICRO)


def counted(answer: Mapping[bytes, bytes] | Sequence[bytes]) -> Sequence[Count]:
    """All that was counted, by name; the answer is a map, or in the older protocol a list."""
    pairs = answer.items() if isinstance(answer, Mapping) else zip(answer[::2], answer[1::2], strict=True)
    lines = [(name.decode(errors="replace"), line) for name, known in pairs for line in known.decode().split("\n")]
    words = sorted((name, *line.rsplit(" ", 1)) for name, line in lines)
    return [Count(name, what, int(by)) for name, what, by in words]


def _refused(now: int, code: int, number: int = 0, *more: Any) -> AcquireAnswer:
    if code == _QUEUED:
        again, holder = more
        return Queued(number, again / MILLI, _held(now, *holder))
    return _busy(now, code, number, *more)


def _busy(now: int, code: int, waiters: int = 0, *holder: Any) -> Busy | Literal[Said.REFUSED]:
    return Busy(_held(now, *holder[0]), waiters) if code == _BUSY else Said.REFUSED


def _kept_one(code: int, more: int = 0) -> Any:
    if code == _GRANTED:
        return Granted(more)
    return StillQueued(more / MILLI) if code == _QUEUED else _SAID[code]


def _held(now: int, left: int, known: bytes, room: int = 1, depth: int = 0) -> Held:
    """What is kept of a holder; of one that is not by dibs it is only known that it is there."""
    if not known:
        ttl_left = left / MILLI if left >= 0 else float("inf")
        return Held(FOREIGN, "", now / MICRO, ttl_left, ttl_left, 0)
    _, fence, ttl, since, _, who, purpose = known.decode(errors="replace").split("\n", 6)
    lasts = max(left, 0) / MILLI
    return Held(who, purpose, int(since) / MICRO, int(ttl) / MILLI, lasts, int(fence), room, depth)


def _waiter(ticket: bytes) -> Waiter:
    _, _, since, _, _, _, who, purpose = ticket.decode(errors="replace").split("\n", 7)
    return Waiter(who, purpose, int(since) / MICRO)
