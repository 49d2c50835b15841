"""What is to go wrong on the way through a proxy, and when."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass

from tests.chaos.stage import LONG


class Fault:
    """Something that happens to one message, or at one byte."""

    def __init__(self) -> None:
        self._happened = threading.Event()

    def wait(self, *, within: float = LONG) -> None:
        """Wait until it has happened."""
        assert self._happened.wait(within), "it has not happened"

    def happen(self) -> None:
        self._happened.set()


class Hold(Fault):
    """A message that does not go on until it is told to, and keeps those behind it on its connection waiting."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop, self._gate = loop, asyncio.Event()

    def release(self) -> None:
        """Let it go on."""
        self._loop.call_soon_threadsafe(self._gate.set)

    async def released(self) -> None:
        await self._gate.wait()


@dataclass(slots=True)
class _Plan:
    """A fault, how many it still waits for, and which command it counts (None: each)."""

    fault: Fault
    left: int
    of: str | None = None


class Lane:
    """One of the two directions, over all connections, and what is to go wrong there."""

    def __init__(self) -> None:
        self._plans: list[_Plan] = []
        self._holds: list[Hold] = []
        self._cut: _Plan | None = None

    def plan(self, fault: Fault, nth: int, of: str | None) -> None:
        """The first is the next one, of that command if one is named."""
        assert nth >= 1, "the next one is the first"
        self._plans.append(_Plan(fault, nth, of and of.upper()))
        if isinstance(fault, Hold):
            self._holds.append(fault)

    def cut_after(self, fault: Fault, count: int) -> None:
        """So many more bytes may pass; then the connection of the last one ends."""
        self._cut = _Plan(fault, count)

    def clear(self) -> None:
        """Nothing more goes wrong, and what is held back goes on."""
        for hold in self._holds:
            hold.release()
        self._plans, self._holds, self._cut = [], [], None

    def fate(self, name: str) -> Fault | None:
        """What happens to the message that comes now, which is or answers that command."""
        counting = [plan for plan in self._plans if plan.of in (None, name)]
        for plan in counting:
            plan.left -= 1
        due = next((plan for plan in counting if plan.left <= 0), None)
        if due is None:
            return None
        self._plans.remove(due)
        return due.fault

    def share(self, data: bytes) -> tuple[bytes, Fault | None]:
        """As much of it as may pass, and the fault if the connection ends with that."""
        if self._cut is None:
            return data, None
        if len(data) < self._cut.left:
            self._cut.left -= len(data)
            return data, None
        cut, self._cut = self._cut, None
        return data[: cut.left], cut.fault
