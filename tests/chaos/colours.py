"""Threads or tasks, so that a role is written once: the first of its facts says which."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

import dibs
from dibs.runtime.blocking import run
from tests.chaos import actor

BOTH = ["blocking", "asyncio"]


class Colour(Protocol):
    """What a role can do in either."""

    def play(self, scene: Coroutine[Any, Any, None]) -> None: ...
    async def take(self, lock: dibs.Lock) -> dibs.Lease: ...
    async def give(self, lease: dibs.Lease) -> None: ...
    async def told(self, word: str) -> None: ...


class Blocking:
    """Nothing here ever suspends."""

    def play(self, scene: Coroutine[Any, Any, None]) -> None:
        run(scene)

    async def take(self, lock: dibs.Lock) -> dibs.Lease:
        return lock.acquire()

    async def give(self, lease: dibs.Lease) -> None:
        lease.release()

    async def told(self, word: str) -> None:
        actor.told(word)


class Asyncio:
    """Everything here does."""

    def play(self, scene: Coroutine[Any, Any, None]) -> None:
        asyncio.run(scene)

    async def take(self, lock: dibs.Lock) -> dibs.Lease:
        return await lock.aacquire()

    async def give(self, lease: dibs.Lease) -> None:
        await lease.arelease()

    async def told(self, word: str) -> None:
        await asyncio.to_thread(actor.told, word)


def colour(name: str) -> Colour:
    """By its name."""
    return Blocking() if name == "blocking" else Asyncio()
