"""Who held what: noted where a hold ends, and now and then while it lasts; the store is told every ten seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from math import inf
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from dibs.errors import StoreRefused
from dibs.flows.asking import ask
from dibs.model.counts import MOST_NAMES, OTHERS
from dibs.model.holding import Ended, Holding, granted_at

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.flows.hold import Hold
    from dibs.model.asks import Recalled
    from dibs.model.request import Request
    from dibs.ports.store import Command
    from dibs.ports.world import World

T = TypeVar("T")

EVERY = 10.0
"""How long what was noted may be known here only; and how long a hold lasts before it is noted while it does."""
SELDOM = 3_600.0
"""A hold that goes on is noted each time its age has doubled, or at least so often."""
BRIEF = 1.0
"""Holds shorter than this are many."""
FIRST = 10
"""Of the brief ones of each lock, the first of a report are noted each. The others are counted."""
MOST = 500
"""So many are noted in a report of all locks. What is more is counted."""
BATCH = 250
"""The most that one command notes: others ask the store for locks meanwhile. It takes a server less than a renewal of
as many leases as go together, so it is not to be more commands than that either.
"""
HISTORIES = {"~locks": 80_000, "~locks:brief": 20_000}
"""How many are kept of those that lasted, and of the brief ones: they do not crowd out the others."""
KEEP_FOR = 30 * 86_400.0

_Slip: TypeAlias = tuple[float, float, int, "Request", float | None]
"""A brief hold: how long it lasted, when it was let go; its fence; what was wanted; when it was taken up, if it was."""


class Ledger:
    """Holds that ended, until the store is told. Whoever ends one leaves a slip, by steps that threads may share.

    `guard` keeps threads apart that take them, if there are several.
    """

    is_new = False
    """Whether anything was noted that the store was not told."""
    due_at = inf
    """When it is to be told."""
    ahead: float | None = None
    """How far the store's time of day is ahead of our clock, when that has just been heard."""

    def __init__(self, now: Callable[[], float], guard: AbstractContextManager[object] | None = None) -> None:
        self._now, self._guard = now, nullcontext() if guard is None else guard
        self._rows: dict[str, _Row] = {}
        self._lasting: deque[tuple[_Slip, Ended, str]] = deque(maxlen=10 * MOST)
        self._untold: deque[Holding] = deque(maxlen=MOST)

    def let_go(self, hold: Hold, lasted: float, now: float) -> None:
        """It was given back. This is on the way of every lock, so little is done here."""
        row = self._rows.get(hold.name) or self._row(hold.name)
        if lasted >= BRIEF:
            self._lasting.append((_slip(hold, now), "released", ""))
        elif len(row.slips) < FIRST:
            row.slips.append(_slip(hold, now))
        else:
            row.others += 1
            row.until = now
        self.is_new = True

    def end(self, hold: Hold, ended: Ended) -> None:
        """It ended in another way, just now; or before, if that is noticed late."""
        now = min(self._now(), hold.tenure.asked_at + hold.tenure.ttl)
        self._lasting.append((_slip(hold, now), ended, hold.lost_because or ""))
        self.is_new = True

    def take(self, who: str, ahead: float) -> list[Holding]:
        """What the store was not told yet. From here on it counts as told, unless it is put back."""
        self.is_new = False  # before we look, while one who notes something says so after it has
        told = _drained(self._untold)
        told += [_holding(slip, who, ahead, ended=ended, why=why) for slip, ended, why in _drained(self._lasting)]
        with self._guard:
            for name, row in list(self._rows.items()):
                told += self._brief(name, row, who, ahead)
        return told

    def _brief(self, name: str, row: _Row, who: str, ahead: float) -> Sequence[Holding]:
        others, row.others = row.others, 0
        slips = _drained(row.slips)
        told = [_holding(slip, who, ahead) for slip in slips]
        if others:
            since = max((slip[1] for slip in slips), default=row.until)
            told.append(Holding(name, who, 0, since + ahead, row.until + ahead, times=others))
        elif not slips:  # nobody is about to leave one here
            self._rows.pop(name, None)
        return told

    def put_back(self, holdings: Sequence[Holding]) -> None:
        """The store was surely not told of these."""
        self._untold.extend(holdings)
        self.is_new = True

    def _row(self, name: str) -> _Row:
        if len(self._rows) >= MOST_NAMES:
            name = OTHERS
        return self._rows.get(name) or self._rows.setdefault(name, _Row())


class _Row:
    """The brief holds of one lock since the last report: the first of them, and how many there were beside."""

    __slots__ = ("others", "slips", "until")

    def __init__(self) -> None:
        self.slips: deque[_Slip] = deque()
        self.others, self.until = 0, 0.0


def _slip(hold: Hold, now: float) -> _Slip:
    return hold.held_for(now), now, hold.fence, hold.request, hold.taken_up_at


def _drained(slips: deque[T]) -> list[T]:
    """All that is in it by now; who leaves one meanwhile is not in the way, nor is another who takes some."""
    taken: list[T] = []
    with suppress(IndexError):
        for _ in range(len(slips)):
            taken.append(slips.popleft())  # noqa: PERF401 - what was taken must not be lost with an error
    return taken


