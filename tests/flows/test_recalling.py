"""Who held what at a moment, and one lock in the course of time."""

from __future__ import annotations

from collections import Counter
from math import inf

import pytest

from dibs.errors import StoreUnreachable
from dibs.flows import recalling
from dibs.flows.counting import Tally
from dibs.flows.locking import release
from dibs.flows.recalling import held_at, holds_of
from dibs.flows.recording import EVERY, Ledger
from dibs.model.holding import Ended
from dibs.model.record import RAN
from dibs.model.request import Request
from dibs.model.spans import covering
from tests.flows.scripted import EPOCH, Process, Scene

REQUEST = Request("billing", 30.0)


@pytest.fixture
def ann(ann: Process) -> Process:
    ann.desk.tally, ann.desk.ledger = Tally(), Ledger(ann.world.now)
    return ann


@pytest.fixture
def bob(bob: Process) -> Process:
    bob.desk.tally, bob.desk.ledger = Tally(), Ledger(bob.world.now)
    return bob


def at(process: Process, moment: float, name: str | None = None) -> list[tuple[str, str, Ended, float]]:
    found = process.scene.play(held_at(process.world, process.desk, EPOCH + moment, name=name))
    return [(each.name, each.who, each.ended, round(each.until - EPOCH, 3)) for each in found]


def history(
    process: Process, *, since: float = -inf, until: float = inf, limit: int = 100, name: str = "billing"
) -> list[tuple[str, Ended, float, float]]:
    flow = holds_of(process.world, process.desk, name, since=EPOCH + since, until=EPOCH + until, limit=limit)
    return [
        (each.who, each.ended, round(each.since - EPOCH, 3), round(each.until - EPOCH, 3))
        for each in process.scene.play(flow)
    ]


def visits(process: Process, since: float, until: float, name: str = "billing") -> None:
    """Hold a lock from then until then."""
    process.scene.until(since)
    hold = process.holds(Request(name, 30.0))
    process.scene.until(until)
    process.scene.play(release(process.world, process.desk, hold))


