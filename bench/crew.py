"""Processes that play one part together: started once, they begin at the same moment, and none is left behind."""

from __future__ import annotations

import select
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Meet: TypeAlias = Callable[[], float]
"""Waits until all are here, and gives the moment at which they go on together, by the clock that they share."""

Part: TypeAlias = Callable[[int, Meet], T]
"""What each process plays, given its number. It must be known by its name in a module, to be sent over there."""

CONTEXT = get_context("forkserver")
"""From a process that has done nothing yet, so that none brings along what another has left behind."""
HEAD_START = 0.01
"""Seconds from the last one's arrival to the moment at which all go on."""
PATIENCE = 120.0
GRACE = 5.0


class CrewFailed(Exception):
    """One of the processes could not play its part; none of their figures counts."""


def preload(*modules: str) -> None:
    """Have all processes begin with these, if called before the first: to import them takes longer than many a part."""
    CONTEXT.set_forkserver_preload([*modules])


@contextmanager
def crew(count: int) -> Iterator[Crew]:
    """So many processes; whatever happens, they are gone afterwards."""
    workers: list[_Worker] = []
    try:
        workers.extend(map(_started, range(count)))
        yield Crew([worker.line for worker in workers])
    finally:
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.gone()


class Crew:
    """Plays parts, one after another."""

    def __init__(self, lines: Sequence[Connection[Any, Any]]) -> None:
        self._lines = lines

    def play(self, part: Part[T]) -> list[T]:
        """Have all play it, and give what each brings back, by number."""
        self._say(part)
        while True:
            words = self._words()
            results = [word.result for word in words if isinstance(word, _Done)]
            if len(results) == len(words):
                return results
            if results:
                raise CrewFailed("some wait for others who are done already")
            self._say(time.monotonic() + HEAD_START)

    def _say(self, word: object) -> None:
        for number, line in enumerate(self._lines):
            try:
                line.send(word)
            except ConnectionError as error:
                raise CrewFailed(f"process {number} died") from error

    def _words(self) -> list[Any]:
        """The next word of each, as soon as all have said one; the failure of one is not waited out."""
        words: dict[int, object] = {}
        while missing := {line: number for number, line in enumerate(self._lines) if number not in words}:
            ready = wait(list(missing), PATIENCE)
            if not ready:
                raise CrewFailed(f"processes {sorted(missing.values())} have been silent for {PATIENCE:g}s")
            for number, line in ((missing[line], line) for line in self._lines if line in ready):
                words[number] = _word(number, line)
        return [words[number] for number in sorted(words)]


@dataclass(frozen=True, slots=True)
class _Worker:
    process: BaseProcess
    line: Connection[Any, Any]

    def gone(self) -> None:
        self.process.join(GRACE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()
        self.line.close()


@dataclass(frozen=True, slots=True)
class _Here:
    """Waits for the others."""


@dataclass(frozen=True, slots=True)
class _Done:
    result: Any


@dataclass(frozen=True, slots=True)
class _Failed:
    why: str


def _started(number: int) -> _Worker:
    here, there = CONTEXT.Pipe()
    with there:  # the process has its own end; ours must go, or we would never see that it died
        process = CONTEXT.Process(target=_serve, args=(number, there), name=f"bench-{number}", daemon=True)
        process.start()
    return _Worker(process, here)


def _word(number: int, line: Connection[Any, Any]) -> object:
    try:
        word = line.recv()
    except (EOFError, ConnectionError) as error:
        raise CrewFailed(f"process {number} died") from error
    if isinstance(word, _Failed):
        raise CrewFailed(f"process {number} failed:\n{word.why}")
    return word


def _serve(number: int, line: Connection[Any, Any]) -> None:
    """In a process: play what comes until nobody is there to send any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the first process, which sends us away then

    def meet() -> float:
        line.send(_Here())
        moment: float = line.recv()
        pause(moment - time.monotonic())
        return moment

    with suppress(EOFError, ConnectionError):
        while True:
            part = line.recv()
            try:
                word: _Done | _Failed = _Done(part(number, meet))
            except Exception:  # noqa: BLE001 - whatever it was, the first process must know
                word = _Failed(traceback.format_exc())
            line.send(word)


def pause(duration: float) -> None:
    """Let some time pass, as somebody who works elsewhere in it, or waits."""
    select.select((), (), (), max(duration, 0.0))
