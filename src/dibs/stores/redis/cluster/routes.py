"""What both colours share on their way to a cluster: who is asked, what a redirection says, how all are asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.ports.store import Reply
from dibs.stores.redis.cluster.dialect import Listing, Noting
from dibs.stores.redis.dialogue import Heard

if TYPE_CHECKING:
    from dibs.stores.redis.cluster.place import Address
    from dibs.stores.redis.cluster.shards import Shards

Post = Callable[[Sequence[Any], int, Heard], None]

LOST = ("MOVED", "CLUSTERDOWN", "READONLY", "NOREPLICAS", "MASTERDOWN", "LOADING", "ASK", "TRYAGAIN")
"""What a server says of whose slots somebody should be asked anew."""


class Routes:
    """One client's."""

    def __init__(self, shards: Shards, channel: str) -> None:
        self._shards, self._channel = shards, channel
        self._channels: dict[Address, str] = {}
        self.used: set[int] = set()
        """The slots that need not be noted any more."""
        self._has_asked = False
        self._naming = threading.Lock()

    def channel(self, address: Address) -> str:
        """Where we are told things by this server alone: what one says, the others repeat, and too late."""
        with self._naming:
            return self._channels.setdefault(address, f"{self._channel[:-4]}{len(self._channels):04x}")

    def note(self, noting: Noting, slot: int, post: Post) -> None:
        """There are locks in this slot: whoever lists them should look there. What others have noted is known."""
        self.used.add(slot)

        def heard(outcome: Reply | StoreUnreachable) -> None:
            if isinstance(outcome, StoreUnreachable):
                self.used.discard(slot)

        post((noting.use(slot), None), noting.home, heard)
        if not self._has_asked:
            self._has_asked = True
            post((noting.used, None), noting.home, self._learn)

    def _learn(self, outcome: Reply | StoreUnreachable) -> None:
        if isinstance(outcome, StoreUnreachable):
            self._has_asked = False
        else:
            self.used.update(map(int, outcome.value))

    def doubt(self, slot: int, trouble: StoreUnreachable) -> None:
        """A server has not done it: perhaps it is the wrong one."""
        said, *more = trouble.why.split(" ")
        if isinstance(trouble, StoreRefused) and said == "MOVED" and len(more) > 1:
            host, _, port = more[1].rpartition(":")
            known = self._shards.master(slot)
            self._shards.redirect(int(more[0]), (host or (known[0] if known else ""), int(port)))
        elif trouble.is_outage or said in LOST:
            self._shards.look()


def list_all(listing: Listing, post: Post, heard: Heard) -> None:
    """Ask every slot in which there are locks; all answers, or the first that could not be had."""

    def used(outcome: Reply | StoreUnreachable) -> None:
        if isinstance(outcome, StoreUnreachable):
            heard(outcome)
            return
        slots = [int(slot) for slot in outcome.value]
        left, answers = len(slots), list[Any]()
        if not slots:
            heard(Reply(answers))

        def told(outcome: Reply | StoreUnreachable) -> None:
            nonlocal left
            if left <= 0:
                return
            left -= 1
            if isinstance(outcome, StoreUnreachable):
                left = 0
                heard(outcome)
                return
            answers.append(outcome.value)
            if left == 0:
                heard(Reply(answers))

        for slot in slots:
            post((listing.of(slot), None), slot, told)

    post((listing.used, None), listing.home, used)
