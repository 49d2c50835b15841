"""Waits for replicas, on a thread and a connection of its own: once for all who want it just then."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.request import PATIENCE
from dibs.stores.redis.call import Call
from dibs.stores.redis.resp import encode

if TYPE_CHECKING:
    from dibs.stores.redis.endpoint import Endpoint
    from dibs.stores.redis.seconding.dialect import Seconding

LONGEST = 0.3
"""How long replicas have to take it over: then whoever asked is told, and asks again while it has time."""
IDLE = 5.0
"""How long the thread and its connection stay when nobody wants them."""

Told = Callable[[StoreUnreachable | None], None]


def wait_for_replicas(call: Call, seconding: Seconding, replicas: int, within: float) -> StoreUnreachable | None:
    """See to it that so many have all that was written before; gives what is wrong if they have not.

    The write is there because a server waits for what was written on the same connection.
    """
    limit = min(within, LONGEST)
    answer = call.ask_within(seconding.write, limit)
    if not isinstance(answer, StoreUnreachable):
        lasts = str(max(round(limit * 1000), 1))
        answer = call.ask_within(encode("WAIT", str(replicas), lasts), limit + PATIENCE)
    if isinstance(answer, StoreUnreachable):
        return unseconded(answer)
    return None if answer.value >= replicas else _too_few(call.server, answer.value, replicas)


def unseconded(trouble: StoreUnreachable) -> StoreUnreachable:
    """The same, and no refusal: what was asked *was* done, and whoever takes it for undone would leave it there."""
    return StoreUnreachable(trouble.server, after=trouble.after, why=trouble.why, fix=trouble.fix, is_outage=False)


def _too_few(server: str, count: int, wanted: int) -> StoreUnreachable:
    why = f"only {count} of its replicas took it over, not {wanted}"
    fix = "bring its replicas back, or ask for fewer with min_replicas"
    return StoreUnreachable(server, after=0.0, why=why, fix=fix, is_outage=False)


def _close(call: Call | None) -> None:
    if call is not None:
        call.close()


class Seconder:
    """One line's."""

    def __init__(self, endpoint: Endpoint, replicas: int, now: Callable[[], float]) -> None:
        self._endpoint, self._replicas, self._now = endpoint, replicas, now
        self._changed = threading.Condition()
        self._wanted: deque[tuple[Seconding, Told]] = deque()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def second(self, seconding: Seconding, told: Told) -> None:
        """Wait for the replicas; `told` hears of it, on another thread."""
        with self._changed:
            if not self._is_closed:
                self._wanted.append((seconding, told))
                self._start()
                self._changed.notify_all()
                return
        told(unseconded(StoreRefused.hung_up(self._endpoint.server)))

    def close(self) -> None:
        """Nobody waits any more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._live, name="dibs-seconder", daemon=True)
            self._thread.start()

    def _live(self) -> None:
        call: Call | None = None
        while (batch := self._next_batch()) is not None:
            trouble: StoreUnreachable | None
            try:
                call = call or Call(self._endpoint, self._now, PATIENCE)
                trouble = wait_for_replicas(call, batch[0][0], self._replicas, LONGEST)
            except StoreUnreachable as error:
                _close(call)
                trouble, call = unseconded(error), None
            for _, told in batch:
                told(trouble)
        _close(call)

    def _next_batch(self) -> list[tuple[Seconding, Told]] | None:
        """All that is wanted now; `None` when nobody has wanted anything for long: then the thread ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._wanted or self._is_closed, IDLE)
            batch = list(self._wanted)
            self._wanted.clear()
            if not batch:
                self._thread = None
            return batch or None
