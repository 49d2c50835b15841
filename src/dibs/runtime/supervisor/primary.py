"""The process that starts the others, sees that each place is filled, and ends when they have."""

from __future__ import annotations

import os
import selectors
import signal
import threading
import time
from contextlib import closing, contextmanager, suppress
from logging import getLogger
from typing import TYPE_CHECKING, Literal

from dibs.errors import ConfigError
from dibs.events.workers import (
    WorkerDied,
    WorkerEnded,
    WorkerNotUp,
    WorkerReady,
    WorkerRestarting,
    WorkerSilent,
    WorkersLeaving,
    WorkersRolling,
    WorkerStarted,
)
from dibs.model.restarts import Life, Patience, is_hopeless, slept
from dibs.observe.logs import LogReader
from dibs.runtime.echo import Echo
from dibs.runtime.supervisor.bell import Bell
from dibs.runtime.supervisor.post import Post, Program

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from dibs.events.workers import WorkerEvent

Wish = Literal["leave", "roll"]

ROUND = 1.0
"""How long the primary looks nowhere, at most."""
FAREWELL = 10.0
"""How long a worker may take, beyond its grace, to hand back what it could not finish."""
HURRY = 5.0
MISCONFIGURED = 78
STDIN = 0
WISHES: dict[int, Wish] = {signal.SIGTERM: "leave", signal.SIGINT: "leave", signal.SIGHUP: "roll"}


