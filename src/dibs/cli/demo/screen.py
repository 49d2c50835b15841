"""How a contest looks: a few lines redrawn in place on a terminal, else plain lines."""

from __future__ import annotations

import os
import shutil
import sys
from collections import deque
from math import floor
from time import localtime, strftime
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from dibs.cli.demo.worker import COUNTER, JOB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.cli.demo.contest import Scene
    from dibs.cli.demo.ledger import Tally

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
WIPE, REST_OF_LINE, REST_OF_SCREEN = "\x1b[2J\x1b[H", "\x1b[K", "\x1b[J"

LONGEST_BAR = 40
NEWS = 5


class Line(NamedTuple):
    """One line of the screen, and how it is to stand out."""

    text: str = ""
    style: str = ""


class Show(Protocol):
    """Who shows the scenes."""

    def draw(self, scene: Scene) -> None:
        """Show one."""
        ...

    def step_back(self) -> None:
        """Leave the terminal to others until the next scene."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def show() -> Show:
    """The one that suits stdout."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        return Screen(is_colourful=not os.environ.get("NO_COLOR"))
    return Lines()


class Screen:
    """Redraws a few lines where they stand."""

    def __init__(self, *, is_colourful: bool) -> None:
        self._is_colourful, self._pace = is_colourful, Pace()
        self._bar = "█" if (sys.stdout.encoding or "").lower().startswith("utf") else "#"
        self._height = 0
        self._size: tuple[int, int] = (0, 0)

    def draw(self, scene: Scene) -> None:
        columns, rows = size = shutil.get_terminal_size()
        rate = self._pace.rate(scene.elapsed, scene.tally.handovers)
        lines = list(frame(scene, rate, columns=columns - 1, bar=self._bar))[: rows - 1]
        # After a resize nobody knows which lines were wrapped: begin on a clean screen.
        back = HIDE_CURSOR if not self._height else f"\x1b[{self._height}F" if size == self._size else WIPE
        drawn = "".join(f"{self._painted(line, columns - 1)}{REST_OF_LINE}\n" for line in lines)
        self._height, self._size = len(lines), size
        sys.stdout.write(back + drawn + REST_OF_SCREEN)
        sys.stdout.flush()

    def step_back(self) -> None:
        self._height = 0
        sys.stdout.write(SHOW_CURSOR)
        sys.stdout.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout.write(f"{SHOW_CURSOR}\n")
        sys.stdout.flush()

    def _painted(self, line: Line, columns: int) -> str:
        text = line.text[:columns]
        return f"\x1b[{line.style}m{text}\x1b[0m" if line.style and self._is_colourful else text


class Lines:
    """Prints one line a second, and what there is news of."""

    def __init__(self) -> None:
        self._pace, self._due_at, self._told = Pace(), 1, 0

    def draw(self, scene: Scene) -> None:
        for news in scene.news[self._told :]:
            print(news, flush=True)
        self._told = len(scene.news)
        if scene.elapsed >= self._due_at:
            self._due_at = floor(scene.elapsed) + 1
            print(self._line(scene), flush=True)

    def step_back(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _line(self, scene: Scene) -> str:
        tally = scene.tally
        return (
            f"{scene.elapsed:.1f}s: {self._pace.rate(scene.elapsed, tally.handovers):.0f} hand-overs/s,"
            f" {COUNTER} {_holder(scene, COUNTER).text}, fence {tally.newest}, {tally.writes} writes,"
            f" takeovers {scene.takeovers}, stale refused {tally.refused}, overlaps {tally.overlaps},"
            f" ticks {tally.ticks}"
        )


class Pace:
    """How fast a count rises, over about the last second."""

    def __init__(self) -> None:
        self._seen = deque([(0.0, 0)])

    def rate(self, now: float, count: int) -> float:
        """By the second, as of now."""
        self._seen.append((now, count))
        while len(self._seen) > 2 and self._seen[1][0] <= now - 1:  # noqa: PLR2004 - two make a pace
            self._seen.popleft()
        since, before = self._seen[0]
        return (count - before) / (now - since) if now > since else 0.0


def frame(scene: Scene, rate: float, *, columns: int, bar: str) -> Iterator[Line]:
    """The whole screen, top to bottom."""
    tally, counter, job = scene.tally, _holder(scene, COUNTER), _holder(scene, JOB)
    yield Line(f"dibs demo  {scene.elapsed:5.1f}s  Ctrl-C ends it", BOLD)
    yield Line()
    yield Line(f"counter   {counter.text}", counter.style)
    yield Line(f"job       {job.text}", job.style)
    yield Line(f"ticks     {_ticks(tally)}")
    yield Line(f"fence     {tally.newest}")
    yield Line(f"pace      {rate:,.0f} hand-overs/s, {tally.writes:,} writes")
    yield Line(
        f"overlaps  {tally.overlaps}, ticks done twice {tally.twice}", RED if tally.overlaps or tally.twice else GREEN
    )
    yield Line(f"refused   {tally.refused}, for a fence too old")
    yield Line(f"takeovers {scene.takeovers}")
    yield Line()
    yield from _crew(scene, columns=columns, bar=bar)
    yield Line()
    yield from (Line(news, DIM) for news in scene.news[-NEWS:])


def _holder(scene: Scene, name: str) -> Line:
    """Who has that lock, in words."""
    lock, strike = scene.locks.get(name), scene.strike
    if lock is None or lock.held is None:
        return Line("free")
    if strike is not None and lock.held.purpose == strike.worker:
        return Line(f"{strike.worker} {strike.how}, free in {max(lock.held.ttl_left, 0):.1f}s", YELLOW)
    waiting = f", {len(lock.waiters)} waiting" if lock.waiters else ""
    return Line(f"held by {lock.held.purpose}{waiting}")


def _ticks(tally: Tally) -> str:
    if not tally.ticks:
        return "none yet"
    last = strftime("%H:%M:%S", localtime(tally.last_tick))
    return f"{tally.ticks}, {last} by {tally.last_tick_by}"


def _crew(scene: Scene, *, columns: int, bar: str) -> Iterator[Line]:
    """Each with its process, how it takes the lock, and its turns; the bar takes what room is left."""
    turns, room = scene.tally.turns, min(max(columns - 37, 0), LONGEST_BAR)
    most = max(1, *turns.values())
    for member in scene.crew:
        strike = scene.strike if scene.strike is not None and scene.strike.worker == member.name else None
        state, filled = strike.how if strike else member.face, bar * (turns[member.name] * room // most)
        text = f"{member.name} {member.pid:>7}  {state:<10} {turns[member.name]:>7,} {filled}"
        yield Line(text, YELLOW if strike else "")
