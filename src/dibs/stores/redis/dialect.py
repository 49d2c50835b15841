"""How Redis and Valkey are asked: about locks, and what is remembered beside them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any

from dibs.model.asks import Renew
from dibs.model.counts import MOST_NAMES, OTHERS
from dibs.ports.store import Command
from dibs.stores.redis.answers import MILLI, acquired, all_acquired, counted, kept, recalled, said, view
from dibs.stores.redis.checkup import findings
from dibs.stores.redis.jobs import RedisJobs
from dibs.stores.redis.keys import Keys
from dibs.stores.redis.resp import bulks, encode
from dibs.stores.redis.scripts import (
    ACQUIRE,
    COUNT,
    ENTER,
    EVICT,
    HELD,
    INSPECT,
    KEEP,
    LEAVE,
    MICRO,
    RECALL,
    TIME,
    TOGETHER,
    Script,
)

if TYPE_CHECKING:
    from dibs.model.asks import (
        Acquire,
        AcquireAnswer,
        AllAnswer,
        EvictAnswer,
        KeepAlive,
        KeepAnswer,
        Leave,
        LeaveAnswer,
        Memo,
        Recalled,
    )
    from dibs.model.counts import Count
    from dibs.model.views import LockView

REMEMBERED = 1024


class RedisLocks(RedisJobs):
    """The dialect. Nearly every answer begins with the server's time."""

    tells_by_answer = False
    """Whether who gives a lock back is told by the answer that it was handed to another of its own process.

    Where one server has it all, to be told by a push takes no longer.
    """

    def __init__(self, keys: Keys, *, node: int = 0) -> None:
        super().__init__(keys, node=node)
        self._wishes = lru_cache(REMEMBERED)(_wish)

    def time(self) -> Command[float]:
        return Command((TIME.head(keys=0, args=0),), lambda answer: answer[0] / MICRO, self._node)

    def checkup(self) -> Command[Sequence[str]]:
        return Command((encode("INFO"),), findings, self._node)

    def acquire(self, name: str, ask: Acquire) -> Command[AcquireAnswer]:
        owner, until, seen = ask.owner.encode(), b"%d" % (ask.not_after * MICRO), b"%d" % ask.seen
        wish = self._wishes(ask.ttl, ask.queue, ask.channel, ask.who, ask.purpose)
        if ask.depth or ask.room != 1:
            words = _ENTER % (self._keys.of(name), len(owner), owner, len(until), until, len(seen), seen, wish)
            words += bulks((b"%d" % ask.room, b"%d" % ask.depth))
        else:
            words = _ACQUIRE % (self._keys.of(name), len(owner), owner, len(until), until, len(seen), seen, wish)
        return Command((words,), acquired, self._node)

    def acquire_all(self, asks: Sequence[tuple[str, Acquire]]) -> Command[AllAnswer]:
        """In one step of one server, which has them all; in a cluster they would have to be in one slot."""
        words = self._many(TOGETHER, [name for name, _ in asks], [_together(ask) for _, ask in asks])
        return Command((words,), all_acquired, self._node)

    def keep(self, asks: Sequence[tuple[str, KeepAlive | Renew]]) -> Command[Sequence[KeepAnswer]]:
        words = self._many(KEEP, [name for name, _ in asks], [_keep(ask) for _, ask in asks])
        return Command((words,), kept, self._node)

    def leave(self, name: str, ask: Leave) -> Command[LeaveAnswer]:
        bar = b"0" if ask.bar_until is None else b"%d" % ceil(ask.bar_until * MICRO)
        owner, channel = ask.owner.encode(), ask.channel.encode() if self.tells_by_answer else b""
        if ask.memo is None:
            words = _LEAVE % (self._keys.of(name), len(owner), owner, len(bar), bar, len(channel), channel)
        else:
            words = self._leave_memo(name, (owner, bar, channel), ask.memo)
        return Command((words,), said, self._node)

    def evict(self, name: str, fence: int) -> Command[EvictAnswer]:
        words = EVICT.head(keys=Keys.COUNT, args=1) + self._keys.of(name) + bulks((b"%d" % fence,))
        return Command((words,), said, self._node)

    def inspect(self, name: str) -> Command[LockView]:
        words = INSPECT.head(keys=Keys.COUNT, args=0) + self._keys.of(name)
        return Command((words,), lambda answer: view(name, answer[0], answer[1]), self._node)

    def held(self, prefix: str, limit: int) -> Command[Sequence[LockView]]:
        skip = len(self._keys.prefix.encode())

        def read(answer: Sequence[Any]) -> Sequence[LockView]:
            return [view(key[skip:].decode(errors="replace"), answer[0], seen) for key, seen in answer[1:]]

        wanted = (self._keys.prefix + prefix).encode()
        words = HELD.head(keys=1, args=2) + self._keys.index + bulks((wanted, b"%d" % limit))
        return Command((words,), read, self._node)

    def recall(self, name: str) -> Command[Recalled]:
        return Command((RECALL.head(keys=1, args=0) + self._keys.memo_of(name),), recalled, self._node)

    def count(self, counts: Sequence[Count]) -> Command[object]:
        words = [self._keys.counts, str(MOST_NAMES), OTHERS]
        for count in counts:
            words += count.name, count.what, str(count.by)
        head = COUNT.head(keys=1, args=len(words) - 1)
        return Command((head + bulks(word.encode() for word in words),), _as_it_is, self._node)

    def counted(self) -> Command[Sequence[Count]]:
        return Command((encode("HGETALL", self._keys.counts),), counted, self._node)

    def _many(self, script: Script, names: Sequence[str], args: Sequence[Sequence[bytes]]) -> bytes:
        """One call about several locks."""
        keys = Keys.SHARED + Keys.EACH * len(names)
        parts = [script.head(keys=keys, args=sum(map(len, args))), self._keys.shared]
        parts.extend(map(self._keys.each_of, names))
        parts.extend(map(bulks, args))
        return b"".join(parts)

    def _leave_memo(self, name: str, words: Sequence[bytes], memo: Memo) -> bytes:
        words = (*words, b"%d" % ceil(memo.until * MILLI), memo.text.encode())
        keys = self._keys.of(name) + self._keys.memo_of(name)
        return LEAVE.head(keys=Keys.COUNT + 1, args=len(words)) + keys + bulks(words)


