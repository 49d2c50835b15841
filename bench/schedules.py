"""The next time of a cron expression, in a zone whose clock is set twice a year, beside the calendars of others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from importlib import import_module
from zoneinfo import ZoneInfo

from bench.peers import installed
from bench.rounds import Effort, Row, interleaved
from bench.targets import Bound, Target
from dibs.model.calendar import cron

OURS, CRONSIM, CRONITER = "dibs", "cronsim", "croniter"
PEERS = (CRONSIM, CRONITER)
OFTEN, DAILY, WEEKDAYS, YEARLY = "*/5 * * * *", "0 3 * * *", "30 9 * * 1-5", "0 0 1 1 *"
EXPRESSIONS = (OFTEN, DAILY, WEEKDAYS, YEARLY)
ZONE = "Europe/Berlin"
BEGIN = datetime(2026, 1, 1, tzinfo=ZoneInfo(ZONE))
BATCH = 100
"""Times in a row, before it begins anew: those who follow a schedule look at about as many."""


def named(expression: str, who: str) -> str:
    return f"next, {expression}: {who}"


def targets() -> list[Target]:
    return [
        Target(named(OFTEN, OURS), Bound.AT_MOST, 4.0, unit="µs"),
        Target(named(DAILY, OURS), Bound.AT_MOST, 15.0, unit="µs"),
    ]


def rows(effort: Effort) -> list[Row]:
    return [row for expression in EXPRESSIONS for row in _compared(expression, effort)]


def _compared(expression: str, effort: Effort) -> list[Row]:
    contenders = {who: partial(_timed, _walker(who, expression), effort.span) for who in (OURS, *installed(PEERS))}
    ours, *others = (
        Row(named(expression, who), took, "µs") for who, took in interleaved(contenders, effort.rounds).items()
    )
    return [ours, *(other.beside(ours) for other in others)]


def _timed(walk: Callable[[], None], span: float) -> float:
    """Microseconds of our own processor for one next time."""
    walk()  # what is found once is known
    times, began, until = 0, time.process_time(), time.perf_counter() + span
    while not times or time.perf_counter() < until:
        walk()
        times += BATCH
    return (time.process_time() - began) / times * 1e6


def _walker(who: str, expression: str) -> Callable[[], None]:
    if who == OURS:
        return partial(_walk, expression)
    module = import_module(who)
    following = module.CronSim if who == CRONSIM else partial(module.croniter, ret_type=datetime)
    return partial(_walk_with, following, expression)


def _walk(expression: str) -> None:
    rule, tick = cron(expression, tz=ZONE), BEGIN.timestamp()
    for _ in range(BATCH):
        tick = rule.after(tick) or 0.0


def _walk_with(following: Callable[..., Iterator[datetime]], expression: str) -> None:
    times = following(expression, BEGIN)
    for _ in range(BATCH):
        next(times)
