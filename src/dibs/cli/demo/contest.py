"""Four threads and four tasks that want the same lock, and a fate that strikes one of them now and then."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Self

from dibs import LeaseLost, connect
from dibs.cli.demo.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from dibs import Lock, LockView

NAME = "demo:counter"
THREADS = tuple(f"thread-{number}" for number in range(1, 5))
TASKS = tuple(f"task-{number}" for number in range(1, 5))

TTL = 1.0
"""How long the lock stays with one who died."""
WORK = 0.001
"""How long a turn takes: long enough for every other worker to run meanwhile, if only it could get in."""
BLINK = 0.02
LONGEST_GOODBYE = 5.0


@dataclass(frozen=True, slots=True)
class Fall:
    """A worker that died with the lock in its hands."""

    worker: str
    fence: int
    fell_at: float


@dataclass(frozen=True, slots=True)
class Takeover:
    """A dead worker's lock in the hands of the next."""

    dead: str
    heir: str
    after: float


@dataclass(frozen=True, slots=True)
class Scene:
    """The contest at one moment, as it is shown."""

    elapsed: float
    lock: LockView
    ledger: Ledger
    dead: str | None
    takeovers: Sequence[Takeover]


class Contest:
    """Runs while its block is open. What it finds is in `ledger`, `takeovers` and `troubles`."""

    def __init__(self) -> None:
        self.ledger = Ledger((*THREADS, *TASKS))
        self.takeovers: list[Takeover] = []
        self.troubles: list[str] = []
        self._client = connect(f"memory://demo-{token_hex(4)}", quiet=True)
        self._is_over = threading.Event()
        self._doomed: list[str] = []
        self._falls: list[Fall] = []
        self._threads = [self._thread(worker, partial(self._live, worker)) for worker in THREADS]
        self._threads.append(self._thread("tasks", lambda: asyncio.run(self._live_all())))
        self._began_at = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._began_at

    def strike(self) -> None:
        """Let one worker die in its next turn: each in its time, a thread, a task, a thread again."""
        pairs = zip(THREADS, TASKS, strict=True)
        order = [worker for pair in pairs for worker in pair]
        if not self._doomed and not self._falls:
            self._doomed.append(order[len(self.takeovers) % len(order)])

    def scene(self) -> Scene:
        """What there is to see now."""
        dead = next((fall.worker for fall in self._falls), None)
        return Scene(self.elapsed, self._client.inspect(NAME), self.ledger, dead, tuple(self.takeovers))

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        give_up_at = time.monotonic() + LONGEST_GOODBYE
        for thread in self._threads:
            thread.join(max(give_up_at - time.monotonic(), 0.0))
            if thread.is_alive():
                self.troubles.append(f"{thread.name} still waits for the lock {LONGEST_GOODBYE:g}s after the end")
        self._client.close()

    def _thread(self, name: str, life: Callable[[], None]) -> threading.Thread:
        def live() -> None:
            try:
                life()
            except Exception as error:  # noqa: BLE001 - whatever it was, the end must tell of it
                self.troubles.append(f"{name} failed: {error!r}")

        return threading.Thread(target=live, name=name, daemon=True)

    # The workers' lives, as threads and as tasks.

    def _live(self, worker: str) -> None:
        lock = self._lock(worker)
        while not self._is_over.is_set():
            if worker in self._doomed:
                self._die(worker)
                continue
            with lock as lease:
                seen = self._enter(worker, lease.fence)
                self._is_over.wait(WORK)
                self._leave(worker, seen)

    def _die(self, worker: str) -> None:
        lease = self._mortal_lock(worker).acquire()
        self._fall(worker, lease.fence)
        self._lie_still(worker, lease.fence)
        with suppress(LeaseLost):
            lease.release()

    async def _live_all(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for worker in TASKS:
                tasks.create_task(self._alive(worker))

    async def _alive(self, worker: str) -> None:
        lock = self._lock(worker)
        while not self._is_over.is_set():
            if worker in self._doomed:
                await self._adie(worker)
                continue
            async with lock as lease:
                seen = self._enter(worker, lease.fence)
                await asyncio.sleep(WORK)
                self._leave(worker, seen)

    async def _adie(self, worker: str) -> None:
        lease = await self._mortal_lock(worker).aacquire()
        self._fall(worker, lease.fence)
        await asyncio.to_thread(self._lie_still, worker, lease.fence)
        with suppress(LeaseLost):
            await lease.arelease()

    # What both do.

    def _lock(self, worker: str) -> Lock:
        # The TTL is long so that Ctrl-Z and a closed lid end nobody's turn.
        return self._client.lock(NAME, ttl="10m", purpose=worker)

    def _mortal_lock(self, worker: str) -> Lock:
        # All workers share one keeper here, which would go on renewing; a process that dies takes its own along.
        return self._client.lock(NAME, ttl=TTL, renew=False, purpose=worker)

    def _enter(self, worker: str, fence: int) -> int | None:
        seen = self.ledger.enter(fence)
        if seen is not None and self._falls and self._falls[0].fence < fence:
            fall = self._falls.pop()
            self.takeovers.append(Takeover(fall.worker, worker, time.monotonic() - fall.fell_at))
        return seen

    def _leave(self, worker: str, seen: int | None) -> None:
        if seen is not None:
            self.ledger.leave(worker, seen + 1)

    def _fall(self, worker: str, fence: int) -> None:
        self._falls.append(Fall(worker, fence, time.monotonic()))
        self._doomed.remove(worker)

    def _lie_still(self, worker: str, fence: int) -> None:
        """Until somebody has taken over. Not dead after all, only paused, it then goes on and must be refused."""
        while self.ledger.newest <= fence and not self._is_over.wait(BLINK):
            pass
        if self.ledger.newest > fence:
            self._leave(worker, self._enter(worker, fence))
        else:
            self._falls.clear()  # the contest ended before the lease did: there was nothing to take over