class Supervisor:
    """A primary. It does no work of its own: whatever the workers do, it goes on."""

    def __init__(
        self,
        program: Program,
        workers: int,
        *,
        tell: Callable[[WorkerEvent], object] | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._program, self._patience = program, patience or Patience()
        self._posts = [Post(number, program) for number in range(1, workers + 1)]
        self._tell_them, self._log = tell, LogReader()
        self._selector, self._bell = selectors.DefaultSelector(), Bell()
        self._wishes: list[tuple[Wish, str]] = []
        self._times_asked, self._fault = 0, ""
        self._to_roll: list[Post] = []
        self._rolled: Post | None = None

    def run(self) -> int:
        """Keep the places filled until told to end, or until all have ended; 1 if no worker ever came up."""
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._looked_at = time.monotonic()
        with self._heeded_signals(), self._selector, closing(self._bell):
            try:
                while not all(post.is_vacant for post in self._posts):
                    self._round()
            finally:
                self._end_all("left behind")
        if self._fault:
            raise ConfigError(self._fault)
        return 1 if is_hopeless([post.past for post in self._posts]) else 0

    def ask_to_leave(self, why: str = "asked to") -> None:
        """Drain all workers, and end; and again, to hurry. From any thread."""
        self._wish("leave", why)

    def roll(self) -> None:
        """Start the workers anew, one after the other. From any thread."""
        self._wish("roll", "asked to")

    def _round(self) -> None:
        wait = self._start_those_due(time.monotonic())
        self._selector.select(wait)
        self._bell.hush()
        now = time.monotonic()
        for post in self._posts:
            self._listen(post, now)
            if slept(ROUND, now - self._looked_at):
                post.heard_at = now
        self._looked_at = now
        self._grant_wishes(now)
        for post in self._posts:
            self._look_at(post, now)
        self._roll_on(now)

    def _start_those_due(self, now: float) -> float:
        """Gives how long there is nothing to do."""
        waits = [ROUND]
        for post in self._posts:
            if post.starts_at is not None and now >= post.starts_at:
                self._start(post, now)
            elif post.starts_at is not None:
                waits.append(post.starts_at - now)
            elif post.leaves_by is not None and post.is_filled:
                waits.append(max(post.leaves_by - now, 0.0))
        return min(waits)

    def _start(self, post: Post, now: float) -> None:
        try:
            lifeline = post.start(now)
        except OSError as fault:  # no more memory, files or processes: the others go on, and it is tried again
            how = f"it could not be started: {fault.strerror or fault}"
            post.past = post.past.after(Life(None, now))
            self._tell(WorkerDied(post.number, 0, how))
            self._refill(post, 1, how=how, now=now)
            return
        self._selector.register(lifeline, selectors.EVENT_READ)
        self._tell(WorkerStarted(post.number, post.pid))

    def _listen(self, post: Post, now: float) -> None:
        if post.listen(now):
            self._tell(WorkerReady(post.number, post.pid, now - post.started_at, post.port))
        if post.lifeline is not None and post.lifeline.is_over:
            with suppress(KeyError):
                self._selector.unregister(post.lifeline)

    def _look_at(self, post: Post, now: float) -> None:
        """See whether it lives, and whether it may."""
        if not post.is_filled:
            return
        if (code := post.exit_code()) is not None:
            self._bury(post, code, now)
        elif post.leaves_by is not None:
            if now >= post.leaves_by:
                post.kill("still there at the end of its grace")
        elif not post.killed_for and (what_for := self._overstep(post, now)):
            self._tell(WorkerSilent(post.number, post.pid, what_for))
            post.kill(what_for)

    def _overstep(self, post: Post, now: float) -> str:
        return self._patience.overstep(
            started_at=post.started_at, ready_at=post.ready_at, heard_at=post.heard_at, now=now
        )

    def _bury(self, post: Post, code: int, now: float) -> None:
        """A process has ended: by itself, as it was asked to, or not as it should."""
        was_ready, was_asked, how = post.ready_at is not None, post.leaves_by is not None, post.how(code)
        post.past = post.past.after(Life(post.ready_at, now))
        self._hang_up(post)
        is_clean = (code == 0 and was_ready) or (was_asked and code in (0, -signal.SIGTERM))
        self._tell(WorkerEnded(post.number, post.pid) if is_clean else WorkerDied(post.number, post.pid, how))
        if self._times_asked or (is_clean and not was_asked):
            return
        if was_asked:
            post.starts_at = now
            return
        self._refill(post, code, how=how, now=now)

    def _refill(self, post: Post, code: int, *, how: str, now: float) -> None:
        """Start it again, at once or later; unless it is of no use."""
        pasts = [each.past for each in self._posts]
        if code == MISCONFIGURED and post.fault and not all(past.was_ever_up for past in pasts):
            self._fault = how
            self._leave("a worker cannot do what it was told", now)
            return
        if post.past.is_to_be_told:
            self._tell(WorkerNotUp(post.number, post.past.failed_starts, how))
        if is_hopeless(pasts):
            self._leave("no worker comes up", now)
            return
        post.starts_at = now + post.past.pause
        self._tell(WorkerRestarting(post.number, post.past.pause))

    def _grant_wishes(self, now: float) -> None:
        while self._wishes:
            wish, why = self._wishes.pop(0)
            if wish == "leave":
                self._leave(why, now)
            elif not self._times_asked:
                self._to_roll = [post for post in self._posts if not post.is_vacant]
                self._tell(WorkersRolling(tuple(post.number for post in self._to_roll)))

    def _leave(self, why: str, now: float) -> None:
        """Have all leave: within their grace, then at once, then dead."""
        self._times_asked += 1
        is_hurried = self._times_asked > 1
        self._tell(WorkersLeaving(why, is_hurried))
        by = now + (HURRY if is_hurried else self._program.grace + FAREWELL)
        for post in self._posts:
            post.starts_at = None
            post.ask_to_leave(by, is_hurried=is_hurried)
            if self._times_asked > 2:  # noqa: PLR2004 - asked, hurried, and asked again
                post.kill("to end at once")

    def _roll_on(self, now: float) -> None:
        """The next one is started anew when the last one is ready, or will never be."""
        if self._times_asked or (self._rolled is not None and not _has_settled(self._rolled)):
            return
        self._rolled = self._to_roll.pop(0) if self._to_roll else None
        if self._rolled is None or self._rolled.is_vacant:
            return
        if self._rolled.is_filled:
            self._rolled.ask_to_leave(now + self._program.grace + FAREWELL)
        else:
            self._rolled.starts_at = now

    def _hang_up(self, post: Post) -> None:
        if post.lifeline is not None:
            with suppress(KeyError):
                self._selector.unregister(post.lifeline)
        post.bury()

    def _end_all(self, what_for: str) -> None:
        for post in self._posts:
            post.kill(what_for)
            self._hang_up(post)

    def _tell(self, event: WorkerEvent) -> None:
        self._log.on(event)
        try:
            if self._tell_them is not None:
                self._tell_them(event)
        except Exception:
            getLogger("dibs").exception("who was told of %r failed", event)

    def _wish(self, wish: Wish, why: str) -> None:
        self._wishes.append((wish, why))
        self._bell.ring()

    @contextmanager
    def _heeded_signals(self) -> Generator[None]:
        """While it runs, signals are wishes. Python leaves signals to the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        had_terminal, echo = os.isatty(STDIN), Echo(time.monotonic)

        def heed(number: int, frame: object) -> None:
            if echo.is_one(number):
                return
            # Also a terminal that is closed sends SIGHUP: nobody could reach us any more.
            has_lost_it = had_terminal and not os.isatty(STDIN)
            self._wish("leave" if has_lost_it else WISHES[number], signal.Signals(number).name)

        before = {number: signal.signal(number, heed) for number in WISHES}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _has_settled(post: Post) -> bool:
    return post.is_vacant or (post.ready_at is not None and post.is_filled and post.leaves_by is None)
