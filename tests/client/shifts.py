"""The roles of programs that serve jobs."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from typing import Any

import dibs
from dibs import Dibs, Run
from dibs.config import Config
from dibs.events import Event, StoreSilent
from dibs.runtime.clock import boottime
from dibs.stores.memory import MemoryBackend
from dibs.testing.outage import Outage
from tests.chaos.actor import say, told


class Says:
    """Says when something has happened, and sends itself signals then, if it is to."""

    def __init__(self, kind: str = "", *, signals: int = 0) -> None:
        self._kind, self._signals = kind, signals

    def on(self, event: Event, /) -> None:
        if isinstance(event, StoreSilent):
            say("silent")
        if type(event).__name__ == self._kind:
            self._kind = ""
            for number in (signal.SIGINT, signal.SIGTERM)[: self._signals]:  # two of a kind may come as one
                os.kill(os.getpid(), number)


def serve(url: str, manner: str, terms: dict[str, Any], options: dict[str, Any]) -> None:
    """Serve one job, which does its work in that manner, until a signal comes; then say so."""
    d = dibs.connect(url, quiet=True)
    schedule = d.every("1s", name="job", **terms)
    schedule({"quick": quick, "told": waits_to_be_told, "deaf": never_ends, "async": anever_ends}[manner])
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    d.serve(**options)
    assert before == [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    say("served", [thread.name for thread in threading.enumerate() if thread.name == "dibs-scheduler"])


def quick(run: Run) -> int:
    say("begun", run.attempt, run.fence, boottime())
    return os.getpid()


def waits_to_be_told(run: Run) -> int:
    quick(run)
    told("end")
    return os.getpid()


def never_ends(run: Run) -> None:
    quick(run)
    threading.Event().wait()


async def anever_ends(run: Run) -> None:
    quick(run)
    await asyncio.Event().wait()


def interrupted(url: str, kind: str, signals: int) -> None:
    """Serve, and send itself Ctrl-C when something of that kind happens."""
    d = dibs.connect(url, quiet=True, observers=[Says(kind, signals=signals)])
    d.every("1s", name="job", ttl=3)((lambda: None) if kind == "RunEnded" else lambda: threading.Event().wait())
    d.serve(grace=3600 if signals > 1 else 0.1)
    say("served")


def in_vain(trouble: Any) -> None:
    """Serve on a store that says nothing."""
    outage = Outage(MemoryBackend())
    outage.trouble = trouble
    d = Dibs(outage, observers=[Says()], config=Config(patience=0.5))
    d.every("1s", name="job")(lambda: None)
    d.serve()
    say("served")
