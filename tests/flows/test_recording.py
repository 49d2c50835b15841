"""What is noted of who held what, when the store is told, and what becomes of it when that fails."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import Any

import pytest

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.flows.adopting import adopt, hand_on
from dibs.flows.counting import Tally
from dibs.flows.electing import step_down
from dibs.flows.hold import EVICTED, RAN_OUT, Hold
from dibs.flows.keeping import LAST_WORD, settle
from dibs.flows.locking import give_back, release
from dibs.flows.outage import Outage
from dibs.flows.overseeing import evict
from dibs.flows.recording import EVERY, FIRST, HISTORIES, MOST, SELDOM, Ledger, _drained, record
from dibs.flows.shadowing import Shadow
from dibs.flows.together import Hindered, acquire_all, release_all
from dibs.model.counts import MOST_NAMES, OTHERS
from dibs.model.holding import Ended, Holding, readable
from dibs.model.request import PATIENCE, Request
from dibs.model.sheet import Line
from dibs.model.tenure import Tenure
from tests.flows.scripted import EPOCH, REFUSED, SILENT, UNHEARD, Process, Scene

REQUEST = Request("a", 30.0, purpose="billing run")


@pytest.fixture
def ann(ann: Process) -> Process:
    ann.desk.tally, ann.desk.ledger = Tally(), Ledger(ann.world.now)
    return ann


@pytest.fixture
def bob(bob: Process) -> Process:
    bob.desk.tally, bob.desk.ledger = Tally(), Ledger(bob.world.now)
    return bob


def ledger_of(process: Process) -> Ledger:
    assert process.desk.ledger is not None
    return process.desk.ledger


def stored(scene: Scene, *histories: str) -> list[Holding]:
    """What the store was told, the oldest first, with times as the scene counts them."""
    kept = scene.server.sheets[""].histories
    entries = [each.entry for name in histories or HISTORIES if name in kept for each in kept[name].noted]
    found = readable(Line("", entry.at, entry.text) for entry in entries)
    return [_by_the_scene(each) for each in found]


def _by_the_scene(each: Holding) -> Holding:
    reaches = each.reaches and each.reaches - EPOCH
    return replace(each, since=round(each.since - EPOCH, 4), until=round(each.until - EPOCH, 4), reaches=reaches)


def told(scene: Scene, process: Process) -> list[Holding]:
    """What the store knows when the process has told it all."""
    scene.play(record(process.world, process.desk, PATIENCE))
    return stored(scene)


def ends(scene: Scene, process: Process) -> list[tuple[str, float, float, Ended, str]]:
    return [(each.name, each.since, each.until, each.ended, each.reason) for each in told(scene, process)]


def brief(name: str, fence: int, since: float, lasted: float = 0.001) -> tuple[Hold, float, float]:
    return Hold(Request(name, 30.0), "me", fence, Tenure(30.0, since)), lasted, since + lasted


class Interrupted(deque[int]):
    """As by a signal's handler, which takes the rest."""

    taken: Sequence[int] = ()

    def popleft(self) -> int:
        first = super().popleft()
        self.taken = self.taken or list(self)
        self.clear()
        return first


