"""Which server is the master of which slot, as the servers say: asked when somebody must know, and every second."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, cast
from weakref import ReferenceType, WeakSet, ref

from redis.exceptions import RedisError

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.stores.redis.endpoint import hang_up

if TYPE_CHECKING:
    from redis.connection import AbstractConnection

    from dibs.stores.redis.cluster.place import Address, Place

EVERY = 1.0
WITHIN = 1.0
"""How long one of them has to answer."""
SOONEST = 0.05
"""How often they are asked at the most, however many want to know."""


class Follower(Protocol):
    """Who has connections to masters."""

    def moved(self) -> None:
        """Some slots have another master now."""
        ...


class Shards:
    """The map of one cluster. A thread of its own keeps it, from the first question on."""

    def __init__(self, place: Place) -> None:
        self.place, self._pid = place, os.getpid()
        self._changed = threading.Condition()
        self._followers: WeakSet[Follower] = WeakSet()
        self._wanted = threading.Event()
        self._is_kept = self.is_closed = False
        self._masters: Mapping[int, Address] = {}
        self._epoch = -1
        self._trouble: StoreUnreachable | None = None

    @property
    def is_over(self) -> bool:
        """Whether nobody keeps it any more: all have left, or this is a forked child."""
        return self.is_closed or self._pid != os.getpid()

    def join(self, follower: Follower) -> None:
        """Tell this one when slots move."""
        with self._changed:
            self._followers.add(follower)

    def leave(self, follower: Follower) -> None:
        """This one has hung up; with the last one all ends. What a forked child has of it, it lets be."""
        if self.is_over:
            return
        with self._changed:
            self._followers.discard(follower)
            self.is_closed = not self._followers
        self._wanted.set()

    def look(self) -> None:
        """Ask anew, and do not wait for it."""
        with self._changed:
            self._start()
        self._wanted.set()

    def master(self, slot: int) -> Address | None:
        """As far as is known."""
        return self._masters.get(slot)

    def masters(self) -> set[Address]:
        """All of them."""
        return set(self._masters.values())

    def found(self, slot: int, within: float) -> Address:
        """The master of a slot, once it is known; `StoreRefused` if nobody tells."""
        master = self._masters.get(slot)
        if master is not None:
            return master
        with self._changed:
            self._trouble = None
        self.look()
        with self._changed:
            self._changed.wait_for(lambda: self._masters.get(slot) or self._trouble, within)
            master = self._masters.get(slot)
        if master is None:
            trouble = cast("StoreUnreachable | None", self._trouble)
            raise trouble or StoreRefused.unconnected(self.place.shown, after=within)
        return master

    def redirect(self, slot: int, address: Address) -> None:
        """A server says that another one has this slot."""
        with self._changed:
            self._masters = {**self._masters, slot: address}
        self._tell()
        self.look()

    def told(self, epoch: int, masters: Mapping[int, Address]) -> None:
        """A server has said how it is; what an older one says that was left behind does not count."""
        with self._changed:
            if epoch < self._epoch:
                return
            has_moved = bool(self._masters) and self._masters != masters
            self._epoch, self._masters = epoch, masters
            self._changed.notify_all()
        if has_moved:
            self._tell()

    def failed(self, trouble: StoreUnreachable) -> None:
        """None of them could be asked."""
        with self._changed:
            self._trouble = trouble
            self._changed.notify_all()

    def rest(self) -> None:
        """Until somebody must know, or it is time."""
        self._wanted.wait(EVERY)
        self._wanted.clear()
        with self._changed:
            self._changed.wait_for(lambda: self.is_closed, SOONEST)

    def _tell(self) -> None:
        for follower in list(self._followers):
            follower.moved()

    def _start(self) -> None:
        if not self._is_kept and not self.is_over:
            self._is_kept = True
            threading.Thread(target=_keep, args=(ref(self),), name="dibs-shards", daemon=True).start()


def _keep(known: ReferenceType[Shards]) -> None:
    """The thread's whole life. It knows the map only weakly."""
    links: dict[Address, AbstractConnection] = {}
    try:
        while (shards := known()) is not None and not shards.is_over:
            _ask(shards, links)
            shards.rest()
            del shards
    finally:
        for link in links.values():
            hang_up(link)


def _ask(shards: Shards, links: dict[Address, AbstractConnection]) -> None:
    """One after the other, until one knows: those that were reached first, then the other masters, then the seeds."""
    trouble: StoreUnreachable = StoreRefused(shards.place.shown, after=0.0, why="no server of it could be asked")
    for address in dict.fromkeys(chain(list(links), shards.masters(), shards.place.seeds)):
        endpoint = shards.place.at(address)
        try:
            link = links.get(address) or endpoint.connect(WITHIN)[0]
            links[address] = link
            shards.told(*_said(link, address))
        except (RedisError, OSError, StoreUnreachable, ValueError) as error:
            trouble = error if isinstance(error, StoreUnreachable) else endpoint.refused(error)
            if (broken := links.pop(address, None)) is not None:
                hang_up(broken)
        else:
            return
    shards.failed(trouble)


def _said(link: AbstractConnection, address: Address) -> tuple[int, Mapping[int, Address]]:
    talk = cast("Any", link)
    talk.send_command("CLUSTER", "INFO")
    info: str = talk.read_response(disable_decoding=True).decode()
    facts = dict(line.split(":", 1) for line in info.splitlines() if ":" in line)
    if facts.get("cluster_state") != "ok":
        raise ValueError(f"{address[0]}:{address[1]} says that its cluster is {facts.get('cluster_state')}")
    talk.send_command("CLUSTER", "SLOTS")
    return int(facts["cluster_current_epoch"]), _masters(talk.read_response(disable_decoding=True), address)


def _masters(shards: Sequence[Any], asked: Address) -> Mapping[int, Address]:
    """A server that does not know its own name is where it was asked."""
    masters: dict[int, Address] = {}
    for first, last, (host, port, *_), *_ in shards:
        address = host.decode() if host else asked[0], int(port)
        masters.update(dict.fromkeys(range(first, last + 1), address))
    return masters
