"""Who does what a node has claimed: a thread for each function, a task on the serving loop for each coroutine."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from dibs.errors import StoreUnreachable
from dibs.events import Stumbled
from dibs.flows import standin
from dibs.flows.duty import TIMEOUT, Underway
from dibs.model.duration import spoken
from dibs.model.rota import SHUT_DOWN, Ending
from dibs.model.value import value
from dibs.runtime.blocking import run

if TYPE_CHECKING:
    from dibs.runtime.engine import Engine

Performed: TypeAlias = Ending | None
"""How a run ended; `None` if it did not, and is to be handed back."""
Under: TypeAlias = Callable[[str, Callable[[], bool]], bool]
"""Does something under a lock of that name; whether it did anything, as it may be left to whoever has the lock."""
HERE = "~tick"
"""What a machine's own store notes of a job, it notes under another name: the job itself may be kept there, too."""


@value
class Part:
    """How a job is done, in one colour or the other. It says how it ended, and raises nothing."""

    perform: Callable[[Underway], Performed] | None = None
    aperform: Callable[[Underway], Coroutine[Any, Any, Performed]] | None = None


@value
class Station:
    """What a node is told of itself: how much it does at once, and what is to be known of it."""

    workers: int
    grace: float
    version: str = ""
    labels: tuple[str, ...] = ()
    under: Under = lambda _, act: act()
    """How it does what only one node is to do at a time."""


class Crew:
    """All that a node does at once: so many runs, whatever their colour. Others wait here until there is room."""

    def __init__(
        self, engine: Engine, parts: Mapping[str, Part], station: Station, *, changed: Callable[[], None]
    ) -> None:
        self.node = f"{engine.desk.who}:{os.urandom(2).hex()}"
        self.version, self.labels, self.workers = station.version, station.labels, station.workers
        self._engine, self._parts, self._changed, self._under = engine, parts, changed, station.under
        self._loop = asyncio.get_running_loop()
        self._busy: dict[Underway, asyncio.Task[Performed] | None] = {}
        self._backlog: deque[Underway] = deque()
        self._is_dismissed = False
        self._changing = threading.Lock()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being done that anybody waits for."""
        return all(mine.is_left_behind for mine in list(self._busy))

    def room(self) -> int:
        self._begin_waiting()  # some may have been left behind meanwhile
        with self._changing:
            return max(self._free() - len(self._backlog), 0)

    def wall(self) -> float:
        return time.time()

    async def under(self, lock: str, act: Callable[[], Coroutine[Any, Any, bool]]) -> bool:
        def see_to_steps() -> bool:
            return run(act())

        return self._under(lock, see_to_steps)

    async def first_here(self, job: str, tick: float) -> bool:
        """Not if this machine's own store is silent, too: then nobody knows."""
        local = self._engine.detours.local
        try:
            return await standin.first_here(local.blocking("run a job"), local.desk, job + HERE, tick)
        except (StoreUnreachable, ValueError) as fault:
            self._engine.tell(Stumbled(f"asking this machine's own store for a tick of {job!r}", repr(fault)))
            return False

    def begin(self, mine: Underway) -> None:
        with self._changing:
            if self._is_dismissed:
                return
            self._backlog.append(mine)  # and stays there only if it is a tick that nobody had to claim
        self._begin_waiting()

    def dismiss(self) -> None:
        """Ask all to stop, and begin none any more."""
        with self._changing:
            self._is_dismissed = True
            unbegun, self._backlog = self._backlog, deque()
        for mine in unbegun:
            mine.ending = Ending("cancelled", SHUT_DOWN)
        for mine in list(self._busy):
            mine.ask_to_stop(SHUT_DOWN)

    def leave_behind(self) -> None:
        """Those that did not stop are told that nothing they do counts any more."""
        for mine in list(self._busy):
            mine.forsake(SHUT_DOWN)

    def _begin_waiting(self) -> None:
        """Begin what waits, as far as there is room."""
        while (mine := self._following()) is not None:
            self._start(mine)

    def _following(self) -> Underway | None:
        with self._changing:
            if not self._backlog or self._free() <= 0:
                return None
            mine = self._backlog.popleft()
            self._busy[mine] = None
            return mine

    def _free(self) -> int:
        """How many more can be done at once.

        Who was left behind takes no room. But a thread cannot be ended, and where each one hangs the process would
        fill with them: as many are left out as there are workers, and no more.
        """
        left_behind = sum(mine.is_left_behind for mine in self._busy)
        return self.workers - len(self._busy) + min(left_behind, self.workers)

    def _start(self, mine: Underway) -> None:
        part = self._parts[mine.done_by]
        try:
            if part.aperform is not None:
                self._loop.call_soon_threadsafe(self._start_task, mine, part.aperform)
            elif part.perform is not None:
                act = (mine, part.perform)
                threading.Thread(target=self._do, args=act, name=f"dibs-run-{mine.job}", daemon=True).start()
        except RuntimeError as error:  # no more threads
            self._over(mine, Ending("failed", f"it could not be begun: {error}"))

    def _do(self, mine: Underway, perform: Callable[[Underway], Performed]) -> None:
        if mine.asked_to_stop:
            self._over(mine, stopped(mine))
            return
        mine.has_begun = True
        try:
            ending = perform(mine)
        except BaseException as error:  # noqa: BLE001 - not of its body, but of ours: it must be over all the same
            ending = _broken(error)
        self._over(mine, ending)

    def _start_task(self, mine: Underway, aperform: Callable[[Underway], Coroutine[Any, Any, Performed]]) -> None:
        async def act() -> Performed:
            if mine.asked_to_stop:  # before there was anything to stop
                return stopped(mine)
            mine.has_begun = True
            try:
                return await aperform(mine)
            except Exception as error:  # noqa: BLE001 - as in a thread
                return _broken(error)

        def stop(why: str) -> None:
            with suppress(RuntimeError):  # the loop was closed, and all tasks with it
                self._loop.call_soon_threadsafe(task.cancel, why)

        task = self._busy[mine] = self._loop.create_task(act(), name=f"dibs-run-{mine.job}")
        task.add_done_callback(lambda _: self._over(mine, stopped(mine) if task.cancelled() else task.result()))
        mine.stop = stop

    def _over(self, mine: Underway, ending: Performed) -> None:
        mine.ending = ending
        with self._changing:
            self._busy.pop(mine, None)
        self._begin_waiting()
        self._changed()


def _broken(error: BaseException) -> Ending:
    return Ending("failed", f"dibs itself failed: {type(error).__name__}")


def stopped(mine: Underway, *, error: str | None = None, log: tuple[str, ...] = ()) -> Performed:
    """What is to be said of a run that has stopped, as it was asked to."""
    why, timeout = mine.asked_to_stop, mine.terms.timeout
    if mine.forsaken:
        return Ending("lost", mine.forsaken, error=error, log=log)
    if why == SHUT_DOWN:
        return None
    if why == TIMEOUT and timeout is not None:
        return Ending("timeout", f"it took longer than {spoken(timeout)}", error=error, log=log)
    return Ending("cancelled", why, error=error, log=log)
