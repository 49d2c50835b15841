"""One performance: from the first turn to the verdict."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager
from math import inf
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dibs import ConfigError
from dibs.cli.demo.contest import contest
from dibs.cli.demo.crew import Place
from dibs.cli.demo.screen import show
from dibs.cli.demo.worker import TTL
from dibs.model.duration import spoken
from dibs.stores.embedded import Folder, is_available
from dibs.stores.sqlite import Location

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from dibs.cli.demo.contest import Contest, Result
    from dibs.cli.demo.fate import Takeover
    from dibs.cli.demo.screen import Show

FIRST_STRIKE = 1.0
STRIKE_EVERY = 2.5
GLANCE = 0.1
LONGEST_START = 30.0

ENDING, UNLESS_IGNORED = (signal.SIGINT, signal.SIGTERM), (signal.SIGHUP, signal.SIGTSTP)


def play(length: float | None, url: str | None) -> int:
    """Run for so many seconds, or until Ctrl-C; 0 if the lock was good."""
    _forget_configuration()
    with _signals() as heard, _place(url) as place, show() as screen, contest(place) as running:
        _direct(running, screen, heard, inf if length is None else length)
        result = running.end()
    faults = result.faults()
    print(*_summary(result), "", *_verdict(result, faults), sep="\n", flush=True)
    return 1 if faults else 0


def _forget_configuration() -> None:
    """What is shown is dibs as it comes, here and in the workers: on a store for this machine alone, if need be."""
    for name in [name for name in os.environ if name.startswith("DIBS_")]:
        del os.environ[name]
    os.environ["DIBS_CONFIG"] = os.devnull


@contextmanager
def _place(url: str | None) -> Generator[Place]:
    """A folder of our own for the resource, and for the store if no other was named."""
    if url is not None and url.lower().startswith("memory:"):
        raise ConfigError(
            "memory:// is for one process alone, and the demo has several: leave --url out, "
            "or name a store that they can share, as in sqlite:////tmp/demo.sqlite"
        )
    with TemporaryDirectory(prefix="dibs-demo-") as folder:
        yield Place(_private(Path(folder)) if url is None else url, f"demo-{token_hex(4)}", Path(folder))


def _private(folder: Path) -> str:
    """A store of our own: a real Valkey where there is one to be had, else a file."""
    return Folder(folder / "valkey").url if is_available() else Location(folder / "store.sqlite").url


class Signals:
    """What was heard. Signals only leave a note, so none can end a drawing or a farewell half-way."""

    def __init__(self) -> None:
        self.is_ending = self.is_pausing = False

    def note(self, number: int, _: object) -> None:
        """A signal came."""
        self.is_pausing = number == signal.SIGTSTP
        self.is_ending |= not self.is_pausing


@contextmanager
def _signals() -> Generator[Signals]:
    heard = Signals()
    # Some may be ignored for a reason: nohup does that, and shells that cannot resume what was stopped.
    numbers = (*ENDING, *(number for number in UNLESS_IGNORED if signal.getsignal(number) is not signal.SIG_IGN))
    before = [(number, signal.signal(number, heard.note)) for number in numbers]
    try:
        yield heard
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _direct(running: Contest, screen: Show, heard: Signals, length: float) -> None:
    """Show it glance by glance, and strike a worker when the time has come."""
    glance, strike_at = threading.Event(), FIRST_STRIKE
    _gather(running, heard)
    while not (heard.is_ending or running.troubles) and (left := length - running.elapsed) > 0:
        if running.elapsed >= strike_at and running.strike():
            strike_at = running.elapsed + STRIKE_EVERY
        screen.draw(running.scene())
        glance.wait(min(GLANCE, left))
        if heard.is_pausing:
            _pause(running, screen, heard)
        running.look()


def _gather(running: Contest, heard: Signals) -> None:
    """Wait until all workers are there."""
    glance, give_up_at = threading.Event(), time.monotonic() + LONGEST_START
    while not (heard.is_ending or running.troubles or running.has_begun()):
        if time.monotonic() > give_up_at:
            running.troubles.append(f"not all workers have come within {spoken(LONGEST_START)}")
        glance.wait(GLANCE / 10)


def _pause(running: Contest, screen: Show, heard: Signals) -> None:
    """Ctrl-Z: everybody stands still, the terminal is given back, and then we stop as if we had not heard it."""
    heard.is_pausing = False
    screen.step_back()
    running.freeze()
    ours = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.signal(signal.SIGTSTP, ours)
    running.thaw()


def _summary(result: Result) -> Iterator[str]:
    tally, killed = result.tally, [takeover for takeover in result.takeovers if takeover.strike.is_fatal]
    yield f"turns                 {tally.writes:,} in {result.elapsed:.1f}s, by {len(tally.turns)} processes"
    yield f"hand-overs            {tally.handovers / max(result.elapsed, GLANCE):,.0f}/s"
    for worker, turns in tally.turns.items():
        yield f"  {worker:<20}{turns:,}"
    yield f"killed, taken over    {_in_words(killed)}"
    yield f"paused, taken over    {_in_words([each for each in result.takeovers if each not in killed])}"
    yield f"stale writes refused  {tally.refused}"
    yield f"once-a-second job     {_job(result)}"
    yield f"overlaps              {tally.overlaps}"


def _in_words(takeovers: Sequence[Takeover]) -> str:
    if not takeovers:
        return "0"
    slowest = max(takeover.after for takeover in takeovers)
    return f"{len(takeovers)} (the slowest after {slowest:.2f}s; the TTL was {spoken(TTL)})"


def _job(result: Result) -> str:
    slept = f" (and {result.slept_through} slept through)" if result.slept_through else ""
    done, twice = result.due - result.missed, result.tally.twice
    return f"{result.due} due, {done} done, {twice} twice, {result.missed} missed{slept}"


def _verdict(result: Result, faults: Sequence[str]) -> Iterator[str]:
    if not faults:
        yield f"no two were inside at once: {result.tally.writes:,} writes, fences strictly rising"
        return
    yield "something went wrong:"
    yield from (f"  {fault}" for fault in faults)
