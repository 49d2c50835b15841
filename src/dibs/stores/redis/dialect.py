"""How Redis and Valkey are asked about locks, and how their answers are read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any

from dibs.model.asks import Busy, Granted, Held, KeepAlive, Queued, Renew, Said, StillQueued
from dibs.model.views import LockView, Waiter
from dibs.ports.store import Command
from dibs.stores.redis.checkup import findings
from dibs.stores.redis.keys import Keys
from dibs.stores.redis.resp import bulks, encode
from dibs.stores.redis.scripts import ACQUIRE, EVICT, HELD, INSPECT, KEEP, LEAVE, MICRO, TIME, Script

if TYPE_CHECKING:
    from dibs.model.asks import Acquire, AcquireAnswer, EvictAnswer, KeepAnswer, Leave, LeaveAnswer

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
}
REMEMBERED = 1024


class RedisLocks:
    """The dialect. Nearly every answer begins with the server's time."""

    def __init__(self, keys: Keys, *, node: int = 0) -> None:
        self._keys, self._node = keys, node
        self._wishes = lru_cache(REMEMBERED)(_wish)

    def time(self) -> Command[float]:
        return Command((_head(TIME, keys=0, args=0),), lambda answer: answer[0] / MICRO, self._node)

    def checkup(self) -> Command[Sequence[str]]:
        return Command((encode("INFO"),), findings, self._node)

    def acquire(self, name: str, ask: Acquire) -> Command[AcquireAnswer]:
        owner, until, seen = ask.owner.encode(), b"%d" % (ask.not_after * MICRO), b"%d" % ask.seen
        wish = self._wishes(ask.ttl, ask.queue, ask.channel, ask.who, ask.purpose)
        words = _ACQUIRE % (self._keys.of(name), len(owner), owner, len(until), until, len(seen), seen, wish)
        return Command((words,), _acquired, self._node)

    def keep(self, asks: Sequence[tuple[str, KeepAlive | Renew]]) -> Command[Sequence[KeepAnswer]]:
        parts = [_head(KEEP, keys=2 + 4 * len(asks), args=3 * len(asks)), self._keys.shared]
        parts.extend(self._keys.queue_of(name) for name, _ in asks)
        for _, ask in asks:
            fence = ask.fence if isinstance(ask, Renew) else 0
            parts.append(bulks((ask.owner.encode(), b"%d" % ceil(ask.ttl * MILLI), b"%d" % fence)))
        return Command((b"".join(parts),), _kept, self._node)

    def leave(self, name: str, ask: Leave) -> Command[LeaveAnswer]:
        bar = b"0" if ask.bar_until is None else b"%d" % ceil(ask.bar_until * MICRO)
        owner = ask.owner.encode()
        words = _LEAVE % (self._keys.of(name), len(owner), owner, len(bar), bar)
        return Command((words,), _said, self._node)

    def evict(self, name: str, fence: int) -> Command[EvictAnswer]:
        words = _head(EVICT, keys=Keys.COUNT, args=1) + self._keys.of(name) + bulks((b"%d" % fence,))
        return Command((words,), _said, self._node)

    def inspect(self, name: str) -> Command[LockView]:
        words = _head(INSPECT, keys=Keys.COUNT, args=0) + self._keys.of(name)
        return Command((words,), lambda answer: _view(name, answer[0], answer[1]), self._node)

    def held(self, prefix: str, limit: int) -> Command[Sequence[LockView]]:
        skip = len(self._keys.prefix.encode())

        def read(answer: Sequence[Any]) -> Sequence[LockView]:
            return [_view(key[skip:].decode(errors="replace"), answer[0], seen) for key, seen in answer[1:]]

        wanted = (self._keys.prefix + prefix).encode()
        words = _head(HELD, keys=1, args=2) + self._keys.index + bulks((wanted, b"%d" % limit))
        return Command((words,), read, self._node)


def _head(script: Script, *, keys: int, args: int) -> bytes:
    """How a command begins that runs a script."""
    return b"*%d\r\n" % (3 + keys + args) + bulks((b"EVALSHA", script.sha, b"%d" % keys))


_ACQUIRE = _head(ACQUIRE, keys=Keys.COUNT, args=6) + b"%b" + 3 * b"$%d\r\n%b\r\n" + b"%b"
_LEAVE = _head(LEAVE, keys=Keys.COUNT, args=2) + b"%b" + 2 * b"$%d\r\n%b\r\n"


def _wish(ttl: float, queue: bool, channel: str, who: str, purpose: str) -> bytes:  # noqa: FBT001 - as the script has them
    """What an asker says each time anew, and is worded once."""
    told = f"{channel}\n{who}\n{purpose}".encode()
    return bulks((b"%d" % ceil(ttl * MILLI), b"1" if queue else b"0", told))


def _acquired(answer: Sequence[Any]) -> AcquireAnswer:
    code = answer[1]
    if code == _GRANTED:
        return Granted(answer[2])
    if code == _QUEUED:
        _, _, position, again, left, value = answer
        return Queued(position, again / MILLI, _held(value, left, answer[0]))
    if code == _BUSY:
        _, _, waiters, left, value = answer
        return Busy(_held(value, left, answer[0]), waiters)
    return Said.REFUSED


def _kept(answer: Sequence[Any]) -> Sequence[KeepAnswer]:
    return [_kept_one(*each) for each in answer[1:]]


def _kept_one(code: int, more: int = 0) -> Any:
    if code == _GRANTED:
        return Granted(more)
    return StillQueued(more / MILLI) if code == _QUEUED else _SAID[code]


def _said(answer: Sequence[Any] | int) -> Any:
    return _SAID[answer if isinstance(answer, int) else answer[1]]


def _view(name: str, now: int, seen: Sequence[Any]) -> LockView:
    is_held, left, value, *tickets = seen
    held = _held(value, left, now) if is_held else None
    return LockView(name, now / MICRO, held, tuple(_waiter(ticket) for ticket in tickets))


def _held(value: bytes, left: int, now: int) -> Held:
    """What the lock's key says of its holder; of one that is not by dibs it is only known that it is there."""
    if not value:
        ttl_left = left / MILLI if left >= 0 else float("inf")
        return Held(FOREIGN, "", now / MICRO, ttl_left, ttl_left, 0)
    _, fence, ttl, since, _, who, purpose = value.decode(errors="replace").split("\n", 6)
    return Held(who, purpose, int(since) / MICRO, int(ttl) / MILLI, max(left, 0) / MILLI, int(fence))


def _waiter(ticket: bytes) -> Waiter:
    _, _, since, _, who, purpose = ticket.decode(errors="replace").split("\n", 5)
    return Waiter(who, purpose, int(since) / MICRO)
