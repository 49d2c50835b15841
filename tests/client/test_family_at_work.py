"""Many at once on real stores: a writer among readers, and subsets of locks in any order."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dibs import Dibs
from dibs.events import Event, JoinedQueue
from dibs.ports.wire import Backend
from dibs.stores.memory import MemoryBackend
from dibs.stores.redis import open_store
from dibs.stores.sqlite import Location, SqliteBackend
from tests.client.crews import LONG, Asyncio, Colour, in_both_colours, take_subsets
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind
from tests.servers.server import Server

READERS = 50
WRITES = 3
SECTIONS = 1
"""How many sections of each reader a writer waits for: the one it is in already."""


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


@pytest.mark.thorough
@in_both_colours
def test_subsets_of_locks_in_any_order_never_overlap_and_never_wait_in_a_circle(
    backend: Backend, colour: Colour
) -> None:
    is_in_memory = isinstance(backend, MemoryBackend) and isinstance(colour, Asyncio)
    take_subsets(colour, backend, rounds=10_000 if is_in_memory else 800)
