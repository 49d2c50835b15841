"""Where a lock is kept: its own key, which other clients may know, and those of its queue beside it.

All keys of one lock are in one slot of a cluster: by the lock's own hash tag if it has one, else by the whole of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from dibs.model.names import is_tagged
from dibs.stores.redis.resp import bulks

REMEMBERED = 4096
QUEUE = ("line", "tickets", "expiries")
QUEUE_AND_BARS = (*QUEUE, "bars")


class Keys:
    """The keys of one namespace, as parts of a command."""

    COUNT = 7

    def __init__(self, namespace: str) -> None:
        self.prefix = f"{namespace}:" if namespace else ""
        counter, index = f"{self.prefix}~fence".encode(), f"{self.prefix}~index".encode()
        self.index, self.shared = bulks((index,)), bulks((counter, index))
        self.of, self.queue_of = lru_cache(REMEMBERED)(self._of), lru_cache(REMEMBERED)(self._queue_of)

    def _of(self, name: str) -> bytes:
        """Lock, line, tickets, expiries, bars, counter and index."""
        return self._filled(name, QUEUE_AND_BARS) + self.shared

    def _queue_of(self, name: str) -> bytes:
        """Lock, line, tickets and expiries."""
        return self._filled(name, QUEUE)

    def _filled(self, name: str, sides: Sequence[str]) -> bytes:
        text = f"{self.prefix}{name}"
        key = text.encode()
        return _form(len(key), sides, is_tagged(text)) % ((key,) * (1 + len(sides)))


@lru_cache(REMEMBERED)
def _form(size: int, sides: Sequence[str], has_tag: bool) -> bytes:  # noqa: FBT001 - only called above
    """A lock's key and those beside it as parts of a command, to be filled in: for all locks with keys of that size."""
    blank = b"%b" if has_tag else b"{%b}"
    more = size + len(blank) - len(b"%b")
    beside = [b"$%d\r\n%b~%b\r\n" % (more + 1 + len(side), blank, side.encode()) for side in sides]
    return b"".join([b"$%d\r\n%%b\r\n" % size, *beside])
