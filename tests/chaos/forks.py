"""The roles of programs that fork: with a client that was only made, or used, or is in use at this very moment."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import dibs
from dibs.flows import counting
from dibs.runtime import keeper
from dibs.stores.sqlite import database
from tests.chaos.actor import say, told
from tests.chaos.cast import client, in_the_next_write, refused
from tests.chaos.children import descriptors, ended_well, in_a_fork
from tests.chaos.colours import colour


def take_some(d: dibs.Dibs, name: str = "shared", turns: int = 5) -> None:
    """Work a little, in both colours."""
    for _ in range(turns):
        with d.lock(name, wait=20) as lease:
            lease.ensure()

    async def scene() -> None:
        for _ in range(turns):
            async with d.lock(name, wait=20) as lease:
                lease.ensure()

    asyncio.run(scene())


def connect_before_forking(url: str) -> None:
    d = dibs.connect(url, quiet=True)
    children = [in_a_fork(lambda: take_some(d)) for _ in range(3)]
    say("children", ended_well(*children))
    take_some(d)
    say("parent", True)


def hold_before_forking(url: str, ttl: float) -> None:
    """Parent and children go on, each for longer than a TTL."""
    d = dibs.connect(url, quiet=True)
    lease = d.lock("of the parent", ttl=ttl).acquire()
    lock = d.lock("block of the parent", ttl=ttl)
    lock.__enter__()

    def act() -> None:
        say("child", lease.lost, refused(lease.ensure), refused(lease.extend), refused(lease.release))
        say("child", refused(lambda: lock.__exit__(None, None, None)))
        with d.try_lock("of the parent") as theirs:
            assert theirs is None
        take_some(d)

    ended = [ended_well(in_a_fork(act)) for _ in range(2)]
    say("in", lease.fence)
    told("go on")
    lease.ensure()
    lock.__exit__(None, None, None)
    lease.release()
    take_some(d)
    say("parent", all(ended))


def leave_a_fork_by_the_door(url: str) -> None:
    """A child that ends as programs do, with all that runs at exit, gives nothing of its parent's back."""
    d = dibs.connect(url, quiet=True)
    lease = d.lock("of the parent", ttl=30).acquire()
    pid = os.fork()
    if pid == 0:
        with d.lock("of the child"):
            sys.exit(0)
    assert ended_well(pid)
    lease.ensure()
    say("parent", d.inspect("of the parent").state, d.inspect("of the child").state)
    lease.release()


def be_outlived(url: str, name: str, ttl: float) -> None:
    """Hold one lock and wait for another, in threads and tasks, when a child is forked that lives for long."""
    d = client(url)
    lease = d.lock(f"{name} held", ttl=ttl).acquire()
    threading.Thread(target=d.lock(name, ttl=60).acquire, daemon=True).start()
    threading.Thread(target=lambda: asyncio.run(_await(d, name)), daemon=True).start()
    told("fork")
    os.waitpid(in_a_fork(lambda: _stay_for_long(d)), 0)
    lease.release()


async def _await(d: dibs.Dibs, name: str) -> None:
    await d.lock(name, ttl=60).aacquire()


def _stay_for_long(d: dibs.Dibs) -> None:
    take_some(d)
    say("child")
    signal.pause()


def wait_while_children_come_and_go(kind: str, url: str, name: str) -> None:
    """Wait for a lock, in a thread or a task, while forked children work, collect what is left over, and end."""
    d, me = client(url), colour(kind)

    async def scene() -> None:
        lease = await me.take(d.lock(name, ttl=60))
        say("in", lease.fence)
        await me.give(lease)

    waiter = threading.Thread(target=lambda: me.play(scene()))
    waiter.start()
    told("fork")
    say("forked", _children_came_and_went(d))
    waiter.join()


def wait_when_children_have_gone(url: str, name: str) -> None:
    """The same, but the wait begins only after they have ended, and nothing was going on when they were forked."""
    keeper.IDLE = counting.EVERY = 0.05
    d = client(url)
    d.lock("warm", ttl=0.1).acquire().release()
    for thread in threading.enumerate():
        if thread.name == "dibs-keeper":
            thread.join()
    say("forked", _children_came_and_went(d))
    lease = d.lock(name, ttl=60).acquire()
    say("in", lease.fence)
    lease.release()


def _children_came_and_went(d: dibs.Dibs) -> bool:
    def act() -> None:
        take_some(d)
        gc.collect()

    return ended_well(in_a_fork(act)) and ended_well(in_a_fork(act))


