"""Where a lock is kept in a cluster: counter and index are one for each slot."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from dibs.model.names import is_tagged
from dibs.stores.redis.cluster.slots import slot_of, tags
from dibs.stores.redis.keys import REMEMBERED, Keys, around
from dibs.stores.redis.resp import bulks, encode


class ClusterKeys(Keys):
    """The keys of one namespace."""

    def __init__(self, namespace: str) -> None:
        super().__init__(namespace)
        self.slot = lru_cache(REMEMBERED)(self._slot)
        self._beside_tag = lru_cache(REMEMBERED)(self._around_tag)
        self.home = slot_of(f"{self.prefix}~fence".encode())
        """Where jobs are."""
        self.counts_at = slot_of(self.counts.encode())
        self._slots = f"{self._beside_counter}~slots"

    def each_of(self, name: str) -> bytes:
        text = f"{self.prefix}{name}"
        key = text.encode()
        return key.join(around(len(key), is_tagged(text)))

    def index_at(self, slot: int) -> bytes:
        """Of the locks of one slot."""
        return bulks((f"{self.prefix}~index{{{tags()[slot]}}}".encode(),))

    def shared_at(self, slot: int) -> bytes:
        """Counter and index of one slot."""
        tag = tags()[slot].encode()
        return tag.join(self._beside_tag(len(tag)))

    def use(self, slot: int) -> bytes:
        """The command that notes that there are locks in a slot, for whoever lists them."""
        return encode("SADD", self._slots, str(slot))

    def used(self) -> bytes:
        """The command that tells in which slots there are any."""
        return encode("SMEMBERS", self._slots)

    def _of(self, name: str) -> bytes:
        return self.each_of(name) + self.shared_at(self.slot(name))

    def _slot(self, name: str) -> int:
        return slot_of(f"{self.prefix}{name}".encode())

    def _around_tag(self, size: int) -> Sequence[bytes]:
        """What stands before, between and behind the tags of counter and index, with a tag of that size."""
        sides = [f"{self.prefix}~{side}{{".encode() for side in ("fence", "index")]
        counter, index = (b"$%d\r\n%b" % (len(side) + size + len(b"}"), side) for side in sides)
        return [counter, b"}\r\n" + index, b"}\r\n"]