class TestAMoment:
    def test_it_is_told_who_held_it_then(self, ann: Process, bob: Process) -> None:
        visits(ann, 1.0, 5.0)
        visits(bob, 7.0, 9.0)
        assert at(ann, 3.0) == [("billing", "ann", "released", 5.0)]
        assert at(ann, 6.0) == at(ann, 8.0) == [], "bob has not told it yet"
        assert at(bob, 8.0) == at(ann, 8.0) == [("billing", "bob", "released", 9.0)]
        assert at(ann, 0.5) == at(ann, 9.5) == []

    def test_one_lock_or_all_of_them(self, ann: Process) -> None:
        visits(ann, 1.0, 5.0, "reports")
        ann.holds(REQUEST)
        ann.scene.until(6.0)
        assert at(ann, 3.0) == [("reports", "ann", "released", 5.0)]
        assert at(ann, 3.0, "reports") == at(ann, 3.0)
        assert at(ann, 3.0, "billing") == []
        assert at(ann, 5.5) == at(ann, 5.5, "billing") == [("billing", "ann", "held", 6.0)]

    def test_what_is_held_is_told_although_nobody_has_noted_it(self, ann: Process, bob: Process) -> None:
        ann.holds(REQUEST)
        ann.scene.until(4.0)
        assert at(bob, 2.0) == [("billing", "ann", "held", 4.0)]
        assert at(bob, 4.5) == [("billing", "ann", "held", 4.0)], "by a clock that is ahead of the store's"
        assert at(bob, -1.0) == []

    def test_one_that_lasts_is_told_once(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(REQUEST)
        ann.start_keeper()
        scene.until(300.0)
        assert at(bob, 250.0) == at(bob, 5.0) == [("billing", "ann", "held", 300.0)]

    def test_a_holder_that_was_killed_was_last_seen_holding_it(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(REQUEST)
        keeper = ann.start_keeper()
        scene.until(50.0)
        keeper.drop()
        scene.until(1_000.0)
        seen = [("billing", "ann", "unknown", 40.0)]
        assert at(bob, 20.0) == at(bob, 45.0) == at(bob, 70.0) == at(bob, 70.0, "billing") == seen
        assert at(bob, 500.0) == [], "by then it would have been heard of"

    def test_among_very_many_locks_it_is_known_which_are_held(
        self, scene: Scene, ann: Process, bob: Process, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(recalling, "MOST_LIVE", 2)
        names = ["a", "b", "c", "d"]
        for name in names:
            ann.holds(Request(name, 3_600.0))
        ann.start_keeper()
        scene.until(EVERY)
        scene.server.locks.pop("d")
        assert [(name, ended) for name, _, ended, _ in at(bob, 5.0)] == [
            ("a", "held"),
            ("b", "held"),
            ("c", "held"),
            ("d", "unknown"),
        ]

    def test_it_takes_few_questions_however_much_was_noted(self, ann: Process) -> None:
        for number in range(50):
            visits(ann, number * 2.0, number * 2.0 + 1.5)
        ann.world.sent.clear()
        at(ann, 51.0)
        by_cells = len(covering(RAN, 51.0))
        assert by_cells == 29
        assert Counter(kind for _, kind, _ in ann.world.sent) == {
            "recall": 1,  # the time at the store,
            "note": 1,  # by which our own are noted first
            "lines": 2 * by_cells,  # of locks, and of runs
            "held": 1,
            "named": 2,  # deployments, and nodes; not all that a fleet keeps
        }

    def test_a_silent_store_is_told(self, ann: Process) -> None:
        ann.world.is_silent = True
        with pytest.raises(StoreUnreachable):
            at(ann, 1.0)

    def test_one_without_a_ledger_can_ask_too(self, ann: Process, bob: Process) -> None:
        bob.desk.ledger = None
        visits(ann, 1.0, 5.0)
        at(ann, 0.0)
        assert at(bob, 3.0) == [("billing", "ann", "released", 5.0)]


class TestTheCourseOfTime:
    def test_the_latest_come_first(self, ann: Process, bob: Process) -> None:
        visits(ann, 1.0, 5.0)
        visits(bob, 7.0, 9.0)
        visits(ann, 10.0, 10.5)
        ann.holds(REQUEST)
        history(bob)
        assert history(ann) == [
            ("ann", "held", 10.5, 10.5),
            ("ann", "released", 10.0, 10.5),
            ("bob", "released", 7.0, 9.0),
            ("ann", "released", 1.0, 5.0),
        ]
        assert [since for _, _, since, _ in history(ann, limit=2)] == [10.5, 10.0]

    def test_of_a_span_all_that_touches_it_is_told(self, ann: Process) -> None:
        for begin in (0.0, 10.0, 20.0, 30.0):
            visits(ann, begin, begin + 5.0)
        visits(ann, 40.0, 41.0, "other")
        assert [since for _, _, since, _ in history(ann, since=12.0, until=22.0)] == [20.0, 10.0]
        assert [since for _, _, since, _ in history(ann, since=16.0)] == [30.0, 20.0]
        assert [since for _, _, since, _ in history(ann, until=9.0)] == [0.0]
        assert [since for _, _, since, _ in history(ann, since=36.0)] == []

    def test_what_is_held_since_after_the_span_is_not_in_it(self, ann: Process) -> None:
        ann.scene.until(50.0)
        ann.holds(REQUEST)
        assert history(ann, until=40.0) == []
        assert history(ann, until=50.0) == [("ann", "held", 50.0, 50.0)]

    def test_a_long_hold_that_was_noted_often_hides_no_others(
        self, scene: Scene, ann: Process, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(recalling, "PAGE", 3)
        visits(ann, 0.0, 2.0)
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        scene.until(2_000.0)
        scene.play(release(ann.world, ann.desk, hold))
        assert history(ann, limit=2) == [("ann", "released", 2.0, 2_000.0), ("ann", "released", 0.0, 2.0)]

    def test_of_one_time_nothing_is_left_out(self, ann: Process, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recalling, "PAGE", 2)
        for _ in range(7):
            visits(ann, 1.0, 1.0)
        assert len(history(ann)) == 7

    def test_there_is_an_end_to_what_is_read(self, ann: Process, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recalling, "PAGE", 1)
        monkeypatch.setattr(recalling, "MOST_PAGES", 3)
        for begin in range(7):
            visits(ann, begin + 0.0, begin + 0.5)
        assert [since for _, _, since, _ in history(ann)] == [6.0, 5.0, 4.0]
