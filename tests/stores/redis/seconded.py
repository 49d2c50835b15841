"""Scenes of grants that are on so many replicas or are none: the same in a house with sentinels and in a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from dibs import StoreUnreachable
from dibs.events import Acquired, JoinedQueue, Lost
from dibs.testing.contract.faces import Face
from tests.chaos.moments import ends_within, so
from tests.chaos.resource import Resource
from tests.servers.server import Server
from tests.stores.redis.sentinel.household import Household, meanwhile


class Copying(Protocol):
    """Servers of which some copy others."""

    def copies_nothing(self, server: Server, /) -> None: ...
    def heal(self, server: Server, /) -> None: ...


async def is_handed_it_when_replicas_know(
    party: Household, servers: Copying, master: Server, *, holder: Face, waiter: Face, within: float
) -> None:
    lease = await party.enter(holder, ttl=30)
    waiting = waiter.start(party.visit(waiter, ttl=30, wait=15))
    await waiter.seen(JoinedQueue)
    servers.copies_nothing(master)
    await party.leave(holder, lease)
    await waiter.happened(so(lambda: bool(master.ask("EXISTS", party.key()))))
    assert not waiter.diary.of(Acquired), "no replica knows of it"
    servers.heal(master)
    with ends_within(within):
        await waiting.finish()


async def take_turns_through(
    party: Household, faces: Sequence[Face], resource: Resource, fail_over: Callable[[], object], *, ttl: float
) -> None:
    """Many take turns while the master is replaced; a resource of its own looks at each fence."""
    is_over = so(lambda: False)

    async def take_turns(number: int) -> None:
        face = faces[number]
        while not is_over.is_set():
            lease = await party.enter(face, ttl=ttl, wait=20)
            resource.write(lease.fence, str(number))
            party.witness.leaves(lease)
            try:
                await face.release(lease)
            except StoreUnreachable:
                assert not face.diary.of(Lost)

    turns = [face.start(take_turns(number)) for number, face in enumerate(faces)]
    await faces[0].happened(so(lambda: resource.contents().accepted > 50))
    await meanwhile(faces[0], fail_over)
    accepted = resource.contents().accepted
    await faces[0].happened(so(lambda: resource.contents().accepted > accepted + 20))
    is_over.set()
    for turn in turns:
        await turn.finish()
