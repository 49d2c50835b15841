"""How a contest looks: a few lines redrawn in place on a terminal, else one plain line a second."""

from __future__ import annotations

import os
import shutil
import sys
from collections import deque
from math import floor
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from dibs.cli.demo.contest import NAME

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from dibs.cli.demo.contest import Scene

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
WIPE, REST_OF_LINE, REST_OF_SCREEN = "\x1b[2J\x1b[H", "\x1b[K", "\x1b[J"

LONGEST_BAR = 40


class Line(NamedTuple):
    """One line of the screen, and how it is to stand out."""

    text: str = ""
    style: str = ""


class Show(Protocol):
    """Who shows the scenes."""

    def draw(self, scene: Scene) -> None:
        """Show one."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


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
        rate = self._pace.rate(scene.elapsed, scene.ledger.handovers)
        lines = list(frame(scene, rate, columns=columns - 1, bar=self._bar))[: rows - 1]
        # After a resize nobody knows which lines were wrapped: begin on a clean screen.
        back = "" if not self._height else f"\x1b[{self._height}F" if size == self._size else WIPE
        drawn = "".join(f"{self._painted(line, columns - 1)}{REST_OF_LINE}\n" for line in lines)
        self._height, self._size = len(lines), size
        sys.stdout.write(back + drawn + REST_OF_SCREEN)
        sys.stdout.flush()

    def __enter__(self) -> Self:
        sys.stdout.write(HIDE_CURSOR)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stdout.write(f"{SHOW_CURSOR}\n")
        sys.stdout.flush()

    def _painted(self, line: Line, columns: int) -> str:
        text = line.text[:columns]
        return f"\x1b[{line.style}m{text}\x1b[0m" if line.style and self._is_colourful else text


class Lines:
    """Prints one line a second."""

    def __init__(self) -> None:
        self._pace, self._due_at = Pace(), 1

    def draw(self, scene: Scene) -> None:
        if scene.elapsed < self._due_at:
            return
        self._due_at = floor(scene.elapsed) + 1
        ledger, dead = scene.ledger, f", {scene.dead} died" if scene.dead else ""
        print(
            f"{scene.elapsed:.0f}s: {ledger.writes} writes,"
            f" {self._pace.rate(scene.elapsed, ledger.handovers):.0f} hand-overs/s,"
            f" takeovers {len(scene.takeovers)}, stale refused {ledger.refused}, overlaps {ledger.overlaps},"
            f" fence {ledger.newest}{dead}",
            flush=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


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
    ledger = scene.ledger
    yield Line(f"dibs demo  {scene.elapsed:5.1f}s  lock {NAME}", BOLD)
    yield Line()
    yield _holder(scene)
    yield Line(f"fence     {ledger.newest}")
    yield Line(f"pace      {rate:,.0f} hand-overs/s, {len(scene.lock.waiters)} waiting")
    yield Line(f"writes    {ledger.writes:,}")
    yield Line(f"overlaps  {ledger.overlaps}", RED if ledger.overlaps else GREEN)
    yield Line(f"refused   {ledger.refused}, for a fence too old")
    yield _takeover(scene)
    yield Line()
    most = max(ledger.turns.values())
    room = min(max(columns - 20, 0), LONGEST_BAR)
    for worker, turns in ledger.turns.items():
        filled = bar * (turns * room // most if most else 0)
        dead = worker == scene.dead
        yield Line(f"{worker:<9}{turns:>9,} {'died' if dead else filled}", YELLOW if dead else "")
    yield Line()
    yield Line("Ctrl-C ends it", DIM)


def _holder(scene: Scene) -> Line:
    held = scene.lock.held
    if held is None:
        return Line("held by   nobody, this instant")
    if held.purpose == scene.dead:
        return Line(f"held by   {held.purpose}, dead: free in {max(held.ttl_left, 0):.1f}s", YELLOW)
    return Line(f"held by   {held.purpose}")


def _takeover(scene: Scene) -> Line:
    if not scene.takeovers:
        return Line("takeover  none yet")
    last = scene.takeovers[-1]
    return Line(f"takeover  {last.dead} > {last.heir} {last.after:.2f}s later, {len(scene.takeovers)} so far")