class TestWhatIsNoted:
    def test_who_held_it_from_when_to_when_and_what_for(self, scene: Scene, ann: Process) -> None:
        scene.until(2.0)
        hold = ann.holds(REQUEST)
        scene.until(5.5)
        scene.play(release(ann.world, ann.desk, hold))
        assert told(scene, ann) == [Holding("a", "ann", hold.fence, 2.0, 5.5, purpose="billing run")]

    def test_one_who_was_handed_it_held_it_from_then_on(self, scene: Scene, ann: Process, bob: Process) -> None:
        hold = ann.holds(REQUEST)
        waiting = scene.spawn(bob.acquires(REQUEST))
        scene.until(4.0)
        scene.play(release(ann.world, ann.desk, hold))
        handed = scene.finish(waiting)
        assert isinstance(handed, Hold)
        assert handed.since() == 0.0, "as far as it can be sure of itself"
        scene.until(6.0)
        scene.play(release(bob.world, bob.desk, handed))
        scene.play(record(ann.world, ann.desk, PATIENCE))
        assert [each[:3] for each in ends(scene, bob)] == [("a", 0.0, 4.0), ("a", 4.0, 6.0)]

    def test_it_stays_held_for_as_long_as_it_is_to_stay_taken(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(Request("a", 30.0, at_least=20.0))
        scene.until(2.0)
        scene.play(release(ann.world, ann.desk, hold))
        assert ends(scene, ann) == [("a", 0.0, 20.0, "released", "")]

    def test_a_loss_is_noted_when_it_happened_however_late_it_is_noticed(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.until(500.0)
        scene.play(release(ann.world, ann.desk, hold))
        assert ends(scene, ann) == [("a", 0.0, 30.0, "lost", RAN_OUT)]

    def test_what_is_taken_by_force_is_broken(self, scene: Scene, ann: Process, bob: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.until(3.0)
        scene.play(evict(bob.world, bob.desk, "a", fence=hold.fence, reason="stuck"))
        scene.play(release(ann.world, ann.desk, hold))
        assert ends(scene, ann) == [("a", 0.0, 3.0, "broken", EVICTED)]

    def test_each_of_two_processes_held_it_in_its_time(self, scene: Scene, ann: Process, bob: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.until(4.0)
        baton = hand_on(ann.desk, hold, now=scene.now, namespace="")
        assert baton is not None
        scene.until(6.0)
        adopted = scene.play(adopt(bob.world, bob.desk, baton))
        assert isinstance(adopted, Hold)
        scene.until(9.0)
        scene.play(release(bob.world, bob.desk, adopted))
        scene.play(record(ann.world, ann.desk, PATIENCE))
        assert ends(scene, bob) == [("a", 0.0, 4.0, "handed on", ""), ("a", 6.0, 9.0, "released", "")]

    def test_a_term_that_is_resigned_and_a_lease_that_ends_with_its_program_were_held(
        self, scene: Scene, ann: Process
    ) -> None:
        hold, other = ann.holds(REQUEST), ann.holds(Request("b", 30.0))
        scene.until(3.0)
        step_down(ann.world, ann.desk, hold)
        scene.play(give_back(ann.world, ann.desk, other, reason="the end"))
        assert ends(scene, ann) == [("a", 0.0, 3.0, "released", ""), ("b", 0.0, 3.0, "released", "")]

    def test_a_lease_that_was_dropped_was_held_until_that_is_noticed(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        scene.until(2.0)
        ann.desk.abandon(hold)
        scene.until(2.0)
        assert ends(scene, ann) == [("a", 0.0, 2.0, "released", "")]

    def test_a_lock_that_is_only_watched_is_noted_as_the_store_has_it(self, scene: Scene, ann: Process) -> None:
        def watch() -> Any:
            return Shadow(ann.world, ann.desk, Outage(), must_have_store=True).acquire(REQUEST, take=ann.acquires)

        hold = scene.play(watch())
        beside = scene.play(watch())
        scene.until(2.0)
        hold.end()
        beside.end()
        assert ends(scene, ann) == [("a", 0.0, 2.0, "released", "")]

    @pytest.mark.parametrize("is_dropped", [False, True])
    def test_of_several_that_are_given_back_each_is_noted_whatever_interrupts_it(
        self, scene: Scene, ann: Process, is_dropped: bool
    ) -> None:
        wishes = [(Request(name, 30.0), None) for name in "abc"]
        holds = scene.play(acquire_all(ann.world, ann.desk, wishes))
        assert not isinstance(holds, Hindered)
        scene.until(2.0)
        ann.world.doom("leave", SILENT)
        task = scene.spawn(release_all(ann.world, ann.desk, holds))
        task.drop() if is_dropped else task.cancel()
        expected = ["b", "c"] if is_dropped else ["a", "b", "c"]
        assert sorted(each[0] for each in ends(scene, ann)) == expected

    def test_what_nobody_has_used_is_not_noted(self, scene: Scene, ann: Process, bob: Process) -> None:
        bob.holds(Request("b", 30.0))
        wishes = [(Request(name, 30.0, wait=1.0), None) for name in "ab"]
        assert isinstance(scene.play(acquire_all(ann.world, ann.desk, wishes)), Hindered)
        assert told(scene, ann) == []

    def test_who_has_no_ledger_notes_nothing(self, scene: Scene, ann: Process) -> None:
        hold, ann.desk.ledger = ann.holds(REQUEST), None
        ann.start_keeper()
        baton = hand_on(ann.desk, hold, now=0.0, namespace="")
        assert baton is not None
        scene.until(60.0)
        assert told(scene, ann) == []


class TestMany:
    def test_of_brief_holds_the_first_are_noted_and_the_others_counted(self, scene: Scene, ann: Process) -> None:
        for number in range(1_000):
            ledger_of(ann).let_go(*brief("a", number + 1, number / 100))
        *each, others = told(scene, ann)
        assert [one.fence for one in each] == [*range(1, FIRST + 1)]
        assert others == Holding("a", "ann", 0, 0.091, 9.991, times=990)

    def test_each_lock_has_its_own(self, scene: Scene, ann: Process) -> None:
        for number in range(100):
            ledger_of(ann).let_go(*brief("hot", number + 1, 0.0))
        ledger_of(ann).let_go(*brief("rare", 777, 0.0))
        assert ("rare", 777) in [(each.name, each.fence) for each in told(scene, ann)]

    def test_one_that_lasted_is_noted_however_many_were_brief(self, scene: Scene, ann: Process) -> None:
        for number in range(100):
            ledger_of(ann).let_go(*brief("a", number + 1, 0.0))
        ledger_of(ann).let_go(*brief("a", 777, 0.0, 1.0))
        assert 777 in [each.fence for each in told(scene, ann)]

    def test_the_brief_ones_are_kept_apart_so_that_they_crowd_out_no_others(self, scene: Scene, ann: Process) -> None:
        for number in range(20):
            ledger_of(ann).let_go(*brief("a", number + 1, 0.0))
        ledger_of(ann).let_go(*brief("a", 777, 0.0, 1.0))
        hold, _, now = brief("a", 888, scene.now)
        hold.lose(EVICTED)
        ledger_of(ann).end(hold, "broken")
        scene.play(record(ann.world, ann.desk, PATIENCE))
        assert {each.fence for each in stored(scene, "~locks")} == {777, 888}
        assert len(stored(scene, "~locks:brief")) == FIRST + 1
        assert now > 0

    def test_of_thousands_of_locks_the_longest_are_noted_and_the_others_counted(
        self, scene: Scene, ann: Process
    ) -> None:
        for number in range(600):
            ledger_of(ann).let_go(*brief(f"lock-{number:03}", number + 1, 0.0, 0.001 * (number + 1)))
        news = told(scene, ann)
        assert len(news) == MOST
        assert {each.name for each in news} == {OTHERS, *(f"lock-{number:03}" for number in range(101, 600))}
        assert [each.times for each in news if each.name == OTHERS] == [101]

    def test_ten_thousand_names_take_no_more_room_than_a_thousand(self, ann: Process) -> None:
        ledger = ledger_of(ann)
        for number in range(10_000):
            ledger.let_go(*brief(f"lock-{number}", number + 1, 0.0))
        assert len(ledger._rows) == MOST_NAMES + 1
        news = ledger.take("ann", 0.0)
        assert sum(each.times for each in news) == 10_000
        assert [each.times for each in news if each.name == OTHERS] == [10_000 - MOST_NAMES - FIRST]
        assert ledger.take("ann", 0.0) == []
        assert ledger._rows == {}

    def test_threads_that_take_it_are_kept_apart_by_the_guard(self, ann: Process) -> None:
        entered: list[int] = []

        class Guard:
            def __enter__(self) -> None:
                entered.append(1)

            def __exit__(self, *_: object) -> None:
                pass

        ledger = Ledger(ann.world.now, Guard())
        ledger.let_go(*brief("a", 1, 0.0))
        assert entered == [], "who only notes waits for nobody"
        assert len(ledger.take("ann", 0.0)) == 1
        assert entered == [1]

    def test_one_who_takes_may_be_interrupted_by_another(self) -> None:
        slips = Interrupted([1, 2, 3])
        assert _drained(slips) == [1]
        assert slips.taken == [2, 3]

    def test_one_who_counts_while_it_is_taken_is_told_the_next_time(self, ann: Process) -> None:
        ledger = ledger_of(ann)
        ledger.let_go(*brief("a", 1, 0.0))
        ledger.take("ann", 0.0)
        row = ledger._rows["a"]
        row.others, row.until = 1, 2.0  # as by one who had found the row full
        assert ledger.take("ann", 0.0) == [Holding("a", "ann", 0, 2.0, 2.0)]


class TestReporting:
    def test_the_keeper_tells_what_is_new_after_a_while(self, scene: Scene, ann: Process) -> None:
        ann.start_keeper()
        scene.until(1.0)
        scene.play(release(ann.world, ann.desk, ann.holds(REQUEST)))
        scene.until(1.0 + EVERY - 0.1)
        assert stored(scene) == []
        scene.until(1.0 + EVERY)
        assert [each.name for each in stored(scene)] == ["a"]

    def test_nothing_is_sent_while_nothing_is_new(self, scene: Scene, ann: Process) -> None:
        ann.start_keeper()
        scene.play(release(ann.world, ann.desk, ann.holds(REQUEST)))
        scene.until(1_000.0)
        assert ann.world.moments("note") == ann.world.moments("recall") == [EVERY]

    def test_one_who_has_nothing_to_tell_asks_nothing(self, scene: Scene, ann: Process) -> None:
        scene.play(record(ann.world, ann.desk, PATIENCE))
        assert ann.world.sent == []

    def test_what_was_refused_is_kept_for_the_next_time(self, scene: Scene, ann: Process) -> None:
        ann.start_keeper()
        scene.play(release(ann.world, ann.desk, ann.holds(REQUEST)))
        ann.world.doom("note", REFUSED)
        scene.until(EVERY + 1.0)
        assert stored(scene) == []
        scene.until(2 * EVERY + 1.0)
        assert [each.name for each in stored(scene)] == ["a"]

    def test_a_silent_store_is_told_when_it_is_back(self, scene: Scene, ann: Process) -> None:
        ann.start_keeper()
        scene.play(release(ann.world, ann.desk, ann.holds(REQUEST)))
        ann.world.is_silent = True
        scene.until(100.0)
        ann.world.is_silent = False
        scene.until(100.0 + 2 * EVERY)
        assert [each[:3] for each in ends(scene, ann)] == [("a", 0.0, 0.0)]

    def test_what_was_sent_and_not_answered_is_not_sent_again(self, scene: Scene, ann: Process) -> None:
        ann.start_keeper()
        scene.play(release(ann.world, ann.desk, ann.holds(REQUEST)))
        ann.world.doom("note", UNHEARD)
        scene.until(1_000.0)
        assert len(stored(scene)) == len(ann.world.moments("note")) == 1

    def test_one_who_waits_for_it_is_told_of_a_silence(self, scene: Scene, ann: Process) -> None:
        scene.play(release(ann.world, ann.desk, ann.holds(REQUEST)))
        ann.world.doom("note", SILENT)
        with pytest.raises(StoreUnreachable):
            scene.play(record(ann.world, ann.desk, PATIENCE))
        assert not ledger_of(ann).is_new, "it may have been done"

    def test_what_is_refused_to_one_who_waits_for_it_is_kept(self, scene: Scene, ann: Process) -> None:
        scene.play(release(ann.world, ann.desk, ann.holds(REQUEST)))
        hold = ann.holds(Request("b", 30.0))
        scene.until(2.0)
        scene.play(release(ann.world, ann.desk, hold))
        ann.world.doom("note", *[REFUSED] * 50)
        with pytest.raises(StoreRefused):
            scene.play(record(ann.world, ann.desk, 0.5))
        ann.world._fates.clear()
        assert sorted(each.name for each in told(scene, ann)) == ["a", "b"]

    def test_one_who_hangs_up_tells_it_before(self, scene: Scene, ann: Process) -> None:
        scene.play(release(ann.world, ann.desk, ann.holds(REQUEST)))
        scene.play(settle(ann.world, ann.desk))
        assert [each.name for each in stored(scene)] == ["a"]

    def test_one_who_hangs_up_on_a_silent_store_does_not_wait_for_long(self, scene: Scene, ann: Process) -> None:
        scene.play(release(ann.world, ann.desk, ann.holds(REQUEST)))
        ann.world.is_silent = True
        scene.play(settle(ann.world, ann.desk))
        assert scene.now <= LAST_WORD


class TestWhileItLasts:
    def test_one_that_lasts_is_noted_each_time_its_age_has_doubled_and_from_then_on_each_hour(
        self, scene: Scene, ann: Process
    ) -> None:
        ann.holds(Request("a", 30.0, purpose="p"))
        ann.start_keeper()
        scene.until(4 * SELDOM)
        ages = [each.until for each in stored(scene)]
        assert ages[0] == EVERY
        for age, following in pairwise(ages):
            due = min(2 * age, age + SELDOM)
            assert due <= following <= due + 2 * EVERY
        assert len(ages) == 12

    def test_it_is_told_how_long_it_may_last_without_another_word(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        scene.until(EVERY)
        [still] = stored(scene)
        assert still == Holding(
            "a", "ann", hold.fence, 0.0, 10.0, "held", "billing run", reaches=20.0 + 2 * EVERY + 30.0
        )
        scene.until(still.reaches)
        assert stored(scene)[-1].until < still.reaches, "the next word came in time"

    def test_one_that_is_not_renewed_is_noted_too(self, scene: Scene, ann: Process) -> None:
        ann.holds(Request("a", 3_600.0, renew=False))
        ann.start_keeper()
        scene.until(100.0)
        assert [each.until for each in stored(scene)] == [10.0, 20.0, 40.0, 80.0]

    def test_one_that_is_over_is_not_noted_as_lasting(self, scene: Scene, ann: Process) -> None:
        hold, other = ann.holds(REQUEST), ann.holds(Request("b", 30.0))
        scene.until(EVERY + 1.0)
        hold.is_over = True  # as by one who is about to release it
        other.lose(EVICTED)
        hold, lasted, now = brief("c", 1, scene.now)
        ledger_of(ann).let_go(hold, lasted, now)
        assert [each.name for each in told(scene, ann)] == ["c"]

    def test_a_keeper_does_not_stay_for_what_nobody_holds(self, scene: Scene, ann: Process) -> None:
        keeper = ann.start_keeper(idle=5.0)
        scene.play(release(ann.world, ann.desk, ann.holds(REQUEST)))
        scene.finish(keeper)
        assert ledger_of(ann).due_at == inf
        assert scene.now == EVERY + 5.0
