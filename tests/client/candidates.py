"""The roles of programs that stand for a leadership, and that hand their leases on."""

from __future__ import annotations

import asyncio

import dibs
from dibs.events import Event, JoinedQueue
from dibs.runtime.clock import boottime
from tests.chaos.actor import _line, say, told


class SaysItWaits:
    def on(self, event: Event, /) -> None:
        if isinstance(event, JoinedQueue):
            say("waits")


def client(url: str) -> dibs.Dibs:
    return dibs.connect(url, observers=[SaysItWaits()], quiet=True)


def lead(kind: str, url: str, ttl: float) -> None:
    """Lead each term until told to resign, or to go."""
    leader = client(url).leader("billing", ttl=ttl)
    if kind == "asyncio":
        asyncio.run(_alead(leader))
        return
    for term in leader.terms():
        say("leads", term.fence, boottime())
        told("go")
        break
    say("left")


async def _alead(leader: dibs.Leader) -> None:
    async for term in leader.terms():
        say("leads", term.fence, boottime())
        await asyncio.to_thread(told, "go")
        break
    say("left")


def hand_on(url: str, name: str, ttl: float) -> None:
    """Take a lock, hand it on, leave its block, and end."""
    with client(url).lock(name, ttl=ttl) as lease:
        say("token", lease.to_token(), lease.fence)
    say("out")


def adopt(kind: str, url: str) -> None:
    """Go on with the lease whose token comes next, and give it back when told to."""
    d = client(url)
    d.inspect("a")
    say("ready")
    token = _line()
    try:
        lease = asyncio.run(_adopted(d, token)) if kind == "asyncio" else d.adopt(token)
    except dibs.LeaseLost as lost:
        say("lost", lost.fence)
        return
    say("adopted", lease.fence, lease.name)
    told("release")
    lease.release()
    say("out")


async def _adopted(d: dibs.Dibs, token: str) -> dibs.Lease:
    return await d.aadopt(token)
