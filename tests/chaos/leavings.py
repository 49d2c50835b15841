"""The roles of programs that come and go, and count what is left of them."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import dibs
from dibs.flows import counting
from dibs.model.asks import Acquire
from dibs.ports.store import Reply
from dibs.runtime import keeper
from dibs.stores.sqlite import SqliteBackend
from dibs.stores.sqlite.wire import SqliteLine
from tests.chaos.actor import say, told
from tests.chaos.cast import refused
from tests.chaos.children import descriptors, ended_well, in_a_fork
from tests.chaos.moments import LONG, so
from tests.chaos.workers import TTL


def traces() -> list[str]:
    """Our threads, sockets and open files."""
    threads = [thread.name for thread in threading.enumerate() if thread.name.startswith("dibs")]
    files = [name.partition(":")[0] for name in descriptors() if name.startswith("socket:") or "sqlite" in name]
    return sorted(threads + files)


def when_threads_have_ended() -> list[str]:
    """What is left once those threads have ended that are about to."""
    for thread in threading.enumerate():
        if thread.name.startswith("dibs"):
            thread.join(LONG)
    return traces()


def when_no_more_than(most: int) -> list[str]:
    """What is left once threads that have nothing more to do are gone; all there is, if they stay."""
    so(lambda: len(traces()) <= most).wait(LONG)
    return traces()


def use(d: dibs.Dibs, ttl: float = TTL) -> None:
    """In threads that end, in the main thread, and in a loop; some of it waits."""

    def work(_: int) -> None:
        for _ in range(5):
            with d.lock("a", ttl=ttl):
                pass

    async def scene() -> None:
        await asyncio.gather(*(take() for _ in range(4)))

    async def take() -> None:
        async with d.lock("a", ttl=ttl):
            await asyncio.sleep(0)  # the others of this loop ask meanwhile, and wait

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    work(0)
    asyncio.run(scene())


def close(url: str) -> None:
    for _ in range(3):
        with dibs.connect(url, quiet=True) as d:
            use(d)
            say("while open", traces())
        say("closed", when_threads_have_ended())


def close_while_others_still_ask(url: str) -> None:
    """Threads and tasks that find the client closed when they are just about to ask."""
    d, may_go = dibs.connect(url, quiet=True), threading.Event()
    d.lock("a").acquire().release()
    as_it_was, asking = SqliteBackend.execute, threading.Semaphore(0)

    def execute(self: SqliteBackend, words: Sequence[Any], line: SqliteLine, within: float) -> Reply:
        if words[0] == "ask" and isinstance(words[2], Acquire):
            asking.release()
            may_go.wait(LONG)
        return as_it_was(self, words, line, within)

    async def scene() -> None:
        await d.lock("b", wait=1).aacquire()

    SqliteBackend.execute = execute  # type: ignore[method-assign]
    works: list[Callable[[], object]] = [d.lock("a", wait=1).acquire, lambda: asyncio.run(scene())]
    threads = [threading.Thread(target=refused, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
        asking.acquire()
    d.close()
    may_go.set()
    for thread in threads:
        thread.join()
    say("closed", when_threads_have_ended())


def drop(url: str) -> None:
    """A client that nobody closes, and nobody has any more."""
    keeper.IDLE = counting.EVERY = 0.05
    for _ in range(3):
        d = dibs.connect(url, quiet=True)
        use(d, ttl=0.3)
        for thread in threading.enumerate():
            if thread.name == "dibs-keeper":
                thread.join(LONG)
        del d
        gc.collect()
        say("dropped", when_threads_have_ended())


def come_and_go(url: str) -> None:
    """Many threads, and many loops, one after another, of one client that stays."""
    d = dibs.connect(url, quiet=True)
    use(d)
    at_first = traces()
    say("at first", at_first)
    for _ in range(10):
        use(d)
    gc.collect()
    say("later", when_no_more_than(len(at_first)))


def leave_without_a_word(url: str) -> None:
    """Hold a lock and wait for another, in several threads, until we are killed; the lock is what expires last."""
    d = dibs.connect(url, quiet=True)
    lease = d.lock(f"held by {os.getpid()}", ttl=0.9).acquire()
    threads = [threading.Thread(target=d.lock("a", ttl=0.3).acquire, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    say("in", lease.fence)
    told("never")


def be_killed_at_work(url: str, kills: int) -> None:
    """Children that take locks without a pause, each killed somewhere in the middle of it."""
    for kill in range(kills):
        heard, tell = os.pipe()
        child = in_a_fork(lambda: _work_until_killed(url, tell, kill))  # noqa: B023 - it runs in this round
        os.close(tell)
        for _ in range(1 + kill % 7):
            os.read(heard, 1)
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(heard)
    say("killed", kills)


def _work_until_killed(url: str, tell: int, number: int) -> None:
    d = dibs.connect(url, quiet=True)
    while True:
        # Where much else runs a child may stand still for longer than so short a TTL, and is told so: it goes on.
        with suppress(dibs.LeaseLost), d.lock(f"lock {number}", ttl=0.2):
            os.write(tell, b".")


def come_for_a_moment(url: str, programs: int, turns: int) -> None:
    """Programs that take a few locks and end, one after another."""

    def take_some() -> None:
        with dibs.connect(url, quiet=True) as d:
            for _ in range(turns):
                d.lock("a").acquire().release()

    say("came", sum(ended_well(in_a_fork(take_some)) for _ in range(programs)))


def take_without_a_pause(url: str, log: str, turns: int) -> None:
    """One of many who want the same lock, and want it again as soon as they have given it back."""
    longest = 0
    with dibs.connect(url, quiet=True) as d:
        told("go")
        for _ in range(turns):
            d.lock("a").acquire().release()
            longest = max(longest, Path(log).stat().st_size)
        say("longest log", longest)
