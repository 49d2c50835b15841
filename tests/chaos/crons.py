"""The roles of nodes that run jobs. What a job does, it notes in a file of its own, outside of every store."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import dibs
from dibs.events import Event, RunForsaken, Serving
from dibs.runtime.clock import boottime
from tests.chaos.actor import say, told

Terms = Mapping[str, Any]


class SaysHowItIs:
    """That it takes part, under which name, and which of its runs does not count any more."""

    def on(self, event: Event, /) -> None:
        if isinstance(event, Serving):
            say("serves", event.node)
        elif isinstance(event, RunForsaken):
            say("forsaken", event.tick, event.attempt)


class Notebook:
    """Lines that no store can forget and no node can take back: one write each, at the end of the file."""

    def __init__(self, file: str) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(self, what: str, run: dibs.Run) -> None:
        fence = None if run.policy else run.fence
        facts = (what, run.job, run.tick.timestamp(), os.getpid(), run.attempt, fence, boottime(), time.time())
        os.write(self._file, f"{json.dumps(facts)}\n".encode())


def serve(url: str, file: str, jobs: Sequence[Terms], grace: float) -> None:
    """Be a node until asked to leave."""
    d, notebook = dibs.connect(url, observers=[SaysHowItIs()], quiet=True), Notebook(file)
    for job in jobs:
        _define(d, notebook, **job)
    d.serve(grace=grace)
    say("left")


def _define(
    d: dibs.Dibs, notebook: Notebook, *, every: str, lasts: float, is_async: bool = False, **terms: Any
) -> None:
    def work(run: dibs.Run) -> int:
        notebook.note("begun", run)
        threading.Event().wait(lasts)  # this is the work
        notebook.note("ended", run)
        return os.getpid()

    async def awork(run: dibs.Run) -> int:
        notebook.note("begun", run)
        await _done_in(lasts).wait()  # this is the work
        notebook.note("ended", run)
        return os.getpid()

    d.every(every, **terms)(awork if is_async else work)


def _done_in(lasts: float) -> asyncio.Event:
    """Work that the loop will have done by then."""
    done = asyncio.Event()
    asyncio.get_running_loop().call_later(lasts, done.set)
    return done


def run_until_told(url: str, terms: Terms) -> None:
    """Be a node whose runs end only when the test says so."""
    d = dibs.connect(url, observers=[SaysHowItIs()], quiet=True)

    @d.every("1s", **terms)
    def long(run: dibs.Run) -> int:
        say("begun", run.tick.timestamp(), run.attempt, run.fence, boottime())
        told("end")
        return os.getpid()

    d.serve(grace=10)
    say("left")
