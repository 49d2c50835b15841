"""What the figures on one Redis are meant to be."""

from __future__ import annotations

from bench.redis import contention, cycles, idle, renewal
from bench.redis.contest import named
from bench.redis.peers import (
    NODE,
    OURS,
    PING_PONG,
    PYTHON_REDIS_LOCK,
    REDIS_PY,
    REDIS_PY_ASYNCIO,
    REDLOCK_PY,
    TASK,
    THREAD,
)
from bench.redis.renewal import Holding
from bench.targets import Bound, Target

TIMES_REDIS_PY = {1: 2.2, 16: 4.5, 256: 8.0}
"""By tasks. They share one connection, and what others spend on one each grows with them."""


def on_redis(waiters: int, holding: Holding) -> list[Target]:
    """All of them, for so many who wait and such leases to renew."""
    return [
        *_uncontended(),
        *(target for face in OURS for target in _together(face)),
        *(target for face in OURS for target in _apart(face)),
        Target(idle.named(idle.COMMANDS, waiters, TASK), Bound.BELOW, 50.0, unit="/s"),
        Target(idle.named(idle.CPU, waiters, TASK), Bound.BELOW, 3.0, unit="%"),
        Target(idle.named(idle.CONNECTIONS, waiters, TASK), Bound.AT_MOST, 2.0),
        Target(holding.named(renewal.COMMANDS), Bound.AT_MOST, holding.commands),
        Target(holding.named(renewal.CPU), Bound.BELOW, 5.0, unit="%"),
    ]


def _uncontended() -> list[Target]:
    crowded, alone = cycles.tasks(cycles.CROWDED), {cycles.tasks(1): TASK, cycles.threads(1): THREAD}
    return [
        *(
            _times(cycles.PACE, cycles.tasks(count), TASK, least, peer)
            for count, times in TIMES_REDIS_PY.items()
            for peer, least in ((REDIS_PY_ASYNCIO, times), (NODE, 1.0))
        ),
        *(
            _times(cycles.PACE, cycles.threads(count), THREAD, least, peer)
            for count in cycles.THREADS
            for peer, least in ((REDIS_PY, 1.8), (REDLOCK_PY, 1.0))
        ),
        _at_most(cycles.CPU, crowded, TASK, 0.2, REDIS_PY_ASYNCIO),
        *(Target(named(cycles.ACQUIRE, *who), Bound.BELOW, 10.0, unit="ms") for who in alone.items()),
    ]


def _together(face: str) -> list[Target]:
    return [
        _times(contention.PACE, contention.TOGETHER, face, 30.0, REDIS_PY),
        _times(contention.PACE, contention.TOGETHER, face, 3.0, PYTHON_REDIS_LOCK),
        _at_most(contention.HALF, contention.TOGETHER, face, 3.0, PING_PONG),
    ]


def _apart(face: str) -> list[Target]:
    return [
        _times(contention.PACE, contention.APART, face, 2.0, PYTHON_REDIS_LOCK),
        Target(named(contention.FAIRNESS, contention.APART, face), Bound.AT_LEAST, 0.98),
        Target(named(contention.STARVED, contention.APART, face), Bound.AT_MOST, 0.0),
    ]


def _times(figure: str, who: str, face: str, least: float, peer: str) -> Target:
    """So many times what the peer gets done."""
    return Target(named(figure, who, face), Bound.AT_LEAST, least, contender=named(figure, who, peer))


def _at_most(figure: str, who: str, face: str, most: float, peer: str) -> Target:
    """Not more than so many times what the peer takes."""
    return Target(named(figure, who, face), Bound.AT_MOST, most, contender=named(figure, who, peer))
