"""Which slot of a cluster a key is in, and a tag for each slot."""

from __future__ import annotations

from binascii import crc_hqx
from collections.abc import Sequence
from functools import cache
from itertools import count

SLOTS = 16_384


def slot_of(key: bytes) -> int:
    """By its hash tag if it has one, else by the whole of it."""
    start = key.find(b"{")
    if start >= 0:
        end = key.find(b"}", start + 1)
        if end > start + 1:
            key = key[start + 1 : end]
    return crc_hqx(key, 0) % SLOTS


@cache
def tags() -> Sequence[str]:
    """For each slot, the lowest number that is in it: what is counted for a whole slot is kept under this."""
    found: dict[int, str] = {}
    for number in count():
        found.setdefault(crc_hqx(b"%d" % number, 0) % SLOTS, str(number))
        if len(found) == SLOTS:
            return [found[slot] for slot in range(SLOTS)]
    raise AssertionError("numbers have come to an end")
