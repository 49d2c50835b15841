"""The roles of programs that all want the same few locks, as threads, as tasks, and as both at once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dibs
from tests.chaos.actor import say, told
from tests.chaos.children import ended_well, in_a_fork
from tests.chaos.resource import Resource

LOCKS = 3
TTL = 20.0
"""Long enough for the most loaded of machines: nobody is to lose a lease here."""


class Account:
    """A number that is read, and written back a moment later: whoever overlaps loses some of it, and leaves a trace."""

    def __init__(self, folder: str, name: str) -> None:
        self._resource = Resource(Path(folder, f"{name}.resource"))
        self._number, self._inside = Path(folder, f"{name}.number"), Path(folder, f"{name}.inside")

    def enter(self, fence: int) -> int:
        """Be alone, with a higher fence than all before, and look at the number."""
        self._resource.write(fence, str(os.getpid()))
        self._inside.touch(exist_ok=False)
        return self.number()

    def leave(self, number: int) -> None:
        self._number.write_text(str(number))
        self._inside.unlink()

    def number(self) -> int:
        return int(self._number.read_text()) if self._number.exists() else 0

    def accepted(self) -> int:
        return self._resource.contents().accepted


def work_as_threads(d: dibs.Dibs, folder: str, threads: int, turns: int) -> None:
    def work(seed: int) -> None:
        for name in _names(seed, turns):
            account = Account(folder, name)
            with d.lock(name, ttl=TTL) as lease:
                number = account.enter(lease.fence)
                account.leave(number + 1)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))


def work_as_tasks(d: dibs.Dibs, folder: str, tasks: int, turns: int) -> None:
    async def work(seed: int) -> None:
        for name in _names(seed, turns):
            account = Account(folder, name)
            async with d.lock(name, ttl=TTL) as lease:
                number = account.enter(lease.fence)
                await asyncio.sleep(0)  # others of this loop may run in between
                account.leave(number + 1)

    async def scene() -> None:
        await asyncio.gather(*(work(seed) for seed in range(tasks)))

    asyncio.run(scene())


def _names(seed: int, turns: int) -> Iterator[str]:
    return (f"lock {(seed + turn) % LOCKS}" for turn in range(turns))


def threads_of_one_client(url: str, folder: str, turns: int) -> None:
    work_as_threads(dibs.connect(url, quiet=True), folder, 4, turns // 4)


def tasks_of_one_loop(url: str, folder: str, turns: int) -> None:
    work_as_tasks(dibs.connect(url, quiet=True), folder, 4, turns // 4)


def loops_one_after_another(url: str, folder: str, turns: int) -> None:
    d = dibs.connect(url, quiet=True)
    for _ in range(4):
        work_as_tasks(d, folder, 2, turns // 8)


def loops_and_threads_side_by_side(url: str, folder: str, turns: int) -> None:
    """Two loops and two threads of one client, beside a client of their own."""
    d, other = dibs.connect(url, quiet=True), dibs.connect(url, quiet=True)
    works: list[Callable[[], None]] = [
        lambda: work_as_tasks(d, folder, 1, turns // 4),
        lambda: work_as_tasks(d, folder, 1, turns // 4),
        lambda: work_as_threads(d, folder, 1, turns // 4),
        lambda: work_as_threads(other, folder, 1, turns // 4),
    ]
    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(work) for work in works]:
            done.result()


ALL = [threads_of_one_client, tasks_of_one_loop, loops_one_after_another, loops_and_threads_side_by_side]


def work(number: int, url: str, folder: str, turns: int) -> None:
    """As the others do, from the word go."""
    say("ready")
    told("go")
    ALL[number](url, folder, turns)
    say("done")


def open_new_files_at_once(folder: str, files: int, programs: int) -> None:
    """Many programs that make and use the same new file in the same moment, again and again."""
    for file in range(files):
        say("opened", _all_open(f"sqlite:///{folder}/{file}.sqlite", programs))


def _all_open(url: str, programs: int) -> bool:
    starts, start = os.pipe()
    children = [in_a_fork(lambda: _open_when_it_starts(starts, start, url)) for _ in range(programs)]
    os.close(start)
    is_well = ended_well(*children)
    os.close(starts)
    return is_well


def _open_when_it_starts(starts: int, start: int, url: str) -> None:
    os.close(start)
    os.read(starts, 1)  # until the parent has closed the other end
    with dibs.connect(url, quiet=True).lock("a", wait=20) as lease:
        lease.ensure()
