"""The roles of programs that run out of file descriptors and threads."""

from __future__ import annotations

import asyncio
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import dibs
from tests.chaos.actor import say, told
from tests.chaos.cast import SaysItWaits, refused


@contextmanager
def no_descriptors() -> Iterator[None]:
    """Not one more file or socket can be opened, until the end of the block."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, most))
    taken = list[int]()
    try:
        while True:
            taken.append(os.dup(0))
    except OSError:
        yield
    finally:
        for number in taken:
            os.close(number)


@contextmanager
def no_threads() -> Iterator[None]:
    """Not one more thread can be started."""
    as_it_was = threading.Thread.start

    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    threading.Thread.start = fail  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        threading.Thread.start = as_it_was  # type: ignore[method-assign]


def begin_without(what: str, url: str) -> None:
    """Use a store for the first time when there is nothing to use it with."""
    d = dibs.connect(url, quiet=True)
    with no_descriptors() if what == "descriptors" else no_threads():
        outcome = refused(lambda: d.lock("a", ttl=1, wait=0.3).acquire())
    say("meanwhile", outcome)
    with d.lock("a", wait=10) as lease:
        say("in", lease.fence)


def begin_a_loop_without(what: str, url: str) -> None:
    """The same, as a task."""
    for part in ("runtime.aio", "stores.sqlite.aio"):
        import_module(f"dibs.{part}")  # even that would take a descriptor
    d = dibs.connect(url, quiet=True)

    async def scene() -> None:
        with no_descriptors() if what == "descriptors" else no_threads():
            try:
                await d.lock("a", ttl=1, wait=0.3).aacquire()
                outcome = "no"
            except dibs.DibsError as error:
                outcome = type(error).__name__
        say("meanwhile", outcome)
        async with d.lock("a", wait=10) as lease:
            say("in", lease.fence)

    asyncio.run(scene())


def release_without(what: str, url: str) -> None:
    """Give a lock back to one who waits for it, when there is nothing to tell him with."""
    d = dibs.connect(url, observers=[SaysItWaits()], quiet=True)
    lease = d.lock("a", ttl=30).acquire()
    say("in", lease.fence)
    told("release")
    with no_descriptors() if what == "descriptors" else no_threads():
        outcome = refused(lease.release)
    say("released", outcome)
