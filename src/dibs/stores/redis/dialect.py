"""How Redis and Valkey are asked about locks, and how their answers are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from dibs.model.asks import Busy, Granted, Held, KeepAlive, Queued, Renew, Said, StillQueued
from dibs.model.views import LockView, Waiter
from dibs.ports.store import Command
from dibs.stores.redis.resp import bulks
from dibs.stores.redis.scripts import ACQUIRE, EVICT, HELD, INSPECT, KEEP, LEAVE, TIME, Script

if TYPE_CHECKING:
    from dibs.model.asks import Acquire, AcquireAnswer, EvictAnswer, KeepAnswer, Leave, LeaveAnswer
    from dibs.stores.redis.keys import Keys

MILLI, MICRO = 1_000, 1_000_000
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
T_Read = Callable[[Any], Any]


class RedisLocks:
    """The dialect. Every answer begins with the server's time, which the wire takes off."""

    def __init__(self, keys: Keys, *, node: int = 0) -> None:
        self._keys, self._node = keys, node

    def time(self) -> Command[float]:
        return self._command(TIME, (), (), lambda answer: answer[0] / MICRO)

    def acquire(self, name: str, ask: Acquire) -> Command[AcquireAnswer]:
        args = (
            ask.owner.encode(),
            b"%d" % ceil(ask.ttl * MILLI),
            b"%d" % (ask.not_after * MICRO),
            b"%d" % ask.seen,
            b"1" if ask.queue else b"0",
            ask.channel.encode(),
            ask.who.encode(),
            ask.purpose.encode(),
        )
        return self._command(ACQUIRE, self._all_keys(name, ask.owner), args, _acquired)

    def keep(self, asks: Sequence[tuple[str, KeepAlive | Renew]]) -> Command[Sequence[KeepAnswer]]:
        keys, args = [self._keys.counter, self._keys.index], list[bytes]()
        for name, ask in asks:
            keys.extend(self._keys.of(name))
            fence = ask.fence if isinstance(ask, Renew) else 0
            args += (ask.owner.encode(), b"%d" % ceil(ask.ttl * MILLI), b"%d" % fence)
        return self._command(KEEP, keys, args, _kept)

    def leave(self, name: str, ask: Leave) -> Command[LeaveAnswer]:
        bar = 0 if ask.bar_until is None else ceil(ask.bar_until * MICRO)
        return self._command(LEAVE, self._all_keys(name, ask.owner), (ask.owner.encode(), b"%d" % bar), _said)

    def evict(self, name: str, fence: int) -> Command[EvictAnswer]:
        keys = (*self._keys.of(name), self._keys.counter, self._keys.index)
        return self._command(EVICT, keys, (b"%d" % fence,), _said)

    def inspect(self, name: str) -> Command[LockView]:
        return self._command(INSPECT, self._keys.of(name), (), lambda answer: _view(name, answer[0], answer[1]))

    def held(self, prefix: str, limit: int) -> Command[Sequence[LockView]]:
        skip = len(self._keys.prefix.encode())

        def read(answer: Sequence[Any]) -> Sequence[LockView]:
            return [_view(key[skip:].decode(errors="replace"), answer[0], seen) for key, seen in answer[1:]]

        wanted = (self._keys.prefix + prefix).encode()
        return self._command(HELD, (self._keys.index,), (wanted, b"%d" % limit), read)

    def _all_keys(self, name: str, owner: str) -> tuple[bytes, ...]:
        return (*self._keys.of(name), self._keys.counter, self._keys.index, self._keys.bar(name, owner))

    def _command(self, script: Script, keys: Sequence[bytes], args: Sequence[bytes], read: T_Read) -> Command[Any]:
        size = 3 + len(keys) + len(args)
        head = b"*%d\r\n$7\r\nEVALSHA\r\n$40\r\n%b\r\n$%d\r\n%d\r\n" % (
            size,
            script.sha,
            len(str(len(keys))),
            len(keys),
        )
        return Command((head + bulks(keys) + bulks(args),), read, self._node)


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


def _said(answer: Sequence[Any]) -> Any:
    return _SAID[answer[1]]


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