_ACQUIRE = ACQUIRE.head(keys=Keys.COUNT, args=6) + b"%b" + 3 * b"$%d\r\n%b\r\n" + b"%b"
_ENTER = ENTER.head(keys=Keys.COUNT, args=8) + b"%b" + 3 * b"$%d\r\n%b\r\n" + b"%b"
_LEAVE = LEAVE.head(keys=Keys.COUNT, args=3) + b"%b" + 3 * b"$%d\r\n%b\r\n"


def _wish(ttl: float, queue: bool, channel: str, who: str, purpose: str) -> bytes:  # noqa: FBT001 - as the script has them
    """What an asker says each time anew, and is worded once."""
    told = f"{channel}\n{who}\n{purpose}".encode()
    return bulks((b"%d" % ceil(ttl * MILLI), b"1" if queue else b"0", told))


def _together(ask: Acquire) -> Sequence[bytes]:
    told = f"{ask.channel}\n{ask.who}\n{ask.purpose}".encode()
    numbers = (int(ask.not_after * MICRO), ask.seen, ceil(ask.ttl * MILLI))
    return (ask.owner.encode(), *_texts(*numbers), told, *_texts(ask.room, ask.depth))


def _keep(ask: KeepAlive | Renew) -> Sequence[bytes]:
    fence, depth = (ask.fence, ask.depth) if isinstance(ask, Renew) else (0, 0)
    return (ask.owner.encode(), *_texts(ceil(ask.ttl * MILLI), fence, depth))


def _texts(*numbers: int) -> Sequence[bytes]:
    return [b"%d" % number for number in numbers]


def _as_it_is(answer: object) -> object:
    return answer
