"""Crews of threads or of tasks, so that what they do is written once; and one that locks accounts in any order."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Coroutine
from typing import Any, TypeAlias

import pytest

from dibs import Dibs, Lease, Leases
from dibs.ports.wire import Backend
from dibs.runtime.blocking import run

LONG = 60.0
"""How long one of a crew waits for a lock before its test fails."""
LONGEST = 300.0
"""How long a whole crew may take."""
CREW = 8
ACCOUNTS = [f"account:{number}" for number in range(6)]


class Blocking:
    """A thread for each."""

    def play(self, *scenes: Coroutine[Any, Any, None]) -> None:
        errors: list[BaseException] = []

        def act(scene: Coroutine[Any, Any, None]) -> None:
            try:
                run(scene)
            except BaseException as error:  # noqa: BLE001 - shown below
                errors.append(error)

        threads = [threading.Thread(target=act, args=(scene,), daemon=True) for scene in scenes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONGEST)
        assert not any(thread.is_alive() for thread in threads)
        assert not errors

    async def take(self, guard: Any) -> Any:
        return guard.acquire()

    async def give(self, lease: Lease | Leases) -> None:
        lease.release()

    async def work(self, d: Dibs, name: str) -> None:
        d.inspect(name)


class Asyncio:
    """A task for each."""

    def play(self, *scenes: Coroutine[Any, Any, None]) -> None:
        async def main() -> None:
            async with asyncio.timeout(LONGEST):
                await asyncio.gather(*scenes)

        asyncio.run(main())

    async def take(self, guard: Any) -> Any:
        return await guard.aacquire()

    async def give(self, lease: Lease | Leases) -> None:
        await lease.arelease()

    async def work(self, d: Dibs, name: str) -> None:
        await asyncio.to_thread(d.inspect, name)  # the other tasks go on meanwhile, also where a store answers at once


Colour: TypeAlias = Blocking | Asyncio
in_both_colours = pytest.mark.parametrize("colour", [Blocking(), Asyncio()], ids=["blocking", "asyncio"])


class Bank:
    """Accounts that are locked in any number and order, and who is at them."""

    def __init__(self, colour: Colour, d: Dibs, *, rounds: int) -> None:
        self._colour, self._d, self._left = colour, d, rounds
        self.busy: set[str] = set()
        self.fences = dict.fromkeys(ACCOUNTS, 0)
        self.rounds = 0

    async def transfer(self, seed: int) -> None:
        chance = random.Random(seed)
        while self._left > 0:
            self._left -= 1
            names = chance.sample(ACCOUNTS, chance.randint(1, 4))
            leases = await self._colour.take(self._d.lock_all(*names, wait=LONG))
            assert not self.busy & set(names), "somebody else is at one of them"
            self.busy.update(names)
            for lease in leases:
                assert lease.fence > self.fences[lease.name]
                self.fences[lease.name] = lease.fence
            await self._colour.work(self._d, names[0])
            leases.ensure()
            self.busy.difference_update(names)
            self.rounds += 1
            await self._colour.give(leases)


def take_subsets(colour: Colour, backend: Backend, *, rounds: int) -> None:
    with Dibs(backend) as d:
        bank = Bank(colour, d, rounds=rounds)
        colour.play(*(bank.transfer(seed) for seed in range(CREW)))
        assert (bank.rounds >= rounds, bank.busy) == (True, set())
        assert not list(d.locks())
