"""What happens to locks, counted where it happens, and reported to the store now and then."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from math import inf
from typing import TYPE_CHECKING, TypeAlias

from dibs.errors import StoreRefused
from dibs.flows.asking import ask
from dibs.model.counts import IN_MS, MOST_NAMES, OTHERS, Count

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.ports.world import World

EVERY = 10.0
"""How long what was counted may be known here only."""
BATCH = MOST_NAMES + 1
"""The most counts that one command adds: what happened to all that are known by name, and to the others."""
MOST_SLIPS = 500
"""So many notes are added up together: it is cheaper, and keeps them few."""

_Row: TypeAlias = defaultdict[str, list[float]]
"""Of one lock: how often each thing happened, and for how many seconds."""


class Tally:
    """How often what happened, by name; those beyond the first thousand go together.

    It only ever grows. What the store was told is remembered beside it, and the difference is what it is told next.
    Whoever counts leaves a slip, in a single step; `guard` keeps threads apart that add them up, if there are several.
    """

    is_new = False
    """Whether anything was counted that the store was not told."""
    due_at = inf
    """When it is to be told."""

    def __init__(self, guard: AbstractContextManager[object] | None = None) -> None:
        self._guard = nullcontext() if guard is None else guard
        self._slips: deque[tuple[str, str, float]] = deque()
        self._rows: dict[str, _Row] = {}
        self._told: defaultdict[tuple[str, str], int] = defaultdict(int)

    def note(self, name: str, what: str, lasted: float = 0.0) -> bool:
        """It happened once more, and lasted so long; true if it is the first news since the store was told."""
        slips = self._slips
        slips.append((name, what, lasted))
        if len(slips) >= MOST_SLIPS:
            self._add_up()
        if self.is_new:
            return False
        self.is_new = True
        return True

    def counted(self) -> Mapping[str, Counter[str]]:
        """All so far, by name; times are in whole milliseconds."""
        self._add_up()
        counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
        with self._guard:
            for name, what, total in self._totals():
                counted[name][what] = total
        return dict(counted)

    def take(self) -> Sequence[Sequence[Count]]:
        """What the store was not told yet, in batches. From here on it counts as told, unless it is put back."""
        self.is_new, self.due_at = False, inf  # before we look, while one who counts says so after it has
        self._add_up()
        news: list[Count] = []
        with self._guard:
            for name, what, total in self._totals():
                if more := total - self._told[name, what]:
                    self._told[name, what] = total
                    news.append(Count(name, what, more))
        return [news[start : start + BATCH] for start in range(0, len(news), BATCH)]

    def put_back(self, counts: Sequence[Count]) -> None:
        """The store was surely not told of these."""
        with self._guard:
            for count in counts:
                self._told[count.name, count.what] -= count.by
        self.is_new = True

    def _add_up(self) -> None:
        slips, rows = self._slips, self._rows
        with self._guard, suppress(IndexError):  # a signal's handler was quicker
            others = rows.get(OTHERS) if len(rows) > MOST_NAMES else None
            for _ in range(len(slips)):
                name, what, lasted = slips.popleft()
                sums = (rows.get(name) or others or self._row(name))[what]
                sums[0] += 1
                sums[1] += lasted

    def _row(self, name: str) -> _Row:
        if len(self._rows) >= MOST_NAMES:
            name = OTHERS
        return self._rows.get(name) or self._rows.setdefault(name, defaultdict(_nothing))

    def _totals(self) -> Iterator[tuple[str, str, int]]:
        for name, row in list(self._rows.items()):  # a signal's handler may add to it meanwhile
            for what, (times, lasted) in list(row.items()):
                yield name, what, int(times)
                if lasted:
                    yield name, what + IN_MS, int(lasted * 1000)


def _nothing() -> list[float]:
    return [0, 0.0]


def report_if_due(world: World, desk: Desk, now: float) -> None:
    """Tell the store, in passing, what was counted since it was last told; once it is time to.

    No batch is sent twice: one that is not answered may have been added. Only what was refused is told again.
    """
    tally = desk.tally
    if tally is None or not tally.is_new:
        return
    if tally.due_at == inf:
        tally.due_at = now + EVERY
    elif tally.due_at <= now:
        for batch in tally.take():
            world.later(desk.store.count(batch), _added, undone=partial(_keep, desk, tally, batch))


def _added(_: object) -> None:
    """That it was is all there is to know."""


def _keep(desk: Desk, tally: Tally, batch: Sequence[Count]) -> None:
    """Keep it for the next time, and see to it that there is one."""
    tally.put_back(batch)
    desk.nudge()


async def report(world: World, desk: Desk, within: float) -> None:
    """Tell the store all that was counted, and wait until it has added it."""
    tally = desk.tally
    if tally is None:
        return
    left = list(tally.take())
    try:
        while left:
            batch = left.pop(0)
            try:
                await ask(world, desk.store.count(batch), within)
            except StoreRefused:
                left.append(batch)
                raise
    finally:
        for batch in left:
            _keep(desk, tally, batch)


async def totals(world: World, desk: Desk) -> tuple[Sequence[Count], float]:
    """What the whole fleet has counted, ourselves included up to now; and the time of day, by the store's clock."""
    await report(world, desk, desk.patience)
    counts = await ask(world, desk.store.counted(), desk.patience)
    recalled = await ask(world, desk.store.recall(OTHERS), desk.patience)  # a clock for locks may count from anywhere
    return counts, recalled.at
