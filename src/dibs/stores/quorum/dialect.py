"""How several servers are asked as one store. What only one of them could decide is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from dibs.errors import ConfigError
from dibs.model.asks import Said
from dibs.model.counts import Count
from dibs.model.names import WORKER
from dibs.model.quorum import newest, seen_by_most
from dibs.model.register import told_once
from dibs.model.views import LockView
from dibs.ports.store import Command
from dibs.stores.quorum.motions import ToCheck, ToElect, ToKeep, ToKnow, ToLeave, ToMeet, ToNote, ToSet

if TYPE_CHECKING:
    from dibs.model.asks import (
        Acquire,
        AcquireAnswer,
        AllAnswer,
        EvictAnswer,
        KeepAlive,
        KeepAnswer,
        Leave,
        LeaveAnswer,
        Recalled,
        Renew,
    )
    from dibs.model.sheet import Change, Entry, Line, Look, Question
    from dibs.stores.quorum.council import Council
    from dibs.stores.quorum.node import NodeStore


class QuorumLocks:
    """The dialect. Its words are motions: the line puts them to a vote."""

    head_start = 0.1
    """Who is woken by fewer than a majority asks after some hundredths of a second, and nothing is faster than that."""

    def __init__(self, store: NodeStore) -> None:
        self._store = store

    def time(self) -> Command[float]:
        return _command(ToMeet(self._store))

    def checkup(self) -> Command[Sequence[str]]:
        return _command(ToCheck(self._store))

    def acquire(self, name: str, ask: Acquire) -> Command[AcquireAnswer]:
        return _command(ToElect(self._store, name, ask))

    def refusal(self, what: str) -> ConfigError:
        return ConfigError(
            f"redlock:// has no {what}: they are decided in one step, and none of its servers knows all. Make another "
            "client for that, of one server (redis://...), or of this machine alone (sqlite://)"
        )

    def acquire_all(self, asks: Sequence[tuple[str, Acquire]]) -> Command[AllAnswer]:
        raise self.refusal("lock_all")

    def keep(self, asks: Sequence[tuple[str, KeepAlive | Renew]]) -> Command[Sequence[KeepAnswer]]:
        return _command(ToKeep(self._store, asks))

    def leave(self, name: str, ask: Leave) -> Command[LeaveAnswer]:
        return _command(ToLeave(self._store, name, ask))

    def evict(self, name: str, fence: int) -> Command[EvictAnswer]:
        return _command(ToKnow(self._store, self._store.evict(name, fence), _evicted))

    def inspect(self, name: str) -> Command[LockView]:
        def seen(council: Council, views: Sequence[LockView]) -> LockView:
            return seen_by_most(name, views, size=council.size, at=council.now() + council.note_time())

        return _command(ToKnow(self._store, self._store.inspect(name), seen))

    def held(self, prefix: str, limit: int) -> Command[Sequence[LockView]]:
        def seen(council: Council, found: Sequence[Sequence[LockView]]) -> Sequence[LockView]:
            at, pages = council.now() + council.note_time(), [{view.name: view for view in views} for views in found]
            names = sorted({name for page in pages for name in page})
            views = [[page.get(name, LockView(name, at)) for page in pages] for name in names]
            merged = [seen_by_most(each[0].name, each, size=council.size, at=at) for each in views]
            return [view for view in merged if view.holders or view.waiters][:limit]

        return _command(ToKnow(self._store, self._store.held(prefix, limit), seen))

    def recall(self, name: str) -> Command[Recalled]:
        def found(council: Council, answers: Sequence[Recalled]) -> Recalled:
            return newest(answers, council.now() + council.note_time())

        return _command(ToKnow(self._store, self._store.remembered(name), found, is_for_all=False))

    def count(self, counts: Sequence[Count]) -> Command[object]:
        return _command(ToNote(self._store, self._store.count(counts)))

    def counted(self) -> Command[Sequence[Count]]:
        return _command(ToKnow(self._store, self._store.counted(), _added_up))

    def note(self, name: str, entries: Sequence[Entry], keep: int, keep_for: float) -> Command[object]:
        return _command(ToNote(self._store, self._store.note(name, entries, keep, keep_for)))

    def lines(self, question: Question) -> Command[Sequence[Line]]:
        def merged(_council: Council, pages: Sequence[Sequence[Line]]) -> Sequence[Line]:
            found = sorted(self._told_once(pages), key=lambda line: line.at, reverse=True)
            return found[question.skip : question.skip + question.limit]

        all_of_it = replace(question, skip=0, limit=question.skip + question.limit)
        return _command(ToKnow(self._store, self._store.lines(all_of_it), merged))

    def due(self, skip: int, limit: int, by: float | None = None) -> Command[Look]:
        raise self.refusal("jobs")

    def sheets(self, names: Sequence[str]) -> Command[Look]:
        self._refuse_others(names)
        return _command(ToSet(self._store, names))

    def amend(self, changes: Sequence[Change]) -> Command[Sequence[int]]:
        self._refuse_others([change.name for change in changes])
        return _command(ToSet(self._store, changes))

    def named(self, prefix: str, after: str, limit: int) -> Command[Look]:
        raise self.refusal("jobs and steps")

    def keeps(self, sheet: str) -> bool:
        return sheet.startswith(WORKER)

    def _refuse_others(self, sheets: Sequence[str]) -> None:
        if not all(map(self.keeps, sheets)):
            raise self.refusal("jobs and steps")

    def _told_once(self, pages: Sequence[Sequence[Line]]) -> Sequence[Line]:
        """What came with a sheet is noted by all of them, everything else by one."""
        by_all = told_once([[line for line in page if self.keeps(line.name)] for page in pages])
        return [*by_all, *(line for line in chain(*pages) if not self.keeps(line.name))]


def _command(motion: Any) -> Command[Any]:
    return Command((motion,), _as_it_is)


def _evicted(_council: Council, answers: Sequence[EvictAnswer]) -> EvictAnswer:
    for answer in (Said.EVICTED, Said.CHANGED):
        if answer in answers:
            return answer
    return Said.GONE


def _added_up(_council: Council, counts: Sequence[Sequence[Count]]) -> Sequence[Count]:
    total: Counter[tuple[str, str]] = Counter()
    for count in chain(*counts):
        total[count.name, count.what] += count.by
    return [Count(name, what, by) for (name, what), by in sorted(total.items())]


def _as_it_is(answer: Any) -> Any:
    return answer
