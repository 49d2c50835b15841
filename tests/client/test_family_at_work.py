"""Many at once on real stores: a writer among readers, and subsets of locks in any order."""

from __future__ import annotations

import asyncio
import random
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from dibs import Dibs, Lease, Leases
from dibs.events import Event, JoinedQueue
from dibs.ports.wire import Backend
from dibs.runtime.blocking import run
from dibs.stores.memory import MemoryBackend
from dibs.stores.redis import open_store
from dibs.stores.sqlite import Location, SqliteBackend
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind
from tests.servers.server import Server

LONG = 60.0
READERS = 50
WRITES = 3
SECTIONS = 1
"""How many sections of each reader a writer waits for: the one it is in already."""

CREW = 8
ACCOUNTS = [f"account:{number}" for number in range(6)]


@pytest.fixture(params=["memory", "sqlite", "valkey"])
def backend(request: pytest.FixtureRequest, shared_servers: Callable[[Kind], Server]) -> Iterator[Backend]:
    if request.param == "memory":
        yield MemoryBackend()
    elif request.param == "valkey":
        server = shared_servers(there(VALKEY_9))
        server.flush()
        yield open_store(server.url)
    else:
        with tempfile.TemporaryDirectory(prefix="dibs-") as folder:
            yield SqliteBackend(Location(Path(folder, "locks.sqlite")))
            for line in [thread for thread in threading.enumerate() if thread.name == "dibs-line"]:
                line.join(5)  # a last ask of a closed client may still be on its way


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
            thread.join(LONG)
        assert not any(thread.is_alive() for thread in threads)
        assert not errors

    async def take(self, guard: Any) -> Any:
        return guard.acquire()

    async def give(self, lease: Lease | Leases) -> None:
        lease.release()

    async def work(self, d: Dibs, name: str) -> None:
        d.inspect(name)

    async def let_others_act(self) -> None:
        """They do."""


class Asyncio:
    """A task for each."""

    def play(self, *scenes: Coroutine[Any, Any, None]) -> None:
        async def main() -> None:
            async with asyncio.timeout(LONG):
                await asyncio.gather(*scenes)

        asyncio.run(main())

    async def take(self, guard: Any) -> Any:
        return await guard.aacquire()

    async def give(self, lease: Lease | Leases) -> None:
        await lease.arelease()

    async def work(self, d: Dibs, name: str) -> None:
        await d.ainspect(name)
        await self.let_others_act()

    async def let_others_act(self) -> None:
        await asyncio.sleep(0)  # in memory nobody waits for an answer


Colour = Blocking | Asyncio
in_both_colours = pytest.mark.parametrize("colour", [Blocking(), Asyncio()], ids=["blocking", "asyncio"])


class Library:
    """Readers who come back as soon as they have left, and how many sections each has read."""

    def __init__(self, colour: Colour, d: Dibs) -> None:
        self._colour, self._d = colour, d
        self.sections = [0] * READERS
        self.inside: set[int] = set()
        self.most_inside = 0
        self.is_closed = False

    async def read(self, reader: int) -> None:
        while not self.is_closed:
            lease = await self._colour.take(self._d.rwlock("config", wait=LONG).read())
            self.inside.add(reader)
            self.most_inside = max(self.most_inside, len(self.inside))
            await self._colour.work(self._d, "config")
            lease.ensure()
            self.inside.discard(reader)
            self.sections[reader] += 1  # before it is given back: so it counts if the writer is in at once
            await self._colour.give(lease)


class Arrivals:
    """What each reader had read when the writer came to stand in the queue."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self.sections: list[list[int]] = []

    def on(self, event: Event, /) -> None:
        if isinstance(event, JoinedQueue):
            self.sections.append(list(self._library.sections))


@in_both_colours
def test_a_writer_is_in_after_one_section_though_fifty_readers_keep_coming(backend: Backend, colour: Colour) -> None:
    with Dibs(backend) as d:
        library = Library(colour, d)
        arrivals, passed = Arrivals(library), list[int]()
        with Dibs(backend, observers=[arrivals]) as writer:

            async def write() -> None:
                try:
                    while len(passed) < WRITES:
                        if len(library.inside) < 2 or min(library.sections) < 1 + len(passed):
                            await colour.work(writer, "config")  # until all have been in, and several are
                            continue
                        lease = await colour.take(writer.rwlock("config", wait=LONG).write())
                        if len(arrivals.sections) == len(passed):  # all had just left: there was no wait
                            await colour.give(lease)
                            continue
                        before, now = arrivals.sections[-1], list(library.sections)
                        passed.append(max(read - had_read for read, had_read in zip(now, before, strict=True)))
                        assert not library.inside
                        await colour.work(writer, "config")
                        assert (library.inside, library.sections) == (set(), now), "nobody reads meanwhile"
                        lease.ensure()
                        await colour.give(lease)
                finally:
                    library.is_closed = True

            colour.play(*(library.read(reader) for reader in range(READERS)), write())
        assert max(passed) <= SECTIONS
        assert library.most_inside > 1
        assert not list(d.locks())


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
            await self._colour.let_others_act()
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


@in_both_colours
def test_subsets_of_locks_in_any_order_never_overlap_and_never_wait_in_a_circle(
    backend: Backend, colour: Colour
) -> None:
    is_in_memory = isinstance(backend, MemoryBackend) and isinstance(colour, Asyncio)
    take_subsets(colour, backend, rounds=10_000 if is_in_memory else 800)
