"""Where a lock is kept: its own key, which other clients may know, and those of its queue beside it.

All keys of one lock are in one slot of a cluster: by the lock's own hash tag if it has one, else by the whole of it.
"""

from __future__ import annotations

from functools import lru_cache

from dibs.model.names import is_tagged


class Keys:
    """The keys of one namespace."""

    def __init__(self, namespace: str) -> None:
        self.prefix = f"{namespace}:" if namespace else ""
        self.counter, self.index = f"{self.prefix}~fence".encode(), f"{self.prefix}~index".encode()
        self.of = lru_cache(4096)(self._of)

    def bar(self, name: str, owner: str) -> bytes:
        """Where it is written that an ask of this owner is to be refused."""
        return f"{self._tagged(name)}~{owner}~bar".encode()

    def _of(self, name: str) -> tuple[bytes, bytes, bytes, bytes]:
        """Lock, line, tickets and expiries."""
        lock, tagged = f"{self.prefix}{name}".encode(), self._tagged(name).encode()
        return lock, tagged + b"~line", tagged + b"~tickets", tagged + b"~expiries"

    def _tagged(self, name: str) -> str:
        key = f"{self.prefix}{name}"
        return key if is_tagged(key) else f"{{{key}}}"
