"""The roles of programs that take turns and meet a sudden end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable
from queue import SimpleQueue

import dibs
from dibs.events import Event, JoinedQueue
from dibs.model.asks import Answer, Ask
from dibs.runtime.clock import boottime
from dibs.stores.sqlite.hints import Bell
from dibs.stores.sqlite.server import SqliteTurn
from tests.chaos.actor import say, told
from tests.chaos.colours import colour
from tests.chaos.resource import Resource, StaleFence


class SaysItWaits:
    def on(self, event: Event, /) -> None:
        if isinstance(event, JoinedQueue):
            say("waits")


def client(url: str) -> dibs.Dibs:
    return dibs.connect(url, observers=[SaysItWaits()], quiet=True)


def take_a_turn(kind: str, url: str, name: str, ttl: float) -> None:
    """Take the lock, and give it back when told to."""
    d, me = client(url), colour(kind)

    async def scene() -> None:
        lease = await me.take(d.lock(name, ttl=ttl))
        say("in", lease.fence, boottime())
        await me.told("release")
        await me.give(lease)
        say("out")

    me.play(scene())


def write_late(url: str, name: str, ttl: float, file: str) -> None:
    """Hold the lock, be stopped for too long, and still try to write, and to give the lock back."""
    is_told, resource = threading.Event(), Resource(file)
    lease = client(url).lock(name, ttl=ttl, on_lost=lambda _: is_told.set()).acquire()
    resource.write(lease.fence, "mine")
    say("in", lease.fence)
    told("go on")
    say("ensure", refused(lease.ensure))
    say("write", refused(lambda: resource.write(lease.fence, "too late")))
    say("release", refused(lease.release))
    say("told", is_told.wait(20))


def hold_until_lost(url: str, name: str, ttl: float) -> None:
    """Hold a lock until it is lost, and take it again later."""
    d, losses = client(url), SimpleQueue[tuple[str, float]]()
    lease = d.lock(name, ttl=ttl, on_lost=lambda loss: losses.put((loss.reason, boottime()))).acquire()
    say("in", lease.fence)
    say("lost", *losses.get())
    told("again")
    with d.lock(name, wait=20) as again:
        say("in", again.fence, boottime())
    with contextlib.suppress(dibs.LeaseLost):
        lease.release()


def work_for_ever(url: str, name: str, ttl: float) -> None:
    """As a task, until the lease is lost."""

    async def scene() -> None:
        try:
            async with client(url).lock(name, ttl=ttl) as lease:
                say("in", lease.fence)
                await asyncio.Event().wait()
        except dibs.LeaseLost as lost:
            say("lost", lost.fence)

    asyncio.run(scene())


def refused(act: Callable[[], object]) -> str:
    """The name of the error, if there is one."""
    try:
        act()
    except (dibs.DibsError, StaleFence) as error:
        return type(error).__name__
    return "no"


def die_before_telling(url: str, name: str, ttl: float) -> None:
    """Give the lock back, and die before the next in the queue is told."""

    def die(_: Bell, channel: str, data: bytes) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    Bell.ring = die  # type: ignore[method-assign, assignment]
    lease = client(url).lock(name, ttl=ttl).acquire()
    say("in", lease.fence)
    told("release")
    lease.release()


def die_in_a_write(url: str, name: str, ttl: float) -> None:
    """Hold a lock, and die in the middle of giving it back, when all is written but not yet for good."""
    lease = client(url).lock(name, ttl=ttl).acquire()
    say("in", lease.fence)
    told("release")
    in_the_next_write(lambda: os.kill(os.getpid(), signal.SIGKILL))
    lease.release()


def freeze_in_a_write(url: str, name: str) -> None:
    """Stop in the middle of a write, as if by a debugger; then go on as if nothing had happened."""
    d = client(url)
    d.lock(name).acquire().release()
    in_the_next_write(lambda: os.kill(os.getpid(), signal.SIGSTOP))
    lease = d.lock(name, ttl=5, wait=10).acquire()
    say("in", lease.fence)
    lease.release()


def fail_to_take(url: str, name: str, wait: float) -> None:
    """Come to a store that cannot be used just now."""
    began = boottime()
    try:
        lock = client(url).lock(name, wait=wait)
        began = boottime()  # what must end in time is the call, not the imports before it
        lock.acquire()
    except (dibs.StoreUnreachable, dibs.ConfigError) as error:
        say(type(error).__name__, str(error), boottime() - began)


def in_the_next_write(strike: Callable[[], object]) -> None:
    """Do something in the middle of it: after its changes and before its commit."""
    as_it_was = SqliteTurn.turn

    def turn(self: SqliteTurn, name: str, ask: Ask) -> Answer:
        SqliteTurn.turn = as_it_was  # type: ignore[method-assign]
        answer = as_it_was(self, name, ask)
        strike()
        return answer

    SqliteTurn.turn = turn  # type: ignore[method-assign]