def _holding(slip: _Slip, who: str, ahead: float, *, ended: Ended = "released", why: str = "") -> Holding:
    lasted, until, fence, request, taken_up_at = slip
    since = until - lasted if taken_up_at is None else taken_up_at
    if ended == "released":
        until = max(until, since + request.at_least)
    begun = granted_at(fence, earliest=since + ahead, latest=ahead + min(until, since + request.ttl))
    # Of two ways to tell when it ended, each may be too late by what it took to ask something: the earlier is better.
    over = min(until + ahead, begun + until - since)
    return Holding(request.name, who, fence, begun, over, ended, request.purpose, why)


def record_if_due(world: World, desk: Desk, now: float) -> None:
    """Tell the store, in passing, who held what since it was last told; once it is time to.

    It is asked for the time of day first: a clock for locks may count from anywhere.
    """
    ledger = desk.ledger
    if ledger is None:
        return
    if ledger.ahead is not None:
        ahead, ledger.ahead, ledger.due_at = ledger.ahead, None, inf
        for command, holdings in _words(desk, _news(desk, ledger, now, ahead)):
            world.later(command, _noted, undone=partial(_keep, desk, ledger, holdings))
    elif ledger.due_at <= now or (desk.tally is not None and desk.tally.due_at <= now):
        ledger.due_at = inf  # whatever ends a hold is counted, too: so nobody need be woken for the ledger alone
        if ledger.is_new or any(_is_to_be_noted(hold, now) for hold in list(desk.holds.values())):
            world.later(desk.store.recall(OTHERS), partial(_timed, world, desk, ledger, now))
    if ledger.due_at == inf and (ledger.is_new or desk.holds):
        ledger.due_at = now + EVERY


def _timed(world: World, desk: Desk, ledger: Ledger, asked_at: float, recalled: Recalled) -> None:
    """The rest is for the keeper's next round: whoever hears an answer is to be brief."""
    ledger.ahead = _ahead(world, recalled, asked_at)
    desk.nudge()


def _ahead(world: World, recalled: Recalled, asked_at: float) -> float:
    """By how much the store's clock is ahead of ours; it was read somewhere between ask and answer."""
    return recalled.at - (asked_at + world.now()) / 2


def _noted(_: object) -> None:
    """That it was is all there is to know."""


def _keep(desk: Desk, ledger: Ledger, holdings: Sequence[Holding]) -> None:
    """Keep it for the next time, and see to it that there is one."""
    ledger.put_back(holdings)
    desk.nudge()


async def record(world: World, desk: Desk, within: float) -> None:
    """Tell the store all that was noted, and wait until it has it."""
    ledger = desk.ledger
    if ledger is None or not ledger.is_new:
        return
    asked_at = world.now()
    recalled = await ask(world, desk.store.recall(OTHERS), within)
    left = list(_words(desk, _news(desk, ledger, world.now(), _ahead(world, recalled, asked_at))))
    try:
        while left:
            command, holdings = left.pop(0)
            try:
                await ask(world, command, within)
            except StoreRefused:
                left.append((command, holdings))
                raise
    finally:
        for _, holdings in left:
            _keep(desk, ledger, holdings)


def _news(desk: Desk, ledger: Ledger, now: float, ahead: float) -> Sequence[Holding]:
    """What ended, and what goes on; of too much, the longest, and one word for the others."""
    news = [*ledger.take(desk.who, ahead), *_still_held(desk, now, ahead)]
    if len(news) <= MOST:
        return news
    news.sort(key=lambda each: each.until - each.since, reverse=True)
    others = news[MOST - 1 :]
    since, until = min(each.since for each in others), max(each.until for each in others)
    times = sum(each.times for each in others)
    return [*news[: MOST - 1], Holding(OTHERS, desk.who, 0, since, until, times=times)]


def _still_held(desk: Desk, now: float, ahead: float) -> Iterator[Holding]:
    """Those that have lasted: should their holder be killed, this is the last that is heard of them."""
    for hold in list(desk.holds.values()):
        if hold.is_over or hold.lost_because is not None or not _is_to_be_noted(hold, now):
            continue
        since, request = hold.since(), hold.request
        hold.noted_for = now - since
        begun = granted_at(hold.fence, earliest=since + ahead, latest=since + ahead + request.ttl)
        reaches = since + _next_age(hold) + 2 * EVERY + request.ttl + ahead
        yield Holding(hold.name, desk.who, hold.fence, begun, now + ahead, "held", request.purpose, reaches=reaches)


def _is_to_be_noted(hold: Hold, now: float) -> bool:
    return now - hold.since() >= _next_age(hold)


def _next_age(hold: Hold) -> float:
    """How long it will have been held when it is noted next."""
    return max(EVERY, min(2 * hold.noted_for, hold.noted_for + SELDOM))


def _words(desk: Desk, holdings: Sequence[Holding]) -> Iterator[tuple[Command[object], Sequence[Holding]]]:
    """What is to be sent, and what is told by it."""
    told: dict[str, list[Holding]] = {history: [] for history in HISTORIES}
    for each in holdings:
        is_brief = each.ended == "released" and (each.times > 1 or each.until - each.since < BRIEF)
        told["~locks:brief" if is_brief else "~locks"].append(each)
    for history, all_of_it in told.items():
        for start in range(0, len(all_of_it), BATCH):
            some = all_of_it[start : start + BATCH]
            entries = [each.entry() for each in some]
            yield desk.store.note(history, entries, HISTORIES[history], KEEP_FOR), some