def fork_from_a_loop(url: str, name: str) -> None:
    """Fork in the middle of an event loop whose tasks hold a lock and wait for another."""
    d = client(url)

    async def scene() -> None:
        async with d.lock("held", ttl=1) as lease:
            waiter = asyncio.create_task(d.lock(name, ttl=60).aacquire())
            await asyncio.to_thread(told, "fork")
            child = in_a_fork(lambda: take_some(d))
            ended = await asyncio.to_thread(ended_well, child)
            say("forked", ended)
            mine = await waiter
            say("in", mine.fence)
            lease.ensure()
            await mine.arelease()

    asyncio.run(scene())


def fork_beside_busy_threads(url: str, forks: int) -> None:
    """Fork, from the main thread and from another, while others are in the middle of transactions."""
    d, ended = dibs.connect(url, quiet=True), list[bool]()

    def fork() -> None:
        ended.extend(ended_well(in_a_fork(lambda: take_some(d, turns=2))) for _ in range(forks))

    with working(d):
        fork()
        forker = threading.Thread(target=fork)
        forker.start()
        forker.join()
    take_some(d)
    say("forked", sum(ended))


@contextmanager
def working(d: dibs.Dibs) -> Iterator[None]:
    """Threads and a loop that take and give back locks without a pause."""
    is_enough = threading.Event()
    errors: list[BaseException] = []

    def work(name: str) -> None:
        try:
            while not is_enough.is_set():
                with d.lock(name):
                    pass
        except BaseException as error:  # noqa: BLE001 - told where it is waited for
            errors.append(error)

    async def await_work() -> None:
        while not is_enough.is_set():
            async with d.lock("loop"):
                pass

    names = ["a", "a", "b"]
    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    threads.append(threading.Thread(target=lambda: asyncio.run(await_work())))
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_enough.set()
        for thread in threads:
            thread.join()
    assert not errors, errors


def use_multiprocessing(url: str, method: str) -> None:
    """Processes of the standard library, forked or spawned, beside a lease in use."""
    d = dibs.connect(url, quiet=True)
    context = get_context("fork") if method == "fork" else get_context("spawn")
    with d.lock("of the parent", ttl=1) as lease:
        processes = [context.Process(target=_be_a_process, args=(url,)) for _ in range(3)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        lease.ensure()
    say("done", [process.exitcode for process in processes])


def _be_a_process(url: str) -> None:
    d = dibs.connect(url, quiet=True)
    with d.try_lock("of the parent") as theirs:
        assert theirs is None
    take_some(d)


def fork_generations(url: str) -> None:
    """A child's child, too, when each of them is at work."""
    d = dibs.connect(url, quiet=True)
    take_some(d)

    def in_the_child() -> None:
        with d.lock("of the child", ttl=30) as lease:
            assert ended_well(in_a_fork(lambda: in_the_grandchild(lease)))
            lease.ensure()

    def in_the_grandchild(lease: dibs.Lease) -> None:
        assert lease.lost
        take_some(d)

    say("child", ended_well(in_a_fork(in_the_child)))
    take_some(d)


def fork_in_a_write(url: str) -> None:
    """A signal's handler forks while its thread is in the middle of a write."""
    d = dibs.connect(url, quiet=True)
    take_some(d)
    signal.signal(signal.SIGUSR1, lambda *_: say("child", ended_well(in_a_fork(lambda: say("word", _word(d))))))
    in_the_next_write(lambda: signal.raise_signal(signal.SIGUSR1))
    lease = d.lock("a").acquire()
    say("in", lease.fence)
    lease.release()
    take_some(d)


def fork_while_it_is_opened(url: str) -> None:
    """A thread is just opening the file, and takes longer for it than a fork waits."""
    opening, may_go = threading.Event(), threading.Event()
    names = vars(database)
    as_it_was, names["LONGEST_TURN"] = names["prepare"], 0.1

    def prepare(*facts: Any) -> None:
        opening.set()
        may_go.wait(20)
        as_it_was(*facts)

    names["prepare"] = prepare
    d = dibs.connect(url, quiet=True)
    opener = threading.Thread(target=lambda: d.lock("a").acquire().release())
    opener.start()
    opening.wait(20)
    child = in_a_fork(lambda: say("word", _word(d)))
    may_go.set()
    opener.join()
    say("child", ended_well(child))
    take_some(d)


def _word(d: dibs.Dibs) -> str:
    try:
        d.lock("a", wait=0.1).acquire()
    except dibs.StoreUnreachable as error:
        return str(error)
    return "none"


def show_what_a_child_inherits(url: str) -> None:
    """The sockets and files that parent and child have both open."""
    d = dibs.connect(url, quiet=True)
    lease = d.lock("a").acquire()
    take_some(d)
    of_parent = open_files()
    lease.ensure()

    def act() -> None:
        say("inherited", sorted(open_files() & of_parent))

    assert ended_well(in_a_fork(act))
    lease.release()


def open_files() -> set[str]:
    """Sockets by their numbers, files by their paths."""
    return {name for name in descriptors() if name.startswith("socket:") or "sqlite" in name}
