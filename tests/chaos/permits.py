"""The roles of programs that share a lock and meet a sudden end."""

from __future__ import annotations

from typing import cast

import dibs
from dibs.runtime.clock import boottime
from tests.chaos.actor import say
from tests.chaos.cast import client
from tests.chaos.colours import colour


def hold_a_permit(kind: str, url: str, permits: int, ttl: float) -> None:
    """Take one of so many, and give it back when told to."""
    d, me = client(url), colour(kind)

    async def scene() -> None:
        lease = await me.take(d.semaphore("gpu", permits, ttl=ttl))
        say("in", lease.fence, boottime())
        await me.told("release")
        await me.give(lease)
        say("out")

    me.play(scene())


def read_or_write(kind: str, url: str, which: str, ttl: float) -> None:
    """Be one of several readers, or the one writer, and leave when told to."""
    d, me = client(url), colour(kind)
    lock = d.rwlock("config", ttl=ttl)

    async def scene() -> None:
        lease = await me.take(cast("dibs.Lock", lock.read() if which == "read" else lock.write()))
        say("in", lease.fence, boottime())
        await me.told("release")
        await me.give(lease)
        say("out")

    me.play(scene())


def take_several(kind: str, url: str, names: list[str], ttl: float) -> None:
    """Take all of these, and give them back when told to."""
    d, me = client(url), colour(kind)

    async def scene() -> None:
        leases = await me.take(cast("dibs.Lock", d.lock_all(*names, ttl=ttl)))
        say("in", boottime())
        await me.told("release")
        await me.give(leases)
        say("out")

    me.play(scene())
