"""A store against the specification: whatever is asked of it, it answers as the memory store's table does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import rule

from dibs.model.asks import (
    CROWD,
    Acquire,
    Ask,
    Busy,
    Evict,
    Granted,
    Hindrance,
    KeepAlive,
    Leave,
    Memo,
    Queued,
    Renew,
    StillQueued,
)
from dibs.model.counts import Count
from dibs.model.lock import LockState
from dibs.ports.store import Command
from dibs.testing.contract.beside_memory import BesideMemory, case_of

if TYPE_CHECKING:
    from dibs.model.asks import Held
    from dibs.ports.store import Store

T = TypeVar("T")

OWNERS = st.sampled_from(["o1", "o2", "o3", "o4"])
NAMES = st.sampled_from(["a", "b"])
SHORT_AND_LONG = (10.0, 20.0)
TTLS = st.sampled_from(SHORT_AND_LONG)
KINDS = st.sampled_from([(1, 0), (1, 0), (1, 1), (2, 1), (3, 1), (CROWD, 1), (CROWD, 1)])
"""Room and depth of a mutex, a reentrant lock or writer, permits, and a reader."""


class StoreAgainstMemory(BesideMemory):
    """Asks both the same, at the same moments, and compares answers and pushes.

    Fences are compared by their order, times only as far as they were asked for: a store's clock is its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self._fences: list[tuple[int, int]] = []

    @rule(name=NAMES, owner=OWNERS, ttl=TTLS, kind=KINDS, queue=st.booleans(), hears=st.booleans(), late=st.booleans())
    def acquire(
        self, name: str, owner: str, ttl: float, kind: tuple[int, int], *, queue: bool, hears: bool, late: bool
    ) -> None:
        """Ask for a lock: with or without a place in the queue, reachable or not, in time or too late."""
        self._look_at_the_clock()
        channel = self._line.channel if hears else "nobody"
        self._both(name, replace(self._wish(owner, ttl, kind, channel, late=late), queue=queue))

    @rule(owner=OWNERS, other=OWNERS, ttl=TTLS, kind=KINDS, late=st.booleans())
    def acquire_all(self, owner: str, other: str, ttl: float, kind: tuple[int, int], *, late: bool) -> None:
        """Ask for both locks, or none."""
        self._look_at_the_clock()
        asks = [
            ("a", self._wish(owner, ttl, kind, self._line.channel)),
            ("b", self._wish(other, ttl, (1, 0), self._line.channel, late=late)),
        ]
        answers = self._ask(self._locks.acquire_all(asks))
        spec = self._ask_spec(self._spec_locks.acquire_all(asks))
        if isinstance(answers, Hindrance) or isinstance(spec, Hindrance):
            assert isinstance(answers, Hindrance), spec
            assert isinstance(spec, Hindrance), answers
            assert (answers.place, _shape(answers.answer)) == (spec.place, _shape(spec.answer))
            self._compare_pushes([])
        else:
            self._compare_pushes([(mine.fence, theirs.fence) for mine, theirs in zip(answers, spec, strict=True)])

    @rule(name=NAMES)
    def recall(self, name: str) -> None:
        """What was noted of the work is remembered, for as long as it should."""
        seen, spec = self._ask(self._locks.recall(name)), self._ask_spec(self._spec_locks.recall(name))
        assert seen.text == spec.text
        assert abs(seen.made_at - spec.made_at) < 1.0

    @rule(name=NAMES, what=st.sampled_from(["acquired", "lost"]), by=st.integers(1, 1000))
    def count(self, name: str, what: str, by: int) -> None:
        """What is counted, is counted once."""
        counts = [Count(name, what, by), Count("c", what, 1)]
        self._ask(self._locks.count(counts))
        self._ask_spec(self._spec_locks.count(counts))
        seen, spec = self._ask(self._locks.counted()), self._ask_spec(self._spec_locks.counted())
        assert sorted(map(repr, seen)) == sorted(map(repr, spec))

    @rule(name=NAMES, owner=OWNERS, ttl=TTLS)
    def keep_alive(self, name: str, owner: str, ttl: float) -> None:
        """Say that somebody still waits, whether or not it does."""
        self._both(name, KeepAlive(owner, ttl))

    @rule(name=NAMES, owner=OWNERS, ttl=TTLS, which=st.integers(0, 5), depth=st.integers(1, 3))
    def renew(self, name: str, owner: str, ttl: float, which: int, depth: int) -> None:
        """Renew with a fence that was granted to somebody at some time. How deep a plain mutex is, nobody counts."""
        mine, theirs = self._fence(which)
        found = self._spec.locks.get(f"n:{name}", LockState()).held_by(owner)
        depth = depth if found is not None and found.depth else 0
        self._both(name, Renew(owner, mine, ttl, depth), Renew(owner, theirs, ttl, depth))

    @rule(name=NAMES, owner=OWNERS, bars=st.booleans(), memo=st.sampled_from(["", "done", 'line\n"\u00e9" \\']))
    def leave(self, name: str, owner: str, memo: str, *, bars: bool) -> None:
        """Leave, with or without an ask that may still land, or something to remember."""
        self._look_at_the_clock()
        bar_until = self._now + 5 if bars else None
        noted, spec_noted = [Memo(memo, at + 15) if memo else None for at in (self._wall(), self._now)]
        self._both(name, Leave(owner, bar_until, noted), Leave(owner, bar_until, spec_noted))

    @rule(name=NAMES, which=st.integers(0, 5))
    def evict(self, name: str, which: int) -> None:
        """Take a lock from whoever has a fence that was seen at some time."""
        mine, theirs = self._fence(which)
        self._both(name, Evict(mine), Evict(theirs))

    @rule(name=NAMES)
    def inspect(self, name: str) -> None:
        """Both show the same."""
        seen, spec = self._ask(self._locks.inspect(name)), self._ask_spec(self._spec_locks.inspect(name))
        assert (seen.state, [waiter.who for waiter in seen.waiters]) == (
            spec.state,
            [waiter.who for waiter in spec.waiters],
        )
        assert [_known(held) for held in seen.holders] == [_known(held) for held in spec.holders]
        listed = [view.name for view in self._ask(self._locks.held("", 10))]
        assert listed == [view.name for view in self._ask_spec(self._spec_locks.held("", 10))]

    def _both(self, name: str, ask: Ask, spec_ask: Ask | None = None) -> None:
        answer = self._ask(_command(self._locks, name, ask))
        spec = self._ask_spec(_command(self._spec_locks, name, spec_ask or ask))
        assert _shape(answer) == _shape(spec)
        if isinstance(answer, Queued | StillQueued):  # a store may have a waiter ask sooner, if not for nothing
            assert min(spec.ask_again_in, *SHORT_AND_LONG) - 0.1 <= answer.ask_again_in <= spec.ask_again_in + 0.1
        self._compare_pushes([(answer.fence, spec.fence)] if isinstance(answer, Granted) else [])

    def _compare_pushes(self, granted: Sequence[tuple[int, int]]) -> None:
        """What was told, and the fences of all that was granted in this turn: to the asker, before it and after it."""
        theirs = [push for push in self._spec_pushes if push.channel == self._line.channel]
        self._line.hear(len(theirs))
        mine = self._ear.pushes
        assert [(push.owner, push.kind) for push in mine] == [(push.owner, push.kind) for push in theirs]
        pushed = [(push.fence, spec_push.fence) for push, spec_push in zip(mine, theirs, strict=True)]
        for pair in sorted([*granted, *pushed]):
            self._pair(*pair)
        self._ear.pushes, self._spec_pushes = [], []

    def _wish(self, owner: str, ttl: float, kind: tuple[int, int], channel: str, *, late: bool = False) -> Acquire:
        not_after, (room, depth) = self._now + (-1 if late else ttl), kind
        return Acquire(owner, ttl, not_after, channel, f"who-{owner}", f"why-{owner}", room=room, depth=depth)

    def _wall(self) -> float:
        """What the store takes for the time of day, by which memos are kept."""
        at: float = self._ask(self._locks.recall("a")).at
        return at

    def _pair(self, fence: int, spec_fence: int) -> None:
        """The same grant on both sides; and fences on both sides have the same order."""
        if (fence, spec_fence) not in self._fences:
            assert all(fence > earlier for earlier, _ in self._fences)
            self._fences.append((fence, spec_fence))

    def _fence(self, which: int) -> tuple[int, int]:
        return self._fences[-1 - which] if which < len(self._fences) else (1, 1)


store_against_memory = partial(case_of, StoreAgainstMemory)
"""A test case that runs a store against the specification; it is asked for as `case_of` is."""


def _command(locks: Store, name: str, ask: Ask) -> Command[Any]:
    match ask:
        case Acquire():
            return locks.acquire(name, ask)
        case KeepAlive() | Renew():
            return _only(locks.keep([(name, ask)]))
        case Leave():
            return locks.leave(name, ask)
        case Evict(fence):
            return locks.evict(name, fence)


def _known(held: Held) -> tuple[object, ...]:
    return held.who, held.purpose, held.room, held.depth


def _only(batch: Command[Sequence[T]]) -> Command[T]:
    """The command of a batch of one, read as that one's answer."""

    def read(reply: object) -> T:
        [answer] = batch.read(reply)
        return answer

    return Command(batch.words, read, batch.node)


def _shape(answer: object) -> object:
    """An answer without what a store's own clock decides."""
    match answer:
        case Granted():
            return Granted
        case Queued(position, _, held):
            return Queued, position, held.who
        case StillQueued():
            return StillQueued
        case Busy(held, waiters):
            return Busy, held.who, waiters
        case _:
            return answer
