"""A run in a process of its own, which can be killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from multiprocessing.resource_tracker import ensure_running
from typing import TYPE_CHECKING, Any

from dibs.model.value import value

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from dibs.flows.duty import Underway

Word = tuple[Any, ...]
"""What the process says of itself."""

FOR_THE_NODE = (signal.SIGINT, signal.SIGTERM)
"""A terminal or systemd sends them to all that a node has started; but it is the node that sees to its runs."""


@value
class Errand:
    """What a process is made for: a function that is given the way to speak, and then the facts."""

    play: Callable[..., None]
    facts: Sequence[Any]


def act_apart(errand: Errand, mine: Underway, heard: Callable[[Word], None]) -> int:
    """Make a process, hear what it says, and see it to its end; gives its exit code.

    A new interpreter each time, as a process with threads cannot be copied safely. Who asks the run to stop kills it.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_play, args=(theirs, errand), name=f"dibs-run-{mine.job}", daemon=True)
    with ours:
        with theirs, _signals_held():
            process.start()
        mine.stop = lambda _: process.kill()
        if mine.asked_to_stop:  # before there was anything to kill
            process.kill()
        with suppress(EOFError, OSError):
            while ours in wait([ours, process.sentinel]):  # a process that it has left behind may keep the pipe open
                heard(ours.recv())
    process.join()
    code = process.exitcode or 0
    process.close()
    return code


@contextmanager
def _signals_held() -> Generator[None]:
    """A process that is made meanwhile is not interrupted before it can say that it does not want to be."""
    ensure_running()  # by now, as whoever makes the tracker of multiprocessing lets them through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FOR_THE_NODE)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _play(pipe: Connection, errand: Errand) -> None:
    """In the new process."""
    for number in FOR_THE_NODE:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FOR_THE_NODE)  # held until here, and not for those it starts
    threading.Thread(target=_end_with, args=(pipe,), name="dibs-parent", daemon=True).start()
    errand.play(pipe.send, *errand.facts)
    pipe.close()


def _end_with(pipe: Connection) -> None:
    """Once the node is gone, nobody counts what is done here, and others may be at it."""
    with suppress(EOFError, OSError):
        pipe.recv()
    os._exit(1)
