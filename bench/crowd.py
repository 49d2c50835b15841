"""One acquire and release, on an empty store and on one that is full of others: what they have to do with us."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bench.rounds import Effort, Row, interleaved
from dibs import Dibs, connect
from dibs.model.asks import Acquire, Granted, Queued
from dibs.runtime.clock import boottime
from dibs.stores import open_store

if TYPE_CHECKING:
    from dibs.model.asks import Push

BATCH = 25
"""Cycles between two looks at the clock."""
TTL = 86_400.0
"""Nobody in the crowd goes away while we look."""
NOBODY = "nobody"

Names = Callable[[int], str]
"""Which lock the crowd's member of that number wants."""


def empty() -> str:
    """The name of a row."""
    return "cycle, fresh lock: empty store"


def spread(size: int) -> str:
    """The name of a row."""
    return f"cycle, fresh lock: {size:,} held, {size:,} wait for one each"


def queued(size: int) -> str:
    """The name of a row."""
    return f"cycle, fresh lock: {size:,} held, {size:,} wait for the same"


def rows(effort: Effort, size: int) -> list[Row]:
    waits: dict[str, Names | None] = {empty(): None, spread(size): _own, queued(size): _same}
    with TemporaryDirectory(prefix="dibs-bench-") as folder, ExitStack() as stack:
        clients: dict[str, Dibs] = {}
        for number, (name, waited_for) in enumerate(waits.items()):
            url = f"sqlite:///{Path(folder)}/store-{number}.sqlite"
            clients[name] = stack.enter_context(connect(url, quiet=True))
            if waited_for is not None:
                _fill(url, size, waited_for)
        took = interleaved(_contenders(clients, effort.span), effort.rounds)
    alone, *crowded = (Row(name, given, "µs") for name, given in took.items())
    return [alone, *(row.beside(alone) for row in crowded)]


def _own(number: int) -> str:
    return f"crowd:{number}"


def _same(number: int) -> str:
    return _own(0)


def _fill(url: str, size: int, waited_for: Names) -> None:
    """Let so many hold a lock, and as many wait; none of them will ever hear of anything."""
    backend = open_store(url)
    locks = backend.locks("dibs")
    with closing(backend.blocking(_Deaf(), boottime)) as line:
        for owner, wanted in (("holder", _own), ("waiter", waited_for)):
            for number in range(size):
                ask = Acquire(f"{owner}-{number}", TTL, boottime() + TTL, NOBODY, owner)
                command = locks.acquire(wanted(number), ask)
                answer = command.read(line.send(command.words, command.node, TTL).value)
                if not isinstance(answer, Granted | Queued):
                    raise NotFilled(f"{owner} {number} was told {answer}")


class NotFilled(Exception):
    """The store refused one of the crowd: it is not as full as the row says."""


class _Deaf:
    """Wants to hear of nothing."""

    def deliver(self, push: Push, asked_at: float) -> None:
        """Nobody is there."""

    def ask_again(self) -> None:
        """Nobody is there."""


def _contenders(clients: Mapping[str, Dibs], span: float) -> dict[str, Callable[[], float]]:
    fresh = count()
    for client in clients.values():
        _cycles(client, fresh)  # the first opens the file
    return {name: partial(_cycle, client, fresh, span) for name, client in clients.items()}


def _cycle(client: Dibs, fresh: count[int], span: float) -> float:
    """Microseconds for one cycle of a lock that never was before."""
    cycles, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < span:
        _cycles(client, fresh)
        cycles += BATCH
    return elapsed / cycles * 1e6


def _cycles(client: Dibs, fresh: count[int]) -> None:
    for _ in range(BATCH):
        with client.lock(f"fresh:{next(fresh)}"):
            pass
