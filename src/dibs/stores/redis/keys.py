"""Where a lock is kept: its own key, which other clients may know, and those of its queue beside it.

All keys of one lock are in one slot of a cluster: by the lock's own hash tag if it has one, else by the whole of it.
"""

from __future__ import annotations

from functools import lru_cache

from dibs.model.names import is_tagged
from dibs.stores.redis.resp import bulks

REMEMBERED = 4096


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
        return self._queue_of(name) + bulks((self._tagged(name) + b"~bars",)) + self.shared

    def _queue_of(self, name: str) -> bytes:
        """Lock, line, tickets and expiries."""
        lock, tagged = f"{self.prefix}{name}".encode(), self._tagged(name)
        return bulks((lock, tagged + b"~line", tagged + b"~tickets", tagged + b"~expiries"))

    def _tagged(self, name: str) -> bytes:
        key = f"{self.prefix}{name}"
        return (key if is_tagged(key) else f"{{{key}}}").encode()
