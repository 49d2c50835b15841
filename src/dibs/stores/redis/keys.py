"""Where a lock is kept: its own key, which other clients may know, and those beside it: of its queue and its holders.

All keys of one lock are in one slot of a cluster: by the lock's own hash tag if it has one, else by the whole of it.
All that is kept of jobs is beside the counter, so that the revisions of their sheets can be counted there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from dibs.model.names import is_tagged
from dibs.stores.redis.resp import bulks

REMEMBERED = 4096
BESIDE = ("line", "tickets", "expiries", "bars", "holders", "leases")


class Keys:
    """The keys of one namespace, as parts of a command."""

    SHARED = 2
    EACH = 1 + len(BESIDE)
    COUNT = EACH + SHARED

    def __init__(self, namespace: str) -> None:
        self.prefix = f"{namespace}:" if namespace else ""
        counter, index = f"{self.prefix}~fence".encode(), f"{self.prefix}~index".encode()
        self.index, self.shared = bulks((index,)), bulks((counter, index))
        self.counts = f"{self.prefix}~counts"
        self._beside_counter = f"{{{self.prefix}~fence}}"
        self.counter = bulks((counter,))
        self.jobs, self.indexes = self._of_jobs("jobs"), self._of_jobs("due", "names")
        self.entries, self.ends = self._of_jobs("entries"), self._of_jobs("ends")
        self.registers = self._of_jobs("registers"), self._of_jobs("lapses")
        self.of = lru_cache(REMEMBERED)(self._of)

    def each_of(self, name: str) -> bytes:
        """Lock, line, tickets, expiries, bars, holders and leases."""
        return self.of(name)[: -len(self.shared)]

    def memo_of(self, name: str) -> bytes:
        """The memo alone."""
        text = f"{self.prefix}{name}"
        return bulks(((f"{text}~memo" if is_tagged(text) else f"{{{text}}}~memo").encode(),))

    def lines_of(self, word: str) -> bytes:
        """What is in the history of that name, and what is tagged with it; scripts make them from the entries' key."""
        return bulks(f"{self._beside_counter}{word}~{side}".encode() for side in ("lines", "tagged"))

    def _of_jobs(self, *sides: str) -> bytes:
        return bulks(f"{self._beside_counter}~{side}".encode() for side in sides)

    def _of(self, name: str) -> bytes:
        """The same as each, and the namespace's counter and index."""
        text = f"{self.prefix}{name}"
        key = text.encode()
        return key.join(around(len(key), is_tagged(text))) + self.shared


@lru_cache(REMEMBERED)
def around(size: int, has_tag: bool) -> Sequence[bytes]:  # noqa: FBT001 - remembered by its place
    """What stands before, between and behind the keys of a lock: the same for all with keys of that size."""
    opens, closes = (b"", b"") if has_tag else (b"{", b"}")
    ends = [b"%b~%b\r\n" % (closes, side.encode()) for side in BESIDE]
    sizes = [len(opens) + size + len(end) - len(b"\r\n") for end in ends]
    begins = [b"$%d\r\n%b" % (beside, opens) for beside in sizes]
    ends = [b"\r\n", *ends]
    return [b"$%d\r\n" % size, *(end + begin for end, begin in zip(ends, begins, strict=False)), ends[-1]]
