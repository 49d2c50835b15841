"""Harm that a network really does to a connection: what was lost takes with it all that would have come after."""

from __future__ import annotations

import asyncio
import threading

from tests.chaos.stage import LONG
from tests.servers import resp
from tests.servers.faults import Hold
from tests.servers.proxy import Cut, Proxy


class Break(Hold):
    """The connection ends where the message was to go on."""

    async def released(self) -> None:
        raise Cut


class Delay(Hold):
    """The message goes on by itself, late."""

    def __init__(self, loop: asyncio.AbstractEventLoop, by: float) -> None:
        super().__init__(loop)
        self._by, self.has_gone_on = by, threading.Event()

    async def released(self) -> None:
        await asyncio.sleep(self._by)  # the lateness is the fault: the server it is late for has a real clock
        self.has_gone_on.set()


def delay_request(proxy: Proxy, nth: int, *, by: float) -> Delay:
    """The n-th request comes that late, and all behind it on its connection; its client may be gone by then."""
    return proxy._plan(proxy._requests, Delay(proxy._loop, by), nth, None)


def has_struck(fault: Hold) -> bool:
    return fault._happened.is_set()


def is_over(fault: Hold) -> bool:
    """Wait until what was late has gone on; nothing else does."""
    return fault.has_gone_on.wait(LONG) if isinstance(fault, Delay) else True


def silence_reply(proxy: Proxy, nth: int) -> Hold:
    """The n-th reply is not delivered, and nothing behind it on its connection, which stays open."""
    return proxy.hold_reply(nth)


def break_at_reply(proxy: Proxy, nth: int) -> Hold:
    """The n-th reply is not delivered: its connection ends instead."""
    return proxy._plan(proxy._answers, Break(proxy._loop), nth, None)


def is_quiet(proxy: Proxy, *, clients: int) -> bool:
    """Whether so many new clients have asked how their server is set up, as each does once, and all is answered."""
    answered = sum(map(resp.is_answered, proxy.commands))
    return (
        proxy.commands.count("INFO") >= clients and proxy.arrived == len(proxy.commands) and proxy.replies == answered
    )
