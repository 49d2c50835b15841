"""One performance: from the first turn to the verdict."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING

from dibs.cli.demo.contest import TTL, Contest
from dibs.cli.demo.ledger import jain
from dibs.cli.demo.screen import show
from dibs.model.duration import spoken

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from dibs.cli.demo.screen import Show

FIRST_STRIKE = 1.0
STRIKE_EVERY = 2.0
TICK = 0.1


def play(length: float | None) -> int:
    """Run for so many seconds, or until Ctrl-C; 0 if the lock was good."""
    with _signals() as heard, show() as screen, Contest() as contest:
        _direct(contest, screen, heard, inf if length is None else length)
        elapsed = contest.elapsed
    faults = contest.ledger.faults() + contest.troubles
    print(*_summary(contest, elapsed), "", *_verdict(contest, faults), sep="\n", flush=True)
    return 1 if faults else 0


def _direct(contest: Contest, screen: Show, heard: Sequence[int], length: float) -> None:
    """Show it tick by tick, and strike a worker when the time has come."""
    tick, strike_at = threading.Event(), FIRST_STRIKE
    while not heard and (left := length - contest.elapsed) > 0:
        if contest.elapsed >= strike_at:
            contest.strike()
            strike_at = contest.elapsed + STRIKE_EVERY
        screen.draw(contest.scene())
        tick.wait(min(TICK, left))


@contextmanager
def _signals() -> Generator[Sequence[int]]:
    """The signals that came. They only leave a note, so none can end a drawing or a farewell half-way."""
    heard: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, _: heard.append(number)) for number in numbers]
    try:
        yield heard
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _summary(contest: Contest, elapsed: float) -> Iterator[str]:
    ledger, takeovers = contest.ledger, contest.takeovers
    slowest = max((takeover.after for takeover in takeovers), default=0.0)
    in_words = f"the slowest after {slowest:.2f}s; the TTL was {spoken(TTL)}" if takeovers else "nobody died"
    yield f"turns                 {ledger.writes:,} in {elapsed:.1f}s"
    yield f"hand-overs            {ledger.handovers / elapsed:,.0f}/s"
    yield f"fairness              {jain(ledger.turns.values()):.4f} (Jain index; 1 is even)"
    for worker, turns in ledger.turns.items():
        yield f"  {worker:<20}{turns:,}"
    yield f"takeovers             {len(takeovers)} ({in_words})"
    yield f"stale writes refused  {ledger.refused}"
    yield f"overlaps              {ledger.overlaps}"


def _verdict(contest: Contest, faults: Sequence[str]) -> Iterator[str]:
    if not faults:
        yield f"no two were inside at once: {contest.ledger.writes:,} writes, fences strictly rising"
        return
    yield "something went wrong:"
    yield from (f"  {fault}" for fault in faults)
